-- run/call/kind/tool.lua: the use of a tool as one entry in the journal: a record `tool` when it starts, a `result`
-- when it has finished. Its calls in between are then forgotten, and a resume does not perform it again.
--
-- The function may wait, like every branch; the places of its calls are below the tool's. It is no call, but has a
-- place like one; if it waited, a replay delivers its result in the journal's order, like a call's. Knows the journal
-- and executions, no tools. Called by run/ctx.lua; found by its name.

local execution_of = require("skillrt.run.branch.execution")
local record = require("skillrt.base.record")

---@class skillrt.call.Tool: skillrt.CallKind
local M = {}

---@class skillrt.ToolUse
---@field name string      of the tool
---@field digest string    of its arguments: a different one at its place has diverged
---@field shown string?    its arguments, shortened for people
---@field absent string?   it is not in the present set: how that is handled
---@field refused string?  why it is not performed

local function emit(journal, entry)
  local ok, problem = journal:emit(entry)
  if not ok then
    error(("tool %s: its result cannot be recorded: %s"):format(entry.name or entry.digest, problem), 0)
  end
end

---The result of `fn(place)`, recorded under its place. It always gives a value, as a tool's failure is an answer,
---too; and the file that it has written.
---@param execution skillrt.Execution
---@param branch skillrt.Branch
---@param use skillrt.ToolUse
---@param fn fun(place: string): any, string?
---@return any value
function M.perform(execution, branch, use, fn)
  local step, place, journal = execution.step, execution:place(branch), execution.run_calls.journal
  local digest = ("tool %s %s"):format(use.name, use.digest)
  if not execution.run_calls:may_take(execution, place, digest) then
    return coroutine.yield(execution_of.WAIT)
  end
  local known, open = step.known[place], step.tools[place]
  if known and known.waited and execution.state == "replaying" and not execution.taken[place] then
    return execution.run_calls:wait_for_turn(branch, place, "tool", M) -- other branches ran meanwhile
  elseif known then
    execution:take(place)
    return journal:reread(known).value
  elseif not open then
    emit(journal, { t = "tool", step = step.number, c = place, name = record.printable(use.name), digest = digest,
      input = use.shown and record.printable(use.shown), absent = use.absent,
      refused = use.refused and record.printable(use.refused) })
  end
  local value, wrote
  local turns = execution.first
  do
    local _ <close> = branch:uses(place)
    value, wrote = fn(place)
  end
  emit(journal, { t = "result", step = step.number, c = place, digest = digest, value = value,
    wrote = wrote or nil, waited = execution.first > turns or nil })
  execution:take(place)
  branch:put_down_to(place) -- a failure that the tool passed on is its own: to retry it is to use the tool again
  return value
end

---A replay delivers its recorded result.
function M.value(_, entry)
  return entry.value
end

function M.give_up()
  return true
end

return M
