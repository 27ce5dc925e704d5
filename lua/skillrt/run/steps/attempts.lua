-- run/steps/attempts.lua: whether a step that failed is tried again, and what follows where it is not.
--
-- A further attempt makes the call anew that is blamed; whether it may, says repeats.lua. Knows what the books keep
-- of a step; records nothing. Used by steps.lua.

local on_error = require("skillrt.skill.on_error")
local repeats = require("skillrt.mode.repeats")
local retry = require("skillrt.skill.retry")

local M = {}

---When the next attempt begins; nil: there is none. The second value says why not.
---@param run skillrt.Run
---@param step skillrt.Step
---@param definition skillrt.Action
---@param failure table        { class, retry_after_ms }
---@param blame string|nil     the place of the call that it is put down to
---@return number? ms
---@return string? why
function M.next(run, step, definition, failure, blame)
  local known = blame and step.known[blame]
  if known and known.own then
    return nil -- the call has been retried by its own policy
  end
  local settings = setmetatable({
    max_retries = definition.max_retries or run.skill.limits.max_retries,
  }, { __index = run.skill.retry })
  if failure.is_slip or run.limits:reached_by(definition.id, failure) then
    return nil
  end
  local attempt = step.attempt - (step.since or 0)
  local delay = retry.delay(settings, attempt, failure.class, failure.retry_after_ms, run.core.random)
  local why = delay and repeats.obstacle(step, blame)
  if why then
    return nil, why
  end
  return delay
end

---What follows a failure that is final, for its record: nothing yet (`again`), or what `on_error` says
---(`over`); and whether it counts for the run's max_errors (`free`: it does not). Where the code itself failed, and
---nothing says what follows, the step stays open until a person has fixed it (`over` is "script").
---@param run skillrt.Run
---@param definition skillrt.Action
---@param entry table  a `fail` record
---@param step skillrt.Step
---@param is_slip boolean|nil  the code raised an error
---@return table entry
function M.follow(run, definition, entry, step, is_slip)
  local class = entry.class
  local word = on_error.word(definition, class)
  if not is_slip and run.limits:reached_by(definition.id, entry) then
    entry.over, entry.circuit = "circuit", true
    return entry
  end
  if run.skill.machine and require("skillrt.run.moves").failed(run, definition, entry) then
    return entry -- its class says where that leads
  end
  local goes_on = word and word ~= "fail" or definition.is_undo
    or step.kind == "phase" and run.skill.on_error == "continue"
  if is_slip and not goes_on then
    entry.over, entry.move = "script", nil
    return entry
  end
  if word then
    entry.free = on_error.is_free(definition, class) or nil
    if run.limits:may_fail_again(definition, class) and not is_slip
      and not repeats.barred_by(definition, step) then
      entry.again = true
    else
      entry.over = word
      entry.degraded = definition.optional and word == definition.alternative or nil
    end
  end
  return entry
end

return M
