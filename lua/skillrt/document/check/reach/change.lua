-- document/check/reach/change.lua: what an effect does to a variable: the classes it may have afterwards.
--
-- Knows effects and variables, no actions. Called by reach/space.lua.
local json = require "skillrt.base.json"
local values = require "skillrt.document.check.reach.values"

local M = {}

---The relation of an effect's path to a variable's: "same", "inside" (it changes a part), "around", or nil.
---@param effect string[]
---@param variable string[]
---@return "same"|"inside"|"around"|nil
function M.relation(effect, variable)
  local common = math.min(#effect, #variable)
  for i = 1, common do
    if effect[i] ~= variable[i] then
      return nil
    end
  end
  if #effect == #variable or (#effect == #variable + 1 and effect[#effect] == "length") then
    return "same"
  end
  return #effect > #variable and "inside" or "around"
end

---A state with one value at a path.
---@param path string[]
---@param value any
---@return table
function M.at_path(path, value)
  local root = {}
  local at = root
  for i = 1, #path - 1 do
    at[path[i]] = {}
    at = at[path[i]]
  end
  at[path[#path]] = value
  return root
end

---A number, or the length of a list; null counts as 0; nil: it cannot be counted.
---@param value any
---@return number?
---@return boolean is_list
local function amount(value)
  if type(value) == "table" then
    return #value, true
  elseif type(value) == "number" then
    return value, false
  end
  return (value == nil or value == json.null) and 0 or nil, false
end

-- The classes of the values at this distance; if there are none, of the nearest beyond.
local function classes_at(variable, value, step)
  local size, is_list = amount(value)
  local best, out = nil, {}
  for k, other in ipairs(variable.values) do
    local other_size, other_list = amount(other)
    local alike = size and other_size and other ~= json.null and (value == json.null or other_list == is_list)
    local away = alike and (other_size - size) * (step > 0 and 1 or -1)
    if away and away > 0 and (not best or away <= best) then
      out = away == best and out or {}
      best = away
      out[variable.class[k]] = true
    end
  end
  return out, best
end

local function is_largest(variable, value)
  local size, is_list = amount(value)
  for _, other in ipairs(variable.values) do
    local other_size, other_list = amount(other)
    if size and other_size and other_list == is_list and other_size > size then
      return false
    end
  end
  return size ~= nil
end

-- The values one step further; at the end of the distinguished ones, and before a gap, the value may stay: "many"
-- stays many.
local function moved(variable, step)
  local targets = {}
  for i, value in ipairs(variable.values) do
    local class = variable.class[i]
    local out, away = classes_at(variable, value, step)
    out[class] = out[class] or not away or away > 1 or is_largest(variable, value) or nil
    targets[class] = targets[class] or {}
    for target in pairs(out) do
      targets[class][target] = true
    end
  end
  return targets
end

local function listed(set)
  local out = {}
  for class in pairs(set) do
    out[#out + 1] = class
  end
  table.sort(out)
  return out
end

local function same_for_all(variable, classes)
  local targets = {}
  for class = 1, #variable.classes do
    targets[class] = classes
  end
  return targets
end

-- The classes of the values that keep an effect's promise; all, if it promises nothing about them.
local function kept(variable, effect)
  local set = {}
  for i, value in ipairs(variable.values) do
    if effect.check(nil, M.at_path(variable.path, value)) then
      set[variable.class[i]] = true
    end
  end
  return next(set) and listed(set) or values.all(variable)
end

---What an effect makes of each class of a variable: the possible classes afterwards; nil: it does not change the
---variable.
---@param effect { text: string, path: string[], check: function }
---@param variable skillrt.check.Variable
---@return integer[][]?
---@return boolean? vague  it counts, or promises more lists than one, so some of the classes are a guess
function M.targets(effect, variable)
  local relation = M.relation(effect.path, variable.path)
  if variable.did or variable.counter or not relation then
    return nil
  elseif relation == "around" then
    return same_for_all(variable, values.all(variable))
  elseif relation == "inside" then
    local class = values.class_of(variable, {})
    return same_for_all(variable, class and { class } or values.all(variable))
  elseif effect.step then
    local targets = moved(variable, effect.step == "++" and 1 or -1)
    for class, set in pairs(targets) do
      targets[class] = listed(set)
    end
    return targets, true
  end
  local classes = kept(variable, effect)
  return same_for_all(variable, classes), effect.path[#effect.path] == "length" and #classes > 1
end

return M
