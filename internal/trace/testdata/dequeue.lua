--!df flags=allow-undeclared-keys
-- Takes a task: a prefix in ARGV, ids out of a list.
-- KEYS[1] pending, KEYS[2] paused, KEYS[3] active, KEYS[4] lease
-- ARGV[1] lease end, ARGV[2] task prefix
if redis.call("EXISTS", KEYS[2]) == 0 then
	local id = redis.call("RPOPLPUSH", KEYS[1], KEYS[3])
	if id then
		local key = ARGV[2] .. id
		redis.call("HSET", key, "state", "active")
		redis.call("HDEL", key, "pending_since")
		redis.call("ZADD", KEYS[4], ARGV[1], id)
		return redis.call("HGET", key, "msg")
	end
end
return nil
