-- resume.lua: going on with a run of 10,000 steps: its whole journal is read and applied.
--
-- The run is copied for each round, so that every round resumes the same journal.
local STEPS <const>, ROUNDS <const> = 10000, 15

return function(measure)
  local folder <close> = measure.folder "memory"
  local function path(name)
    return measure.quoted(folder.path .. "/" .. name)
  end
  -- The run pauses after STEPS steps, so that there is something to resume.
  local skill = "bench/skills/pausing.lua"
  measure.run(("env BENCH_STEPS=%d %s --quiet %s --work-dir %s; test $? -eq 5"):format(
    STEPS, measure.program, skill, path "run"))
  local cpu, wall, first = {}, {}, nil
  for round = 1, ROUNDS do
    measure.run(("cp -r %s %s"):format(path "run", path(round)))
    local command = ("env BENCH_STEPS=%d %s resume --quiet %s"):format(STEPS, measure.program, path(round))
    wall[round], first, cpu[round] = measure.spawn(1, "sh -c " .. measure.quoted(command .. "; test $? -eq 5"))
  end
  local ms = measure.least(wall) / 1e6
  local bytes = tonumber(measure.run(("cat %s/journal/*.sj | wc -c"):format(path "run")))
  local detail = ("CPU %s, a journal of %.1f MB, %.1f MB resident"):format(
    measure.time(measure.median(cpu)), bytes / 1e6, first / 1024)
  return { measure.finding("resume of a 10,000-step run, the program from start to end", ms, "<=", 50, detail, "ms") }
end
