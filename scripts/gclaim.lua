-- gclaim: takes the oldest job of the lane whose turn it is under a lease.
--
-- host     Lanes  claim/3
--
-- reads    HGET emq:{q}:meta paused  a paused queue is answered :empty without a call
--
-- KEYS[1]  ring    list  emq:{q}:ring    the groups to be served, in turn
-- KEYS[2]  active  zset  emq:{q}:active  jobs under lease, by deadline in ms
--
-- ARGV[1]  base   the queue base  [queue base]
-- ARGV[2]  lease  how long the claim holds, in ms
--
-- returns  [id, payload, attempts, group]  {:ok, {id, payload, attempts, group}}  claimed; attempts is the token
-- returns  []                              :empty                                 no lane is served, or this one is empty

local ring, active = KEYS[1], KEYS[2]
local base, lease = ARGV[1], ARGV[2]

local group = redis.call('LMOVE', ring, ring, 'LEFT', 'RIGHT')
if not group then
  return {}
end
local lane = base .. 'g:' .. group .. ':pending'
local popped = redis.call('ZPOPMIN', lane)
local id = popped[1]
if not id then
  redis.call('LREM', ring, 0, group)
  return {}
end
local row = base .. 'job:' .. id
local attempts = redis.call('HINCRBY', row, 'attempts', 1)
redis.call('HSET', row, 'state', 'active')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', active, now + lease, id)

-- A lane that is full or empty leaves the ring until something rings for it.
local in_flight = redis.call('HINCRBY', base .. 'gactive', group, 1)
local limit = tonumber(redis.call('HGET', base .. 'glimit', group))
if limit and in_flight >= limit then
  redis.call('LREM', ring, 0, group)
elseif redis.call('ZCARD', lane) == 0 then
  redis.call('LREM', ring, 0, group)
end
return { id, redis.call('HGET', row, 'payload'), attempts, group }
