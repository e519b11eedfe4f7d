-- repeat_register: registers a job to be enqueued at intervals, once for each name.
--
-- host     Repeat  register/5,6
--
-- KEYS[1]  repeats  zset  emq:{q}:repeat         the registered names, by next run in ms of the host's clock
-- KEYS[2]  record   hash  emq:{q}:repeat:<name>  the interval and the payload
--
-- ARGV[1]  name      the registration's name, free text
-- ARGV[2]  every     the interval, in ms
-- ARGV[3]  template  the payload of each job, opaque
-- ARGV[4]  first     the first run, Unix ms of the host's clock
--
-- returns  1  :registered  the name is registered
-- returns  0  :exists      it was before; nothing is changed

local repeats, record = KEYS[1], KEYS[2]
local name, every, template, first = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if redis.call('EXISTS', record) == 1 then
  return 0
end
redis.call('HSET', record, 'every_ms', every, 'template', template)
redis.call('ZADD', repeats, first, name)
return 1
