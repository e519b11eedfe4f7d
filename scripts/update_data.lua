-- update_data: replaces the payload of a job.
--
-- host     Jobs  update_data/4
--
-- KEYS[1]  row  hash  emq:{q}:job:<id>  the job's row
--
-- ARGV[1]  payload  the new bytes, opaque
--
-- returns  1   :ok              the payload is replaced
-- returns  -1  {:error, :gone}  there is no row

local row = KEYS[1]

if redis.call('EXISTS', row) == 0 then
  return -1
end
redis.call('HSET', row, 'payload', ARGV[1])
return 1
