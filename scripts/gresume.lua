-- gresume: unparks a lane and, where it has work and room, rings for it.
--
-- host     Lanes  resume/3
--
-- KEYS[1]  paused   set   emq:{q}:paused   the groups that are parked
-- KEYS[2]  ring     list  emq:{q}:ring     the groups to be served, in turn
-- KEYS[3]  glimit   hash  emq:{q}:glimit   the ceiling of each group
-- KEYS[4]  gactive  hash  emq:{q}:gactive  the jobs in flight of each group
-- KEYS[5]  wake     list  emq:{q}:wake     tokens that wake a waiting consumer
--
-- ARGV[1]  base   the queue base  [queue base]
-- ARGV[2]  group  the branded id that names the lane
--
-- returns  1  -  the lane is not parked

local paused, ring, glimit, gactive, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local base, group = ARGV[1], ARGV[2]

redis.call('SREM', paused, group)
if redis.call('ZCARD', base .. 'g:' .. group .. ':pending') == 0 then
  return 1
end
local limit = tonumber(redis.call('HGET', glimit, group))
local in_flight = tonumber(redis.call('HGET', gactive, group)) or 0
if limit and in_flight >= limit then
  return 1
end
if not redis.call('LPOS', ring, group) then
  redis.call('RPUSH', ring, group)
  redis.call('LPUSH', wake, 1)
  redis.call('LTRIM', wake, 0, 63)
end
return 1
