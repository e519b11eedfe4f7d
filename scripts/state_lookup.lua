-- state_lookup: names the state of a job by the set that holds it.
--
-- host     Metrics  get_job_state/3
--
-- KEYS[1]  pending   zset  emq:{q}:pending   the flat queue
-- KEYS[2]  active    zset  emq:{q}:active    jobs under lease, by deadline in ms
-- KEYS[3]  schedule  zset  emq:{q}:schedule  jobs that are not due, by due time in ms
-- KEYS[4]  dead      zset  emq:{q}:dead      jobs that failed for good
-- KEYS[5]  row       hash  emq:{q}:job:<id>  the job's row
--
-- ARGV[1]  id  the job's branded id
--
-- returns  pending            -  in the flat queue
-- returns  active             -  under lease
-- returns  scheduled          -  not due
-- returns  dead               -  failed for good
-- returns  awaiting_children  -  in no set: a parent that is held
-- returns  unknown            -  in no set, with a row: waiting in a lane, for one
-- returns  absent             -  in no set, and the row has no state

local pending, active, schedule, dead, row = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id = ARGV[1]

if redis.call('ZSCORE', pending, id) then
  return 'pending'
end
if redis.call('ZSCORE', active, id) then
  return 'active'
end
if redis.call('ZSCORE', schedule, id) then
  return 'scheduled'
end
if redis.call('ZSCORE', dead, id) then
  return 'dead'
end
local state = redis.call('HGET', row, 'state')
if not state then
  return 'absent'
end
if state == 'awaiting_children' then
  return state
end
return 'unknown'
