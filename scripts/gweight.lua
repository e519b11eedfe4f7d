-- gweight: sets how many jobs a lane may give in one turn.
--
-- host     Lanes  weight/4
--
-- KEYS[1]  gweight  hash  emq:{q}:gweight  the weight of each group
--
-- ARGV[1]  group   the branded id that names the lane
-- ARGV[2]  weight  a whole number from 1
--
-- returns  1  :ok  the weight is set

redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
