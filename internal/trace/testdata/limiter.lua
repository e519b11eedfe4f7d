-- A rate limiter: the clock, arithmetic, several ways to the same key.
redis.replicate_commands()
local key = KEYS[1]
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
local window = tonumber(ARGV[1])
local slot = math.floor(ms / window)
local current = key .. ':' .. slot
local previous = table.concat({ key, slot - 1 }, ':')
local counts = redis.call('MGET', current, previous)
local n = tonumber(counts[1]) or 0
if n >= tonumber(ARGV[2]) then
  local ttl = redis.call('PTTL', current)
  return { 0, ttl }
end
local ok, err = pcall(function()
  redis.call('INCR', current)
  redis.call('PEXPIRE', current, window * 2)
end)
if not ok then redis.call('DEL', current) end
local b = string.sub(KEYS[2], 1, -5)
redis.call('ZUNIONSTORE', KEYS[2], 2, b .. 'one', b .. 'two', 'WEIGHTS', 1, 2)
redis.call('XREADGROUP', 'GROUP', 'g', 'c', 'COUNT', 1, 'STREAMS', KEYS[3], '>')
local sort = { KEYS[2], 'BY', 'nosort', 'STORE', KEYS[2] .. ':sorted' }
redis.call('SORT', unpack(sort))
return { 1, n }
