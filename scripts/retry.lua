-- retry: schedules a failed job again or, at its last attempt, buries it and tells its flow.
--
-- host     Jobs   retry/7
-- forms    plain  same-queue-child  cross-queue-child
--
-- reads    HMGET emq:{q}:job:<id> parent parent_queue parent_policy  tells which form to call
--
-- KEYS[1]  active        zset    emq:{q}:active                     jobs under lease, by deadline in ms
-- KEYS[2]  schedule      zset    emq:{q}:schedule                   jobs that are not due, by due time in ms
-- KEYS[3]  dead          zset    emq:{q}:dead                       jobs that failed for good
-- KEYS[4]  row           hash    emq:{q}:job:<id>                   the job's row
-- KEYS[5]  failed        hash    emq:{q}:job:<parent>:failed        failures that fail the parent  [same-queue-child]
-- KEYS[5]  outbox        list    emq:{q}:flow:outbox                reports to parents in other queues  [cross-queue-child]
-- KEYS[6]  unsuccessful  hash    emq:{q}:job:<parent>:unsuccessful  failures that the parent ignores  [same-queue-child]
-- KEYS[7]  dependencies  string  emq:{q}:job:<parent>:dependencies  the children that the parent waits for  [same-queue-child]
-- KEYS[8]  parent_row    hash    emq:{q}:job:<parent>               the parent's row  [same-queue-child]
--
-- ARGV[1]  id            the job's branded id
-- ARGV[2]  token         the holder's fencing token: the attempts its claim returned
-- ARGV[3]  delay         how long until the next attempt, in ms
-- ARGV[4]  max_attempts  how many attempts the job has
-- ARGV[5]  error         what went wrong, text
-- ARGV[6]  base          the queue base  [queue base]
-- ARGV[7]  arm           sq:fp fails the parent, sq:id counts as done  [same-queue-child]
-- ARGV[7]  arm           xq:fp and xq:id, the same by way of the outbox  [cross-queue-child]
-- ARGV[8]  parent        the parent's branded id  [same-queue-child]
-- ARGV[8]  parent_queue  the name of the parent's queue  [cross-queue-child]
-- ARGV[9]  parent        the parent's branded id  [cross-queue-child]
--
-- returns  scheduled  {:ok, :scheduled}  another attempt is scheduled
-- returns  dead       {:ok, :dead}       that was the last attempt
--
-- refuses  EMQSTALE job gone              {:error, :stale}  the row has no attempts
-- refuses  EMQSTALE retry token mismatch  {:error, :stale}  somebody else has claimed it since

local active, schedule, dead, row = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, token, delay, max_attempts = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local failure, base, arm = ARGV[5], ARGV[6], ARGV[7]

local function ring_again(group, in_flight)
  local lane = base .. 'g:' .. group .. ':pending'
  if redis.call('SISMEMBER', base .. 'paused', group) == 1 then
    return
  end
  if redis.call('ZCARD', lane) == 0 then
    return
  end
  local limit = tonumber(redis.call('HGET', base .. 'glimit', group))
  if limit and in_flight >= limit then
    return
  end
  if redis.call('LPOS', base .. 'ring', group) then
    return
  end
  redis.call('RPUSH', base .. 'ring', group)
  redis.call('LPUSH', base .. 'wake', 1)
  redis.call('LTRIM', base .. 'wake', 0, 63)
end

local function leave(group, was_active)
  if was_active then
    if group then
      local in_flight = redis.call('HINCRBY', base .. 'gactive', group, -1)
      if in_flight <= 0 then
        redis.call('HDEL', base .. 'gactive', group)
      end
      ring_again(group, in_flight)
    end
  elseif group then
    local lane = base .. 'g:' .. group .. ':pending'
    redis.call('ZREM', lane, id)
    if redis.call('ZCARD', lane) == 0 then
      redis.call('LREM', base .. 'ring', 0, group)
    end
  else
    redis.call('ZREM', base .. 'pending', id)
  end
end

local attempts = redis.call('HGET', row, 'attempts')
if not attempts then
  return redis.error_reply('EMQSTALE job gone')
end
if attempts ~= token then
  return redis.error_reply('EMQSTALE retry token mismatch')
end
local group = redis.call('HGET', row, 'group')
leave(group, redis.call('ZREM', active, id) == 1)
redis.call('HSET', row, 'last_error', failure)

if tonumber(attempts) < max_attempts then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('HSET', row, 'state', 'scheduled')
  redis.call('ZADD', schedule, now + delay, id)
  return 'scheduled'
end

redis.call('HSET', row, 'state', 'dead')
redis.call('ZADD', dead, 0, id)
redis.call('HINCRBY', base .. 'metrics:failed', 'count', 1)
if arm == 'sq:fp' then
  redis.call('HSET', KEYS[5], id, failure)
  redis.call('HSET', KEYS[8], 'state', 'dead')
  redis.call('ZADD', base .. 'dead', 0, ARGV[8])
  redis.call('ZREM', base .. 'pending', ARGV[8])
elseif arm == 'sq:id' then
  redis.call('HSET', KEYS[6], id, failure)
  if redis.call('DECR', KEYS[7]) <= 0 then
    redis.call('ZADD', base .. 'pending', 0, ARGV[8])
    redis.call('HSET', KEYS[8], 'state', 'pending')
  end
elseif arm == 'xq:fp' or arm == 'xq:id' then
  -- The empty first field tells a failure from a completion.
  local report = { '', 'fail', ARGV[8], ARGV[9], id, string.sub(arm, 4), failure }
  redis.call('RPUSH', KEYS[5], table.concat(report, '\0'))
end
return 'dead'
