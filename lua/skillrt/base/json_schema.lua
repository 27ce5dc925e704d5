-- base/json_schema.lua: the subset of JSON Schema that people ask models for: checks a schema, and validates values
-- against it, with messages that a model understands.
--
-- An unknown keyword is refused: a check that is not made must not look as if it were. Pure: knows no agents.

local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local regex = require("skillrt.base.regex")

local M = {}

-- The maximal depth of schemas and values, and how many problems are named.
local MAX_DEPTH <const>, MAX_PROBLEMS <const> = 64, 8

local is_object = json.is_object

-- A list that a person wrote; an empty table counts as one.
local function is_list(value)
  return type(value) == "table" and (json.is_array(value) or next(value) == nil)
end

local TYPES <const> = {
  string = function(v) return type(v) == "string" end,
  number = function(v) return type(v) == "number" end,
  integer = function(v) return type(v) == "number" and math.tointeger(v) ~= nil end,
  boolean = function(v) return type(v) == "boolean" end,
  null = function(v) return v == json.null end,
  array = json.is_array,
  object = is_object,
}

---By name: whether a value is of that type.
M.TYPES = TYPES

---The keywords that are checked, and the type of each one's value.
---@type table<string, string>
M.KEYWORDS = {
  type = "types", enum = "values", const = "any", nullable = "flag", ["$ref"] = "reference",
  minimum = "number", maximum = "number", exclusiveMinimum = "number", exclusiveMaximum = "number", multipleOf = "step",
  minLength = "count", maxLength = "count", pattern = "pattern",
  minItems = "count", maxItems = "count", uniqueItems = "flag", items = "schema", prefixItems = "schemas",
  contains = "schema",
  required = "names", properties = "map", patternProperties = "map", additionalProperties = "schema",
  minProperties = "count", maxProperties = "count",
  anyOf = "schemas", oneOf = "schemas", allOf = "schemas", ["not"] = "schema",
  ["if"] = "schema", ["then"] = "schema", ["else"] = "schema",
}

-- Keywords that inform people and models and check nothing, as do all that begin with "x-".
local NOTES <const> = { title = "any", description = "any", default = "any", examples = "values", format = "any",
  deprecated = "any", readOnly = "any", writeOnly = "any", ["$comment"] = "any", ["$schema"] = "any", ["$id"] = "any",
  ["$defs"] = "map", definitions = "map" }

local function shape_of(key)
  return M.KEYWORDS[key] or NOTES[key] or tostring(key):find("^x%-") and "any" or nil
end

-- ---- whether a schema can be used ----

local function types_of(schema)
  local given = schema.type
  return type(given) == "table" and given or given ~= nil and { given } or nil
end

local function has_type(wanted, value)
  for _, name in ipairs(wanted) do
    if TYPES[name](value) then
      return true
    end
  end
  return false
end

-- What a $ref names: "#/$defs/NAME", "#/definitions/NAME" or "#".
local function referred(root, ref)
  if ref == "#" then
    return root
  end
  local where, name = tostring(ref):match("^#/(%$?%a+)/([^/]+)$")
  local defs = (where == "$defs" or where == "definitions") and root[where]
  return type(defs) == "table" and defs[name] or nil
end

local function are_strings(list)
  for _, one in ipairs(list) do
    if type(one) ~= "string" then
      return false
    end
  end
  return true
end

-- By type: whether a value has it, and the word for it.
local SHAPES <const> = {
  any = { function() return true end },
  flag = { TYPES.boolean, "true or false" },
  number = { TYPES.number, "a number" },
  step = { function(v) return type(v) == "number" and v > 0 end, "a number above 0" },
  count = { function(v) return TYPES.integer(v) and v >= 0 end, "a whole number, 0 or more" },
  names = { function(v) return is_list(v) and are_strings(v) end, "a list of names" },
  values = { function(v) return is_list(v) and #v > 0 end, "a list of values" },
  types = {
    function(v) return type(v) == "string" or is_list(v) and #v > 0 and are_strings(v) end, "a type or a list of types",
  },
  pattern = { TYPES.string, "a text" },
  reference = { TYPES.string, "a text" },
  schema = { function(v) return type(v) == "boolean" or is_object(v) end, "a schema (an object)" },
  schemas = { function(v) return is_list(v) and #v > 0 end, "a list of schemas" },
  map = { is_object, "an object of schemas" },
}

local PAIRS <const> = { { "minimum", "maximum" }, { "minLength", "maxLength" }, { "minItems", "maxItems" },
  { "minProperties", "maxProperties" } }

-- Why no value can fit (W6), as far as that is obvious; nil: some may.
local function contradiction(schema, root)
  for _, pair in ipairs(PAIRS) do
    local least, most = schema[pair[1]], schema[pair[2]]
    if least and most and least > most then
      return ("%s %s is above %s %s, so no value fits"):format(pair[1], least, pair[2], most)
    end
  end
  local wanted = types_of(schema)
  for _, name in ipairs(wanted or {}) do
    if not TYPES[name] then
      return ("type %s is not known%s"):format(names.show(name), names.suggest(name, TYPES))
    end
  end
  for _, value in ipairs(wanted and (schema.enum or schema.const ~= nil and { schema.const }) or {}) do
    if not has_type(wanted, value) then
      return ("%s is allowed by enum or const, and not by type %s"):format(names.show(value),
        table.concat(wanted, " or "))
    end
  end
  local is_closed = schema.additionalProperties == false and not schema.patternProperties
  for _, name in ipairs(is_closed and schema.required or {}) do
    if (schema.properties or {})[name] == nil then
      return ("%s is required, and additionalProperties = false forbids it"):format(names.show(name))
    end
  end
  if schema["$ref"] and not referred(root, schema["$ref"]) then
    return ("$ref %s is not found in it"):format(names.show(schema["$ref"]))
  end
  local _, why = regex.compile(schema.pattern or "")
  return why and ("pattern %s: %s"):format(names.show(schema.pattern), why) or nil
end

-- The schemas that a keyword's value holds, each with its place.
local function inside(key, value)
  local shape, list = shape_of(key), {}
  if shape == "schema" then
    list[1] = { at = "." .. key, schema = value }
  elseif shape == "schemas" then
    for i, one in ipairs(value) do
      list[i] = { at = (".%s[%d]"):format(key, i), schema = one }
    end
  elseif shape == "map" then
    for i, name in ipairs(names.sorted(value)) do
      list[i] = { at = "." .. name, schema = value[name] }
    end
  end
  return list
end

local function check(schema, at, root, depth)
  if depth > 1 and type(schema) == "boolean" then
    return nil
  elseif not is_object(schema) then
    return ("%s: must be a schema (an object), not %s"):format(at, is_list(schema) and "a list" or names.show(schema))
  elseif depth > MAX_DEPTH then
    return ("%s: is more than %d levels deep"):format(at, MAX_DEPTH)
  end
  local keys = names.sorted(schema)
  for _, key in ipairs(keys) do
    local shape, value = shape_of(key), schema[key]
    if not shape then
      return ("%s: keyword %s is not checked by skillrt%s"):format(at, names.show(key),
        names.suggest(tostring(key), M.KEYWORDS))
    elseif not SHAPES[shape][1](value) then
      return ("%s: %s must be %s, not %s"):format(at, key, SHAPES[shape][2], names.show(value))
    end
  end
  local problem = contradiction(schema, root)
  if problem then
    return ("%s: %s"):format(at, problem)
  end
  for _, key in ipairs(keys) do
    for _, one in ipairs(inside(key, schema[key])) do
      local message = check(one.schema, at .. one.at, root, depth + 1)
      if message then
        return message
      end
    end
  end
end

---Whether a schema can be used, and some value can fit it.
---@param schema any
---@param where string?  names it in messages
---@param of_object boolean?  it must accept objects, as providers demand
---@return boolean|nil ok
---@return string? message
function M.check(schema, where, of_object)
  if of_object and is_object(schema) and (schema.type or "object") ~= "object" then
    return nil, where .. ": its type must be object; put the value into a field of one"
  end
  local message = check(schema, where or "schema", schema, 1)
  return not message or nil, message
end

local LISTS <const> = { names = true, values = true, types = true, schemas = true }

local function normal(schema)
  if type(schema) ~= "table" then
    return schema
  end
  local out = {}
  for key, value in pairs(schema) do
    local shape = shape_of(key)
    if shape == "schema" then
      value = normal(value)
    elseif shape == "map" or shape == "schemas" then
      local inner = {}
      for name, one in pairs(value) do
        inner[name] = normal(one)
      end
      value = inner
    end
    out[key] = LISTS[shape] and type(value) == "table" and json.array(table.move(value, 1, #value, 1, {})) or value
  end
  return out
end

---A checked schema as it is written in JSON: its lists are arrays, even empty ones.
---@type fun(schema: table): table
M.normal = normal

-- ---- validating ----

local function same(one, other)
  return one == other or type(one) == "table" and type(other) == "table"
    and json.encode(one, { sorted = true }) == json.encode(other, { sorted = true })
end

local Problems = {}
Problems.__index = Problems

function Problems:add(at, text, ...)
  if #self < MAX_PROBLEMS then
    self[#self + 1] = ("%s %s"):format(at, text:format(...))
  end
end

local judge

local function fits(root, schema, value, depth)
  local found = setmetatable({}, Problems)
  judge(root, schema, value, "", found, depth)
  return #found == 0
end

-- Bounds of a number, a length or a count: the keyword, its words, and whether a value is within it.
local function at_least(n, bound) return n >= bound end
local function at_most(n, bound) return n <= bound end
local BOUNDS <const> = {
  { "minimum", "must be at least %s, not %s", at_least }, { "maximum", "must be at most %s, not %s", at_most },
  { "exclusiveMinimum", "must be above %s, not %s", function(n, bound) return n > bound end },
  { "exclusiveMaximum", "must be below %s, not %s", function(n, bound) return n < bound end },
  { "multipleOf", "must be a multiple of %s, not %s", function(n, step)
    return math.abs(n / step - math.floor(n / step + 0.5)) <= 1e-9
  end },
  { "minLength", "must have at least %d characters, not %d", at_least },
  { "maxLength", "must have at most %d characters, not %d", at_most },
  { "minItems", "must have at least %d items, not %d", at_least },
  { "maxItems", "must have at most %d items, not %d", at_most },
  { "minProperties", "must have at least %d fields, not %d", at_least },
  { "maxProperties", "must have at most %d fields, not %d", at_most },
}

local function judge_bounds(schema, first, last, amount, at, found)
  for i = first, last do
    local keyword, text, is_kept = table.unpack(BOUNDS[i])
    local bound = schema[keyword]
    if bound and not is_kept(amount, bound) then
      found:add(at, bound == 1 and text:gsub("(%%d %a+)s,", "%1,") or text, bound, amount)
    end
  end
end

local function judge_text(schema, value, at, found)
  judge_bounds(schema, 6, 7, utf8.len(value) or #value, at, found)
  if schema.pattern and not regex.compile(schema.pattern)(value) then
    found:add(at, "must fit the pattern %s, and is %s", schema.pattern, names.show(value))
  end
end

local function judge_list(root, schema, value, at, found, depth)
  judge_bounds(schema, 8, 9, #value, at, found)
  local seen, contains = {}, schema.contains == nil
  for i = 1, #value do
    local there = ("%s[%d]"):format(at, i - 1) -- as the model counts
    local text = schema.uniqueItems and json.encode(value[i], { sorted = true }) or i
    if seen[text] then
      found:add(there, "occurs twice")
    end
    seen[text] = true
    local inner = schema.prefixItems and schema.prefixItems[i]
    if inner == nil then
      inner = schema.items
    end
    judge(root, inner, value[i], there, found, depth + 1)
    contains = contains or fits(root, schema.contains, value[i], depth + 1)
  end
  if not contains then
    found:add(at, "has no item that fits `contains`")
  end
end

local function judge_object(root, schema, value, at, found, depth)
  local properties, more = schema.properties or {}, schema.additionalProperties
  for _, name in ipairs(schema.required or {}) do
    if value[name] == nil then
      found:add(at, "has no %s", names.show(name))
    end
  end
  local keys = names.sorted(value)
  for _, name in ipairs(keys) do
    local there = at == "" and name or ("%s.%s"):format(at, name)
    local known = properties[name] ~= nil
    judge(root, properties[name], value[name], there, found, depth + 1)
    for pattern, inner in pairs(schema.patternProperties or {}) do
      local test = regex.compile(pattern)
      if test and test(name) then
        known = true
        judge(root, inner, value[name], there, found, depth + 1)
      end
    end
    if not known and more == false then
      found:add(at, "must not have %s%s", names.show(name), names.suggest(name, properties))
    elseif not known then
      judge(root, more, value[name], there, found, depth + 1)
    end
  end
  judge_bounds(schema, 10, 11, #keys, at, found)
end

local function judge_choices(root, schema, value, at, found, depth)
  for _, inner in ipairs(schema.allOf or {}) do
    judge(root, inner, value, at, found, depth + 1)
  end
  for _, word in ipairs({ "anyOf", "oneOf" }) do
    local count = 0
    for _, inner in ipairs(schema[word] or {}) do
      count = count + (fits(root, inner, value, depth + 1) and 1 or 0)
    end
    if schema[word] and (count == 0 or word == "oneOf" and count > 1) then
      found:add(at, "fits %d of the schemas of %s", count, word)
    end
  end
  if schema["not"] ~= nil and fits(root, schema["not"], value, depth + 1) then
    found:add(at, "fits what `not` forbids")
  end
  if schema["if"] ~= nil then
    judge(root, schema[fits(root, schema["if"], value, depth + 1) and "then" or "else"], value, at, found, depth + 1)
  end
end

function judge(root, schema, value, at, found, depth)
  if schema == nil or schema == true then
    return
  elseif schema == false then
    return found:add(at, "is not allowed")
  elseif depth > MAX_DEPTH then
    return found:add(at, "is more than %d levels deep", MAX_DEPTH)
  elseif schema.nullable and value == json.null then
    return
  end
  judge(root, schema["$ref"] and referred(root, schema["$ref"]), value, at, found, depth + 1)
  local wanted = types_of(schema)
  if wanted and not has_type(wanted, value) then
    local got = value == json.null and "null" or json.is_array(value) and "an array"
      or type(value) == "table" and "an object" or names.show(value)
    return found:add(at, "must be %s, not %s", table.concat(wanted, " or "), got)
  end
  local known = not schema.enum
  for _, one in ipairs(schema.enum or {}) do
    known = known or same(one, value)
  end
  if not known then
    found:add(at, "must be one of %s, not %s", json.encode(json.array(schema.enum)), names.show(value))
  elseif schema.const ~= nil and not same(schema.const, value) then
    found:add(at, "must be %s", json.encode(schema.const))
  end
  if type(value) == "number" then
    judge_bounds(schema, 1, 5, value, at, found)
  elseif type(value) == "string" then
    judge_text(schema, value, at, found)
  elseif json.is_array(value) then
    judge_list(root, schema, value, at, found, depth)
  elseif type(value) == "table" then
    judge_object(root, schema, value, at, found, depth)
  end
  judge_choices(root, schema, value, at, found, depth)
end

---Validates a decoded value against a checked schema.
---@param schema table
---@param value any
---@param what string?  the value's name in messages; default "the answer"
---@return boolean|nil ok
---@return string? message  each problem with its place
function M.judge(schema, value, what)
  local found = setmetatable({}, Problems)
  judge(schema, schema, value, "", found, 1)
  if #found == 0 then
    return true
  end
  for i = 1, #found do
    found[i] = found[i]:gsub("^ ", (what or "the answer") .. " ")
  end
  return nil, table.concat(found, "; ")
end

return M
