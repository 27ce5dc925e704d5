-- run/call/kind/local.lua: a function of this process that changes something: its intent is durable before it runs,
-- its result is recorded, and in between its outcome is unknown, as for every call that acts. Found by its name.
--
-- Such a function must not wait. Knows no tools.

local fatal = require("skillrt.base.fatal")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local record = require("skillrt.base.record")
local transport = require("skillrt.run.call.transport")

---@class skillrt.call.Local: skillrt.CallKind
local M = setmetatable({ acts_here = true }, { __index = transport })

function M.send(calls, call)
  calls:emit(call, { t = "call", a = call.attempt > 1 and call.attempt or nil, kind = call.kind,
    to = record.printable(call.to), digest = call.digest, idem = call.idem or nil })
end

-- The function's result; its draws are not recorded, as it does not run again.
local function performed(call)
  local ok, value, message, class = call.execution:perform_once(call.branch, call.request.name, call.request.run)
  if not ok then
    fatal.pass_on(value)
    local text = type(value) == "table" and value.message or value
    return nil, names.said(text), "permanent"
  end
  if type(value) == "string" then
    return record.printable(value)
  elseif value ~= nil and not json.encode(value) then
    return nil, ("%s returned a value that is not JSON"):format(call.request.name), "permanent"
  end
  return value, message, class
end

---Performs it now; with a reply: it was cancelled before it started.
---@param calls skillrt.Calls
---@param call skillrt.Call
---@param reply table|nil
function M.replied(calls, call, reply)
  if call.world then
    return transport.replied(calls, call, reply --[[@as table]])
  elseif reply and call.state == "canceling" then
    return calls:settle(call, { unsent = true, failed = { class = "canceled", message = "canceled" } })
  elseif reply then -- it has not started: a resume performs it without asking
    call.number = false
    return calls:emit(call, { t = "attempt", a = call.attempt, class = "canceled", message = "not begun", retry = 0 })
  end
  local value, message, class = performed(call)
  if value == nil and message ~= nil then
    return calls:settle(call, { failed = { class = class or "permanent", message = record.printable(message) } })
  end
  calls:settle(call, { value = value })
end

function M.value(call, entry)
  return { status = "ok", value = entry.value, call = call.place }
end

return M
