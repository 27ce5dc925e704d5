-- start.lua: how soon a small run is over, how much memory it takes, how large the program is.
return function(measure)
  local folder <close> = measure.folder "memory"
  local bare = measure.lua .. " -e ''"
  local run = 0
  local function three_steps()
    run = run + 1
    local work_dir = measure.quoted(("%s/%d"):format(folder.path, run))
    return measure.spawn(1, ("%s --quiet bench/skills/three_steps.lua --work-dir %s"):format(measure.program, work_dir))
  end
  local _, memory = three_steps()
  local ratio, ours, theirs = measure.paired(41, three_steps, function()
    return (measure.spawn(1, bare))
  end)
  local stripped = folder.path .. "/stripped"
  measure.run(("strip -o %s %s"):format(stripped, measure.program))
  local size = tonumber(measure.run("stat -c %s " .. stripped))
  return {
    measure.finding(
      "start to the end of a 3-step durable run, against lua5.4 -e ''",
      ratio, "<=", 6, measure.time(ours) .. " against " .. measure.time(theirs)
    ),
    measure.finding("resident memory of that run", memory / 1024, "<=", 6, nil, "MB"),
    measure.finding("the stripped program, Lua files embedded", size / 1024 / 1024, "<=", 2, size .. " bytes", "MB"),
  }
end
