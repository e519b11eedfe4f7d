-- flow_deliver: brings a parent the result of a child from another queue, once.
--
-- host     Pump  deliver_flow_completions/3
--
-- reads    LRANGE emq:{<child_queue>}:flow:outbox 0 <last>  the reports to deliver, in order
--
-- KEYS[1]  dependencies  string  emq:{q}:job:<parent>:dependencies  the children that the parent waits for
-- KEYS[2]  processed     hash    emq:{q}:job:<parent>:processed     the results of the parent's children
-- KEYS[3]  parent_row    hash    emq:{q}:job:<parent>               the parent's row
--
-- ARGV[1]  child   the child's branded id
-- ARGV[2]  result  the child's result, or its id when it has none
-- ARGV[3]  parent  the parent's branded id
-- ARGV[4]  base    the base of the parent's queue  [queue base]
--
-- returns  1  -  the parent has the result, now or since an earlier delivery

local dependencies, processed, parent_row = KEYS[1], KEYS[2], KEYS[3]
local child, result, parent, base = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if redis.call('HSETNX', processed, child, result) == 1 then
  if redis.call('DECR', dependencies) <= 0 then
    redis.call('ZADD', base .. 'pending', 0, parent)
    redis.call('HSET', parent_row, 'state', 'pending')
  end
end
return 1
