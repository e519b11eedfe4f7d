-- claim: takes the oldest job of the flat queue under a lease.
--
-- host     Jobs  claim/3
--
-- reads    HGET emq:{q}:meta paused  a paused queue is answered :empty without a call
--
-- KEYS[1]  pending  zset  emq:{q}:pending  the flat queue
-- KEYS[2]  active   zset  emq:{q}:active   jobs under lease, by deadline in ms
--
-- ARGV[1]  jobs   the job base  [job base]
-- ARGV[2]  lease  how long the claim holds, in ms
--
-- returns  [id, payload, attempts]  {:ok, {id, payload, attempts}}  claimed; attempts is the token
-- returns  []                       :empty                          nothing is pending

local pending, active = KEYS[1], KEYS[2]
local jobs, lease = ARGV[1], ARGV[2]

local popped = redis.call('ZPOPMIN', pending)
local id = popped[1]
if not id then
  return {}
end
local row = jobs .. id
local attempts = redis.call('HINCRBY', row, 'attempts', 1)
redis.call('HSET', row, 'state', 'active')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', active, now + lease, id)
return { id, redis.call('HGET', row, 'payload'), attempts }
