-- rate_ttl: tells how long a queue at its rate limit has to wait.
--
-- host     Metrics  get_rate_limit_ttl/2,3
--
-- KEYS[1]  limiter  string  emq:{q}:limiter  the jobs of this window, expiring with it
-- KEYS[2]  meta     hash    emq:{q}:meta     the queue's settings
--
-- ARGV[1]  max  the jobs that a window allows; 0 for what the settings say
--
-- returns  ms  -  the window is full for so many ms
-- returns  0   -  there is room, or no limit

local limiter, meta = KEYS[1], KEYS[2]

local max = tonumber(ARGV[1])
if max == 0 then
  max = tonumber(redis.call('HGET', meta, 'max')) or 0
end
if max > 0 and (tonumber(redis.call('GET', limiter)) or 0) >= max then
  return math.max(redis.call('PTTL', limiter), 0)
end
return 0
