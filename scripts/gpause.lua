-- gpause: parks a lane, its jobs untouched.
--
-- host     Lanes  pause/3
--
-- KEYS[1]  paused  set   emq:{q}:paused  the groups that are parked
-- KEYS[2]  ring    list  emq:{q}:ring    the groups to be served, in turn
--
-- ARGV[1]  group  the branded id that names the lane
--
-- returns  1  -  the lane is parked

local paused, ring = KEYS[1], KEYS[2]
local group = ARGV[1]

redis.call('SADD', paused, group)
redis.call('LREM', ring, 0, group)
return 1
