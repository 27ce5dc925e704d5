-- document/check/reach/values.lua: the possible values of a state variable, grouped into few classes.
--
-- The values represent all that conditions distinguish: null, true, each compared literal, a number beyond each,
-- lists of each tested length. Values on which all terms agree form one class. Knows terms and effects, no actions.
-- Called by reach/variables.lua.
local json = require "skillrt.base.json"
local tables = require "skillrt.base.tables"
local types = require "skillrt.skill.types"

local M = {}

M.MAX_CLASSES = 60
local MAX_RANGE = 40
local MAX_LENGTH = 8
M.LONGEST = 3 -- of a list of which no length is asked
local MAX_PRODUCT = 1024

---@class skillrt.check.Variable
---@field name string
---@field path string[]
---@field did string?         the action whose completion it stands for
---@field values any[]        its possible values
---@field class integer[]     the class of each value, from 1
---@field classes any[]       a value of each class
---@field init integer        the class at the start
---@field after integer[]?    nil: part of the state; else the classes it may have once a step has run
---@field place integer?      which byte of a state holds its class
---@field counter boolean?    how often an action ran
---@field counted boolean?    some effect increments or decrements it: different numbers are different states

local function put(values, value)
  values[#values + 1] = not tables.has(values, value) and value or nil
end

local function is_null(value)
  return value == nil or value == json.null
end

---Whether two values are the same for a condition: lists are compared by their items.
---@return boolean
function M.same(a, b)
  if is_null(a) or is_null(b) then
    return is_null(a) and is_null(b)
  elseif type(a) == "table" and type(b) == "table" then
    if #a ~= #b or (next(a) == nil) ~= (next(b) == nil) or json.is_array(a) ~= json.is_array(b) then
      return false
    end
    for i, item in ipairs(a) do
      if not M.same(item, b[i]) then
        return false
      end
    end
    return #a > 0 or next(a) == nil
  end
  return a == b
end

local function numbers_of(literals, low)
  local least, most, all = nil, nil, {}
  for _, value in ipairs(literals) do
    if type(value) == "number" and value == value and math.abs(value) < 1e15 then
      all[#all + 1] = value
      least, most = math.min(least or value, value), math.max(most or value, value)
    end
  end
  local out = {}
  least, most = math.min(least or 0, 0), math.max(most or 0, 0)
  if most - least <= MAX_RANGE then
    for value = math.max(math.floor(least) - 1, low), math.ceil(most) + 2 do
      put(out, value)
    end
  end
  for _, value in ipairs(all) do
    for _, near in ipairs { value - 1, value, value + 1 } do
      if near >= low then
        put(out, math.tointeger(near) or near)
      end
    end
  end
  table.sort(out)
  return out
end

local function lists_of(term_items, literals)
  local most = M.LONGEST - 2
  for _, value in ipairs(literals) do
    local length = type(value) == "number" and math.tointeger(value)
    most = length and length > most and length <= MAX_LENGTH and length or most
  end
  local out = {}
  for length = 0, most + 2 do
    local list = json.array {}
    for i = 1, length do
      list[i] = "an item that no condition names"
    end
    out[#out + 1] = list
  end
  for i, item in ipairs(term_items) do
    out[#out + 1] = json.array { item }
    for k = 2, i > 4 and 0 or #out - 1 do
      if #out < 24 and #out[k] < 4 then
        local list = json.array { table.unpack(out[k]) }
        list[#list + 1] = item
        out[#out + 1] = list
      end
    end
  end
  return out
end

local function texts_of(literals)
  local out = { "", "a text that no condition names" }
  for _, value in ipairs(literals) do
    if type(value) == "string" then
      put(out, value)
    end
  end
  return out
end

---The values a variable may have, before classes are formed.
---@param facts { literals: any[], items: any[], kind: string?, init: any, low: number? }
---@return any[]
function M.values(facts)
  local kind, out = facts.kind or "any", {}
  local any = kind == "any"
  local function all(list)
    tables.append(out, list)
  end
  if is_null(facts.init) or not facts.kind then
    out[1] = json.null
  end
  if kind == "boolean" or any then
    all { true, false }
  end
  if kind == "object" or any then
    all { {} }
  end
  if kind == "string" or any then
    all(texts_of(facts.literals))
  end
  if kind == "number" or kind == "integer" or any then
    all(numbers_of(facts.literals, facts.low or -math.huge))
  end
  if types.is_list(kind) or kind == "object" or any then
    all(lists_of(facts.items, facts.literals))
  end
  for _, value in ipairs(facts.given or {}) do
    local known = false
    for _, other in ipairs(out) do
      known = known or M.same(other, value)
    end
    if not known then
      out[#out + 1] = value
    end
  end
  return out
end

---A state in which the variables of a term have the values given.
---@param term skillrt.check.Term
---@param value_of fun(name: string): any
---@return table
function M.state(term, value_of)
  local state = {}
  for _, name in ipairs(term.vars) do
    local value = value_of(name)
    if term.did[name] then
      state.completed_actions = state.completed_actions or json.array {}
      if value then
        table.insert(state.completed_actions, term.did[name])
      end
    else
      local at, path = state, term.paths[name]
      for i = 1, #path - 1 do
        at[path[i]] = at[path[i]] or {}
        at = at[path[i]]
      end
      at[path[#path]] = value
    end
  end
  return state
end

-- The results of a term for every value of one of its variables, with all others varied, too.
local function signature(term, name, values, variables)
  local lists, total = {}, #values
  for _, other in ipairs(term.vars) do
    if other ~= name then
      lists[#lists + 1] = { name = other, values = variables[other].values }
      total = total * #variables[other].values
    end
  end
  if total > MAX_PRODUCT then
    term.opaque = true
    return nil
  end
  local out, chosen = {}, {}
  for i, value in ipairs(values) do
    chosen[name] = value
    local bits = {}
    local function vary(k)
      if k > #lists then
        bits[#bits + 1] = term.holds(M.state(term, function(one)
          return chosen[one]
        end)) and "1" or "0"
        return
      end
      for _, item in ipairs(lists[k].values) do
        chosen[lists[k].name] = item
        vary(k + 1)
      end
    end
    vary(1)
    out[i] = table.concat(bits)
  end
  return out
end

---Forms the classes: values on which every term agrees. False: there would be too many.
---@param variable skillrt.check.Variable
---@param terms skillrt.check.Term[]  those that read it
---@param variables table<string, skillrt.check.Variable>
---@return boolean
function M.classify(variable, terms, variables)
  local keys = {}
  for i = 1, #variable.values do
    keys[i] = {}
  end
  if variable.counted then
    for i, value in ipairs(variable.values) do
      local size = type(value) == "table" and #value or type(value) == "number" and value
      keys[i][1] = size and ("%s %s"):format(type(value), size) or ""
    end
  end
  for _, term in ipairs(terms) do
    local signs = not term.opaque and signature(term, variable.name, variable.values, variables)
    for i = 1, #variable.values do
      table.insert(keys[i], signs and signs[i] or "")
    end
  end
  local by_key = {}
  variable.class, variable.classes = {}, {}
  for i, parts in ipairs(keys) do
    local key = table.concat(parts, " ")
    if not by_key[key] then
      variable.classes[#variable.classes + 1] = variable.values[i]
      by_key[key] = #variable.classes
    end
    variable.class[i] = by_key[key]
  end
  return #variable.classes <= M.MAX_CLASSES
end

---The class of a value.
---@param variable skillrt.check.Variable
---@param value any
---@return integer?
function M.class_of(variable, value)
  for i, known in ipairs(variable.values) do
    if M.same(known, value) then
      return variable.class[i]
    end
  end
  return nil
end

---All classes.
---@param variable skillrt.check.Variable
---@return integer[]
function M.all(variable)
  local out = {}
  for class = 1, #variable.classes do
    out[class] = class
  end
  return out
end

return M
