-- document/check/reach/change.lua: what an effect does to a variable: the classes it may have afterwards.
--
-- Knows effects and variables, no actions. Called by reach/space.lua.
local domain = require "skillrt.document.check.reach.domain"
local json = require "skillrt.base.json"

local M = {}

---How an effect's path lies to a variable's: "same", "inside" (it changes a part), "around", or nil.
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

---A number, or how many items there are; null counts as 0; nil for what cannot be counted.
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

-- The next value that way which is told apart, where the one beside it is not: several steps lead there.
local function beyond_gap(variable, size, is_list, step)
  local best, bits
  for k, other in ipairs(variable.values) do
    local other_size, other_list = amount(other)
    local away = other_size and other_list == is_list and other ~= json.null and (other_size - size) * step
    if away and away > 0 and (not best or away < best) then
      best, bits = away, 1 << (variable.class[k] - 1)
    end
  end
  return bits or 0
end

-- The classes of all values that lie `step` further; at the end of what is told apart it stays.
local function moved(variable, step)
  local targets = {}
  for i, value in ipairs(variable.values) do
    local size, is_list = amount(value)
    local bits = 0
    for k, other in ipairs(variable.values) do
      local other_size, other_list = amount(other)
      local fits = size and other_size == size + step and (value == json.null or other_list == is_list)
      if fits and other ~= json.null then
        bits = bits | 1 << (variable.class[k] - 1)
      end
    end
    local own = 1 << (variable.class[i] - 1)
    local last = size ~= nil
    for _, other in ipairs(variable.values) do
      local other_size, other_list = amount(other)
      last = last and not (other_size and other_list == is_list and other_size > size)
    end
    if bits == 0 and size and (type(value) == "number" or is_list) then
      bits = beyond_gap(variable, size, is_list, step)
      last = true
    end
    if bits == 0 or last then
      bits = bits | own -- "many" stays many, or becomes countable
    end
    local class = variable.class[i]
    targets[class] = (targets[class] or 0) | bits
  end
  return targets
end

local function fixed(variable, bits)
  local targets = {}
  for class = 1, #variable.classes do
    targets[class] = bits
  end
  return targets
end

---What an effect makes of each class of a variable: the classes possible afterwards, as bits; nil
---where it does not touch it.
---@param effect { text: string, path: string[], check: function }
---@param variable skillrt.check.Variable
---@return integer[]?
---@return boolean? vague  it counts beyond what is told apart, so some of the classes are a guess
function M.targets(effect, variable)
  local relation = M.relation(effect.path, variable.path)
  if variable.did or variable.counter or not relation then
    return nil
  end
  if relation == "around" then
    return fixed(variable, domain.all(variable))
  elseif relation == "inside" then
    local class = domain.class_of(variable, {})
    return fixed(variable, class and 1 << (class - 1) or domain.all(variable))
  end
  local step = effect.step
  if step then
    return moved(variable, step == "++" and 1 or -1), true
  end
  local bits = 0
  for i, value in ipairs(variable.values) do
    if effect.check(nil, M.at_path(variable.path, value)) then
      bits = bits | 1 << (variable.class[i] - 1)
    end
  end
  return fixed(variable, bits ~= 0 and bits or domain.all(variable))
end

return M
