local function target_list(metaKey, waitKey, pausedKey)
  if rcall("HEXISTS", metaKey, "paused") ~= 1 then
    return waitKey, false
  else
    return pausedKey, true
  end
end
