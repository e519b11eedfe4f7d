-- Removes a row with all its children, which it finds in the store.
local rcall = redis.call
local remove
local function children(key)
  local out = rcall('SMEMBERS', key .. ':children')
  local extra = rcall('HGET', key, 'extra')
  if extra then table.insert(out, extra) end
  return out
end
remove = function(prefix, id, depth)
  local key = prefix .. id
  if depth > 5 then return 0 end
  local n = 0
  for _, child in ipairs(children(key)) do
    n = n + remove(prefix, child, depth + 1)
  end
  rcall('ZREM', KEYS[1], id)
  rcall('DEL', key, key .. ':children')
  return n + 1
end
return remove(ARGV[1], ARGV[2], 0)
