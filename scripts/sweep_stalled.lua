-- sweep_stalled: takes back the jobs whose lease has run out and buries those that lapsed too often.
--
-- host     Stalled  check/2,3
--
-- KEYS[1]  active   zset  emq:{q}:active   jobs under lease, by deadline in ms
-- KEYS[2]  pending  zset  emq:{q}:pending  the flat queue
-- KEYS[3]  dead     zset  emq:{q}:dead     jobs that failed for good
--
-- ARGV[1]  base         the queue base  [queue base]
-- ARGV[2]  max_stalled  the lapse that is fatal, counted from 1
-- ARGV[3]  limit        how many jobs at most
--
-- returns  [[id, ...], [id, ...]]  -  the jobs taken back, and those buried

local active, pending, dead = KEYS[1], KEYS[2], KEYS[3]
local base, max_stalled, limit = ARGV[1], tonumber(ARGV[2]), ARGV[3]

local function ring_again(group)
  if redis.call('SISMEMBER', base .. 'paused', group) == 1 then
    return
  end
  local ceiling = tonumber(redis.call('HGET', base .. 'glimit', group))
  local in_flight = tonumber(redis.call('HGET', base .. 'gactive', group)) or 0
  if ceiling and in_flight >= ceiling then
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
local expired = redis.call('ZRANGEBYSCORE', active, '-inf', now, 'LIMIT', 0, limit)
local recovered, buried = {}, {}
for _, id in ipairs(expired) do
  local row = base .. 'job:' .. id
  redis.call('ZREM', active, id)
  local group = redis.call('HGET', row, 'group')
  local stalled = redis.call('HINCRBY', row, 'stalled', 1)
  if group then
    local in_flight = redis.call('HINCRBY', base .. 'gactive', group, -1)
    if in_flight <= 0 then
      redis.call('HDEL', base .. 'gactive', group)
    end
  end
  if stalled >= max_stalled then
    redis.call('HSET', row, 'state', 'dead')
    redis.call('HSET', row, 'last_error', 'stalled')
    redis.call('ZADD', dead, 0, id)
    redis.call('HINCRBY', base .. 'metrics:failed', 'count', 1)
    buried[#buried + 1] = id
  else
    if group then
      redis.call('ZADD', base .. 'g:' .. group .. ':pending', 0, id)
      ring_again(group)
    else
      redis.call('ZADD', pending, 0, id)
    end
    redis.call('HSET', row, 'state', 'pending')
    recovered[#recovered + 1] = id
  end
end
return { recovered, buried }
