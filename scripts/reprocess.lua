-- reprocess: returns a dead job to the flat queue.
--
-- host     Jobs  reprocess_job/3
--
-- KEYS[1]  row      hash  emq:{q}:job:<id>  the job's row
-- KEYS[2]  dead     zset  emq:{q}:dead      jobs that failed for good
-- KEYS[3]  pending  zset  emq:{q}:pending   the flat queue
--
-- ARGV[1]  id  the job's branded id
--
-- returns  1   :ok              the job is pending, its attempts as they were
-- returns  -1  {:error, :gone}  there is no row
--
-- refuses  EMQSTATE not dead  {:error, :not_dead}  the job is not among the dead

local row, dead, pending = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]

if redis.call('EXISTS', row) == 0 then
  return -1
end
if redis.call('ZREM', dead, id) ~= 1 then
  -- Nothing was removed, so nothing is written: emqctl:allow write-before-refusal
  return redis.error_reply('EMQSTATE not dead')
end
redis.call('HDEL', row, 'last_error')
redis.call('HSET', row, 'state', 'pending')
redis.call('ZADD', pending, 0, id)
return 1
