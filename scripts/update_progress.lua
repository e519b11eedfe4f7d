-- update_progress: records how far a job is and announces it to the queue's channel.
--
-- host     Jobs  update_progress/4
--
-- KEYS[1]  row  hash  emq:{q}:job:<id>  the job's row
--
-- ARGV[1]  progress  how far the job is, text
-- ARGV[2]  id        the job's branded id
-- ARGV[3]  base      the queue base, of which the channel is derived  [queue base]
--
-- returns  1   -                the progress is recorded and published
-- returns  -1  {:error, :gone}  there is no row

local row = KEYS[1]
local progress, id, base = ARGV[1], ARGV[2], ARGV[3]

if redis.call('EXISTS', row) == 0 then
  return -1
end
redis.call('HSET', row, 'progress', progress)
local event = { event = 'progress', job = id, progress = progress }
redis.call('PUBLISH', base .. 'events', cjson.encode(event))
return 1
