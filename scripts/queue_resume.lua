-- queue_resume: lets a paused queue be claimed from again.
--
-- host     Admin  resume/2
--
-- KEYS[1]  meta  hash  emq:{q}:meta  the queue's settings
--
-- returns  1  -  the queue is not paused

redis.call('HDEL', KEYS[1], 'paused')
return 1
