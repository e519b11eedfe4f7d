-- obliterate: deletes a paused queue, a budget of jobs at a time.
--
-- host     Admin  obliterate/2,3
--
-- KEYS[1]  meta  hash  emq:{q}:meta  the queue's settings
-- KEYS[2]  base  base  emq:{q}:
--
-- ARGV[1]  force   force deletes active jobs too; the empty string does not
-- ARGV[2]  budget  how many jobs to delete in this call
--
-- returns  0  :ok    the queue is deleted
-- returns  1  :more  the budget is spent; call again
--
-- refuses  EMQSTATE not paused           {:error, :not_paused}  the queue must be paused first
-- refuses  EMQSTATE active jobs present  {:error, :active}      jobs are under lease, and force is not set

local meta, base = KEYS[1], KEYS[2]
local force, budget = ARGV[1] == 'force', tonumber(ARGV[2])

local function peek(set)
  return redis.call('ZRANGE', set, 0, budget - 1)
end

-- Tells whether the set had the last jobs that the budget pays for.
local function erase(set, ids)
  if #ids == 0 then
    return false
  end
  for _, id in ipairs(ids) do
    local row = base .. 'job:' .. id
    redis.call('DEL', row, row .. ':logs', row .. ':lock')
  end
  redis.call('ZREM', set, unpack(ids))
  budget = budget - #ids
  return budget <= 0
end

local function wipe(set)
  return erase(set, peek(set))
end

if not redis.call('HGET', meta, 'paused') then
  return redis.error_reply('EMQSTATE not paused')
end
local active = base .. 'active'
local leased = peek(active)
if #leased > 0 and not force then
  return redis.error_reply('EMQSTATE active jobs present')
end
if erase(active, leased) then
  return 1
end

if wipe(base .. 'pending') or wipe(base .. 'schedule') or wipe(base .. 'dead') then
  return 1
end

-- A parked group is not in the ring, and one that is served is not parked;
-- a lane at its ceiling is in neither and stays.
local groups = redis.call('LRANGE', base .. 'ring', 0, -1)
for _, group in ipairs(redis.call('SMEMBERS', base .. 'paused')) do
  groups[#groups + 1] = group
end
local seen = {}
for _, group in ipairs(groups) do
  if not seen[group] then
    seen[group] = true
    local lane = base .. 'g:' .. group .. ':pending'
    local spent = wipe(lane)
    if redis.call('ZCARD', lane) > 0 then
      return 1
    end
    redis.call('DEL', lane)
    if spent then
      return 1
    end
  end
end

for _, name in ipairs(redis.call('ZRANGE', base .. 'repeat', 0, -1)) do
  redis.call('DEL', base .. 'repeat:' .. name)
end
redis.call('DEL',
  base .. 'metrics:completed', base .. 'metrics:completed:data',
  base .. 'metrics:failed', base .. 'metrics:failed:data',
  base .. 'gactive', base .. 'glimit', base .. 'ring', base .. 'wake',
  base .. 'paused', base .. 'repeat', base .. 'limiter', meta)
return 0
