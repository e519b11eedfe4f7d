-- is_maxed: asks whether a queue has room under its ceiling; nothing else enforces it.
--
-- host     Metrics  is_maxed/2
--
-- KEYS[1]  meta    hash  emq:{q}:meta    the queue's settings
-- KEYS[2]  active  zset  emq:{q}:active  jobs under lease, by deadline in ms
--
-- returns  0  :ok  there is room, or no ceiling
--
-- refuses  EMQRATE at concurrency ceiling  {:error, :rate}  as many jobs are active as may be

local meta, active = KEYS[1], KEYS[2]

local ceiling = tonumber(redis.call('HGET', meta, 'concurrency')) or 0
if ceiling > 0 and redis.call('ZCARD', active) >= ceiling then
  return redis.error_reply('EMQRATE at concurrency ceiling')
end
return 0
