-- run/call/alarm.lua: calls that go nowhere: what kinds of them share: their record, and the time at which they end.
--
-- The record says that time, so that a resume waits the rest and never longer. Called by run/call/kind/sleep, ask and
-- wait.lua.

local core = require("skillrt.core")
local steady = require("skillrt.run.steady")

local M = {}

---When so many seconds are over.
---@param seconds number|nil
---@return integer|nil utc  ms
function M.ends_at(seconds)
  return seconds and core.wall_ms() + math.ceil(seconds * 1000)
end

---It asks from now on. Gives its record; one that is in the books already has its own.
---@param calls skillrt.Calls
---@param call skillrt.Call
---@param fields table
---@param ends_at integer|nil
---@return table
function M.ask(calls, call, fields, ends_at)
  call:become("asked")
  local open = call:open()
  if not open then
    fields.t, fields.kind, fields.digest, fields.due = "call", call.kind, call.digest, ends_at
    calls:emit(call, fields)
    return fields
  end
  return open
end

---Puts it among what is due: it is never longer away than the whole of it.
---@param calls skillrt.Calls
---@param call skillrt.Call
---@param open table  its record
---@param seconds number|nil
function M.set(calls, call, open, seconds)
  if open.due then
    calls.due:put(steady.at(calls.run, open.due, seconds and math.ceil(seconds * 1000)), call)
  end
end

---The step gave it up: it is gone.
---@return true
function M.give_up()
  return true
end

return M
