-- genqueue: admits a job to a lane, once for each id, and rings for the lane.
--
-- host     Lanes  enqueue/5
--
-- KEYS[1]  row      hash  emq:{q}:job:<id>           the job's row, which must not exist yet
-- KEYS[2]  lane     zset  emq:{q}:g:<group>:pending  the group's jobs
-- KEYS[3]  ring     list  emq:{q}:ring               the groups to be served, in turn
-- KEYS[4]  paused   set   emq:{q}:paused             the groups that are parked
-- KEYS[5]  glimit   hash  emq:{q}:glimit             the ceiling of each group
-- KEYS[6]  gactive  hash  emq:{q}:gactive            the jobs in flight of each group
-- KEYS[7]  wake     list  emq:{q}:wake               tokens that wake a waiting consumer
--
-- ARGV[1]  id       the job's branded id
-- ARGV[2]  payload  the job's bytes, opaque
-- ARGV[3]  group    the branded id that names the lane
--
-- returns  1  {:ok, :enqueued}   the job is admitted
-- returns  0  {:ok, :duplicate}  the row exists; nothing is changed
--
-- refuses  EMQKIND job id must be JOB-namespaced  {:error, :kind}  the id is of another kind

local row, lane, ring, paused = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local glimit, gactive, wake = KEYS[5], KEYS[6], KEYS[7]
local id, payload, group = ARGV[1], ARGV[2], ARGV[3]

if string.sub(id, 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
if redis.call('EXISTS', row) == 1 then
  return 0
end
redis.call('HSET', row, 'state', 'pending', 'attempts', 0, 'payload', payload, 'group', group)
redis.call('ZADD', lane, 0, id)
if redis.call('SISMEMBER', paused, group) == 1 then
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
