-- gdrain: deletes the waiting jobs of one lane.
--
-- host     Lanes  drain/3
--
-- KEYS[1]  base  base  emq:{q}:
-- KEYS[2]  lane  zset  emq:{q}:g:<group>:pending  the group's jobs
-- KEYS[3]  ring  list  emq:{q}:ring               the groups to be served, in turn
--
-- ARGV[1]  group  the branded id that names the lane
--
-- returns  n  -  how many jobs were deleted

local base, lane, ring = KEYS[1], KEYS[2], KEYS[3]
local group = ARGV[1]

local ids = redis.call('ZRANGE', lane, 0, -1)
for _, id in ipairs(ids) do
  local row = base .. 'job:' .. id
  redis.call('DEL', row, row .. ':logs')
end
redis.call('DEL', lane)
redis.call('LREM', ring, 0, group)
return #ids
