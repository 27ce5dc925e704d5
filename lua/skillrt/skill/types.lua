-- skill/types.lua: the types that a skill's schema declares for its state, and which values fit them.
--
--   string number integer boolean object any, and T[] for a list of T
--
-- Null fits every type: an update with null removes the field. Knows values, no skills.

local json = require("skillrt.base.json")
local json_schema = require("skillrt.base.json_schema")
local names = require("skillrt.base.names")

local M = {}

local CHECKS <const> = { any = function() return true end }
for name in ("string number integer boolean object"):gmatch("%a+") do
  CHECKS[name] = json_schema.TYPES[name]
end

-- The type of a list's items; nil: it is no list.
local function items_of(declared)
  return declared:sub(-2) == "[]" and declared:sub(1, -3) or nil
end

---@param declared string
---@return boolean
function M.is_list(declared)
  return items_of(declared) ~= nil
end

---Whether a field of this type may hold a value. An empty table without a mark is a list, too.
---@param declared string  one that `check` accepted
---@param value any
---@return boolean
function M.fits(declared, value)
  if value == json.null then
    return true
  end
  local inner = items_of(declared)
  if not inner then
    return CHECKS[declared](value)
  elseif type(value) ~= "table" or not json.is_array(value) and next(value) ~= nil then
    return false
  elseif inner == "any" then
    return true
  end
  for i = 1, #value do
    if not M.fits(inner, value[i]) then
      return false
    end
  end
  return true
end

---The type of a value, for a message that it does not fit.
---@param value any
---@return string
function M.describe(value)
  if type(value) == "table" then
    return json.is_array(value) and "an array" or "an object"
  elseif type(value) == "number" then
    return "the number " .. tostring(value)
  end
  return "a " .. type(value)
end

---A declared type, or what is wrong with it.
---@param declared any
---@return string? declared
---@return string? problem
function M.check(declared)
  local bare = type(declared) == "string" and declared:sub(1, 64) or nil
  while bare and items_of(bare) do
    bare = items_of(bare)
  end
  if bare and CHECKS[bare] then
    return declared
  elseif type(declared) ~= "string" then
    return nil, ("must be the name of a type, not %s"):format(names.show(declared))
  end
  local problem = "must be string, number, integer, boolean, object, any or a list such as string[], not %s%s"
  return nil, problem:format(names.show(declared), names.meant(bare, CHECKS))
end

local OTHERS = { array = "any[]", list = "any[]", int = "integer", float = "number", bool = "boolean",
  Date = "string", text = "string" }

---The type that a document's words mean, which may be TypeScript's; an unknown one is "any".
---@param words string
---@return string declared
function M.of_words(words)
  words = words:gsub("|%s*null", ""):gsub("|%s*undefined", ""):gsub("%s", "")
  local inner = words:match "^Array<(.*)>$" or words:match "^(.*)%[%]$"
  if inner then
    return M.of_words(inner) .. "[]"
  elseif words:find "^(['\"]).*%1$" then -- a literal, or some
    return "string"
  elseif words:find "^Record<" or words:find "^{.*}$" then
    return "object"
  end
  return CHECKS[words] and words or OTHERS[words] or "any"
end

return M
