-- run/calls/given.lua: what a branch is given of what its call came to; the same for a fresh result and a recorded one.
--
-- Knows expectations and branches, no journal. Used by calls.lua.

local judge = require("skillrt.run.calls.judge")
local waits = require("skillrt.run.calls.waits")

local M = {}

-- What a script is given of a reply: its own copy.
local function copy(call, reply, value)
  local out = {}
  for key, item in pairs(reply) do
    out[key] = item
  end
  out.stdout, out.stderr, out.value, out.call = reply.body, reply.extra, value, call.place
  return out
end

-- Gives the branch what a reply means; the same for a fresh one and a recorded one.
local function give_reply(call, reply)
  local ok, value = judge.of(call.request, reply)
  if ok then
    call.execution:deliver(call, copy(call, reply, value))
  else
    call.branch.retry_after_ms = value.retry_after_ms
    call.branch.failed = { message = value.message, class = value.class, blame = call.place }
    call.execution:deliver(call, nil, value.message, value.class, copy(call, reply))
  end
end

local function give_failed(call, failed, reply)
  reply = reply and copy(call, reply) or { call = call.place, status = failed.class }
  call.branch.failed = { message = failed.message, class = failed.class, blame = call.place }
  call.execution:deliver(call, nil, failed.message, failed.class, reply)
end

---Gives the branch what a record says its call came to.
---@param call skillrt.Call
---@param entry table  the record `result`
function M.result(call, entry)
  if entry.failed then
    give_failed(call, entry.failed, call.kind == "run" and entry.reply)
  elseif call.kind == "sleep" or call.kind == "run" then
    call.execution:deliver(call, copy(call, entry.reply))
  elseif call.kind == "local" then
    call.execution:deliver(call, { status = "ok", value = entry.value, call = call.place })
  elseif waits.begin[call.kind] then
    call.execution:deliver(call, entry.value)
  else
    give_reply(call, entry.reply)
  end
end

return M
