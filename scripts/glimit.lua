-- glimit: sets how many jobs of a lane may be in flight.
--
-- host     Lanes  limit/4
--
-- KEYS[1]  glimit   hash  emq:{q}:glimit   the ceiling of each group
-- KEYS[2]  gactive  hash  emq:{q}:gactive  the jobs in flight of each group
-- KEYS[3]  ring     list  emq:{q}:ring     the groups to be served, in turn
-- KEYS[4]  paused   set   emq:{q}:paused   the groups that are parked
-- KEYS[5]  wake     list  emq:{q}:wake     tokens that wake a waiting consumer
--
-- ARGV[1]  base   the queue base  [queue base]
-- ARGV[2]  group  the branded id that names the lane
-- ARGV[3]  limit  the ceiling, a whole number from 1
--
-- returns  1  -  the ceiling is set

local glimit, gactive, ring, paused, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local base, group, limit = ARGV[1], ARGV[2], ARGV[3]

redis.call('HSET', glimit, group, limit)
local in_flight = tonumber(redis.call('HGET', gactive, group)) or 0
if in_flight >= tonumber(limit) then
  redis.call('LREM', ring, 0, group)
  return 1
end
if redis.call('SISMEMBER', paused, group) == 1 then
  return 1
end
if redis.call('ZCARD', base .. 'g:' .. group .. ':pending') == 0 then
  return 1
end
if not redis.call('LPOS', ring, group) then
  redis.call('RPUSH', ring, group)
  redis.call('LPUSH', wake, 1)
  redis.call('LTRIM', wake, 0, 63)
end
return 1
