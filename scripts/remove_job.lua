-- remove_job: deletes a job that nobody holds, with its log and its idempotency key.
--
-- host     Jobs  remove_job/3,4
--
-- KEYS[1]  row       hash    emq:{q}:job:<id>  the job's row
-- KEYS[2]  pending   zset    emq:{q}:pending   the flat queue
-- KEYS[3]  active    zset    emq:{q}:active    jobs under lease, by deadline in ms
-- KEYS[4]  schedule  zset    emq:{q}:schedule  jobs that are not due, by due time in ms
-- KEYS[5]  dead      zset    emq:{q}:dead      jobs that failed for good
-- KEYS[6]  dedup     string  emq:{q}:de:<did>  the id parked under the key; emq:{q}:de: without one
--
-- ARGV[1]  id   the job's branded id
-- ARGV[2]  did  the idempotency key, or the empty string
--
-- returns  1   :ok              the job is deleted
-- returns  -1  {:error, :gone}  there is no row
--
-- refuses  EMQLOCK job is locked  {:error, :locked}  a worker holds the job

local row, pending, active, schedule, dead, dedup = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local id, did = ARGV[1], ARGV[2]

if redis.call('EXISTS', row) == 0 then
  return -1
end
-- A lock is a key of its own or, where hash fields can expire, a field.
if redis.call('EXISTS', row .. ':lock') == 1 or redis.call('HEXISTS', row, 'lock') == 1 then
  return redis.error_reply('EMQLOCK job is locked')
end
redis.call('ZREM', pending, id)
redis.call('ZREM', active, id)
redis.call('ZREM', schedule, id)
redis.call('ZREM', dead, id)
-- The idempotency key may have been parked for a later job by now.
if did ~= '' and redis.call('GET', dedup) == id then
  redis.call('DEL', dedup)
end
redis.call('DEL', row, row .. ':logs')
return 1
