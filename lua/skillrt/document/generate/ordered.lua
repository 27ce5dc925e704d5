-- document/generate/ordered.lua: JSON for people: keys in the order of document/form.lua, others after them,
-- alphabetically.
--
-- The same value gives the same bytes. Called by whatever generates a document that contains JSON.
local form = require "skillrt.document.form"
local json = require "skillrt.base.json"

local M = {}

local NONE <const> = { rank = {} }

local function keys_of(object, rank)
  local keys = {}
  for key in pairs(object) do
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    local first, second = rank[a], rank[b]
    if first and second then
      return first < second
    elseif first or second then
      return first ~= nil
    end
    return a < b
  end)
  return keys
end

local write

local function write_list(out, list, indent, kind)
  local inner = indent .. "  "
  for i, item in ipairs(list) do
    out[#out + 1] = (i == 1 and "[" or ",") .. inner
    write(out, item, inner, kind)
  end
  out[#out + 1] = #list > 0 and indent .. "]" or "[]"
end

local function write_object(out, object, indent, kind, is_map)
  local inner = indent .. "  "
  local rows = not is_map and form.KINDS[kind] or NONE
  local keys = keys_of(object, rows.rank)
  for i, key in ipairs(keys) do
    out[#out + 1] = (i == 1 and "{" or ",") .. inner .. json.encode(key) .. ": "
    local row = is_map and { type = kind } or rows[rows.rank[key]] or NONE
    write(out, object[key], inner, row.type, row.many == "{")
  end
  out[#out + 1] = #keys > 0 and indent .. "}" or "{}"
end

function write(out, value, indent, kind, is_map)
  if type(value) ~= "table" then
    out[#out + 1] = assert(json.encode(value))
  elseif json.is_array(value) then
    write_list(out, value, indent, kind)
  else
    write_object(out, value, indent, kind, is_map)
  end
end

---@param value any  JSON; the keys of its objects are texts
---@param kind "config"|"workflow"|"entry"|nil  what it is, or what the items of the list are
---@return string
function M.encode(value, kind)
  local out = {}
  write(out, value, "\n", kind)
  return table.concat(out)
end

return M
