-- base/json_schema.lua: JSON Schema, the part of it that people ask models for: values are judged by a schema,
-- with words about what is wrong that a model understands.
--
-- What a schema may say is in schema_check.lua. Pure: knows no agents.

local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local regex = require("skillrt.base.regex")
local schema_check = require("skillrt.base.schema_check")

local M = { check = schema_check.check, normal = schema_check.normal, KEYWORDS = schema_check.KEYWORDS }

local MAX_PROBLEMS <const> = 8
local TYPES, MAX_DEPTH = schema_check.TYPES, schema_check.MAX_DEPTH

local function same(one, other)
  if one == other then
    return true
  elseif type(one) ~= "table" or type(other) ~= "table" then
    return false
  end
  return json.encode(one, { sorted = true }) == json.encode(other, { sorted = true })
end

local judge

local Problems = {}
Problems.__index = Problems

function Problems:add(at, text, ...)
  if #self < MAX_PROBLEMS then
    self[#self + 1] = ("%s %s"):format(at, text:format(...))
  end
  return false
end

local function fits(root, schema, value, depth)
  local found = setmetatable({}, Problems)
  judge(root, schema, value, "", found, depth)
  return #found == 0
end

local function judge_number(schema, value, at, found)
  if schema.minimum and value < schema.minimum then
    found:add(at, "must be at least %s, not %s", schema.minimum, value)
  elseif schema.maximum and value > schema.maximum then
    found:add(at, "must be at most %s, not %s", schema.maximum, value)
  elseif schema.exclusiveMinimum and value <= schema.exclusiveMinimum then
    found:add(at, "must be above %s, not %s", schema.exclusiveMinimum, value)
  elseif schema.exclusiveMaximum and value >= schema.exclusiveMaximum then
    found:add(at, "must be below %s, not %s", schema.exclusiveMaximum, value)
  elseif schema.multipleOf and math.abs(value / schema.multipleOf - math.floor(value / schema.multipleOf + 0.5)) > 1e-9
  then
    found:add(at, "must be a multiple of %s, not %s", schema.multipleOf, value)
  end
end

local function judge_text(schema, value, at, found)
  local length = utf8.len(value) or #value
  if schema.minLength and length < schema.minLength then
    found:add(at, "must have at least %d characters", schema.minLength)
  elseif schema.maxLength and length > schema.maxLength then
    found:add(at, "must have at most %d characters, not %d", schema.maxLength, length)
  end
  if schema.pattern and not regex.compile(schema.pattern)(value) then
    found:add(at, "must fit the pattern %s, and is %s", schema.pattern, names.show(value))
  end
end

local function judge_list(root, schema, value, at, found, depth)
  local count = #value
  if schema.minItems and count < schema.minItems then
    found:add(at, "must have at least %d items, not %d", schema.minItems, count)
  elseif schema.maxItems and count > schema.maxItems then
    found:add(at, "must have at most %d items, not %d", schema.maxItems, count)
  end
  local seen = {}
  for i = 1, count do
    local there = ("%s[%d]"):format(at, i - 1) -- as the model counts
    if schema.uniqueItems then
      local text = json.encode(value[i], { sorted = true })
      if seen[text] then
        found:add(there, "is there twice")
      end
      seen[text] = true
    end
    if type(schema.items) == "table" then
      judge(root, schema.items, value[i], there, found, depth + 1)
    end
  end
end

local function judge_object(root, schema, value, at, found, depth)
  local properties, more, count = schema.properties or {}, schema.additionalProperties, 0
  for _, name in ipairs(schema.required or {}) do
    if value[name] == nil then
      found:add(at, "has no %s", names.show(name))
    end
  end
  for _, name in ipairs(names.sorted(value)) do
    count = count + 1
    local there = at == "" and name or ("%s.%s"):format(at, name)
    if properties[name] ~= nil then
      judge(root, properties[name], value[name], there, found, depth + 1)
    elseif more == false then
      found:add(at, "must not have %s%s", names.show(name), names.suggest(name, properties))
    elseif type(more) == "table" then
      judge(root, more, value[name], there, found, depth + 1)
    end
  end
  if schema.minProperties and count < schema.minProperties then
    found:add(at, "must have at least %d fields, not %d", schema.minProperties, count)
  elseif schema.maxProperties and count > schema.maxProperties then
    found:add(at, "must have at most %d fields, not %d", schema.maxProperties, count)
  end
end

local function judge_choices(root, schema, value, at, found, depth)
  if schema.allOf then
    for _, inner in ipairs(schema.allOf) do
      judge(root, inner, value, at, found, depth + 1)
    end
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
  if schema["not"] and fits(root, schema["not"], value, depth + 1) then
    found:add(at, "fits what `not` forbids")
  end
end

-- True: its type is right, or none is asked for.
local function judge_type(schema, value, at, found)
  local wanted = schema_check.types_of(schema)
  if not wanted then
    return true
  end
  for _, name in ipairs(wanted) do
    if TYPES[name](value) then
      return true
    end
  end
  local got = value == json.null and "null" or json.is_array(value) and "an array"
    or type(value) == "table" and "an object" or names.show(value)
  return found:add(at, "must be %s, not %s", table.concat(wanted, " or "), got)
end

function judge(root, schema, value, at, found, depth)
  if depth > MAX_DEPTH then
    return found:add(at, "is more than %d levels deep", MAX_DEPTH)
  elseif schema["$ref"] then
    judge(root, schema_check.referred(root, schema["$ref"]), value, at, found, depth + 1)
  end
  if not judge_type(schema, value, at, found) then
    return nil
  elseif schema.enum then
    local known = false
    for _, one in ipairs(schema.enum) do
      known = known or same(one, value)
    end
    if not known then
      found:add(at, "must be one of %s, not %s", json.encode(json.array(schema.enum)), names.show(value))
    end
  end
  if schema.const ~= nil and not same(schema.const, value) then
    found:add(at, "must be %s", json.encode(schema.const))
  end
  if type(value) == "number" then
    judge_number(schema, value, at, found)
  elseif type(value) == "string" then
    judge_text(schema, value, at, found)
  elseif json.is_array(value) then
    judge_list(root, schema, value, at, found, depth)
  elseif type(value) == "table" then
    judge_object(root, schema, value, at, found, depth)
  end
  judge_choices(root, schema, value, at, found, depth)
end

---Judges a decoded value by a schema that was checked.
---@param schema table
---@param value any
---@param what string?  what it is called; else "the answer"
---@return boolean|nil ok
---@return string? message  what is wrong, each with its place
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
