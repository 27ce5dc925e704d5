-- expr/number.lua: numbers to text and text to numbers, by JavaScript's rules.
-- Every number is a double here; the host's locale is never trusted. Knows nothing of conditions.
-- Called by value.lua, grammar.lua and explain.lua.
local M = {}

local find, format, match, rep, sub = string.find, string.format, string.match, string.rep, string.sub
local huge = math.huge

local LEAST_NORMAL <const> = 2.2250738585072014e-308
local EXACT <const> = 2.0 ^ 53

-- white space and line ends of JavaScript beyond ASCII, as UTF-8
local WIDE_SPACE = {
  ["\u{00A0}"] = true, ["\u{1680}"] = true, ["\u{2028}"] = true, ["\u{2029}"] = true,
  ["\u{202F}"] = true, ["\u{205F}"] = true, ["\u{3000}"] = true, ["\u{FEFF}"] = true,
}
for code = 0x2000, 0x200A do WIDE_SPACE[utf8.char(code)] = true end
M.wide_space = WIDE_SPACE

---The fewest digits that read back as `x` (finite, above zero), and the decimal exponent of the first.
---@param x number
---@return string digits
---@return integer exponent
local function shortest(x)
  for precision = (x < LEAST_NORMAL and 0 or 14), 16 do
    local lead, rest, exponent = match(format("%." .. precision .. "e", x), "^(%d)%D?(%d*)e([-+]%d+)$")
    local digits, power = lead .. rest, math.tointeger(tonumber(exponent)) --[[@as integer]]
    if tonumber(digits .. "e" .. (power - precision)) == x then
      return (match(digits, "^(.-)0*$")), power
    end
    -- at a power of two the space above is twice the space below, so the next digit up may do
    local above = format("%d", tonumber(digits) + 1)
    if tonumber(above .. "e" .. (power - precision)) == x then
      return (match(above, "^(.-)0*$")), power + #above - #digits
    end
  end
  error("a double needs at most 17 digits")
end

---@param x number
---@return string
function M.to_string(x)
  if x ~= x then return "NaN" end
  if x == 0 then return "0" end
  if x < 0 then return "-" .. M.to_string(-(x + 0.0)) end
  if x == huge then return "Infinity" end
  x = x + 0.0
  if x < EXACT and x % 1 == 0 then return format("%d", x) end
  local digits, exponent = shortest(x)
  local count, point = #digits, exponent + 1
  if count <= point and point <= 21 then return digits .. rep("0", point - count) end
  if 0 < point and point <= 21 then return sub(digits, 1, point) .. "." .. sub(digits, point + 1) end
  if -6 < point and point <= 0 then return "0." .. rep("0", -point) .. digits end
  local fraction = count > 1 and "." .. sub(digits, 2) or ""
  return format("%s%se%s%d", sub(digits, 1, 1), fraction, exponent < 0 and "-" or "+", math.abs(exponent))
end

---@param s string
---@return string
local function trim(s)
  local first, last = match(s, "^[\t-\r ]*()"), #s
  while true do
    local wide = match(s, "^[\xC2-\xEF][\x80-\xBF][\x80-\xBF]?", first)
    if not WIDE_SPACE[wide] then break end
    first = match(s, "^[\t-\r ]*()", first + #wide)
  end
  while last >= first do
    if find(s, "^[\t-\r ]", last) then
      last = last - 1
    elseif WIDE_SPACE[sub(s, last - 2, last)] then
      last = last - 3
    elseif WIDE_SPACE[sub(s, last - 1, last)] then
      last = last - 2
    else
      break
    end
  end
  return sub(s, first, last)
end

local function from_digits(digits, base)
  local value = 0.0
  for digit in digits:gmatch "." do value = value * base + tonumber(digit) end
  return value
end

---A number without a sign: 12, 1.5, .5, 5., 1e3, 0x1F, 0b101, 0o17; nil when it is none.
---@param s string
---@return number?
function M.unsigned(s)
  local prefix, rest = match(s, "^0([xXbBoO])(%w+)$")
  if prefix == "x" or prefix == "X" then
    return match(rest, "^%x+$") and tonumber("0x" .. rest .. "p0")
  elseif prefix == "b" or prefix == "B" then
    return match(rest, "^[01]+$") and from_digits(rest, 2)
  elseif prefix then
    return match(rest, "^[0-7]+$") and from_digits(rest, 8)
  end
  local mantissa = match(s, "^(.-)[eE][-+]?%d+$") or s
  if match(mantissa, "^%d+%.?%d*$") or match(mantissa, "^%.%d+$") then return tonumber(s) + 0.0 end
  return nil
end

---A number as a program's text may write it: 1_000 too.
---@param s string
---@return number?
function M.literal(s)
  return M.unsigned((s:gsub("_", "")))
end

---What `Number(text)` gives.
---@param s string
---@return number
function M.from_string(s)
  s = trim(s)
  if s == "" then return 0.0 end
  local sign, rest = match(s, "^([-+])(.*)$")
  rest = rest or s
  local value
  if rest == "Infinity" then
    value = huge
  elseif not (sign and match(rest, "^0[xXbBoO]")) then
    value = M.unsigned(rest)
  end
  if not value then return 0 / 0 end
  return sign == "-" and -value or value
end

return M
