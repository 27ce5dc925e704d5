-- tool/mcp/schema.lua: the part of a server's JSON Schema that can be checked here: unknown keywords, and values
-- without meaning, are left out, so that nothing is refused that the server would accept.
--
-- A model gets the server's own schema. Pure.

local json = require("skillrt.base.json")
local json_schema = require("skillrt.base.json_schema")
local regex = require("skillrt.base.regex")

local M = {}

local is_object = json.is_object

local relaxed

local function all_of(map, depth)
  local out = {}
  for name, inner in pairs(map) do
    out[name] = relaxed(inner, depth + 1)
  end
  return out
end

local MAPS <const> = { properties = true, patternProperties = true, ["$defs"] = true, definitions = true }
local LISTS <const> = { anyOf = true, oneOf = true, allOf = true, prefixItems = true }
-- what these forbid must be known exactly
local EXACT <const> = { ["not"] = true, ["if"] = true, ["then"] = true, ["else"] = true }

-- One keyword's value; nil: it is left out.
local function kept(key, value, depth)
  if MAPS[key] then
    return is_object(value) and all_of(value, depth) or nil
  elseif LISTS[key] then
    return type(value) == "table" and #value > 0 and json.array(all_of(value, depth)) or nil
  elseif key == "items" or key == "contains" or key == "additionalProperties" then
    return is_object(value) and relaxed(value, depth + 1) or value == false and value or nil
  elseif key == "pattern" then
    return type(value) == "string" and regex.compile(value) and value or nil
  elseif EXACT[key] or not json_schema.KEYWORDS[key] then
    return nil
  end
  return value
end

function relaxed(schema, depth)
  local out = {}
  if not is_object(schema) or depth > 60 then
    return out
  end
  for key, value in pairs(schema) do
    local into = key == "oneOf" and not schema.anyOf and "anyOf" or key
    out[into] = into ~= "oneOf" and kept(key, value, depth) or out[into]
  end
  return out
end

---The schema that arguments are checked by.
---@param schema any  as a server sent it
---@return table
function M.judged(schema)
  local out = relaxed(schema, 1)
  out.type = "object"
  if not json_schema.check(out) then
    return { type = "object" }
  end
  return json_schema.normal(out)
end

return M
