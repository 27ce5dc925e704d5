-- document/check/init.lua: checks a skill, config or folder before it runs: what is wrong, where, why, and what to
-- do.
--
-- Each family of checks is a file of check/; they execute nothing of the skill but a script that defines it. Called
-- by skillrt.check and cli/command/check.lua.
local codes = require "skillrt.document.check.codes"
local conditions = require "skillrt.document.check.conditions"
local found_of = require "skillrt.document.findings"
local inputs = require "skillrt.document.check.inputs"
local machine_check = require "skillrt.skill.machine_check"
local machine_of = require "skillrt.skill.machine"
local names = require "skillrt.base.names"
local model_of = require "skillrt.document.check.model"
local prompts = require "skillrt.document.check.prompts"
local reach = require "skillrt.document.check.reach"
local references = require "skillrt.document.check.references"
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
---@field states integer        how many states the search visited
---@field complete boolean      it visited all
---@field skill table?          the definition that was checked; nil: nothing in it can run
---@field subject skillrt.check.Subject

-- Errors that would make a run refuse the skill and that no check has reported.
local function tell_refused(subject, message, found)
  if found:counts().error == 0 then
    local refused = subject.refused or { place = subject.place(""), what = message or "contains no skill" }
    found:add("skill.invalid", refused.place, refused.what)
  end
end

-- What a transition table that a script declares leads to, at the line that names the action or the state; that of
-- documents is judged by the loader.
local function check_machine(subject, found)
  local given, place = subject.definition.machine, subject_of.places(subject)
  local machine = type(given) == "table" and machine_of.new(given)
  for _, one in ipairs(machine and machine_check.of(machine) or {}) do
    local code = "machine." .. one.code
    if codes.CODES[code] then -- what else there is the search finds
      found:add(code, place(one.edge and one.edge.action or one.state and one.state.name), one.message)
    end
  end
end

---Checks whatever is at a path, or a definition or skill.
---@param given string|table
---@param options skillrt.check.Options?
---@return skillrt.check.Result? result
---@return string? message  why there is nothing to check
---@return string? code
function M.check(given, options)
  if type(given) ~= "string" and type(given) ~= "table" then
    error("skillrt.check: needs a path, a definition or a skill, not " .. names.show(given), 2)
  elseif options ~= nil and type(options) ~= "table" then
    error("skillrt.check: the options must be a table, not " .. names.show(options), 2)
  end
  local found = found_of.new()
  local subject, message, code = subject_of.of(given, found)
  if not subject then
    return nil, message, code
  end
  local statistics = { states = 0, complete = true }
  if subject.definition then
    check_machine(subject, found)
    references.config(subject, found)
    subject.model, message = model_of.of(subject.definition, found, subject_of.places(subject))
  end
  local model = subject.model
  if model then
    conditions.check(subject, model, found)
    references.check(subject, model, found)
    inputs.check(model, found)
    prompts.check(subject, model, found)
    statistics = (options or {}).space == false and statistics or reach.check(model, found, options)
  end
  if not subject.is_whole and (not model or subject.refused) then
    tell_refused(subject, message, found)
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
