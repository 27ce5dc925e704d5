-- run/performed.lua: what a function of the script gave or raised, as an outcome or a failure.
--
-- The same for a step's own function and for one that is a member of a chain. Knows steps, no
-- coroutines. Called by perform.lua and ctx.lua.

local fatal = require("skillrt.base.fatal")

local M = {}

local FAILURE_CLASSES = {
  transient = true,
  rate_limit = true,
  timeout = true,
  invalid_output = true,
  permanent = true,
}

---The class of a result that cannot be used. What an agent gave may be better another time; a function
---that awaited nothing gives the same again.
---@param step skillrt.Step
---@return "invalid_output"|"permanent"
function M.unusable(step)
  return step.asked == 0 and "permanent" or "invalid_output"
end

---An error raised by the function: a table may name its class.
---@param step skillrt.Step
---@param problem any
---@return table failure  { class, message }
function M.raised(step, problem)
  fatal.pass_on(problem) -- from outside: not the function's failure
  if type(problem) == "table" and type(problem.message) == "string" then
    local class = FAILURE_CLASSES[problem.class] and problem.class or problem.code
    return { class = FAILURE_CLASSES[class] and class or "permanent", message = problem.message }
  end
  local ok, text = pcall(tostring, problem)
  text = type(problem) == "string" and problem
    or ("%s raised an error object: %s"):format(step.id, ok and text or type(problem))
  return { class = "permanent", message = text }
end

---What the function returned: updates; of a phase, an output and updates; or nil, message, class.
---@param step skillrt.Step
---@return table|nil outcome
---@return table|nil failure  { class, message }
function M.returned(step, first, second, third)
  if first == nil and type(second) == "string" then
    return nil, { class = FAILURE_CLASSES[third] and third or "permanent", message = second }
  elseif step.kind == "phase" then
    return { status = "completed", output = first, updates = second }
  elseif first ~= nil and type(first) ~= "table" then
    local message = "%s: run must return a table of updates or nothing, not a %s"
    return nil, { class = M.unusable(step), message = message:format(step.id, type(first)) }
  end
  return { status = "completed", updates = first }
end

return M
