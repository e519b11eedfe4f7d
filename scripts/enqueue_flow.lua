-- enqueue_flow: admits a parent and all its children, the parent held until they are done.
--
-- host     Flows  add/3
--
-- KEYS[1]  parent_row    hash    emq:{q}:job:<parent>               the parent's row, written whether or not it exists
-- KEYS[2]  dependencies  string  emq:{q}:job:<parent>:dependencies  the children that the parent waits for
-- KEYS[3]  pending       zset    emq:{q}:pending                    the flat queue
-- KEYS[4]  child_row     hash    emq:{q}:job:<child>                a child's row, written whether or not it exists  [repeated]
--
-- ARGV[1]  parent         the parent's branded id
-- ARGV[2]  payload        the parent's bytes, opaque
-- ARGV[3]  n              how many children follow
-- ARGV[4]  child          a child's branded id  [repeated]
-- ARGV[5]  child_payload  the child's bytes, opaque  [repeated]
--
-- returns  n  {:ok, {parent, [child, ...]}}  the flow is admitted, with n children
--
-- refuses  EMQKIND job id must be JOB-namespaced  {:error, :kind}  the parent or a child is of another kind

local parent_row, dependencies, pending = KEYS[1], KEYS[2], KEYS[3]
local parent, payload, n = ARGV[1], ARGV[2], tonumber(ARGV[3])

-- All ids are judged before the first write.
if string.sub(parent, 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
for i = 1, n do
  if string.sub(ARGV[2 * i + 2], 1, 3) ~= 'JOB' then
    return redis.error_reply('EMQKIND job id must be JOB-namespaced')
  end
end
for i = 1, n do
  local child, child_payload = ARGV[2 * i + 2], ARGV[2 * i + 3]
  redis.call('HSET', KEYS[i + 3], 'state', 'pending', 'attempts', 0, 'payload', child_payload, 'parent', parent)
  redis.call('ZADD', pending, 0, child)
end
redis.call('HSET', parent_row, 'state', 'awaiting_children', 'attempts', 0, 'payload', payload)
redis.call('SET', dependencies, n)
return n
