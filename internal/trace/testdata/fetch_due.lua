-- Moves due entries of a sorted set to lists that the entries name.
local jobs = redis.call("zrange", KEYS[1], "-inf", ARGV[1], "byscore", "limit", 0, 10)
for _, raw in ipairs(jobs) do
  if redis.call("zrem", KEYS[1], raw) > 0 then
    local job = cjson.decode(raw)
    redis.call("sadd", "queues", job.queue)
    redis.call("lpush", "queue:" .. job["queue"], raw)
  end
end
return #jobs
