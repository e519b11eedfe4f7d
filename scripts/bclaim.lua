-- bclaim: takes up to a batch of the oldest jobs of the flat queue under one lease.
--
-- host     Jobs  claim_batch/4
--
-- reads    HGET emq:{q}:meta paused  a paused queue is answered :empty without a call
--
-- KEYS[1]  pending  zset  emq:{q}:pending  the flat queue
-- KEYS[2]  active   zset  emq:{q}:active   jobs under lease, by deadline in ms
--
-- ARGV[1]  jobs   the job base  [job base]
-- ARGV[2]  lease  how long the claims hold, in ms
-- ARGV[3]  size   how many jobs at most
--
-- returns  [[id, payload, attempts], ...]  {:ok, [tuple, ...]}  claimed, all with one deadline
-- returns  []                              :empty               nothing is pending

local pending, active = KEYS[1], KEYS[2]
local jobs, lease, size = ARGV[1], ARGV[2], tonumber(ARGV[3])

local depth = redis.call('ZCARD', pending)
if depth == 0 then
  return {}
end
local time = redis.call('TIME')
local deadline = time[1] * 1000 + math.floor(time[2] / 1000) + lease
local claimed = {}
for n = 1, math.min(size, depth) do
  local popped = redis.call('ZPOPMIN', pending)
  local id = popped[1]
  if not id then
    break
  end
  local row = jobs .. id
  local attempts = redis.call('HINCRBY', row, 'attempts', 1)
  redis.call('HSET', row, 'state', 'active')
  redis.call('ZADD', active, deadline, id)
  claimed[n] = { id, redis.call('HGET', row, 'payload'), attempts }
end
return claimed
