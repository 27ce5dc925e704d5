-- run/call/kind/round.lua: a round of a loop: its value is recorded, its calls are forgotten, and a replay starts at
-- the newest round.
--
-- While a replay delivers results in the journal's order, a loop waits until its newest round's record is reached, as
-- its calls were under way until then. Called by run/branch/combine.lua; found by its name.

local context_of = require("skillrt.run.ctx.context")
local execution_of = require("skillrt.run.branch.execution")

---@class skillrt.call.Round: skillrt.CallKind
local M = {}

---The newest round of a loop that is recorded.
---@param execution skillrt.Execution
---@param branch skillrt.Branch
---@param place string  the loop's
---@return table|nil record  { n, value, last }
function M.newest(execution, branch, place)
  local step, calls = execution.step, execution.run_calls
  if not calls:may_take(execution, place, "a loop") then
    return coroutine.yield(execution_of.WAIT)
  end
  local newest = step.rounds[place]
  if newest and execution.state == "replaying" and not execution.taken[place] then
    calls:wait_for_turn(branch, place, "round", M)
  end
  local record = newest and calls.journal:reread(newest)
  if record and record.context then
    context_of.restore(step, place .. ".", record.context)
  end
  return record
end

---A round has finished.
---@param execution skillrt.Execution
---@param place string  the loop's
---@param number integer
---@param value any
---@param last true|nil
function M.record(execution, place, number, value, last)
  local step, journal = execution.step, execution.run_calls.journal
  local entry = { t = "round", step = step.number, c = place, n = number, value = value, last = last,
    context = context_of.below(step, place) }
  local ok, message = journal:emit(entry)
  if not ok then
    error(("ctx.loop: round %d cannot be recorded: %s"):format(number, message), 0)
  end
end

---Its place in the order is reached.
---@param call skillrt.Call
function M.begin(_, call)
  call.execution:wake(call.branch)
  call.execution:leave(call)
end
M.take_up = M.begin

function M.give_up()
  return true
end

return M
