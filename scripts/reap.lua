-- reap: takes back up to a hundred jobs whose lease has run out.
--
-- host     Jobs  reap/2
--
-- KEYS[1]  active   zset  emq:{q}:active   jobs under lease, by deadline in ms
-- KEYS[2]  pending  zset  emq:{q}:pending  the flat queue
--
-- ARGV[1]  base  the queue base  [queue base]
--
-- returns  n  -  how many were taken back, their attempts as they were

local active, pending = KEYS[1], KEYS[2]
local base = ARGV[1]

local function ring_again(group, in_flight)
  if redis.call('SISMEMBER', base .. 'paused', group) == 1 then
    return
  end
  local limit = tonumber(redis.call('HGET', base .. 'glimit', group))
  if limit and in_flight >= limit then
    return
  end
  if redis.call('LPOS', base .. 'ring', group) then
    return
  end
  redis.call('RPUSH', base .. 'ring', group)
  redis.call('LPUSH', base .. 'wake', 1)
  redis.call('LTRIM', base .. 'wake', 0, 63)
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expired = redis.call('ZRANGEBYSCORE', active, '-inf', now, 'LIMIT', 0, 100)
for _, id in ipairs(expired) do
  local row = base .. 'job:' .. id
  redis.call('ZREM', active, id)
  local group = redis.call('HGET', row, 'group')
  if group then
    local in_flight = redis.call('HINCRBY', base .. 'gactive', group, -1)
    if in_flight <= 0 then
      redis.call('HDEL', base .. 'gactive', group)
    end
    redis.call('ZADD', base .. 'g:' .. group .. ':pending', 0, id)
    ring_again(group, in_flight)
  else
    redis.call('ZADD', pending, 0, id)
  end
  redis.call('HSET', row, 'state', 'pending')
end
return #expired
