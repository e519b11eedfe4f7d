-- queue_pause: pauses the whole queue; the host looks before each claim.
--
-- host     Admin  pause/2
--
-- KEYS[1]  meta  hash  emq:{q}:meta  the queue's settings
--
-- returns  1  -  the queue is paused

redis.call('HSET', KEYS[1], 'paused', 1)
return 1
