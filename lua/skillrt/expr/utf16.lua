-- expr/utf16.lua: strings as JavaScript sees them, counted and ordered by UTF-16 code units.
-- Strings stay UTF-8 bytes; a lone surrogate is kept as its three-byte form, and two halves that meet
-- are joined at once, so that equal strings are always equal bytes. A byte that is not UTF-8 counts as
-- one unit (U+FFFD). Knows nothing of conditions. Called by value.lua and grammar.lua.
local M = {}

local byte, find, sub, pack = string.byte, string.find, string.sub, string.pack

local HIGH_BYTE <const> = "[\x80-\xff]"
local SURROGATE <const> = "\xED[\xA0-\xBF]"
local SPLIT_PAIR <const> = "\xED([\xA0-\xAF])([\x80-\xBF])\xED([\xB0-\xBF])([\x80-\xBF])"
local CHUNK <const> = 256

---The code point at byte `at` and the place of the next one; a stray byte is U+FFFD.
---@param s string
---@param at integer
---@return integer code_point
---@return integer next
local function decode(s, at)
  local lead = byte(s, at)
  if lead < 0x80 then return lead, at + 1 end
  local extra, code, least
  if lead >= 0xC2 and lead < 0xE0 then
    extra, code, least = 1, lead & 0x1F, 0x80
  elseif lead >= 0xE0 and lead < 0xF0 then
    extra, code, least = 2, lead & 0x0F, 0x800
  elseif lead >= 0xF0 and lead < 0xF5 then
    extra, code, least = 3, lead & 0x07, 0x10000
  else
    return 0xFFFD, at + 1
  end
  for i = at + 1, at + extra do
    local c = byte(s, i)
    if not c or c < 0x80 or c > 0xBF then return 0xFFFD, at + 1 end
    code = code << 6 | (c & 0x3F)
  end
  if code < least or code > 0x10FFFF then return 0xFFFD, at + 1 end
  return code, at + extra + 1
end

---The string as big-endian UTF-16, two bytes a unit.
---@param s string
---@return string
function M.units(s)
  local out, at, n = {}, 1, 0
  while at <= #s do
    local code
    code, at = decode(s, at)
    n = n + 1
    if code >= 0x10000 then
      code = code - 0x10000
      out[n] = pack(">I2I2", 0xD800 | code >> 10, 0xDC00 | code & 0x3FF)
    else
      out[n] = pack(">I2", code)
    end
  end
  return table.concat(out)
end

---@param s string
---@return integer
function M.length(s)
  if not find(s, HIGH_BYTE) then return #s end
  local count, at = 0, 1
  while at <= #s do
    -- a run of ASCII costs one search, not one turn a byte
    local high = find(s, HIGH_BYTE, at)
    if not high then return count + #s - at + 1 end
    count = count + high - at
    local code
    code, at = decode(s, high)
    count = count + (code >= 0x10000 and 2 or 1)
  end
  return count
end

---The one-unit string at a zero-based index, or nil beyond the end.
---@param s string
---@param index integer
---@return string?
function M.at(s, index)
  if index < 0 or index >= #s then return nil end
  if not find(s, HIGH_BYTE) then return sub(s, index + 1, index + 1) end
  local at, seen = 1, 0
  while at <= #s do
    local from = at
    local code, after = decode(s, at)
    at = after
    if code >= 0x10000 then
      if index <= seen + 1 then
        code = code - 0x10000
        return utf8.char(index == seen and (0xD800 | code >> 10) or (0xDC00 | code & 0x3FF))
      end
      seen = seen + 2
    else
      if index == seen then return sub(s, from, at - 1) end
      seen = seen + 1
    end
  end
  return nil
end

local function join_pair(a, b, c, d)
  local high = (byte(a) & 0x0F) << 6 | byte(b) & 0x3F
  local low = (byte(c) & 0x0F) << 6 | byte(d) & 0x3F
  return utf8.char(0x10000 + (high << 10) + (low & 0x3FF))
end

---Joins the halves of surrogate pairs that stand side by side.
---@param s string
---@return string
function M.join_pairs(s)
  if not find(s, SURROGATE) then return s end
  return (s:gsub(SPLIT_PAIR, join_pair))
end

---@param a string
---@param b string
---@return string
function M.concat(a, b)
  if byte(b) == 0xED and find(a, "\xED[\xA0-\xAF][\x80-\xBF]$") then return M.join_pairs(a .. b) end
  return a .. b
end

---Whether `a` comes before `b` in the order of code units. Lua's own `<` follows the locale.
---@param a string
---@param b string
---@return boolean
function M.less(a, b)
  if a == b then return false end
  local at = 1
  while sub(a, at, at + CHUNK - 1) == sub(b, at, at + CHUNK - 1) do at = at + CHUNK end
  while byte(a, at) == byte(b, at) do at = at + 1 end
  local x, y = byte(a, at), byte(b, at)
  if not x then return true end
  if not y then return false end
  if x < 0x80 and y < 0x80 then return x < y end
  local from = at -- back to where the differing character starts
  while from > 1 and at - from < 3 and x >= 0x80 and x < 0xC0 do
    from = from - 1
    x = byte(a, from)
  end
  if x < 0xED and byte(b, from) < 0xED then return byte(a, at) < y end
  local p, q = M.units(sub(a, from, from + 7)), M.units(sub(b, from, from + 7))
  for i = 1, math.min(#p, #q) do
    if byte(p, i) ~= byte(q, i) then return byte(p, i) < byte(q, i) end
  end
  return #p < #q
end

local function has_surrogate(s) return find(s, SURROGATE) ~= nil end

---@param s string
---@param part string
---@return boolean
function M.includes(s, part)
  if not has_surrogate(part) then return find(s, part, 1, true) ~= nil end
  local units, wanted, at = M.units(s), M.units(part), 1
  while true do
    local hit = find(units, wanted, at, true)
    if not hit then return false end
    if hit % 2 == 1 then return true end
    at = hit + 1
  end
end

---@param s string
---@param part string
---@return boolean
function M.starts_with(s, part)
  if not has_surrogate(part) then return sub(s, 1, #part) == part end
  local wanted = M.units(part)
  return sub(M.units(sub(s, 1, #part * 2 + 4)), 1, #wanted) == wanted
end

---@param s string
---@param part string
---@return boolean
function M.ends_with(s, part)
  if part == "" then return true end
  if not has_surrogate(part) then return sub(s, -#part) == part end
  local wanted = M.units(part)
  return sub(M.units(s), -#wanted) == wanted
end

M.decode = decode

return M
