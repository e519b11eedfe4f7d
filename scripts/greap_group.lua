-- greap_group: takes back the jobs of one lane whose lease has run out.
--
-- host     Lanes  reap_group/3,4
--
-- KEYS[1]  active  zset  emq:{q}:active  jobs under lease, by deadline in ms
-- KEYS[2]  base    base  emq:{q}:
--
-- ARGV[1]  group  the branded id that names the lane
-- ARGV[2]  limit  how many expired jobs to look at, those of other lanes included
--
-- returns  n  -  how many were taken back, their attempts as they were

local active, base = KEYS[1], KEYS[2]
local group, limit = ARGV[1], ARGV[2]
local lane = base .. 'g:' .. group .. ':pending'

local function ring_again(in_flight)
  if redis.call('SISMEMBER', base .. 'paused', group) == 1 then
    return
  end
  local ceiling = tonumber(redis.call('HGET', base .. 'glimit', group))
  if ceiling and in_flight >= ceiling then
    return
  end
  if redis.call('LPOS', base .. 'ring', group) then
    return
  end
  redis.call('RPUSH', base .. 'ring', group)
  redis.call('LPUSH', base .. 'wake', 1)
  redis.call('LTRIM', base .. 'wake', 0, 63)
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expired = redis.call('ZRANGEBYSCORE', active, '-inf', now, 'LIMIT', 0, limit)
local count = 0
for _, id in ipairs(expired) do
  local row = base .. 'job:' .. id
  if redis.call('HGET', row, 'group') == group then
    redis.call('ZREM', active, id)
    local in_flight = redis.call('HINCRBY', base .. 'gactive', group, -1)
    if in_flight <= 0 then
      redis.call('HDEL', base .. 'gactive', group)
    end
    redis.call('ZADD', lane, 0, id)
    ring_again(in_flight)
    redis.call('HSET', row, 'state', 'pending')
    count = count + 1
  end
end
return count
