-- run/call/kind/once.lua: a local function whose value is recorded, so that it does not run again (ctx.once). It
-- awaits nothing, so it is no call, but has a place like one. Called by run/ctx.lua.

local execution_of = require("skillrt.run.branch.execution")
local context_of = require("skillrt.run.ctx.context")

local M = {}

---The result of a function, recorded under its place.
---@param execution skillrt.Execution
---@param branch skillrt.Branch
---@param name string
---@param fn fun(): any
---@return any value
---@return string? message
---@return string? class
function M.perform(execution, branch, name, fn)
  local step, place, journal = execution.step, execution:place(branch), execution.run_calls.journal
  local digest = "once " .. name
  if not execution.run_calls:may_take(execution, place, digest) then
    return coroutine.yield(execution_of.WAIT)
  end
  local known = step.known[place]
  if known then
    execution:take(place)
    local record = journal:reread(known)
    if record.context then
      context_of.restore(step, branch.prefix, record.context)
    end
    return record.value
  end
  local _ <close> = branch:performs_once(name) -- fn may raise
  local count = context_of.count(step)
  local value, message, class = fn()
  if value == nil and type(message) == "string" then
    return nil, message, class
  end
  local entry = { t = "result", step = step.number, c = place, digest = digest, value = value,
    context = context_of.since(step, count) }
  local ok, problem = journal:emit(entry)
  if not ok then
    error(("ctx.once: %s: its value cannot be recorded: %s"):format(name, problem), 0)
  end
  execution:take(place)
  return value
end

return M
