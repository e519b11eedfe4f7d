-- schedule: admits a job that becomes due later.
--
-- host     Jobs  enqueue_at/5,6, enqueue_in/5,6
--
-- KEYS[1]  row       hash  emq:{q}:job:<id>  the job's row, which must not exist yet
-- KEYS[2]  schedule  zset  emq:{q}:schedule  jobs that are not due, by due time in ms
--
-- ARGV[1]  id       the job's branded id
-- ARGV[2]  payload  the job's bytes, opaque
-- ARGV[3]  mode     in: counted from the server's clock; at: a time of the caller's
-- ARGV[4]  ms       a delay in ms for in, Unix ms for at
--
-- returns  1  {:ok, :scheduled}  the job is admitted
-- returns  0  {:ok, :duplicate}  the row exists; nothing is changed
--
-- refuses  EMQKIND job id must be JOB-namespaced  {:error, :kind}  the id is of another kind

local row, schedule = KEYS[1], KEYS[2]
local id, payload, mode, due = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if string.sub(id, 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
if redis.call('EXISTS', row) == 1 then
  return 0
end
if mode == 'in' then
  local time = redis.call('TIME')
  due = time[1] * 1000 + math.floor(time[2] / 1000) + due
end
redis.call('HSET', row, 'state', 'scheduled', 'attempts', 0, 'payload', payload)
redis.call('ZADD', schedule, due, id)
return 1
