-- test/faults.lua: what a stub may return instead of an answer: no reply, a server's error, text that is no answer,
-- and the death of the process before the reply arrived.
--
-- Pure: test/world.lua turns them into replies.

local M = {}

local Fault = {}

local function fault(fields)
  return setmetatable(fields, Fault)
end

---@param value any
---@return boolean
function M.is(value)
  return getmetatable(value) == Fault
end

---No reply within the call's time: its outcome is unknown.
function M.timeout()
  return fault({ kind = "hang" })
end

---The connection is refused: it was certainly not executed.
---@param message string?
function M.refused(message)
  return fault({ kind = "reply", reply = { status = "broken", sent = false,
    message = message or "connection refused" } })
end

---The connection breaks before the reply is complete: it may have been executed.
---@param message string?
function M.reset(message)
  return fault({ kind = "reply", reply = { status = "broken", sent = true, message = message or "connection reset" } })
end

---A server's status: 429 with { retry_after = seconds }, 500, ... A program says none: see `exit`.
---@param code integer
---@param more { retry_after: number?, body: any }?
function M.status(code, more)
  more = more or {}
  return fault({ kind = "status", code = code, body = more.body, retry_after = more.retry_after })
end

---A program's exit code, and what it wrote.
---@param code integer
---@param out string?
---@param err string?
function M.exit(code, out, err)
  return fault({ kind = "reply", reply = { status = "ok", code = code, body = out or "", extra = err or "" } })
end

---Text that no model should produce: it is no answer in any form.
---@param text string?
function M.garbage(text)
  return fault({ kind = "garbage", text = text or "\u{fffd}]}{ <html>502 Bad Gateway" })
end

---A model calls these tools of its skill: { name, input } each; the next request carries their results.
---@param calls table[]
function M.tools(calls)
  return fault({ kind = "tools", calls = calls })
end

---The process is killed after the call was sent and before its reply arrived, and the run is resumed. The call is
---repeated if it is idempotent, else its outcome is unknown; the repeated call gets `next`.
---@param next any
function M.crash(next)
  return fault({ kind = "crash", next = next })
end

---The reply takes that long.
---@param seconds number
---@param reply any
function M.after(seconds, reply)
  return fault({ kind = "after", seconds = seconds, reply = reply })
end

---In a list: the first whose text occurs in the prompt answers.
---@param text string
---@param reply any
function M.on(text, reply)
  return fault({ kind = "on", text = text, reply = reply })
end

return M
