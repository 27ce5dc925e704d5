-- skill/inputs.lua: the input that a skill declares: names, types, defaults, descriptions; and the check of a given
-- input before the first step.
--
-- Knows types and values, no runs and no command line. A skill without declarations accepts everything.

local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local schema = require("skillrt.skill.schema")
local tables = require("skillrt.base.tables")
local types = require("skillrt.skill.types")

local M = {}

---@class skillrt.Input
---@field required boolean
---@field default any
---@field type string   as in a skill's schema; default "any"
---@field about string?
---@field one_of string[]?  it is one of these

local FIELD = {
  required = { type = "boolean", default = false },
  default = {},
  type = { type = "text", default = "any" },
  about = { type = "text" },
  one_of = { type = "text", list = true },
}

-- Declared under this name: accepts inputs that are not declared, too.
local OTHERS <const> = "*"

-- Inputs that the runtime itself reads: they need not be declared.
local OURS <const> = { dir = true, task = true }

-- What is wrong with a value that is none of the allowed words; nil: it is one.
local function no_word(one, value)
  local set = tables.set(one.one_of or { value })
  if set[value] then
    return nil
  end
  return ("must be one of %s, not %s%s"):format(table.concat(one.one_of, ", "), names.show(value),
    names.meant(value, set))
end

local function check_one(name, definition)
  local where = ('field "inputs": %s'):format(names.show(name))
  local one, message = schema.record(definition, FIELD, where)
  if not one then
    return nil, message
  end
  local declared, problem = types.check(one.type)
  if not declared then
    return nil, ("%s: type %s"):format(where, problem)
  end
  one.type = declared
  if one.default ~= nil and one.required then
    return nil, where .. ": is required and has a default; drop one"
  elseif one.default ~= nil and not types.fits(declared, one.default) then
    return nil, ("%s: its default must be %s, not %s"):format(where, declared, names.show(one.default))
  end
  problem = one.default ~= nil and no_word(one, one.default)
  if problem then
    return nil, ("%s: its default %s"):format(where, problem)
  end
  return one
end

---Checks what a skill declares.
---@param skill table
---@return string? problem
function M.check(skill)
  for _, name in ipairs(names.sorted(skill.inputs or {})) do
    local one, message = check_one(name, skill.inputs[name])
    if not one then
      return message
    end
    skill.inputs[name] = one
  end
  return nil
end

-- Converts a text from a command line to the type, if possible.
local function of_text(declared, text)
  local value
  if declared == "boolean" then
    value = ({ ["true"] = true, ["false"] = false })[text]
  elseif declared == "number" or declared == "integer" then
    value = tonumber(text)
    value = value and declared == "integer" and math.tointeger(value) or value
  elseif types.is_list(declared) or declared == "object" then
    value = json.decode(text)
  end
  if value ~= nil and types.fits(declared, value) then
    return value
  end
  return text
end

---How an input is written on the command line.
---@param name string
---@param one skillrt.Input
---@return string
function M.option(name, one)
  local is_text = one.type == "string" or one.type == "any"
  return ("--set %s%s"):format(name, is_text and "=TEXT" or ":=" .. one.type:upper())
end

local function missing(skill, name, one)
  local about = one.about and (" (%s)"):format(one.about) or ""
  return ("%s: needs the input %s%s; give it by %s"):format(skill.name, name, about, M.option(name, one))
end

---The input of a run, with its defaults; or nil and why it is refused.
---@param skill skillrt.Skill
---@param given table
---@return table|nil input
---@return string? message
function M.take(skill, given)
  local declared, input = skill.inputs, {}
  if not declared then
    return given
  end
  for _, name in ipairs(names.sorted(given)) do
    if not declared[name] and not OURS[name] and not declared[OTHERS] then
      return nil, ("%s: has no input %s%s"):format(skill.name, names.show(name), names.suggest(name, declared))
    end
    input[name] = given[name]
  end
  for _, name in ipairs(names.sorted(declared)) do
    local one, value = declared[name], input[name]
    if type(value) == "string" and one.type ~= "string" and one.type ~= "any" then
      value = of_text(one.type, value)
    end
    if value == nil and one.required then
      return nil, missing(skill, name, one)
    elseif value == nil and one.default ~= nil then
      value = schema.copy(one.default)
    elseif value ~= nil and not types.fits(one.type, value) then
      return nil, ("%s: input %s must be %s, not %s; give it by %s"):format(skill.name, name, one.type,
        names.show(value), M.option(name, one))
    end
    local problem = value ~= nil and no_word(one, value)
    if problem then
      return nil, ("%s: input %s %s"):format(skill.name, name, problem)
    end
    input[name] = value
  end
  return input
end

---The lines of help about a skill's input: how to give it, and its description.
---@param skill skillrt.Skill
---@return string[][] rows  { option, text }
function M.help(skill)
  local rows = {}
  for _, name in ipairs(names.sorted(skill.inputs or {})) do
    local one = skill.inputs[name]
    local words = { one.about, one.one_of and table.concat(one.one_of, " | ") }
    words[#words + 1] = one.required and "needed" or nil
    words[#words + 1] = one.default ~= nil and ("default %s"):format(json.encode(one.default)) or nil
    rows[#rows + 1] = name ~= OTHERS and { M.option(name, one), table.concat(words, "; ") } or nil
  end
  return rows
end

return M
