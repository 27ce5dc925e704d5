-- skill/schema.lua: checks a table that a person wrote against a list of fields: types, required, enum, lists, nested
-- records; reports an unknown field together with the nearest known one.
--
-- Knows nothing of skills: the field lists live with the modules that use them (skill, action,
-- agent). Returns nil, message on a bad value; the caller decides where to raise.

local names = require("skillrt.base.names")
local plain = require("skillrt.base.plain")

local M = {}

---@class skillrt.Field
---@field type string|string[]?   name or names in M.types
---@field list boolean?           a list of such values; a single value is a list of one
---@field map boolean?            a table from names to such values
---@field enum string[]?          the only texts allowed
---@field fields table<string, skillrt.Field>?  a nested record (defaults filled even if absent)
---@field required boolean?
---@field default any
---@field ours boolean?           loaders set it, people do not: no message suggests it

local function of_type(name, words)
  return function(value)
    if type(value) == name then
      return value
    end
    return nil, ("must be %s, not %s"):format(words, names.show(value))
  end
end

local function whole(least, words)
  return function(value)
    local number = type(value) == "number" and math.tointeger(value)
    if number and number >= least and number <= 1 << 53 then
      return number
    end
    return nil, ("must be %s, not %s"):format(words, names.show(value))
  end
end

---The types of a field: value -> normal form, or nil and what it must be instead.
---@type table<string, fun(value: any): any, string?>
M.types = {
  any = function(value)
    return value
  end,
  string = of_type("string", "a text"),
  boolean = function(value)
    if type(value) == "boolean" then
      return value
    end
    return nil, "must be true or false, not " .. names.show(value)
  end,
  table = of_type("table", "a table"),
  ["function"] = of_type("function", "a function"),
  positive = whole(1, "a positive whole number"),
  count = whole(0, "a whole number, 0 or more"),
  integer = whole(-(1 << 53), "a whole number"),
  id = names.id,
  path = names.confined,
  text = function(value)
    if type(value) == "string" and value ~= "" and not value:find("\0", 1, true) then
      return value
    end
    return nil, "must be a text that is not empty, not " .. names.show(value)
  end,
  number = function(value)
    if type(value) == "number" and value == value and math.abs(value) < math.huge then
      return value
    end
    return nil, "must be a number, not " .. names.show(value)
  end,
  amount = function(value)
    if type(value) == "number" and value >= 0 and value < math.huge then
      return value
    end
    return nil, "must be a number, 0 or more, not " .. names.show(value)
  end,
  seconds = function(value)
    if type(value) == "number" and value > 0 and value <= 31536000 then
      return value
    end
    return nil, "must be a number of seconds above 0 and at most a year, not " .. names.show(value)
  end,
}

-- Checks one value against one type or several; the first that fits wins.
local function check_type(value, wanted)
  if type(wanted) == "string" then
    return M.types[wanted](value)
  end
  local words = {}
  for _, one in ipairs(wanted) do
    local normal, problem = M.types[one](value)
    if problem == nil then
      return normal
    end
    words[#words + 1] = problem:match("^must be (.-), not ") or problem
  end
  local last = table.remove(words)
  return nil, ("must be %s or %s, not %s"):format(table.concat(words, ", "), last, names.show(value))
end

local function check_enum(value, enum)
  for _, known in ipairs(enum) do
    if value == known then
      return value
    end
  end
  return nil, ("must be one of %s, not %s%s"):format(table.concat(enum, ", "), names.show(value),
    names.meant(value, enum))
end

-- A value of no deeper structure.
local function check_plain(value, field)
  if field.enum then
    return check_enum(value, field.enum)
  end
  return check_type(value, field.type or "any")
end

local function check_one(value, field, where)
  if field.fields then
    return M.record(value, field.fields, where)
  end
  local normal, problem = check_plain(value, field)
  if problem then
    return nil, where .. " " .. problem
  end
  return normal
end

local function check_list(value, field, where)
  if type(value) ~= "table" or (next(value) ~= nil and value[1] == nil and getmetatable(value) == nil) then
    value = { value }
  end
  local out = {}
  for i = 1, #value do
    local normal, message = check_one(value[i], field, ("%s[%d]"):format(where, i))
    if message then
      return nil, message
    end
    out[i] = normal
  end
  for key in pairs(value) do
    if math.type(key) ~= "integer" or key < 1 or key > #value then
      return nil, ("%s must be a list without gaps or names, but holds %s"):format(where, names.show(key))
    end
  end
  return out
end

local function check_map(value, field, where)
  if type(value) ~= "table" then
    return nil, ("%s must be a table of names and values, not %s"):format(where, names.show(value))
  end
  local out = {}
  for key, item in pairs(value) do
    if type(key) ~= "string" then
      return nil, ("%s must hold names and values, but %s has no name"):format(where, names.show(item))
    end
    local normal, message = check_one(item, field, ("%s %s"):format(where, names.show(key)))
    if message then
      return nil, message
    end
    out[key] = normal
  end
  return out
end

-- A field that is given, or means something where it is absent; what its message begins with is made for one alone.
local function check_field(value, field, where, name)
  if value ~= nil and not (field.fields or field.list or field.map) then
    local normal, problem = check_plain(value, field)
    return normal, problem and ('%s: field "%s" %s'):format(where, name, problem)
  end
  where = ('%s: field "%s"'):format(where, name)
  if value == nil and field.required then
    return nil, where .. " is missing"
  elseif value == nil and field.fields then
    return M.record({}, field.fields, where)
  elseif value == nil then
    return M.copy(field.default)
  elseif field.list then
    return check_list(value, field, where)
  elseif field.map then
    return check_map(value, field, where)
  end
  return check_one(value, field, where)
end

local function is_known(definition, fields)
  for key in next, definition do
    if type(key) ~= "string" or fields[key] == nil then
      return false
    end
  end
  return true
end

-- The fields that people write; the others are our own loaders'.
local function for_people(fields)
  local out = {}
  for name, field in pairs(fields) do
    out[name] = not field.ours or nil
  end
  return out
end

local function unknown_field(definition, fields, where, meant)
  if is_known(definition, fields) then
    return nil
  end
  for _, key in ipairs(names.sorted(definition)) do
    if fields[key] == nil and definition[key] ~= nil then
      local right = meant and meant[key]
      local hint = right and (' (write "%s")'):format(right) or names.suggest(key, for_people(fields))
      return ('%s: unknown field "%s"%s'):format(where, key, hint)
    end
  end
  for key, value in pairs(definition) do
    if type(key) ~= "string" then
      return ("%s: holds %s without a name (write name = value)"):format(where, names.show(value))
    end
  end
  return nil
end

---@type table<table, { names: string[], wanted: table<string, boolean> }>  of each list of fields: its names in order,
--- and which of them mean something where they are absent. A skill may have 100,000 actions.
local orders = setmetatable({}, { __mode = "k" })

local function order_of(fields)
  local order = orders[fields]
  if not order then
    order = { names = names.sorted(fields), wanted = {} }
    for name, field in pairs(fields) do
      order.wanted[name] = field.required or field.fields ~= nil or field.default ~= nil
    end
    orders[fields] = order
  end
  return order.names, order.wanted
end

---Checks a record and gives its normal form: a new table with every default filled.
---@param definition any
---@param fields table<string, skillrt.Field>
---@param where string  names the object in messages
---@param meant table<string, string>?  names that people use elsewhere -> the name here
---@return table? normal
---@return string? message
function M.record(definition, fields, where, meant)
  if type(definition) ~= "table" then
    return nil, ("%s: must be a table, not %s"):format(where, names.show(definition))
  end
  local message = unknown_field(definition, fields, where, meant)
  if message then
    return nil, message
  end
  local out = {}
  local order, wanted = order_of(fields)
  for _, name in ipairs(order) do
    local value = definition[name]
    if value ~= nil or wanted[name] then
      out[name], message = check_field(value, fields[name], where, name)
      if message then
        return nil, message
      end
    end
  end
  return out
end

---A deep copy of what JSON can hold, from any value that a script gave.
M.copy = plain.copy

return M
