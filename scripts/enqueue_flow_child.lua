-- enqueue_flow_child: admits one child of a flow to its own queue.
--
-- host     Flows  add/3
--
-- KEYS[1]  row      hash  emq:{q}:job:<id>  the child's row, written whether or not it exists
-- KEYS[2]  pending  zset  emq:{q}:pending   the flat queue
--
-- ARGV[1]  id            the child's branded id
-- ARGV[2]  payload       the child's bytes, opaque
-- ARGV[3]  parent        the parent's branded id
-- ARGV[4]  parent_queue  the name of the parent's queue, or the empty string when it is this one
--
-- returns  1  -  the child is admitted
--
-- refuses  EMQKIND job id must be JOB-namespaced  {:error, :kind}  the id is of another kind

local row, pending = KEYS[1], KEYS[2]
local id, payload, parent, parent_queue = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if string.sub(id, 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
redis.call('HSET', row, 'state', 'pending', 'attempts', 0, 'payload', payload, 'parent', parent)
if parent_queue ~= '' then
  redis.call('HSET', row, 'parent_queue', parent_queue)
end
redis.call('ZADD', pending, 0, id)
return 1
