-- test/faults.lua: what a stub may answer besides an answer: that nothing came, an error of a server, what is no
-- answer at all, and the end of the process before the reply was there.
--
-- Pure: test/world.lua makes replies of them.

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

---No reply within the call's time: whether it was executed is unknown.
function M.timeout()
  return fault({ kind = "hang" })
end

---The connection is refused: it was surely not executed.
---@param message string?
function M.refused(message)
  return fault({ kind = "reply", reply = { status = "broken", sent = false,
    message = message or "connection refused" } })
end

---The connection ends before the reply is whole: it may have been executed.
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

---What no model should say: bytes that are no answer of any form.
---@param text string?
function M.garbage(text)
  return fault({ kind = "garbage", text = text or "\u{fffd}]}{ <html>502 Bad Gateway" })
end

---A model wants to use these tools of its skill: { name, input } each; the next request carries their results.
---@param calls table[]
function M.tools(calls)
  return fault({ kind = "tools", calls = calls })
end

---The process is killed after the call left and before its reply was there, and the run is resumed. The call leaves
---again where it is idempotent, else its outcome is unknown; who asks again then gets `next`.
---@param next any
function M.crash(next)
  return fault({ kind = "crash", next = next })
end

---It takes so long.
---@param seconds number
---@param reply any
function M.after(seconds, reply)
  return fault({ kind = "after", seconds = seconds, reply = reply })
end

---In a list: the first whose text the prompt holds answers.
---@param text string
---@param reply any
function M.on(text, reply)
  return fault({ kind = "on", text = text, reply = reply })
end

return M
