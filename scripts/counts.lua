-- counts: counts the jobs of the sets asked for, then reads the metrics asked for.
--
-- host     Metrics  get_counts/3
--
-- KEYS[1]  base  base  emq:{q}:
-- KEYS[2]  set   zset  emq:{q}:<state>  a set of jobs: pending, active, schedule or dead  [repeated]
--
-- ARGV[1]  metric  a metric: completed or failed  [repeated]
--
-- returns  [n, ...]  -  the sets in their order, then the metrics in theirs

local base = KEYS[1]

local counts = {}
for i = 2, #KEYS do
  counts[#counts + 1] = redis.call('ZCARD', KEYS[i])
end
for _, metric in ipairs(ARGV) do
  local count = redis.call('HGET', base .. 'metrics:' .. metric, 'count')
  counts[#counts + 1] = tonumber(count) or 0
end
return counts
