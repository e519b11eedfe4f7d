--[[
  Adds a job, in the manner of a big queue library: packed arguments, a key
  prefix inside them, helpers that take keys, early returns.
    KEYS[1] wait  KEYS[2] paused  KEYS[3] meta  KEYS[4] id
    ARGV[1] packed: [1] prefix [2] custom id [3] name [4] parent key (or nil)
    ARGV[2] data
]]
local jobId
local rcall = redis.call
local args = cmsgpack.unpack(ARGV[1])
local prefix = args[1]
local customId = args[2]
local parentKey = args[4]

--- @include "includes/store_job"
--- @include "includes/target_list"

local jobCounter = rcall("INCR", KEYS[4])
if customId == "" then
  jobId = jobCounter
else
  jobId = customId
  local known = prefix .. jobId
  if rcall("EXISTS", known) == 1 then
    if parentKey then
      rcall("SADD", parentKey .. ":dependencies", known)
    end
    return jobId .. ""
  end
end

local jobIdKey = prefix .. jobId
store_job(prefix .. "events", jobIdKey, jobId, args[3], ARGV[2])
local target, isPaused = target_list(KEYS[3], KEYS[1], KEYS[2])
rcall(isPaused and "RPUSH" or "LPUSH", target, jobId)
if parentKey ~= nil then
  rcall("SADD", parentKey .. ":dependencies", jobIdKey)
end
return jobId .. ""
