-- lane_counts: counts the waiting jobs of each lane asked for.
--
-- host     Metrics  lane_depths/3
--
-- KEYS[1]  route  base  emq:{q}:
--
-- ARGV[1]  base   the queue base, again  [queue base]
-- ARGV[2]  group  the branded id that names a lane  [repeated]
--
-- returns  [n, ...]  -  the lanes in the order asked for

local base = ARGV[1]

local depths = {}
for i = 2, #ARGV do
  depths[#depths + 1] = redis.call('ZCARD', base .. 'g:' .. ARGV[i] .. ':pending')
end
return depths
