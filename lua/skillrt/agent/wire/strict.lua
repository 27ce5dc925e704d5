-- agent/wire/strict.lua: whether a schema is one that a provider can hold a model to strictly: every object
-- closed, all of its fields required, and no keyword that strict output does not take. Pure.

local tables = require("skillrt.base.tables")

local M = {}

local TAKEN = {}
for word in ([[type properties required additionalProperties items enum const anyOf $ref $defs description title
  minimum maximum minItems maxItems pattern]]):gmatch("%S+") do
  TAKEN[word] = true
end

local function is_closed(schema)
  if schema.additionalProperties ~= false then
    return false
  end
  local required = tables.set(schema.required or {})
  for name in pairs(schema.properties or {}) do
    if not required[name] then
      return false
    end
  end
  return true
end

local function each_inner(schema, fits)
  for _, key in ipairs({ "properties", "$defs" }) do
    for _, inner in pairs(schema[key] or {}) do
      if not fits(inner) then
        return false
      end
    end
  end
  for _, inner in ipairs(schema.anyOf or {}) do
    if not fits(inner) then
      return false
    end
  end
  return type(schema.items) ~= "table" or fits(schema.items)
end

local function fits(schema)
  for key in pairs(schema) do
    if not TAKEN[key] then
      return false
    end
  end
  return (schema.type ~= "object" or is_closed(schema)) and each_inner(schema, fits)
end

---@param schema table
---@return boolean
function M.fits(schema)
  return schema.type == "object" and fits(schema)
end

return M
