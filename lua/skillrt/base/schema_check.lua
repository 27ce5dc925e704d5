-- base/schema_check.lua: whether a JSON Schema is one that can be judged by: known keywords, values of the right
-- kinds, nothing that contradicts itself (W6).
--
-- A keyword that is not known is refused: what nobody checks must not look as if it were. Notes (title,
-- description, default, format ...) are let through and check nothing. Called by json_schema.lua.

local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local regex = require("skillrt.base.regex")

local M = {}

---How deep schemas and values may be.
M.MAX_DEPTH = 64
local MAX_DEPTH <const> = 64

local function set(words)
  local out = {}
  for word in words:gmatch("%S+") do
    out[word] = true
  end
  return out
end

---Keywords that say something to people and models, and check nothing.
M.NOTES = set([[title description default examples format deprecated readOnly writeOnly $comment $schema $id $defs
  definitions]])

---Keywords that are checked.
M.KEYWORDS = set([[type properties required additionalProperties items enum const minimum maximum exclusiveMinimum
  exclusiveMaximum multipleOf minLength maxLength pattern minItems maxItems uniqueItems minProperties maxProperties
  anyOf oneOf allOf not $ref]])

local KNOWN = setmetatable({}, { __index = function(_, key) return M.KEYWORDS[key] or M.NOTES[key] end })

local is_object = json.is_object

-- A list that a person wrote: an empty table is one.
local function is_list(value)
  return type(value) == "table" and (json.is_array(value) or next(value) == nil)
end

local TYPES = {
  string = function(v) return type(v) == "string" end,
  number = function(v) return type(v) == "number" end,
  integer = function(v) return type(v) == "number" and math.tointeger(v) ~= nil end,
  boolean = function(v) return type(v) == "boolean" end,
  null = function(v) return v == json.null end,
  array = json.is_array,
  object = is_object,
}

M.TYPES = TYPES

---The types a schema allows; nil: any.
---@param schema table
---@return string[]|nil
function M.types_of(schema)
  local given = schema.type
  return type(given) == "table" and given or given ~= nil and { given } or nil
end

local check_schema

local function all_known(list)
  local all = {}
  for name in pairs(list) do
    all[name] = true
  end
  return all
end

local function check_type(schema, at)
  for _, name in ipairs(M.types_of(schema) or {}) do
    if not TYPES[name] then
      return ('%s: type %s is not known%s'):format(at, names.show(name),
        type(name) == "string" and names.suggest(name, all_known(TYPES)) or "")
    end
  end
end

local NUMBERS = set("minimum maximum exclusiveMinimum exclusiveMaximum")
local COUNTS = set("minLength maxLength minItems maxItems minProperties maxProperties")
local PAIRS = { { "minimum", "maximum" }, { "minLength", "maxLength" }, { "minItems", "maxItems" },
  { "minProperties", "maxProperties" } }

local function check_numbers(schema, at)
  for name in pairs(NUMBERS) do
    if schema[name] ~= nil and type(schema[name]) ~= "number" then
      return ("%s: %s must be a number, not %s"):format(at, name, names.show(schema[name]))
    end
  end
  for name in pairs(COUNTS) do
    local value = schema[name]
    if value ~= nil and (not TYPES.integer(value) or value < 0) then
      return ("%s: %s must be a whole number, 0 or more, not %s"):format(at, name, names.show(value))
    end
  end
  if schema.multipleOf ~= nil and not (type(schema.multipleOf) == "number" and schema.multipleOf > 0) then
    return ("%s: multipleOf must be a number above 0, not %s"):format(at, names.show(schema.multipleOf))
  end
  for _, pair in ipairs(PAIRS) do
    local least, most = schema[pair[1]], schema[pair[2]]
    if least and most and least > most then
      return ("%s: %s %s is above %s %s, so that nothing fits"):format(at, pair[1], least, pair[2], most)
    end
  end
end

-- Lists of values: an enum that its own type forbids can never be met (W6).
local function check_values(schema, at)
  local enum = schema.enum
  if enum ~= nil and (not is_list(enum) or #enum == 0) then
    return ("%s: enum must be a list of values"):format(at)
  end
  local wanted = M.types_of(schema)
  for _, value in ipairs(enum or schema.const ~= nil and { schema.const } or {}) do
    local fits = wanted == nil
    for _, name in ipairs(wanted or {}) do
      fits = fits or TYPES[name](value)
    end
    if not fits then
      return ("%s: %s is allowed by enum or const, and not by type %s"):format(at, names.show(value),
        table.concat(wanted, " or "))
    end
  end
  if schema.pattern ~= nil then
    local _, why = nil, "is no text"
    if type(schema.pattern) == "string" then
      _, why = regex.compile(schema.pattern)
    end
    return why and ("%s: pattern %s: %s"):format(at, names.show(schema.pattern), why)
  end
end

local function check_required(schema, at)
  local required, properties = schema.required, schema.properties
  if required == nil then
    return nil
  elseif not is_list(required) then
    return ("%s: required must be a list of names"):format(at)
  end
  for _, name in ipairs(required) do
    if type(name) ~= "string" then
      return ("%s: required must hold names, not %s"):format(at, names.show(name))
    elseif schema.additionalProperties == false and not (properties and properties[name] ~= nil) then
      return ("%s: %s is required, and additionalProperties = false forbids it"):format(at, names.show(name))
    end
  end
end

-- The schemas inside a schema, each with its place.
local function check_inner(schema, at, root, depth)
  for _, key in ipairs({ "properties", "$defs", "definitions" }) do
    if schema[key] ~= nil and not is_object(schema[key]) then
      return ("%s: %s must be an object of schemas"):format(at, key)
    end
    for _, name in ipairs(names.sorted(schema[key] or {})) do
      local message = check_schema(schema[key][name], ("%s.%s"):format(at, name), root, depth + 1)
      if message then
        return message
      end
    end
  end
  for _, key in ipairs({ "items", "not", "additionalProperties" }) do
    local inner = schema[key]
    if inner ~= nil and not (key ~= "not" and type(inner) == "boolean") then
      local message = check_schema(inner, ("%s.%s"):format(at, key), root, depth + 1)
      if message then
        return message
      end
    end
  end
  for _, key in ipairs({ "anyOf", "oneOf", "allOf" }) do
    local list = schema[key]
    if list ~= nil and (not is_list(list) or #list == 0) then
      return ("%s: %s must be a list of schemas"):format(at, key)
    end
    for i, inner in ipairs(list or {}) do
      local message = check_schema(inner, ("%s.%s[%d]"):format(at, key, i), root, depth + 1)
      if message then
        return message
      end
    end
  end
end

---What a $ref names: "#/$defs/NAME", "#/definitions/NAME" or "#".
---@param root table
---@param ref string
---@return table|nil
function M.referred(root, ref)
  if ref == "#" then
    return root
  end
  local where, name = tostring(ref):match("^#/(%$?%a+)/([^/]+)$")
  local defs = (where == "$defs" or where == "definitions") and root[where]
  return type(defs) == "table" and defs[name] or nil
end

function check_schema(schema, at, root, depth)
  if not is_object(schema) then
    return ("%s: must be a schema (an object), not %s"):format(at, names.show(schema))
  elseif depth > MAX_DEPTH then
    return ("%s: is more than %d levels deep"):format(at, MAX_DEPTH)
  end
  for _, key in ipairs(names.sorted(schema)) do
    if not KNOWN[key] then
      return ("%s: keyword %s is not checked by skillrt%s"):format(at, names.show(key),
        names.suggest(tostring(key), M.KEYWORDS))
    end
  end
  if schema["$ref"] ~= nil and not M.referred(root, schema["$ref"]) then
    return ("%s: $ref %s is not found in it"):format(at, names.show(schema["$ref"]))
  end
  return check_type(schema, at) or check_numbers(schema, at) or check_values(schema, at) or check_required(schema, at)
    or check_inner(schema, at, root, depth)
end

---Whether a schema can be judged by, and can be met.
---@param schema any
---@param where string?  names it in messages
---@return boolean|nil ok
---@return string? message
function M.check(schema, where)
  local message = check_schema(schema, where or "schema", schema, 1)
  return not message or nil, message
end

local LISTS = set("type required enum anyOf oneOf allOf examples")
local CHOICES, MAPS, DATA = set("anyOf oneOf allOf"), set("properties $defs definitions"), set("default const")

-- The schemas of a map or list, each; a name in `properties` is no keyword, whatever it is.
local function all_normal(map)
  local out = {}
  for key, value in pairs(map) do
    out[key] = type(value) == "table" and M.normal(value) or value
  end
  return out
end

---A schema that was checked, as JSON writes it: its lists are arrays, also empty ones.
---@param schema table
---@return table
function M.normal(schema)
  local out = {}
  for key, value in pairs(schema) do
    if type(value) == "table" and not DATA[key] then
      if LISTS[key] or json.is_array(value) then
        value = json.array(table.move(CHOICES[key] and all_normal(value) or value, 1, #value, 1, {}))
      else
        value = MAPS[key] and all_normal(value) or M.normal(value)
      end
    end
    out[key] = value
  end
  return out
end

return M
