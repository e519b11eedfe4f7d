-- drain: deletes the waiting jobs of the flat queue and, if asked, the scheduled ones.
--
-- host     Admin         drain/2,3
-- forms    pending-only  with-schedule
--
-- KEYS[1]  base      base  emq:{q}:
-- KEYS[2]  pending   zset  emq:{q}:pending   the flat queue
-- KEYS[3]  schedule  zset  emq:{q}:schedule  jobs that are not due, by due time in ms  [with-schedule]
--
-- returns  n  -  how many jobs were deleted

local base = KEYS[1]

local count = 0
for i = 2, #KEYS do
  local ids = redis.call('ZRANGE', KEYS[i], 0, -1)
  for _, id in ipairs(ids) do
    local row = base .. 'job:' .. id
    redis.call('DEL', row, row .. ':logs')
  end
  redis.call('DEL', KEYS[i])
  count = count + #ids
end
return count
