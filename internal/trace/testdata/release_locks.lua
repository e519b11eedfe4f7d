-- KEYS: the locks; ARGV[1] token
local function each(f, ...)
  local n = 0
  for i, key in ipairs({ ... }) do
    if f(key) then n = n + 1 end
  end
  return n
end
local mine = function(key) return redis.pcall('get', key) == ARGV[1] end
local free = each(mine, unpack(KEYS))
if free < #KEYS then
  return redis.error_reply('LOCKED ' .. free)
end
for i = 2, #KEYS do
  redis.call('pexpire', KEYS[i], 10)
  redis.call('rename', KEYS[i], KEYS[i] .. ':old')
end
redis.call('del', unpack(KEYS))
return free
