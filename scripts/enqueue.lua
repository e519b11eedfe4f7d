-- enqueue: admits a job to the flat queue, once for each id.
--
-- host     Jobs  enqueue/4,5, enqueue_many/3,4
--
-- KEYS[1]  row      hash  emq:{q}:job:<id>  the job's row, which must not exist yet
-- KEYS[2]  pending  zset  emq:{q}:pending   the flat queue
--
-- ARGV[1]  id       the job's branded id
-- ARGV[2]  payload  the job's bytes, opaque
--
-- returns  1  {:ok, :enqueued}   the job is admitted
-- returns  0  {:ok, :duplicate}  the row exists; nothing is changed
--
-- refuses  EMQKIND job id must be JOB-namespaced  {:error, :kind}  the id is of another kind

local row, pending = KEYS[1], KEYS[2]
local id, payload = ARGV[1], ARGV[2]

-- The wire reads the three bytes of the namespace; the other eleven are the
-- host's to check.
if string.sub(id, 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
if redis.call('EXISTS', row) == 1 then
  return 0
end
redis.call('HSET', row, 'state', 'pending', 'attempts', 0, 'payload', payload)
-- Every score is 0, so members lie in byte order, which is mint order.
redis.call('ZADD', pending, 0, id)
return 1
