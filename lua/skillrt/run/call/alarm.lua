-- run/call/alarm.lua: the common part of calls that wait for a time: their record, and the time at which they end.
--
-- The record holds that time, so that a resume waits only for the rest. Called by run/call/kind/sleep, ask and
-- wait.lua.

local core = require("skillrt.core")
local steady = require("skillrt.run.steady")

local M = {}

---The time after the given seconds.
---@param seconds number|nil
---@return integer|nil utc  ms
function M.ends_at(seconds)
  return seconds and core.wall_ms() + math.ceil(seconds * 1000)
end

---It waits from now on. Returns its record; one that is in the books already has its own.
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

---Adds it to the due calls; never waits longer than its whole duration.
---@param calls skillrt.Calls
---@param call skillrt.Call
---@param open table  its record
---@param seconds number|nil
function M.set(calls, call, open, seconds)
  if open.due then
    calls.due:put(steady.at(calls.run, open.due, seconds and math.ceil(seconds * 1000)), call)
  end
end

---The step gave it up: removes it.
---@return true
function M.give_up()
  return true
end

return M
