-- reading.lua: a long run looked at: its status, its whole journal checked, and the digests of the
-- values that are kept apart.
local STEPS <const>, ROUNDS <const> = 500000, 7

return function(measure)
  local folder <close> = measure.folder "memory"
  local run = measure.quoted(folder.path .. "/run")
  measure.run(("env BENCH_STEPS=%d %s --quiet bench/skills/pausing.lua --work-dir %s; test $? -eq 5"):format(
    STEPS, measure.program, run))
  local function look(command)
    local wall, memory, cpu = {}, nil, {}
    for round = 1, ROUNDS do
      wall[round], memory, cpu[round] = measure.spawn(1, ("%s %s %s"):format(measure.program, command, run))
    end
    return measure.least(wall) / 1e6, ("CPU %s, %.1f MB resident"):format(measure.time(measure.median(cpu)),
      memory / 1024), memory / 1024
  end
  local status, detail = look "status"
  local verify, about, memory = look "log --verify"
  local plain, fast = measure.run(measure.build .. "/bench/hash"):match "(%d+) (%d+)"
  local findings = {
    measure.finding("status of a run of 1,000,000 records", status, "<=", 100, detail, "ms"),
    measure.finding("log --verify of it: memory", memory, "<=", 8, ("%.0f ms, %s"):format(verify, about), "MB"),
    measure.finding("SHA-256 in plain C", tonumber(plain), ">=", 250, nil, "MB/s"),
  }
  if fast ~= "0" then
    findings[4] = measure.finding("SHA-256 by the processor's instructions", tonumber(fast), ">=", 1000, nil, "MB/s")
  end
  return findings
end
