-- golden_agent.lua: a program that answers for the agents of the skills in tests/golden/configs, by
-- what it is asked: a phase gives its output, an action the changes it promises.
--
-- Run by tests/run/generated_*spec.lua: lua5.4 golden_agent.lua [LOG [PHASE]]. It notes in LOG what
-- it was asked, and hangs the first time it is asked for PHASE.
local task = io.read "a"
local phase, action = task:match "%[PHASE%] (%S+)", task:match "# Action: ([^\n]*)"
local log_path, hang_at = arg[1], arg[2]

local function note(name)
  local log <close> = assert(io.open(log_path, "a"))
  log:write(name .. "\n")
end

local function times(name)
  local count = 0
  for line in io.lines(log_path) do
    count = count + (line == name and 1 or 0)
  end
  return count
end

local UPDATES = {
  Scan = '{"scanned":true,"files":["a.md"]}',
  ["Probe [all]"] = '{"checked":1,"dead":[{"fixable":true}]}',
  Repair = '{"dead":[]}',
  Report = '{"verdict":"good"}',
  Clean = '{"rows":0,"empty":true}',
}

if log_path then
  note(phase or action)
  if phase and phase == hang_at and times(phase) == 1 then
    os.execute "sleep 10"
  end
end
if phase then
  print('{"status":"completed","summary":"done","output":{"phase":"' .. phase .. '","breaking":[1]}}')
else
  print('{"status":"completed","summary":"done","stateUpdates":' .. (UPDATES[action] or "{}") .. "}")
end
