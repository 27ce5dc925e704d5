-- base/schema_pattern.lua: the `pattern` of a JSON Schema, where it says no more than a Lua pattern can:
-- characters, classes, . * + ? {n} {n,m}, ^ and $, but no groups, alternatives or look-arounds.
--
-- What cannot be read so is refused when the schema is checked. Knows nothing of schemas.

local M = {}

local CLASSES = { d = "%d", D = "%D", w = "[%w_]", W = "[^%w_]", s = "%s", S = "%S" }
local IN_SET = { d = "%d", w = "%w_", s = "%s" }
local CONTROL = { n = "\n", r = "\r", t = "\t", f = "\f", v = "\v" }
local MAX_REPEAT <const> = 256
local MAX_OPEN <const> = 4 -- open-ended repetitions: each makes a match slower by the text's length
local MAX_TEXT <const> = 4096

local function literal(char)
  return (char:gsub("%W", "%%%0"))
end

-- A set from behind its "[": its Lua form and where it ends.
local function set_at(text, pos)
  local out = { "[" }
  if text:sub(pos, pos) == "^" then
    out[2], pos = "^", pos + 1
  end
  while true do
    local char = text:sub(pos, pos)
    if char == "" or char == "[" then
      return nil, "holds a set that is not read"
    elseif char == "]" then
      out[#out + 1] = "]"
      return table.concat(out), pos
    elseif char == "\\" then
      pos = pos + 1
      char = text:sub(pos, pos)
      if not IN_SET[char] and char:find("%w") and not CONTROL[char] then
        return nil, ("holds \\%s, which is not read in a set"):format(char)
      end
      out[#out + 1] = IN_SET[char] or literal(CONTROL[char] or char)
    elseif char == "-" and #out > 1 and text:sub(pos + 1, pos + 1) ~= "]" then
      out[#out + 1] = "-"
    else
      out[#out + 1] = literal(char)
    end
    pos = pos + 1
  end
end

-- One item from `pos` on: its Lua form and its last place; nil and why.
local function item_at(text, pos)
  local char = text:sub(pos, pos)
  if char == "[" then
    return set_at(text, pos + 1)
  elseif char == "." then
    return ".", pos
  elseif char == "\\" then
    char = text:sub(pos + 1, pos + 1)
    local class = CLASSES[char]
    if char == "" or (not class and not CONTROL[char] and char:find("%w")) then
      return nil, ("holds \\%s, which is not read"):format(char)
    end
    return class or literal(CONTROL[char] or char), pos + 1
  elseif char:find("[(|)*+?{}%]^$]") then
    return nil, ("holds %s, which is not read there"):format(char)
  elseif char:byte() > 127 then
    return nil, "holds letters beyond ASCII, which are not read"
  end
  return literal(char), pos
end

-- An item with what stands behind it; its Lua form, the last place, and how many of its parts are open.
local function repeated(text, item, last)
  local sign = text:sub(last + 1, last + 1)
  if sign == "*" or sign == "+" or sign == "?" then
    return item .. sign, last + 1, sign == "?" and 0 or 1
  elseif sign ~= "{" then
    return item, last, 0
  end
  local least, comma, most, stop = text:match("^{(%d+)(,?)(%d*)}()", last + 1)
  least, most = tonumber(least), tonumber(most)
  if not least or least > MAX_REPEAT or (most or 0) > MAX_REPEAT or most and most < least then
    return nil, "holds a repetition that is not read"
  elseif comma == "" then
    return item:rep(least), stop - 1, 0
  elseif not most then
    return item:rep(least) .. item .. "*", stop - 1, 1
  end
  return item:rep(least) .. (item .. "?"):rep(most - least), stop - 1, most > least and 1 or 0
end

local read = {}

local function translate(text)
  if type(text) ~= "string" or #text > 256 then
    return nil, "must be a text of at most 256 characters"
  end
  local out, pos, open = {}, 1, 0
  local stop = text:sub(-1) == "$" and text:sub(-2) ~= "\\$" and #text - 1 or #text
  if text:sub(1, 1) == "^" then
    out[1], pos = "^", 2
  end
  while pos <= stop do
    local item, last = item_at(text, pos)
    local more
    if item then
      item, last, more = repeated(text, item, last)
    end
    if not item then
      return nil, last
    end
    open = open + more
    out[#out + 1], pos = item, last + 1
  end
  if open > MAX_OPEN then
    return nil, "holds too many open repetitions"
  end
  out[#out + 1] = stop < #text and "$" or ""
  return table.concat(out)
end

---The Lua pattern of a schema's pattern.
---@param text any
---@return string|nil pattern
---@return string? why
function M.read(text)
  local known = type(text) == "string" and read[text]
  if known then
    return known
  end
  local pattern, why = translate(text)
  if pattern then
    read[text] = pattern
  end
  return pattern, why
end

---Whether a text fits; only its first 4096 bytes are looked at.
---@param text string  checked before
---@param value string
---@return boolean
function M.fits(text, value)
  return value:sub(1, MAX_TEXT):find((M.read(text))) ~= nil
end

return M
