-- base/json_example.lua: makes a small value that fits a JSON Schema, as far as that is simple. It has all named
-- fields, as a reader may look at any of them.
--
-- Pure. The caller must validate the value (json_schema.lua): patterns, for example, are not solved.

local json = require("skillrt.base.json")

local M = {}

local MAX_DEPTH <const> = 16

local make

local function of_object(root, schema, depth)
  local out = {}
  for _, name in ipairs(schema.required or {}) do
    out[name] = json.null
  end
  for name, inner in pairs(schema.properties or {}) do
    if depth < MAX_DEPTH or out[name] then
      out[name] = make(root, inner, depth + 1)
    end
  end
  return out
end

local function of_array(root, schema, depth)
  local out = json.array({})
  for i = 1, math.max(schema.minItems or 0, schema.items and 1 or 0) do
    out[i] = make(root, schema.items or true, depth + 1)
  end
  return out
end

local function of_number(_, schema)
  local least = schema.minimum or schema.exclusiveMinimum and schema.exclusiveMinimum + 1
    or schema.maximum or schema.exclusiveMaximum and schema.exclusiveMaximum - 1 or 0
  local step = schema.multipleOf
  return step and math.ceil(least / step) * step or least
end

local MAKE = {
  object = of_object,
  array = of_array,
  number = of_number,
  integer = function(root, schema)
    return math.tointeger(math.ceil(of_number(root, schema)))
  end,
  string = function(_, schema)
    local text = "text"
    text = text .. ("x"):rep((schema.minLength or 0) - #text)
    return schema.maxLength and text:sub(1, schema.maxLength) or text
  end,
  boolean = function()
    return true
  end,
  null = function()
    return json.null
  end,
}

-- "#/$defs/name" in the root.
local function resolved(root, ref)
  local at = root
  for name in ref:gmatch("[^#/]+") do
    local part = name:gsub("~1", "/"):gsub("~0", "~")
    at = type(at) == "table" and (at[part] or at[math.tointeger(part)]) or nil
  end
  return at
end

local function first_of(schema, depth)
  if schema.const ~= nil then
    return schema.const
  elseif schema.enum then
    return schema.enum[1]
  elseif schema.default ~= nil then
    return schema.default
  end
  return schema.examples and depth and schema.examples[1]
end

function make(root, schema, depth)
  if type(schema) ~= "table" or depth > MAX_DEPTH then
    return json.null
  elseif schema["$ref"] then
    return make(root, resolved(root, schema["$ref"]), depth + 1)
  end
  local given = first_of(schema, depth)
  if given ~= nil then
    return given
  end
  local other = schema.anyOf or schema.oneOf or schema.allOf
  if other and not schema.type then
    return make(root, other[1], depth + 1)
  end
  local kind = schema.type or (schema.properties and "object") or (schema.items and "array")
  kind = type(kind) == "table" and kind[1] or kind
  return kind and MAKE[kind] and MAKE[kind](root, schema, depth) or json.null
end

---A value for a schema.
---@param schema table
---@return any value
function M.of(schema)
  return make(schema, schema, 1)
end

return M
