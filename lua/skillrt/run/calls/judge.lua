-- run/calls/judge.lua: what a reply means for its call: a value, or a failure with its class and whether the
-- request may have been executed (docs/steps.md, "What is made again").
--
-- Pure: a recorded reply means the same again. Knows expectations, nothing of attempts.

local expect = require("skillrt.agent.expect")
local failure = require("skillrt.agent.failure")
local fatal = require("skillrt.base.fatal")
local names = require("skillrt.base.names")
local retry = require("skillrt.skill.retry")

local M = {}

local ANSWERED <const> = { ok = true, too_large = true }

-- Whether what a reply that is no success was asked for was done: "no", "answered" (it says so), "perhaps".
local function was_executed(request, reply)
  local code = (request.kind == "http" or request.kind == "session") and reply.code or 0
  if reply.sent == false or reply.status == "refused" or reply.status == "ok" and failure.is_refusal(code) then
    return "no"
  end
  return ANSWERED[reply.status] and code < 500 and "answered" or "perhaps"
end

local EXECUTED <const> = { no = true, perhaps = true }

-- What the script's own judge says of it: nothing, or the class of a failure, why, and whether what was asked
-- for may not have been done after all ("no", "perhaps").
local function of_script(own, reply)
  local ok, class, message, executed = pcall(own, reply)
  if not ok then
    fatal.pass_on(class)
    return { class = "permanent", message = "judge failed: " .. names.show(class), executed = "answered" }
  elseif class == nil or class == true then
    return nil
  elseif type(class) == "table" and retry.CLASSES[class.class] ~= nil and class.message and class.executed then
    return class -- of an agent's own, which knows more
  elseif retry.CLASSES[class] == nil then
    local text = "judge must give nothing or a class of failure, not %s%s"
    local near = type(class) == "string" and names.suggest(class, retry.CLASSES) or ""
    return { class = "permanent", message = text:format(names.show(class), near), executed = "answered" }
  end
  message = message and tostring(message) or "judged as " .. class
  return { class = class, message = message, executed = EXECUTED[executed] and executed or "answered",
    is_unsaid = executed == nil } -- then its class decides, where the call may be made again
end

---@param request table  checked: kind, expect, judge
---@param reply table
---@return true|nil ok
---@return any value_or_failure  { class, message, executed = "no"|"answered"|"perhaps", is_unsaid, is_usage,
---       retry_after_ms }
function M.of(request, reply)
  local own = reply.status == "ok" and request.judge and of_script(request.judge, reply)
  if own then
    return nil, own
  end
  local ok, value = expect.judge(request.expect or "raw", request.kind, reply, request)
  if ok then
    return true, value
  end
  value.executed = was_executed(request, reply)
  local wait = reply.status == "ok" and reply.retry_after_ms
  value.retry_after_ms = wait and wait >= 0 and wait or nil
  return nil, value
end

return M
