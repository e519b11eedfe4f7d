-- greassign: moves a waiting job from its lane to another.
--
-- host     Lanes  reassign/4
--
-- KEYS[1]  row      hash  emq:{q}:job:<id>           the job's row
-- KEYS[2]  lane     zset  emq:{q}:g:<group>:pending  the jobs of the new group
-- KEYS[3]  ring     list  emq:{q}:ring               the groups to be served, in turn
-- KEYS[4]  paused   set   emq:{q}:paused             the groups that are parked
-- KEYS[5]  glimit   hash  emq:{q}:glimit             the ceiling of each group
-- KEYS[6]  gactive  hash  emq:{q}:gactive            the jobs in flight of each group
-- KEYS[7]  wake     list  emq:{q}:wake               tokens that wake a waiting consumer
--
-- ARGV[1]  id     the job's branded id
-- ARGV[2]  group  the branded id that names the new lane
-- ARGV[3]  base   the queue base  [queue base]
--
-- returns  1   {:ok, :reassigned}      the job is in the new lane
-- returns  0   {:ok, :noop}            it was there already
-- returns  -1  {:error, :not_found}    there is no row, or it has no group
-- returns  -2  {:error, :not_pending}  the job does not wait in its lane

local row, lane, ring, paused = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local glimit, gactive, wake = KEYS[5], KEYS[6], KEYS[7]
local id, group, base = ARGV[1], ARGV[2], ARGV[3]

local function ring_again()
  if redis.call('SISMEMBER', paused, group) == 1 then
    return
  end
  local limit = tonumber(redis.call('HGET', glimit, group))
  local in_flight = tonumber(redis.call('HGET', gactive, group)) or 0
  if limit and in_flight >= limit then
    return
  end
  if redis.call('LPOS', ring, group) then
    return
  end
  redis.call('RPUSH', ring, group)
  redis.call('LPUSH', wake, 1)
  redis.call('LTRIM', wake, 0, 63)
end

local old_group = redis.call('HGET', row, 'group')
if not old_group then
  return -1
end
if old_group == group then
  return 0
end
local old_lane = base .. 'g:' .. old_group .. ':pending'
if redis.call('ZREM', old_lane, id) == 0 then
  return -2
end
redis.call('ZADD', lane, 0, id)
redis.call('HSET', row, 'group', group)
ring_again()
if redis.call('ZCARD', old_lane) == 0 then
  redis.call('LREM', ring, 0, old_group)
end
return 1
