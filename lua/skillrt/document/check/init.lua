-- document/check/init.lua: a skill, config or folder checked before it runs: what is wrong, where, why, and
-- what to do.
--
-- Each family of checks is a file of check/; none of them runs anything of the skill but a script
-- that defines it. Called by skillrt.check and cli/command/check.lua.
local codes = require "skillrt.document.check.codes"
local conditions = require "skillrt.document.check.conditions"
local found_of = require "skillrt.document.findings"
local inputs = require "skillrt.document.check.inputs"
local machine = require "skillrt.document.check.machine"
local model_of = require "skillrt.document.check.model"
local prompts = require "skillrt.document.check.prompts"
local reach = require "skillrt.document.check.reach"
local references = require "skillrt.document.check.references"
local skill = require "skillrt.skill"
local subject_of = require "skillrt.document.check.subject"

local M = {}

---@class skillrt.check.Options
---@field max_states integer?  the bound of the search through the state space
---@field max_tests integer?
---@field space boolean?  false: the state space is not searched

---@class skillrt.check.Result
---@field path string?
---@field findings skillrt.Finding[]  errors first
---@field counts { error: integer, warning: integer, note: integer }
---@field states integer        states the search looked at
---@field complete boolean      it saw all there are
---@field skill table?          the definition that was checked; nil: nothing in it can run
---@field subject skillrt.check.Subject

-- What a run refuses and nothing before it has named.
local function check_whole(subject, found)
  if skill.is(subject.definition) or found:counts().error > 0 then
    return
  elseif subject.refused then
    found:add("skill.invalid", subject.refused.place, subject.refused.what)
    return
  end
  local checked, message = skill.check(subject.definition)
  if not checked then
    found:add("skill.invalid", subject.place(""), message or "cannot be run")
  end
end

---Checks whatever lies at a path, or a definition or skill.
---@param given string|table
---@param options skillrt.check.Options?
---@return skillrt.check.Result? result
---@return string? message  where there is nothing to check
---@return string? code
function M.check(given, options)
  local found = found_of.new()
  local subject, message, code = subject_of.of(given, found)
  if not subject then
    return nil, message, code
  end
  local statistics = { states = 0, complete = true }
  machine.check(subject, found)
  if subject.definition then
    local model = model_of.of(subject.definition, found, subject_of.places(subject))
    subject.model = model
    machine.declared(subject, found, subject_of.places(subject))
    conditions.check(subject, model, found)
    references.check(subject, model, found)
    inputs.check(model, found)
    prompts.check(subject, model, found)
    statistics = (options or {}).space == false and statistics or reach.check(model, found, options)
    check_whole(subject, found)
  elseif subject.refused then
    check_whole(subject, found)
  elseif found:counts().error == 0 and not subject.is_whole then
    found:add("skill.invalid", subject.place(""), "holds nothing that can be run")
  end
  for _, one in ipairs(found) do
    codes.fill(one)
  end
  return {
    path = type(given) == "string" and given or nil,
    findings = found:sort(true),
    counts = found:counts(),
    states = statistics.states,
    complete = statistics.complete,
    skill = subject.definition,
    subject = subject,
  }
end

---The exit code of a check: 0 clean (notes are no fault), 1 warnings, 2 errors.
---@param result skillrt.check.Result
---@return integer
function M.exit_code(result)
  return result.counts.error > 0 and 2 or result.counts.warning > 0 and 1 or 0
end

return setmetatable(M, {
  __call = function(_, ...)
    return M.check(...)
  end,
})
