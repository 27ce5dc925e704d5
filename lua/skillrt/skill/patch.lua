-- skill/patch.lua: trees of JSON values: copied, compared, merged by RFC 7396, and the patch between two.
--
-- Pure; changes nothing in place. state.lua applies patches to a state.

local json = require("skillrt.base.json")
local tables = require("skillrt.base.tables")
local view = require("skillrt.base.readonly")
local null = json.null

local M = {}

---@param value any
---@return boolean
local is_object = json.is_object

M.is_object = is_object

---A deep copy that shares nothing with the original (F37).
M.copy = require("skillrt.base.plain").copy

local function equal(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b and math.type(a) == math.type(b)
  elseif json.is_array(a) ~= json.is_array(b) then
    return false
  end
  for key, item in pairs(a) do
    local other = b[key]
    if item ~= other or math.type(item) ~= math.type(other) then
      if type(item) ~= "table" or not equal(item, other) then
        return false
      end
    end
  end
  for key in pairs(b) do
    if a[key] == nil then
      return false
    end
  end
  return true
end
M.equal = equal

---The result of an RFC 7396 merge patch; the value itself is unchanged.
---@param old any
---@param patch any
---@return any
function M.merge(old, patch)
  if patch == null then
    return nil
  elseif not is_object(patch) then
    return M.copy(patch)
  end
  local out = {}
  if is_object(old) then
    tables.fill(out, old)
  end
  for key, value in pairs(patch) do
    if type(value) == "table" then
      out[key] = M.merge(out[key], value)
    elseif value == null then
      out[key] = nil
    else
      out[key] = value
    end
  end
  return out
end

-- Whether an object contains a null, other than in lists.
local function has_null(object)
  for _, value in next, object do
    if value == null or (json.is_object(value) and has_null(value)) then
      return true
    end
  end
  return false
end

---The result of an RFC 7396 patch where there was no value; if it contains no null, the patch itself, which the
---caller must not write to.
---@param value any  plain, without metatables but those of lists
---@return any
function M.taken(value)
  if is_object(value) and has_null(value) then
    return M.merge(nil, value)
  end
  return value
end

---The merge patch that turns `before` into `after`.
---@param before table
---@param after table
---@return table patch
function M.diff(before, after)
  local patch = {}
  before, after = view.target(before) or before, view.target(after) or after
  for key, value in pairs(after) do
    local old = before[key]
    if is_object(value) and is_object(old) then
      local inner = M.diff(old, value)
      if next(inner) ~= nil then
        patch[key] = inner
      end
    elseif not equal(old, value) then
      patch[key] = M.copy(value)
    end
  end
  for key in pairs(before) do
    if after[key] == nil then
      patch[key] = null
    end
  end
  return patch
end

return M
