-- stores a row and tells the event stream
local function store_job(eventsKey, jobIdKey, jobId, name, data)
  rcall("HSET", jobIdKey, "name", name, "data", data)
  rcall("XADD", eventsKey, "*", "event", "added", "jobId", jobId)
end
