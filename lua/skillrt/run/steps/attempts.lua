-- run/steps/attempts.lua: whether a step that failed is tried again, and what a further attempt would forget.
--
-- A further attempt makes the call anew that is blamed, and what came behind it: not where that acted and
-- may not be repeated. Knows what the books keep of a step; records nothing. Used by steps.lua.

local on_error = require("skillrt.skill.on_error")
local places = require("skillrt.run.places")
local retry = require("skillrt.skill.retry")

local M = {}

-- Calls that leave for nowhere, and do nothing there.
local NOWHERE <const> = { sleep = true, ask = true, wait = true }

-- What a further attempt may not make again: a call that acted, or what came behind it.
local function acted_since(step, blame)
  for place, known in pairs(step.known) do
    if known.acted and places.is_behind(place, blame) then
      return place
    end
  end
  return nil
end

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
  if M.is_broken(run, definition, failure) then
    return nil
  end
  local delay = retry.delay(settings, step.attempt, failure.class, failure.retry_after_ms, run.core.random)
  local acted = delay and blame and acted_since(step, blame)
  if acted then
    return nil, ("not tried again: call %s may have acted, and is not idempotent"):format(acted)
  end
  return delay
end

---Whether an action has now failed in the same way as often as it may: no further attempt, and the run pauses.
---@param run skillrt.Run
---@param definition skillrt.Action
---@param failure table  { class, message }
---@return boolean
function M.is_broken(run, definition, failure)
  local most = run.skill.limits.same_failures
  local known = most and run.books.signatures and run.books.signatures[definition.id]
  if not most or (most > 1 and not known) then
    return false
  end
  local lifecycle = require("skillrt.run.books.lifecycle")
  return (known and known.told == lifecycle.signature(failure) and known.n or 0) + 1 >= most
end

---What follows a failure that is final, for its record: nothing yet (`again`), or what `on_error` says
---(`over`); and whether it counts for the run's max_errors (`free`: it does not).
---@param run skillrt.Run
---@param definition skillrt.Action
---@param entry table  a `fail` record
---@return table entry
function M.follow(run, definition, entry)
  local class = entry.class
  local word = on_error.word(definition, class)
  if M.is_broken(run, definition, entry) then
    entry.over, entry.circuit = "circuit", true
    return entry
  end
  if run.skill.machine and require("skillrt.run.moves").failed(run, definition, entry) then
    return entry -- its class says where that leads
  end
  if word then
    local by = run.books.spent_by[definition.id]
    local failures = 1 + (by and by.max_errors or 0)
    entry.free = on_error.is_free(definition, class) or nil
    if failures < run.limits:errors_of(definition, class) then
      entry.again = true
    else
      entry.over = word
      entry.degraded = definition.optional and word == definition.alternative or nil
    end
  end
  return entry
end

---What is forgotten when a step goes on from a place with other calls than before, as lines.
---@param step skillrt.Step
---@param from string
---@return string[]
function M.forgotten(step, from)
  local list = {}
  for _, field in ipairs({ "known", "calls" }) do
    for place, call in pairs(step[field]) do
      if places.is_behind(place, from) then
        local acted = call.acted or (field == "calls" and not call.idem and not NOWHERE[call.kind])
        local what = call.to or call.kind or "a kept value"
        list[#list + 1] = ("%s (%s%s)"):format(place, what, acted and ", may have acted" or "")
      end
    end
  end
  table.sort(list)
  return list
end

return M
