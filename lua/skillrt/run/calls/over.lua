-- run/calls/over.lua: what becomes of a call: what its reply means, another attempt or a doubt, what a person
-- decides, and its end where nobody waits for it any more.
--
-- Part of calls.lua, whose methods these are; what may have been executed is decided here alone (docs/steps.md,
-- "What is made again").

local cleaned = require("skillrt.run.calls.cleaned")
local judge = require("skillrt.run.calls.judge")
local record = require("skillrt.base.record")
local retry = require("skillrt.skill.retry")
local steady = require("skillrt.run.steady")
local waits = require("skillrt.run.calls.waits")

-- Sessions: loaded where a run has one.
local function talks()
  return require("skillrt.run.calls.talks")
end

local M = {}

-- Where another agent may be asked, one is not waited for longer.
local PATIENCE_MS <const> = 60 * 1000

-- A usage limit is waited for so often, whatever `max_retries` says: five hours, as providers' windows are, where no
-- time is named.
local USAGE_WAITS <const> = 20

---Whether a call is not to wait that long, as there is another agent to ask.
---@param call skillrt.Call
---@param ms integer
---@return boolean
function M.is_too_long(call, ms)
  local settings = call.request.retry
  return settings ~= nil and settings.waits == false and ms > PATIENCE_MS
end

-- When the next attempt of a call follows; nil: there is none.
local function next_attempt(self, call, failure)
  local settings = call.request.retry
  local may_act_again = call.idem and (failure.executed == "perhaps" or failure.is_unsaid)
  if not settings or (failure.executed ~= "no" and not may_act_again) then
    return nil
  end
  local skill = (call.step.home or self).run.skill
  local most = settings.max or skill.limits.max_retries
  local own = setmetatable({ max_retries = failure.is_usage and math.max(most, USAGE_WAITS) or most }, {
    __index = function(_, name)
      if settings[name] == nil then
        return skill.retry[name]
      end
      return settings[name] -- false, too
    end,
  })
  local wait = retry.delay(own, call.attempt, failure.class, failure.retry_after_ms, self.run.core.random)
  return wait and not M.is_too_long(call, wait) and math.ceil(wait) or nil
end

-- What a reply tells the gate of its agent.
local function tell_gate(self, call, reply, failure, wait)
  local gate, now = call.request.gate, steady.now()
  if gate and not failure then
    gate:answered(reply, now, self.run.core.wall_ms())
  elseif gate and (failure.class == "rate_limit" or (failure.retry_after_ms or 0) > 0) then
    wait = wait or retry.asked(failure.retry_after_ms)
    if wait > 0 then
      self:close(gate, now + wait, record.printable(failure.message))
    end
  end
end

---A reply came: a result, or another attempt when its time has come, or a doubt.
---@param call skillrt.Call
---@param reply table
function M:replied(call, reply)
  if call.request.take then
    call.request.take(reply)
  end
  cleaned.reply(reply, call.request.secrets)
  local is_gone = call.epoch and talks().replied(self, call, reply)
  if reply.status == "canceled" then
    if call.canceling then
      self:settle(call, { failed = { class = "canceled", message = "canceled" } })
    end
    return -- the run stops: it stays open in the books, and is taken up on resume
  end
  local ok, failure = judge.of(call.request, reply)
  if ok then
    tell_gate(self, call, reply)
    self:settle(call, { reply = reply })
    return
  end
  if is_gone and call.request.follows then
    return self:settle(call, { unsent = true, failed = { class = "lost", message = "the program that asked is gone" } })
  elseif is_gone and call.request.again == "lost" and not call.canceling then
    return self:doubt(call, failure.message .. ", and what it knew is lost")
  end
  local wait = not call.canceling and (is_gone and 0 or next_attempt(self, call, failure))
  tell_gate(self, call, reply, failure, wait)
  if wait then
    local a, message = call.attempt, record.printable(failure.message)
    self:emit(call, { t = "attempt", a = a, class = failure.class, message = message, retry = wait })
    call.attempt, call.number = a + 1, nil
    self.run.limits:over(call)
    self.due:put(steady.now() + wait, call)
    return
  elseif failure.executed == "perhaps" and not call.idem and not call.canceling then
    self:doubt(call, failure.message)
    return
  end
  self:settle(call, {
    reply = reply,
    unsent = failure.executed == "no" or nil,
    unknown = failure.executed == "perhaps" or nil,
  })
end

---It may have been executed, and nobody knows.
---@param call skillrt.Call
---@param message string
---@param said boolean?  the journal says so already
function M:doubt(call, message, said)
  call.number, call.doubt = nil, record.printable(message)
  self.run.limits:over(call)
  if not said then
    self:emit(call, { t = "doubt", message = call.doubt })
  end
  if self.session.decide then
    self:decide(call, self.session.decide)
  else
    self.doubts[#self.doubts + 1] = call
  end
end

---What becomes of a call in doubt.
---@param call skillrt.Call
---@param choice "retry"|"skip"|"fail"
function M:decide(call, choice)
  if choice == "retry" then
    call.renewed = true -- by another program of its session, too
    self:start(call)
    return
  end
  local class = choice == "skip" and "skipped" or "permanent"
  local message = choice == "skip" and "skipped by decision" or "interrupted, and decided to have failed"
  self:settle(call, { unknown = true, decided = choice,
    failed = { class = class, message = ("%s: %s"):format(call.step.id, message) } })
end

---A branch was ended: what its call waits for is no longer asked for. True: it is gone already.
---@param call skillrt.Call
---@param live boolean
---@return boolean gone
function M:give_up(call, live)
  local open = call.step.calls[call.place]
  if not live then
    return not (open or call.step.known[call.place]) -- what is recorded comes, and is left lying
  elseif call.kind == "run" then
    return self.subs:give_up(call)
  elseif call.leaving then -- its task was not asked for yet
    self.numbers:forget(call.number)
    self.run.limits:over(call)
    call.number, call.leaving, self.withdrew = nil, nil, true
  elseif call.number or call.doubt then
    if call.number and open and call.idem and not call.canceling then
      call.canceling = true
      self.cancels[#self.cancels + 1] = call.number
    end
    return false
  elseif waits.begin[call.kind] then
    waits.forget(self, call)
  elseif open and not (call.idem or open.failed) then
    return false -- it left before a crash: it is asked about
  end
  if open then
    local unsent = waits.begin[call.kind] ~= nil or open.failed ~= nil or nil
    local failed = { class = "canceled", message = "not waited for any more" }
    self:emit(call, { t = "result", unsent = unsent, q = call.q, failed = failed })
    call.execution.taken[call.place] = true
  end
  return true
end

return M
