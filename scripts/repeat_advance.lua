-- repeat_advance: sets the next run of a registration that has just fired.
--
-- host     Repeat  advance/4
--
-- KEYS[1]  repeats  zset  emq:{q}:repeat         the registered names, by next run in ms of the host's clock
-- KEYS[2]  record   hash  emq:{q}:repeat:<name>  the interval and the payload
--
-- ARGV[1]  name  the registration's name, free text
-- ARGV[2]  next  the next run, Unix ms of the host's clock
--
-- returns  1  :advanced  the next run is set
-- returns  0  :absent    there is no record; the name is dropped

local repeats, record = KEYS[1], KEYS[2]
local name, next_run = ARGV[1], ARGV[2]

if redis.call('EXISTS', record) == 0 then
  redis.call('ZREM', repeats, name)
  return 0
end
redis.call('ZADD', repeats, next_run, name)
return 1
