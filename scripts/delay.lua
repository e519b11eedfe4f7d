-- delay: puts an active job off without counting a failure.
--
-- host     Jobs  delay/5,6
--
-- KEYS[1]  row       hash  emq:{q}:job:<id>  the job's row
-- KEYS[2]  active    zset  emq:{q}:active    jobs under lease, by deadline in ms
-- KEYS[3]  schedule  zset  emq:{q}:schedule  jobs that are not due, by due time in ms
--
-- ARGV[1]  id     the job's branded id
-- ARGV[2]  token  the holder's fencing token: the attempts its claim returned
-- ARGV[3]  mode   in: counted from the server's clock; at: a time of the caller's
-- ARGV[4]  ms     a delay in ms for in, Unix ms for at
--
-- returns  1  :ok  the job is scheduled, its attempts as they were
--
-- refuses  EMQKIND job id must be JOB-namespaced  {:error, :kind}   the id is of another kind
-- refuses  EMQSTALE job gone                      {:error, :gone}   the row has no attempts
-- refuses  EMQSTALE delay token mismatch          {:error, :stale}  somebody else has claimed it since

local row, active, schedule = KEYS[1], KEYS[2], KEYS[3]
local id, token, mode, due = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if string.sub(id, 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
local attempts = redis.call('HGET', row, 'attempts')
if not attempts then
  return redis.error_reply('EMQSTALE job gone')
end
if attempts ~= token then
  return redis.error_reply('EMQSTALE delay token mismatch')
end
redis.call('ZREM', active, id)
redis.call('HSET', row, 'state', 'scheduled')
if mode == 'in' then
  local time = redis.call('TIME')
  due = time[1] * 1000 + math.floor(time[2] / 1000) + due
end
redis.call('ZADD', schedule, due, id)
return 1
