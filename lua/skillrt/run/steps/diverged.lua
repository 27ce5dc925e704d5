-- run/steps/diverged.lua: what follows when a step asks for something else than it did before: the run is refused,
-- or, where changes are accepted, the step forgets what it was given and goes on from there.
--
-- Knows steps and what the books keep of one. Called by steps.lua, which tells that it has happened.

local json = require("skillrt.base.json")
local repeats = require("skillrt.mode.repeats")

local M = {}

-- What was recorded from a place on is forgotten, and the step is replayed anew.
local function drop(steps, step, diverged)
  local top = steps.top
  local dropped = top.dropped or {}
  top.dropped = dropped
  local text = "step %d (%s), call %s: it was %s, and is %s now; forgotten: %s"
  dropped[#dropped + 1] = text:format(step.number, step.id, diverged.place, diverged.before, diverged.now,
    table.concat(repeats.forgotten(step, diverged.place), ", "))
  assert(steps.journal:emit({ t = "drop", step = step.number, from = { diverged.place } }))
  step.execution, step.replays = nil, true
end

---@param steps skillrt.Steps
---@param step skillrt.Step  its execution has diverged
function M.met(steps, step)
  local execution = step.execution
  local diverged = execution.diverged
  execution.diverged = nil
  execution:close()
  if diverged.before == diverged.now then -- its arguments, input, headers or method are not what they were
    diverged.now = "another " .. diverged.now
  end
  if steps.loading and steps.run.accept_changes then
    return drop(steps, step, diverged)
  end
  local message = "%s: step %d (%s) has diverged at call %s: it was %s, and is %s now"
  local text = message:format(steps.run.work_dir, step.number, step.id, diverged.place, diverged.before, diverged.now)
  if steps.loading then
    error({ message = text, code = "changed", diverged = diverged, step = step.number }, 0)
  end
  steps:fail(step, steps:definition_of(step), { class = "permanent", message = text })
end

---Changes are accepted: what was made of recorded results alone is made anew, by the changed script. What it
---asks for then is compared with what was recorded when it asks.
---@param steps skillrt.Steps
---@param step skillrt.Step
function M.loosen(steps, step)
  for _, known in pairs(step.known) do
    if known.pure then
      assert(steps.journal:emit({ t = "drop", step = step.number, from = json.array({}), loose = true }))
      return
    end
  end
end

return M
