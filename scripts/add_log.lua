-- add_log: appends a line to the log of a job and may drop the oldest ones.
--
-- host     Jobs  add_log/4,5
--
-- KEYS[1]  row   hash  emq:{q}:job:<id>       the job's row
-- KEYS[2]  logs  list  emq:{q}:job:<id>:logs  the job's log, oldest line first
--
-- ARGV[1]  line  the line, opaque
-- ARGV[2]  keep  how many lines to keep, or the empty string to keep all
--
-- returns  n   {:ok, n}         how many lines the log has now
-- returns  -1  {:error, :gone}  there is no row

local row, logs = KEYS[1], KEYS[2]
local line, keep = ARGV[1], tonumber(ARGV[2])

if redis.call('EXISTS', row) == 0 then
  return -1
end
local count = redis.call('RPUSH', logs, line)
if not keep then
  return count
end
redis.call('LTRIM', logs, -keep, -1)
return math.min(keep, count)
