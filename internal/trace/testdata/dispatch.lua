-- Handlers in a table, chosen by an argument; string.format; and/or.
local M = { prefix = KEYS[1] }
function M.key(self, what, id)
  return string.format('%s:%s:%d', self.prefix, what, id)
end
function M:touch(id)
  redis.call('EXPIRE', self:key('job', id), 60)
  return self
end
local handlers = {}
handlers.push = function(id) return redis.call('LPUSH', KEYS[2] or 'fallback', id) end
handlers.drop = function(id)
  local first, second = redis.call('GET', KEYS[1]), nil
  second = first or ('none:' .. ARGV[3])
  redis.call('DEL', M:key('job', id), second)
  return 1
end
local h = handlers[ARGV[1]]
if not h then return redis.error_reply('ERR no such handler') end
M:touch(ARGV[2]):touch(7)
local r = h(ARGV[2])
local opt = (ARGV[4] and #ARGV[4] > 0) and ARGV[4] or nil
if opt then redis.call('SET', M.prefix:gsub('x', 'y') .. '', opt) end
return r
