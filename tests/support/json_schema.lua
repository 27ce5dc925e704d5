-- json_schema.lua: the keywords of JSON Schema 2020-12 that docs/schema/ uses, for its tests; any
-- other keyword is an error, so that the schemas stay within what is proven here.
local json = require "skillrt.base.json"

local M = {}

local NOTES = {}
for word in ("$schema $id $defs title description default examples deprecated format then else"):gmatch "%S+" do
  NOTES[word] = true
end

local TYPES = {
  string = function(v) return type(v) == "string" end,
  number = function(v) return type(v) == "number" end,
  integer = function(v) return math.type(v) == "integer" or type(v) == "number" and v == math.floor(v) end,
  boolean = function(v) return type(v) == "boolean" end,
  null = function(v) return v == json.null end,
  array = function(v) return json.is_array(v) end,
  object = function(v) return type(v) == "table" and not json.is_array(v) end,
}

-- The patterns used are those that Lua reads alike, but for a hyphen outside of brackets.
local function matches(text, pattern)
  assert(not pattern:find "[\\(){}|+?%%]", pattern)
  local out = pattern:gsub("%b[]", function(set) return set:gsub("%-", "\1") end):gsub("%-", "%%-"):gsub("\1", "-")
  return text:find(out) ~= nil
end

local check

local function same(a, b)
  return a == b or type(a) == "table" and type(b) == "table" and json.encode(a) == json.encode(b)
end

local function any(list, test)
  for _, one in ipairs(list) do
    if test(one) then return true end
  end
  return false
end

local WORDS = {}

function WORDS.type(v, s)
  local list = type(s.type) == "table" and s.type or { s.type }
  return any(list, function(name) return TYPES[name](v) end) or "is no " .. table.concat(list, " or ")
end
WORDS["enum"] = function(v, s) return any(s.enum, function(one) return same(one, v) end) or "is none of the enum" end
WORDS["const"] = function(v, s) return same(v, s.const) or "is not the const" end
WORDS["not"] = function(v, s, root, path) return check(v, s["not"], root, path) ~= nil or "matches `not`" end
WORDS["$ref"] = function(v, s, root, path)
  return check(v, assert(root["$defs"][s["$ref"]:match "^#/%$defs/(.+)$"]), root, path) or true
end
WORDS["if"] = function(v, s, root, path)
  local branch = check(v, s["if"], root, path) == nil and s["then"] or s["else"]
  return branch and check(v, branch, root, path) or true
end
function WORDS.anyOf(v, s, root, path)
  return any(s.anyOf, function(one) return check(v, one, root, path) == nil end) or "matches nothing of anyOf"
end
function WORDS.allOf(v, s, root, path)
  for _, one in ipairs(s.allOf) do
    local problem = check(v, one, root, path)
    if problem then return problem end
  end
  return true
end
function WORDS.required(v, s)
  for _, key in ipairs(TYPES.object(v) and s.required or {}) do
    if v[key] == nil then return "lacks " .. key end
  end
  return true
end
function WORDS.properties(v, s, root, path)
  for key, inner in pairs(TYPES.object(v) and s.properties or {}) do
    local problem = v[key] ~= nil and check(v[key], inner, root, path .. "." .. key)
    if problem then return problem end
  end
  return true
end
function WORDS.additionalProperties(v, s, root, path)
  for key, item in pairs(TYPES.object(v) and v or {}) do
    local known = s.properties and s.properties[key]
    for pattern in pairs(s.patternProperties or {}) do known = known or matches(key, pattern) end
    local problem = not known and check(item, s.additionalProperties, root, path .. "." .. key)
    if problem then return problem end
  end
  return true
end
function WORDS.patternProperties(_, s)
  for _, schema in pairs(s.patternProperties) do assert(schema == true, "only `true` is proven here") end
  return true
end
function WORDS.items(v, s, root, path)
  for i, item in ipairs(TYPES.array(v) and v or {}) do
    local problem = check(item, s.items, root, ("%s[%d]"):format(path, i))
    if problem then return problem end
  end
  return true
end
function WORDS.uniqueItems(v)
  local seen = {}
  for _, item in ipairs(TYPES.array(v) and v or {}) do
    if seen[item] then return "holds an item twice" end
    seen[item] = true
  end
  return true
end
function WORDS.pattern(v, s) return type(v) ~= "string" or matches(v, s.pattern) or "does not match " .. s.pattern end
function WORDS.minLength(v, s) return type(v) ~= "string" or utf8.len(v) >= s.minLength or "is too short" end
function WORDS.maxLength(v, s) return type(v) ~= "string" or utf8.len(v) <= s.maxLength or "is too long" end
function WORDS.minItems(v, s) return not TYPES.array(v) or #v >= s.minItems or "has too few items" end
function WORDS.minimum(v, s) return type(v) ~= "number" or v >= s.minimum or "is too small" end
function WORDS.exclusiveMinimum(v, s) return type(v) ~= "number" or v > s.exclusiveMinimum or "is too small" end

function check(value, schema, root, path)
  if type(schema) == "boolean" then return not schema and path .. ": nothing is allowed here" or nil end
  for word in pairs(schema) do
    local test = WORDS[word]
    assert(test or NOTES[word], "keyword " .. word .. " is not one of those that are proven")
    local result = test and test(value, schema, root, path)
    if type(result) == "string" then return result:find "^%$" and result or path .. ": " .. result end
  end
  return nil
end

---What is wrong with a value, nil where nothing is.
---@param value any
---@param schema table
---@return string? problem  begins with the path, "$.phases[1].id"
function M.check(value, schema)
  return check(value, schema, schema, "$")
end

return M
