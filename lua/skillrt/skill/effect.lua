-- skill/effect.lua: what an action promises about the state after it, read and checked (F46).
--
--   k=v  k!=null  k.length>0  n++  n--  k  !k      (and === == !== < <= >=)
--
-- A promise about a field that the runtime writes itself (status=completed) is not the action's to keep, and counts
-- as kept. Knows nothing of actions or runs. Called by action.lua.

local expr = require("skillrt.expr")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local state = require("skillrt.skill.state")
local trim = require("skillrt.base.text").trim
local value_of = require("skillrt.expr.value")

local M = {}

local MAX_BYTES <const> = 500

---@class skillrt.Effect
---@field text string
---@field key string      the top-level state key it is about
---@field path string[]     from that key down: { "files", "length" }
---@field step "++"|"--"|nil  it increments or decrements
---@field compares boolean  it names a value
---@field value any         that value; null is json.null
---@field reserved boolean  the runtime writes that key
---@field kept true?        the runtime writes it for this skill, by the `keeps` of its steps
---@field check fun(before: table?, after: table): boolean, string?  whether it is kept; or false and why not

local EQUAL = { ["="] = true, ["=="] = true, ["==="] = true }
local UNEQUAL = { ["!="] = true, ["!=="] = true }
local WORDS = { ["true"] = true, ["false"] = false, null = json.null, undefined = json.null }

local function is_null(value)
  return value == nil or type(value) == "userdata"
end

-- The value at a path. `length` counts the items of a list or the bytes of a text.
local function lookup(root, path)
  local value = root
  for i, part in ipairs(path) do
    local kind = type(value)
    if i > 1 and part == "length" and (kind == "string" or kind == "table" and value.length == nil) then
      value = #value
    elseif kind == "table" then
      value = value[part]
    else
      return nil
    end
  end
  return value
end

local function show(value)
  return is_null(value) and "null" or type(value) == "table" and "a table" or names.show(value)
end

local function is_empty(value)
  local iterate, of, first = pairs(value) -- not next(): a view answers through __pairs
  return iterate(of, first) == nil
end

local function compare(op, left, right)
  if EQUAL[op] or UNEQUAL[op] then
    local same = left == right
    if is_null(right) then
      same = is_null(left)
    elseif type(right) == "table" then
      same = type(left) == "table" and is_empty(left)
    end
    return same == (EQUAL[op] ~= nil)
  elseif type(left) ~= type(right) or (type(left) ~= "number" and type(left) ~= "string") then
    return false
  end
  expr.refill()
  return value_of.binary[op](left, right)
end

-- A number, or the length of a list; a missing value counts as 0.
local function amount(value)
  if type(value) == "table" then
    return #value
  end
  return is_null(value) and 0 or type(value) == "number" and value or nil
end

local function counts(path, op)
  return function(before, after)
    local old, new = amount(lookup(before or {}, path)), amount(lookup(after, path))
    if old and new and (op == "++" and new > old or op == "--" and new < old) then
      return true
    end
    return false, ("%s was %s and is %s"):format(table.concat(path, "."), show(old), show(new))
  end
end

local function holds(path, test)
  return function(_, after)
    local value = lookup(after, path)
    if test(value) then
      return true
    end
    return false, ("%s is %s"):format(table.concat(path, "."), show(value))
  end
end

-- The value after an operator: a literal, or a bare word, which is a text.
local function literal(text)
  if WORDS[text] ~= nil then
    return true, WORDS[text]
  elseif text == "[]" or text == "{}" then
    return true, text == "[]" and json.array() or {}
  elseif text:find("^%-?%d") and not text:find("[^%d.eE+-]") and tonumber(text) then
    return true, math.tointeger(tonumber(text)) or tonumber(text)
  end
  local quoted = text:match("^'([^'\\]*)'$") or text:match('^"([^"\\]*)"$')
  if quoted then
    return true, quoted
  elseif text:find("^[%w_\128-\255][%w_%.%-/: \128-\255]*$") then
    return true, text
  end
  return false
end

local function split(path)
  local parts = {}
  path = path:gsub("%?%.", "."):gsub("^state%.", "")
  if path:find("%.%.") or path:sub(-1) == "." then
    return nil
  end
  for part in path:gmatch("[^.]+") do
    if not part:find("^[%a_$\128-\255][%w_$%-\128-\255]*$") then
      return nil
    end
    parts[#parts + 1] = part
  end
  return parts[1] and parts or nil
end

-- The content of an effect without its text; nil: it cannot be parsed.
---@return { path: string[], check: function, step: string?, compares: boolean?, value: any, op: string? }?
local function parse(text)
  local name, op, value = text:match("^([^=!<>%s]+)%s*([=!<>]+)%s*(.+)$")
  if name then
    local path, known, right = split(name), literal(value)
    if path and known and (EQUAL[op] or UNEQUAL[op] or op:find("^[<>]=?$")) then
      local check = holds(path, function(left)
        return compare(op, left, right)
      end)
      return { path = path, check = check, compares = true, value = right, op = op }
    end
    return nil
  end
  name, op = text:match("^(.-)%s*([+-][+-])$")
  if name and (op == "++" or op == "--") then
    local path = split(name)
    return path and { path = path, check = counts(path, op), step = op }
  end
  local negated, bare = text:match("^(!?)%s*(.+)$")
  local path = bare and split(bare)
  return path and { path = path, truthy = negated == "", check = holds(path, function(left)
    return value_of.truthy(left) == (negated == "")
  end) }
end

local function always()
  return true
end

---Reads the effects of an action.
---@param list string[]
---@return skillrt.Effect[]?
---@return string? message
function M.list(list)
  local out = {}
  for i, written in ipairs(list) do
    local text = trim(written)
    local one = #text <= MAX_BYTES and parse(text)
    if not one then
      return nil,
        ("effects[%d] %s cannot be read; write k=v, k!=null, k.length>0, k++, k--, k or !k"):format(
          i,
          names.show(written)
        )
    end
    one.text, one.key, one.reserved = text, one.path[1], state.is_reserved(one.path[1])
    one.compares = one.compares == true
    if one.reserved then
      one.check = always
    end
    out[i] = one
  end
  return out
end

return M
