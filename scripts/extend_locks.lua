-- extend_locks: renews the leases of many jobs to one deadline.
--
-- host     Jobs  extend_locks/4
--
-- KEYS[1]  active  zset  emq:{q}:active  jobs under lease, by deadline in ms
--
-- ARGV[1]  base   the queue base  [queue base]
-- ARGV[2]  lease  how long the claims hold from now, in ms
-- ARGV[3]  id     a job's branded id  [repeated]
-- ARGV[4]  token  the token of its holder  [repeated]
--
-- returns  [id, ...]  -  the jobs whose lease was not renewed: gone, or claimed by another

local active = KEYS[1]
local base, lease = ARGV[1], ARGV[2]

local time = redis.call('TIME')
local deadline = time[1] * 1000 + math.floor(time[2] / 1000) + lease
local lost = {}
for i = 3, #ARGV, 2 do
  local id, token = ARGV[i], ARGV[i + 1]
  if redis.call('HGET', base .. 'job:' .. id, 'attempts') == token then
    redis.call('ZADD', active, deadline, id)
  else
    lost[#lost + 1] = id
  end
end
return lost
