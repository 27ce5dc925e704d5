-- run/call/result.lua: what a branch is given of what its call came to; the same for a fresh result and a recorded one.
--
-- Knows expectations and executions, no journal. Called by run/call/calls.lua.

local reply_of = require("skillrt.run.call.reply")

local M = {}

---What a script is given of a reply: its own copy.
---@param call skillrt.Call
---@param reply table
---@param value any
---@return table
function M.copy(call, reply, value)
  local out = {}
  for key, item in pairs(reply) do
    out[key] = item
  end
  out.stdout, out.stderr, out.value, out.call = reply.body, reply.extra, value, call.place
  return out
end

---Gives the branch what a record says its call came to.
---@param call skillrt.Call
---@param entry table     the record `result`
---@param ok boolean|nil  what its reply means; nil: it was judged by a process before
---@param value any
function M.give(call, entry, ok, value)
  local execution, failed, reply = call.execution, entry.failed, entry.reply
  if failed then
    reply = call.kind == "run" and reply and M.copy(call, reply) or { call = call.place, status = failed.class }
    return execution:fail(call, failed, reply)
  elseif call.ways.value then
    return execution:deliver(call, call.ways.value(call, entry))
  elseif ok == nil then
    ok, value = reply_of.meaning(call.request, reply)
  end
  if ok then
    execution:deliver(call, M.copy(call, reply, value))
  else
    execution:fail(call, value, M.copy(call, reply), value.retry_after_ms)
  end
end

return M
