-- complete: settles a finished job and, for a child of a flow, reports it to the parent.
--
-- host     Jobs   complete/4,5
-- forms    plain  same-queue-child  cross-queue-child
--
-- reads    HMGET emq:{q}:job:<id> parent parent_queue  tells which form to call
--
-- KEYS[1]  active        zset    emq:{q}:active                     jobs under lease, by deadline in ms
-- KEYS[2]  row           hash    emq:{q}:job:<id>                   the job's row
-- KEYS[3]  dependencies  string  emq:{q}:job:<parent>:dependencies  the children that the parent waits for  [same-queue-child]
-- KEYS[3]  outbox        list    emq:{q}:flow:outbox                reports to parents in other queues  [cross-queue-child]
-- KEYS[4]  processed     hash    emq:{q}:job:<parent>:processed     the results of the parent's children  [same-queue-child]
-- KEYS[5]  parent_row    hash    emq:{q}:job:<parent>               the parent's row  [same-queue-child]
--
-- ARGV[1]  id            the job's branded id
-- ARGV[2]  token         the holder's fencing token: the attempts its claim returned
-- ARGV[3]  base          the queue base  [queue base]
-- ARGV[4]  parent        the parent's branded id  [same-queue-child, cross-queue-child]
-- ARGV[5]  result        the job's result, or its id when it has none  [same-queue-child, cross-queue-child]
-- ARGV[6]  arm           xq: the parent is in another queue  [cross-queue-child]
-- ARGV[7]  parent_queue  the name of the parent's queue  [cross-queue-child]
--
-- returns  1  :ok              the job is done and its row deleted
-- returns  0  {:error, :gone}  the row has no attempts
--
-- refuses  EMQSTALE complete token mismatch  {:error, :stale}  somebody else has claimed it since

local active, row = KEYS[1], KEYS[2]
local id, token, base = ARGV[1], ARGV[2], ARGV[3]

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
  return 0
end
if attempts ~= token then
  return redis.error_reply('EMQSTALE complete token mismatch')
end
local group = redis.call('HGET', row, 'group')
local was_active = redis.call('ZREM', active, id) == 1
leave(group, was_active)

-- A job that a reaper had taken back may be completed twice; the parent hears
-- of it once, from the holder that was still active.
if ARGV[6] == 'xq' then
  if was_active then
    local report = { ARGV[7], ARGV[4], id, ARGV[5] }
    redis.call('RPUSH', KEYS[3], table.concat(report, '\0'))
  end
elseif KEYS[3] and was_active then
  local outstanding = redis.call('DECR', KEYS[3])
  redis.call('HSET', KEYS[4], id, ARGV[5])
  if outstanding <= 0 then
    redis.call('ZADD', base .. 'pending', 0, ARGV[4])
    redis.call('HSET', KEYS[5], 'state', 'pending')
  end
end
redis.call('DEL', row)
redis.call('HINCRBY', base .. 'metrics:completed', 'count', 1)
return 1
