-- Deletes everything under a prefix, a chunk at a time.
local rcall, maxCount = redis.call, tonumber(ARGV[1])
local base = KEYS[1]

local function batches(n, size)
  local i = 0
  return function()
    local from = i * size + 1
    i = i + 1
    if from <= n then return from, math.min(from + size - 1, n) end
  end
end

local function members(key)
  local t = rcall('TYPE', key).ok
  if t == 'list' then
    return rcall('LRANGE', key, 0, maxCount - 1), 'LTRIM'
  elseif t == 'zset' then
    return rcall('ZRANGE', key, 0, maxCount - 1), 'ZREMRANGEBYRANK'
  end
  return {}, nil
end

for _, name in ipairs({ 'wait', 'active', 'delayed' }) do
  local key = base .. ':' .. name
  local ids = members(key)
  local doomed = {}
  for i, id in ipairs(ids) do
    table.insert(doomed, base .. ':' .. id)
    doomed[#doomed + 1] = base .. ':' .. id .. ':logs'
  end
  for from, to in batches(#doomed, 3) do
    rcall('DEL', unpack(doomed, from, to))
  end
  rcall('DEL', key)
end
local cursor = '0'
repeat
  local page = rcall('SCAN', cursor, 'MATCH', base .. ':*')
  cursor = page[1]
  for _, k in ipairs(page[2]) do rcall('UNLINK', k) end
until cursor == '0'
return 1
