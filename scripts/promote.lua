-- promote: moves the scheduled jobs that are due to where they are served from.
--
-- host     Jobs  promote/3
--
-- KEYS[1]  schedule  zset  emq:{q}:schedule  jobs that are not due, by due time in ms
-- KEYS[2]  pending   zset  emq:{q}:pending   the flat queue
--
-- ARGV[1]  base   the queue base  [queue base]
-- ARGV[2]  limit  how many jobs at most
--
-- returns  n  {:ok, n}  how many were moved

local schedule, pending = KEYS[1], KEYS[2]
local base, limit = ARGV[1], ARGV[2]

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
local due = redis.call('ZRANGEBYSCORE', schedule, '-inf', now, 'LIMIT', 0, limit)
for _, id in ipairs(due) do
  local row = base .. 'job:' .. id
  redis.call('ZREM', schedule, id)
  local group = redis.call('HGET', row, 'group')
  if group then
    redis.call('ZADD', base .. 'g:' .. group .. ':pending', 0, id)
    ring_again(group)
  else
    redis.call('ZADD', pending, 0, id)
  end
  redis.call('HSET', row, 'state', 'pending')
end
return #due
