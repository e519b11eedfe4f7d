-- hold_parent: admits a parent that waits for children admitted one by one.
--
-- host     Flows  add/3
--
-- KEYS[1]  row           hash    emq:{q}:job:<id>               the parent's row, written whether or not it exists
-- KEYS[2]  dependencies  string  emq:{q}:job:<id>:dependencies  the children that the parent waits for
--
-- ARGV[1]  id       the parent's branded id
-- ARGV[2]  payload  the parent's bytes, opaque
-- ARGV[3]  n        how many children it has
--
-- returns  1  -  the parent is held
--
-- refuses  EMQKIND job id must be JOB-namespaced  {:error, :kind}  the id is of another kind

local row, dependencies = KEYS[1], KEYS[2]
local id, payload, n = ARGV[1], ARGV[2], ARGV[3]

if string.sub(id, 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
redis.call('HSET', row, 'state', 'awaiting_children', 'attempts', 0, 'payload', payload)
redis.call('SET', dependencies, n)
return 1
