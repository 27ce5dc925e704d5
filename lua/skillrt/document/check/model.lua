-- document/check/model.lua: a definition, faults and all, as the checks look at it: what compiles is compiled,
-- what does not is a finding.
--
-- skill.check refuses at the first fault; a check wants them all. Reads no files. Called by document/check/init.lua,
-- document/graph/init.lua and document/simulate.lua.
local effect = require "skillrt.skill.effect"
local expr = require "skillrt.expr"
local machine_actions = require "skillrt.document.check.machine_actions"
local limits_table = require "skillrt.skill.limits"
local skill_of = require "skillrt.skill"
local state = require "skillrt.skill.state"
local words = require "skillrt.skill.ends"

local M = {}

local JUDGED <const> = require("skillrt.document.load.condition").JUDGED

---@class skillrt.check.Action  an action or a phase
---@field id string
---@field index integer
---@field kind "action"|"phase"
---@field name string
---@field priority number
---@field when (skillrt.expr.Condition|function)[]
---@field effects skillrt.Effect[]
---@field max_runs number
---@field terminal string?
---@field optional boolean?
---@field given table        the definition it comes from

---@class skillrt.check.Model
---@field name string?
---@field mode string
---@field actions skillrt.check.Action[]
---@field phases skillrt.check.Action[]
---@field by_id table<string, skillrt.check.Action>
---@field ends { text: string, when: table[], status: string }[]
---@field state table
---@field schema table<string, string>
---@field strategy string
---@field limits { max_errors: integer, max_iterations: integer }
---@field agents table<string, table>
---@field given table        the definition

-- A list, whatever was written; what is no list at all is told by skill.check.
local function list(value)
  if type(value) == "table" and not (getmetatable(value) or {}).__call then
    return value
  end
  return value ~= nil and { value } or {}
end

local function what(kind, one)
  return ('%s "%s"'):format(kind, tostring(one.id or one.name or "?"))
end

-- The first line of a complaint, without its place in the text.
local function short(message)
  return (message:match "^[^\n]*"):gsub("^%d+:%d+: ", "")
end

local function compile(self, value, owner, found, place)
  if type(value) == "function" or (type(value) == "table" and type(value.ast) == "table") then
    return value
  elseif type(value) ~= "string" then
    return nil -- skill.check says what it must be
  end
  local known = self.compiled[value]
  if known == nil then
    local condition, message = expr.compile(value)
    known = condition or { complaint = message }
    self.compiled[value] = known
  end
  if known.complaint then
    local text = ("%s: condition `%s` cannot be read: %s"):format(owner, value, short(known.complaint))
    found:add("condition.syntax", place(value), text)
    return nil
  end
  return known
end

local function conditions(self, values, owner, found, place)
  local out = {}
  for _, value in ipairs(list(values)) do
    local one = compile(self, value, owner, found, place)
    -- what somebody has to judge may come true at any time; the loader has told it
    local judged = type(one) == "table" and one.reads and one.reads[1] == JUDGED and #one.reads == 1
    self.judged = self.judged or judged
    out[#out + 1] = not judged and one or nil
  end
  return out
end

local function effects(values, owner, found, place)
  local out = {}
  for _, value in ipairs(list(values)) do
    if type(value) == "table" then
      out[#out + 1] = type(value.text) == "string" and value.check and value or nil -- normal form already
    elseif type(value) == "string" then
      local one, message = effect.list { value }
      if one then
        out[#out + 1] = one[1]
      else
        found:add("effect.syntax", place(value), ("%s: %s"):format(owner, message:gsub("^effects%[1%] ", "effect ")))
      end
    end
  end
  return out
end

local function runs_of(given)
  if type(given.max_runs) == "number" then
    return given.max_runs
  end
  return given.repeatable and math.huge or 1
end

local function terminal_of(given)
  if given.terminal == true then
    return "completed"
  elseif given.terminal == nil then
    return words.TERMINAL[given.id]
  end
  return given.terminal or nil
end

local function steps(self, values, kind, found, place)
  local out = {}
  for index, given in ipairs(list(values)) do
    if type(given) == "table" then
      local owner = what(kind, given)
      local id = type(given.id) == "string" and given.id or ("%s %d"):format(kind, index)
      local function near(text)
        return place(text, id, kind)
      end
      local one = {
        id = id,
        index = index,
        kind = kind,
        name = given.name or id,
        priority = tonumber(given.priority) or 0,
        when = conditions(self, given.when or given.preconditions or given.condition, owner, found, near),
        effects = effects(given.effects, owner, found, near),
        max_runs = kind == "phase" and 1 or runs_of(given),
        terminal = kind == "action" and terminal_of(given) or nil,
        optional = given.optional,
        trailing = given.trailing,
        given = given,
        place = function()
          return place(nil, id, kind)
        end,
      }
      out[#out + 1] = one
      self.by_id[id] = self.by_id[id] or one
    end
  end
  return out
end

local function ends(self, values, found, place)
  local out = {}
  local whole = type(values) == "table" and values.when == nil and not (getmetatable(values) or {}).__call
  local given = whole and values or list(values)
  for _, one in ipairs(given) do
    local row = type(one) == "table" and one or { when = one }
    local text = row.when or row.text
    if row.builtin or words.is_builtin[text] then
      text = nil
    elseif row.condition and type(row.condition) == "table" then
      text = row.condition
    end
    local condition = text ~= nil and compile(self, text, "terminate", found, place) or nil
    if condition then
      local name = type(condition) == "table" and condition.text or "a function"
      out[#out + 1] = { text = name, when = { condition }, effects = {}, status = row.status or "completed" }
    end
  end
  return out
end

local function strategy_of(value)
  if type(value) == "table" then
    return value.select and "function" or value.path or value.name or "table"
  end
  return type(value) == "string" and value or value == nil and "priority" or "function"
end

local function mode_of(given, self)
  if given.mode then
    return given.mode
  end
  return #self.actions > 0 and #self.phases > 0 and "hybrid" or #self.phases > 0 and "sequential" or "autonomous"
end

---The model of a definition or a skill.
---@param given table
---@param found skillrt.Findings
---@param place fun(text: string?, id: string?, kind: string?): skillrt.check.Place
---@return skillrt.check.Model
function M.of(given, found, place)
  local limits = type(given.limits) == "table" and given.limits or {}
  local read = machine_actions.of(given)
  local self = {
    given = given,
    name = given.name,
    by_id = {},
    compiled = {},
    state = type(read.state) == "table" and read.state or {},
    schema = type(given.schema) == "table" and given.schema or {},
    agents = type(given.agents) == "table" and given.agents or {},
    strategy = strategy_of(read.strategy),
    limits = { max_errors = tonumber(limits.max_errors) or limits_table.default "max_errors",
      max_iterations = tonumber(limits.max_iterations) or limits_table.default "max_iterations" },
    is_skill = skill_of.is(given),
    is_reserved = read.is_reserved or state.is_reserved,
    place = place,
  }
  self.actions = steps(self, read.actions, "action", found, place)
  self.phases = steps(self, given.phases, "phase", found, place)
  self.ends = ends(self, read.terminate, found, place)
  self.mode = mode_of(read, self)
  return self
end

return M
