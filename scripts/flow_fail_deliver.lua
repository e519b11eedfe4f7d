-- flow_fail_deliver: brings a parent the failure of a child from another queue, once.
--
-- host     Pump  deliver_flow_completions/3
--
-- reads    LRANGE emq:{<child_queue>}:flow:outbox 0 <last>  the reports to deliver, in order
-- reads    HGET emq:{q}:job:<parent> state                   a parent that dies of this is reported upward in its turn
--
-- KEYS[1]  dependencies  string  emq:{q}:job:<parent>:dependencies  the children that the parent waits for
-- KEYS[2]  failed        hash    emq:{q}:job:<parent>:failed        failures that fail the parent
-- KEYS[3]  unsuccessful  hash    emq:{q}:job:<parent>:unsuccessful  failures that the parent ignores
-- KEYS[4]  parent_row    hash    emq:{q}:job:<parent>               the parent's row
--
-- ARGV[1]  child   the child's branded id
-- ARGV[2]  error   what went wrong, text
-- ARGV[3]  policy  fp fails the parent; anything else counts the child as done
-- ARGV[4]  base    the base of the parent's queue  [queue base]
-- ARGV[5]  parent  the parent's branded id
--
-- returns  1  -  the parent has the failure, now or since an earlier delivery

local dependencies, failed, unsuccessful, parent_row = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local child, failure, policy, base, parent = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

if policy == 'fp' then
  if redis.call('HSETNX', failed, child, failure) == 1 then
    redis.call('HSET', parent_row, 'state', 'dead')
    redis.call('ZADD', base .. 'dead', 0, parent)
    redis.call('ZREM', base .. 'pending', parent)
  end
elseif redis.call('HSETNX', unsuccessful, child, failure) == 1 then
  if redis.call('DECR', dependencies) <= 0 then
    redis.call('ZADD', base .. 'pending', 0, parent)
    redis.call('HSET', parent_row, 'state', 'pending')
  end
end
return 1
