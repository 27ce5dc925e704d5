-- document/check/model.lua: a skill in its normal form for the checks. Conditions and effects of a definition that
-- cannot be read are findings, and are left out: skill.check stops at the first error, but a check wants all of them.
--
-- Called by document/check/init.lua, document/graph/init.lua and document/simulate.lua.
local effect = require "skillrt.skill.effect"
local ends = require "skillrt.skill.ends"
local expr = require "skillrt.expr"
local findings = require "skillrt.document.findings"
local machine_actions = require "skillrt.document.check.machine_actions"
local skill_of = require "skillrt.skill"
local state = require "skillrt.skill.state"
local subject_of = require "skillrt.document.check.subject"
local tables = require "skillrt.base.tables"

local M = {}

local JUDGED <const> = require("skillrt.document.load.condition").JUDGED

---@class skillrt.check.Step: skillrt.Action
---@field place fun(): skillrt.check.Place

---@class skillrt.check.Model: skillrt.Skill
---@field actions skillrt.check.Step[]  of a machine: as its table has them
---@field phases skillrt.check.Step[]
---@field steps skillrt.check.Step[]  both
---@field by_id table<string, skillrt.check.Step>
---@field ends { text: string, when: table[], effects: table[], status: string }[]
---@field chooses string  the name or path of the strategy; "function"
---@field judged boolean?  somebody judges some of its conditions
---@field is_reserved fun(key: string): boolean?
---@field place fun(text: string?, id: string?, kind: string?): skillrt.check.Place

-- The readable items of a list; reports unreadable ones.
local function readable(values, read, tell)
  local out = {}
  if type(values) ~= "table" or (getmetatable(values) or {}).__call then
    values = { values }
  end
  for _, value in ipairs(values) do
    local one, message = value, nil
    if type(value) == "string" then
      one, message = read(value)
    end
    if message then
      tell(value, message)
    end
    out[#out + 1] = one
  end
  return out
end

-- A function that compiles each text once, and one that reports a text that does not compile.
local function compiler(found)
  local known = {}
  local function read(text)
    local one = known[text] or { expr.compile(text) }
    known[text] = one
    return one[1], one[2]
  end
  return read, function(owner, place)
    return function(text, message)
      found:add("condition.syntax", place(text), ("%s: condition `%s` cannot be read: %s"):format(owner, text,
        message:match("^[^\n]*"):gsub("^%d+:%d+: ", "")))
    end
  end
end

local function read_effect(text)
  local one, message = effect.list { text }
  return one and text, message
end

-- The steps of a definition, without the parts that cannot be read.
local function steps_of(given, kind, found, place, read, tell)
  if type(given) ~= "table" then
    return given
  end
  local out = {}
  for i, step in ipairs(given) do
    out[i] = step
    if type(step) == "table" then
      local owner = ('%s "%s"'):format(kind, tostring(step.id or step.name or "?"))
      local function near(text)
        return place(text, type(step.id) == "string" and step.id or nil, kind)
      end
      out[i] = tables.fill({}, step)
      out[i].when = step.when ~= nil and readable(step.when, read, tell(owner, near)) or nil
      out[i].effects = step.effects and readable(step.effects, read_effect, function(text, message)
        found:add("effect.syntax", near(text), ("%s: %s"):format(owner, message:gsub("^effects%[1%] ", "effect ")))
      end)
    end
  end
  return out
end

-- A definition without the parts that cannot be read.
local function definition_of(given, found, place)
  local out, read, tell = tables.fill({}, given), compiler(found)
  out.actions = steps_of(given.actions, "action", found, place, read, tell)
  out.phases = steps_of(given.phases, "phase", found, place, read, tell)
  local values = given.terminate
  local whole = type(values) == "table" and values.when ~= nil and { values } or values
  out.terminate = values ~= nil and readable(whole, function(text)
    local _, message = read(text)
    return (not message or ends.is_builtin[text]) and text or nil, not ends.is_builtin[text] and message or nil
  end, tell("terminate", place)) or nil
  return out
end

local function add_steps(model, list, place)
  local out = {}
  for i, step in ipairs(list) do
    local when = {}
    for _, condition in ipairs(step.when) do
      -- a condition that somebody must judge may become true at any time; the loader has reported it
      local reads = type(condition) == "table" and condition.reads or {}
      local judged = reads[1] == JUDGED and #reads == 1
      model.judged = model.judged or judged
      when[#when + 1] = not judged and condition or nil
    end
    out[i] = setmetatable({ when = when, place = function()
      return place(nil, step.id, step.kind)
    end }, { __index = step })
    model.by_id[step.id] = model.by_id[step.id] or out[i]
  end
  return out
end

---The model of a definition or a skill; nil if it is refused for more than conditions and effects.
---@param given table
---@param found skillrt.Findings
---@param place fun(text: string?, id: string?, kind: string?): skillrt.check.Place
---@return skillrt.check.Model? model
---@return string? message
function M.of(given, found, place)
  local skill, message = given, nil
  if not skill_of.is(given) then
    skill, message = skill_of.check(definition_of(given, found, place))
  end
  if not skill then
    return nil, message
  end
  local parts = skill.machine and machine_actions.of(skill) or skill
  local chosen = skill.strategy
  local model = setmetatable({ by_id = {}, ends = {}, state = parts.state, schema = skill.schema or {}, place = place,
    is_reserved = skill.machine and machine_actions.is_reserved or state.is_reserved,
    chooses = (skill.machine or chosen.select) and "function" or chosen.path or chosen.name }, { __index = skill })
  model.actions = add_steps(model, parts.actions, place)
  model.phases = add_steps(model, skill.phases, place)
  model.steps = tables.append(tables.append({}, model.actions), model.phases)
  for _, one in ipairs(parts.terminate) do
    model.ends[#model.ends + 1] = one.condition and { text = one.text, when = { one.condition }, effects = {},
      status = one.status } or nil
  end
  return model
end

---The model of whatever is at a path, or of a definition, and what else is known of it.
---@param given string|table
---@return skillrt.check.Model? model
---@return skillrt.check.Subject|string subject_or_message
---@return string? code
function M.at(given)
  local found = findings.new()
  local subject, message, code = subject_of.of(given, found)
  if not subject then
    return nil, message, code
  elseif subject.refused or not subject.definition then
    local first = subject.refused or found:sort(true)[1]
    local line = first and first.line and first.file == subject.path and ":" .. first.line or ""
    return nil, ("%s%s: %s"):format(subject.path or "skill", line,
      subject.is_whole or first and first.what or "contains no skill"), "invalid"
  end
  local model, why = M.of(subject.definition, found, subject_of.places(subject))
  return model, model and subject or why, not model and "invalid" or nil
end

return M
