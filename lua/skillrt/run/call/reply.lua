-- run/call/reply.lua: what a reply means for its call, and what follows: its result, another attempt, or, if its
-- outcome is unknown, a question to a person.
--
-- The only place that decides what may have been executed (docs/write/steps.md, "What is repeated"). A reply is
-- judged once when it arrives, and once when a resume delivers it. Knows expectations and books. Called by calls.lua,
-- transport.lua, kind/session.lua, questions.lua.

local core = require("skillrt.core")
local expect = require("skillrt.agent.expect")
local failure_of = require("skillrt.agent.failure")
local fatal = require("skillrt.base.fatal")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local queue = require("skillrt.run.call.queue")
local record = require("skillrt.base.record")
local retry = require("skillrt.skill.retry")
local sandbox = require("skillrt.skill.sandbox")
local secrets = require("skillrt.base.secrets")

local M = {}

-- ---- before it is recorded ----

local SHORTEST <const> = 8 -- bytes of a secret

local FIELDS <const> = { "body", "extra", "message" }

-- A text without the secrets of its request, as a server may echo them. A short one is a word ("none", "ollama") that
-- a local server takes as its key, and no secret.
local function without(text, list)
  for _, secret in ipairs(list) do
    local escaped = #secret >= SHORTEST and assert(json.encode(secret)):sub(2, -2)
    for _, found in ipairs(escaped and { secret, escaped ~= secret and escaped or nil } or {}) do
      if text:find(found, 1, true) then
        text = text:gsub(found:gsub("%W", "%%%0"), "{key}")
      end
    end
  end
  return text
end

---A reply as it is recorded: without the secrets of its request and anything that looks like a key. Bytes that are
---not UTF-8 are replaced, so that the script sees the same before and after a crash.
---@param reply table  changed
---@param list string[]?  the secrets
---@return table reply
function M.clean(reply, list)
  for i = 1, #FIELDS do
    local text = reply[FIELDS[i]]
    if text and not utf8.len(text) then
      text = record.printable(text)
    end
    text = text and list and without(text, list) or text
    reply[FIELDS[i]] = text and secrets.clean(text)
  end
  return reply
end

-- ---- what it means ----

local ANSWERED <const> = { ok = true, too_large = true }

-- Whether an unsuccessful call did its work: "no", "answered" (the reply says so), "perhaps".
local function was_executed(request, reply)
  local code = (request.kind == "http" or request.kind == "session") and reply.code or 0
  if reply.sent == false or reply.status == "refused" or reply.status == "ok" and failure_of.is_refusal(code) then
    return "no"
  end
  return ANSWERED[reply.status] and code < 500 and "answered" or "perhaps"
end

local EXECUTED <const> = { no = true, perhaps = true }

-- The verdict of the script's own judge: none, or the class of a failure, the reason, and whether the work may have
-- been done ("no", "perhaps").
local function of_script(own, reply)
  local ok, class, message, executed = pcall(own, reply)
  if not ok then
    fatal.pass_on(class)
    return { class = "permanent", message = "judge failed: " .. names.show(class), executed = "answered" }
  elseif class == nil or class == true then
    return nil
  elseif type(class) == "table" and retry.CLASSES[class.class] ~= nil and class.message and class.executed then
    return class -- from an agent's own judge, which knows more
  elseif retry.CLASSES[class] == nil then
    local text = "judge must give nothing or a class of failure, not %s%s"
    local near = type(class) == "string" and names.suggest(class, retry.CLASSES) or ""
    return { class = "permanent", message = text:format(names.show(class), near), executed = "answered" }
  end
  message = message and tostring(message) or "judged as " .. class
  return { class = class, message = message, executed = EXECUTED[executed] and executed or "answered",
    is_unsaid = executed == nil } -- then its class decides whether the call may be repeated
end

-- Adds to a failure what would have to be allowed to its program.
local function with_grant(failure, reply)
  local message = reply.grant and ("%s; its sandbox may be why: sandbox = { %s } grants it"):format(
    tostring(failure.message), reply.grant)
  return message and setmetatable({ message = message }, { __index = failure }) or failure
end

---What a reply means; a recorded one is judged the same way again.
---@param request table  checked: kind, expect, judge
---@param reply table
---@return boolean ok
---@return any value_or_failure  { class, message, executed = "no"|"answered"|"perhaps", is_unsaid, is_usage,
---       retry_after_ms }
function M.meaning(request, reply)
  local own = reply.status == "ok" and request.judge and of_script(request.judge, reply)
  if own then
    return false, with_grant(own, reply)
  end
  local ok, value = expect.judge(request.expect or "raw", request.kind, reply, request)
  if ok then
    return true, value
  end
  value.executed = was_executed(request, reply)
  local wait = reply.status == "ok" and reply.retry_after_ms
  value.retry_after_ms = wait and wait >= 0 and wait or nil
  return false, with_grant(value, reply)
end

-- ---- what its branch gets ----

---The script's own copy of a reply.
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
  out.told = call.step.told[call.place]
  return out
end

---Gives the branch the recorded result of its call.
---@param call skillrt.Call
---@param entry table     the record `result`
---@param ok boolean|nil  what its reply means; nil: an earlier process judged it
---@param value any
function M.give(call, entry, ok, value)
  local execution, failed, reply = call.execution, entry.failed, entry.reply
  if failed then
    reply = call.kind == "run" and reply and M.copy(call, reply) or { call = call.place, status = failed.class }
    return execution:fail(call, failed, reply)
  elseif call.ways.value then
    return execution:deliver(call, call.ways.value(call, entry))
  elseif ok == nil then
    ok, value = M.meaning(call.request, reply)
  end
  if ok then
    execution:deliver(call, M.copy(call, reply, value))
  else
    execution:fail(call, value, M.copy(call, reply))
  end
end

-- ---- what follows ----

-- How often a usage limit is waited for, whatever `max_retries` says: five hours, the length of providers' windows,
-- if no time is named.
local USAGE_WAITS <const> = 20

-- When the next attempt of a call follows; nil: never.
local function next_attempt(call, failure)
  local settings = call.request.retry
  local may_act_again = call.idem and (failure.executed == "perhaps" or failure.is_unsaid)
  if not settings or (failure.executed ~= "no" and not may_act_again) then
    return nil
  end
  local skill = call.step.live.home.run.skill
  local most = settings.max or skill.limits.max_retries
  local own = setmetatable({ max_retries = failure.is_usage and math.max(most, USAGE_WAITS) or most }, {
    __index = function(_, name)
      if settings[name] == nil then
        return skill.retry[name]
      end
      return settings[name] -- false, too
    end,
  })
  local wait = retry.delay(own, call.attempt, failure.class, failure.retry_after_ms, core.random)
  return wait and not queue.is_too_long(call, wait) and math.ceil(wait) or nil
end

-- Reports a reply to the gate of its agent.
local function tell_gate(calls, call, reply, failure, wait)
  local gate = call.request.gate
  if gate and not failure then
    gate:answered(reply, core.mono_ms(), core.wall_ms())
  elseif gate and (failure.class == "rate_limit" or (failure.retry_after_ms or 0) > 0) then
    wait = wait or retry.asked(failure.retry_after_ms)
    if wait > 0 then
      calls.queue:close(gate, core.mono_ms() + wait, record.printable(failure.message))
    end
  end
end

---It may have been executed: its outcome is unknown.
---@param calls skillrt.Calls
---@param call skillrt.Call
---@param message string
---@param is_recorded boolean?  the journal records that already
function M.doubt(calls, call, message, is_recorded)
  call:become("unknown")
  call.doubt = record.printable(message)
  calls.queue:over(call)
  if not is_recorded then
    calls:emit(call, { t = "doubt", message = call.doubt })
  end
  if calls.session.decide then
    M.decide(calls, call, calls.session.decide)
  else
    calls.doubts[#calls.doubts + 1] = call
    calls.undecided[#calls.undecided + 1] = call
  end
end

---What happens to a call whose outcome is unknown.
---@param calls skillrt.Calls
---@param call skillrt.Call
---@param choice "retry"|"skip"|"fail"
function M.decide(calls, call, choice)
  for i, one in ipairs(calls.doubts) do
    if one == call then
      table.remove(calls.doubts, i)
      break
    end
  end
  if choice == "retry" then
    call.renewed = true
    return calls.queue:send(call)
  end
  local class = choice == "skip" and "skipped" or "permanent"
  local message = choice == "skip" and "skipped by decision" or "interrupted, and decided to have failed"
  calls:settle(call, { unknown = true, decided = choice, digest = not call:open() and call.digest or nil,
    failed = { class = class, message = message } })
end

---A person decided about an agent's call, whatever its state: what is under way ends first.
---@param calls skillrt.Calls
---@param call skillrt.Call
---@param choice "retry"|"skip"
function M.steer(calls, call, choice)
  if call.state == "canceling" then
    call.decision = choice
  elseif call.state == "sent" then
    call.decision = choice
    calls.queue:cancel(call)
  else
    if call.state == "due" then
      calls.queue:withdraw(call)
    end
    calls.due:drop(call)
    M.decide(calls, call, choice)
  end
end

-- Handles a reply that is no success.
local function failed(calls, call, reply, failure)
  local is_wanted, wait = call.state ~= "canceling", nil
  if call.ways.failed then
    local is_done
    is_done, wait = call.ways.failed(calls, call, reply, failure)
    if is_done then
      return
    end
  end
  local is_cut = reply.status == "lapsed" and call.idem -- nothing is wrong with it
  wait = is_wanted and (wait or is_cut and 0 or next_attempt(call, failure))
  tell_gate(calls, call, reply, failure, wait)
  if wait then
    local a = call.attempt
    calls:emit(call, { t = "attempt", a = a, class = failure.class, message = record.printable(failure.message),
      retry = wait })
    call.attempt = a + 1
    calls.queue:over(call)
    calls.queue:pace(call, core.mono_ms() + wait)
  elseif failure.executed == "perhaps" and not call.idem and is_wanted then
    M.doubt(calls, call, failure.message)
  else
    calls:settle(call, {
      reply = reply,
      unsent = failure.executed == "no" or nil,
      unknown = failure.executed == "perhaps" or nil,
    }, false, failure)
  end
end

---A reply came: a result, another attempt at its time, or an unknown outcome.
---@param calls skillrt.Calls
---@param call skillrt.Call
---@param reply table
function M.take(calls, call, reply)
  local request = call.request
  if request.take then
    request.take(reply)
  end
  M.clean(reply, request.secrets)
  reply.grant = request.jail and sandbox.grant(reply)
  if call.ways.came then
    call.ways.came(calls, call, reply)
  end
  local decision = call.decision
  if decision then
    call.decision = nil
    call:become("unknown")
    calls.queue:over(call)
    return M.decide(calls, call, decision)
  end
  if reply.status ~= "canceled" then
    local ok, value = M.meaning(request, reply)
    if not ok then
      return failed(calls, call, reply, value)
    end
    tell_gate(calls, call, reply)
    calls:settle(call, { reply = reply }, true, value)
  elseif call.state == "canceling" then
    calls:settle(call, { failed = { class = "canceled", message = "canceled" } })
  end -- otherwise the run stops: the call stays open in the books, and a resume continues it
end

return M
