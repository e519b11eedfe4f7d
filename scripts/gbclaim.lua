-- gbclaim: takes all jobs of the lane whose turn it is that its ceiling allows.
--
-- host     Lanes  bclaim/3
--
-- reads    HGET emq:{q}:meta paused  a paused queue is answered :empty without a call
--
-- KEYS[1]  ring    list  emq:{q}:ring    the groups to be served, in turn
-- KEYS[2]  active  zset  emq:{q}:active  jobs under lease, by deadline in ms
--
-- ARGV[1]  base   the queue base  [queue base]
-- ARGV[2]  lease  how long the claims hold, in ms
--
-- returns  [[id, payload, attempts, group], ...]  {:ok, [tuple, ...]}  claimed from one lane, all with one deadline
-- returns  []                                     :empty               no lane is served, or this one is empty or full

local ring, active = KEYS[1], KEYS[2]
local base, lease = ARGV[1], ARGV[2]

local group = redis.call('LMOVE', ring, ring, 'LEFT', 'RIGHT')
if not group then
  return {}
end
local lane = base .. 'g:' .. group .. ':pending'
local size = redis.call('ZCARD', lane)
if size == 0 then
  redis.call('LREM', ring, 0, group)
  return {}
end
local limit = tonumber(redis.call('HGET', base .. 'glimit', group))
if limit then
  local in_flight = tonumber(redis.call('HGET', base .. 'gactive', group)) or 0
  size = math.min(size, limit - in_flight)
end
if size <= 0 then
  redis.call('LREM', ring, 0, group)
  return {}
end

local time = redis.call('TIME')
local deadline = time[1] * 1000 + math.floor(time[2] / 1000) + lease
local claimed = {}
for n = 1, size do
  local popped = redis.call('ZPOPMIN', lane)
  local id = popped[1]
  local row = base .. 'job:' .. id
  local attempts = redis.call('HINCRBY', row, 'attempts', 1)
  redis.call('HSET', row, 'state', 'active')
  redis.call('ZADD', active, deadline, id)
  claimed[n] = { id, redis.call('HGET', row, 'payload'), attempts, group }
end

-- A lane that is full or empty leaves the ring until something rings for it.
local in_flight = redis.call('HINCRBY', base .. 'gactive', group, size)
if limit and in_flight >= limit then
  redis.call('LREM', ring, 0, group)
elseif redis.call('ZCARD', lane) == 0 then
  redis.call('LREM', ring, 0, group)
end
return claimed
