-- questions.lua: 10,000 questions that are open at once, listed.
local QUESTIONS <const>, ROUNDS <const> = 10000, 7

return function(measure)
  local folder <close> = measure.folder "memory"
  local run = measure.quoted(folder.path .. "/run")
  local begun = ("env BENCH_QUESTIONS=%d %s --quiet bench/skills/asking.lua --work-dir %s; test $? -eq 3"):format(
    QUESTIONS, measure.program, run)
  local asked = measure.spawn(1, "sh -c " .. measure.quoted(begun)) / 1e6
  local listed = measure.run(("%s status %s"):format(measure.program, run))
  assert(select(2, listed:gsub("Is number", "")) == QUESTIONS, "not all questions are listed")
  local wall, memory, cpu = {}, nil, {}
  for round = 1, ROUNDS do
    wall[round], memory, cpu[round] = measure.spawn(1, ("%s status %s"):format(measure.program, run))
  end
  local detail = ("CPU %s, %.1f MB resident; asked in %.0f ms"):format(measure.time(measure.median(cpu)), memory / 1024,
    asked)
  return { measure.finding("10,000 questions open at once: listed by status", measure.least(wall) / 1e6, "<=", 1000,
    detail, "ms") }
end
