-- extend_lock: renews the lease of one job.
--
-- host     Jobs  extend_lock/5
--
-- KEYS[1]  active  zset  emq:{q}:active    jobs under lease, by deadline in ms
-- KEYS[2]  row     hash  emq:{q}:job:<id>  the job's row
--
-- ARGV[1]  id     the job's branded id
-- ARGV[2]  token  the holder's fencing token: the attempts its claim returned
-- ARGV[3]  lease  how long the claim holds from now, in ms
--
-- returns  1   :ok              the lease is renewed
-- returns  -1  {:error, :gone}  the row has no attempts
--
-- refuses  EMQSTALE extend token mismatch  {:error, :stale}  somebody else has claimed it since

local active, row = KEYS[1], KEYS[2]
local id, token, lease = ARGV[1], ARGV[2], ARGV[3]

local attempts = redis.call('HGET', row, 'attempts')
if not attempts then
  return -1
end
if attempts ~= token then
  return redis.error_reply('EMQSTALE extend token mismatch')
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', active, now + lease, id)
return 1
