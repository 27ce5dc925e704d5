-- run/calls/acting.lua: calls that are functions of this process which change something: the intent is durable
-- before the function runs, its result is kept, and what may have happened in between is in doubt, as of every call
-- that acts.
--
-- Such a function must not wait. Knows calls and the journal, no tools. Called by run/policy.lua and test/world.lua.

local drawn = require("skillrt.base.drawn")
local fatal = require("skillrt.base.fatal")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local record = require("skillrt.base.record")

local M = {}

---@class skillrt.World  what stands in place of the transports, and lets time go by: of tests (test/world.lua), of
---replays (test/replay/world.lua)
---@field takes fun(world, call: skillrt.Call): boolean  it answers the call: nothing leaves
---@field perform fun(world, call: skillrt.Call): table|nil, table|nil  its intent is durable: a reply; or what a record
---       of a result says; or nothing yet: then `given` is called later
---@field idle fun(world, policy: skillrt.Policy): boolean  nothing is under way: whether it has moved something
---@field dress fun(world, skill: skillrt.Skill)  changes a skill that was made ready for a run
---@field opened fun(world, run: userdata)

---Their intents, and their numbers among what is performed once these are durable.
---@param calls skillrt.Calls
---@param performing integer[]
function M.leave(calls, performing)
  for i, number in ipairs(calls.acting) do
    local call = calls.numbers:of(number)
    calls.acting[i] = nil
    if call and call.world then
      calls:task(call)
      performing[#performing + 1] = number
    elseif call then -- else it was given up meanwhile
      call.leaving = nil
      calls:emit(call, { t = "call", a = call.attempt > 1 and call.attempt or nil, kind = call.kind,
        to = record.printable(call.to), digest = call.digest, idem = call.idem or nil })
      calls.run.limits.sent(call)
      performing[#performing + 1] = number
    end
  end
end

-- What the function gives; while it runs, what it draws is not recorded, as it does not run again.
local function performed(call)
  local branch, execution, drawing = call.branch, call.execution, drawn.step
  local before = execution.now
  branch.in_once, execution.now, drawn.step = call.request.name, branch, call.step
  local ok, value, message, class = pcall(call.request.run)
  branch.in_once, execution.now, drawn.step = nil, before, drawing
  if not ok then
    fatal.pass_on(value)
    local said = type(value) == "table" and value.message or value
    return nil, names.said(said), "permanent"
  end
  if type(value) == "string" then
    return record.printable(value)
  elseif value ~= nil and not json.encode(value) then
    return nil, ("%s gave what is no JSON"):format(call.request.name), "permanent"
  end
  return value, message, class
end

---What the world gives that stands in place of the transports (world.lua): nothing yet, a reply, or what a record says.
---@param calls skillrt.Calls
---@param call skillrt.Call
---@param reply table|nil
---@param entry table|nil
function M.given(calls, call, reply, entry)
  if reply then
    calls:replied(call, reply)
  elseif entry then
    calls:settle(call, entry)
  end
end

---It is performed now; with a reply: it was canceled before it began.
---@param calls skillrt.Calls
---@param call skillrt.Call
---@param reply table|nil
function M.replied(calls, call, reply)
  if call.world then
    call.number = nil -- nobody can cancel what is not under way
    return M.given(calls, call, call.world:perform(call))
  end
  if reply and call.canceling then
    return calls:settle(call, { unsent = true, failed = { class = "canceled", message = "canceled" } })
  elseif reply then -- it has not begun: a resume performs it, and nobody is asked
    call.number = nil
    return calls:emit(call, { t = "attempt", a = call.attempt, class = "canceled", message = "not begun", retry = 0 })
  end
  local value, message, class = performed(call)
  if value == nil and message ~= nil then
    return calls:settle(call, { failed = { class = class or "permanent", message = record.printable(message) } })
  end
  calls:settle(call, { value = value })
end

return M
