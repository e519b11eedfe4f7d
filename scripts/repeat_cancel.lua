-- repeat_cancel: forgets a registration.
--
-- host     Repeat  cancel/3
--
-- KEYS[1]  repeats  zset  emq:{q}:repeat         the registered names, by next run in ms of the host's clock
-- KEYS[2]  record   hash  emq:{q}:repeat:<name>  the interval and the payload
--
-- ARGV[1]  name  the registration's name, free text
--
-- returns  1  :cancelled  the name had a next run
-- returns  0  :absent     it had none

local repeats, record = KEYS[1], KEYS[2]

local removed = redis.call('ZREM', repeats, ARGV[1])
redis.call('DEL', record)
return removed
