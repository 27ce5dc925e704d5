-- run/verdict.lua: what the end of an exchange, or of a script's function, means for its step.
--
-- Done, failed for good, tried again, or waiting for one more exchange; each is a record. Knows
-- outcomes, retries and agents through policy.lua, which alone calls it.

local exchange = require("skillrt.run.exchange")
local outcome = require("skillrt.run.outcome")
local perform = require("skillrt.run.perform")
local performed = require("skillrt.run.performed")
local record = require("skillrt.base.record")

-- Loaded when an attempt failed: a run that goes well starts without it.
local retry = setmetatable({}, { __index = function(_, key) return require("skillrt.skill.retry")[key] end })

local M = {}

-- Messages may hold what a program wrote, and that may be any bytes.
local printable = record.printable

-- What the step's function said in ctx.log; of an attempt that failed, too.
local function tell_notes(policy, step)
  for _, text in ipairs(step.notes or {}) do
    policy:note(step, text)
  end
  step.notes = nil
end

local function fail(policy, step, definition, failure)
  perform.forget(step)
  step.asking, step.resting, step.broken = nil, nil, nil
  if failure.class == "canceled" then
    return "done" -- stays open in the books: interrupted, and taken up on resume
  end
  tell_notes(policy, step)
  local settings = setmetatable({
    max_retries = definition.max_retries or policy.skill.limits.max_retries,
  }, { __index = policy.skill.retry })
  local delay =
    retry.delay(settings, step.attempt, failure.class, failure.retry_after_ms, policy.core.random)
  local link = not delay and exchange.next_link(policy, step, definition, failure) or nil
  tell_notes(policy, step)
  assert(policy:emit({
    t = "fail",
    step = step.number,
    attempt = step.attempt,
    class = failure.class,
    message = printable(failure.message),
    traceback = failure.traceback and printable(failure.traceback),
    retry = delay and math.ceil(delay) or (link and 0 or nil),
    link = link,
  }))
  if delay or link then
    return "exchange"
  end
  policy.mode:finished(step.id)
  return "done"
end

-- `own`: it is what the script's function returned, without anything that only an agent's reply has.
local function settle(policy, step, definition, result, own)
  if step.notes then
    tell_notes(policy, step)
  end
  local entry, failure, simple = outcome.settle(policy, step, definition, result, own)
  if not entry then
    return fail(policy, step, definition, failure)
  end
  entry.at = policy.core.wall_ms()
  entry.ms = entry.at - step.started_at
  if step.fresh and #step.fresh > 0 then
    entry.rec, simple = step.fresh, false
  end
  local ok, message = policy:emit(entry, simple)
  if not ok then
    return fail(policy, step, definition, {
      class = performed.unusable(step),
      message = ("%s: the result cannot be kept: %s"):format(step.id, message),
    })
  end
  policy.mode:finished(step.id)
  return "done"
end

-- A function of the script goes on: it is over, failed, or waits for another task.
local function perform_step(policy, step, definition, reply)
  local run = definition.run or exchange.performer(policy, step, definition)
  local what, value = perform.go_on(policy, step, run, reply)
  if what == "over" then
    return settle(policy, step, definition, value, true)
  elseif what == "failed" then
    return fail(policy, step, definition, value)
  end
  step.asking = value
  return "exchange"
end

---The verdict on a step, with its records written.
---@param policy skillrt.Policy
---@param step skillrt.Step
---@param reply table|nil  nil: the script's own function is to be performed
---@return "done"|"exchange"|"keep" verdict
function M.on(policy, step, reply)
  local definition = step.definition or policy:definition_of(step)
  if reply and reply.status == "canceled" then
    return fail(policy, step, definition, { class = "canceled", message = "stopped" })
  elseif step.resting then
    step.resting = nil
    return "exchange"
  elseif step.broken then
    return fail(policy, step, definition, step.broken)
  elseif not reply then
    return perform_step(policy, step, definition)
  elseif step.asking then
    exchange.received(policy, step, reply)
    step.asking = nil
    return perform_step(policy, step, definition, reply)
  end
  local result, failure = exchange.judge(policy, step, definition, reply)
  if result == "again" then
    return "exchange"
  elseif result then
    return settle(policy, step, definition, result)
  end
  return fail(policy, step, definition, failure)
end

return M
