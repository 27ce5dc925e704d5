-- expr/number.lua: numbers to text and text to numbers, by JavaScript's rules.
-- Every number is a double here; the host's locale is never trusted. Knows nothing of conditions.
-- Called by value.lua, grammar.lua and explain.lua.
local json = require "skillrt.base.json"
local trim = require("skillrt.base.text").trim

local M = {}

local format, match, rep, sub = string.format, string.match, string.rep, string.sub

---@param x number
---@return string
function M.to_string(x)
  if x ~= x then return "NaN" end
  if x == 0 then return "0" end
  if x < 0 then return "-" .. M.to_string(-(x + 0.0)) end
  if x == math.huge then return "Infinity" end
  -- the codec finds the fewest digits that read back as `x`; where the point stands differs
  local whole, fraction, power = match(json.encode(x), "^(%d+)%.?(%d*)e?(.*)$")
  local zeros, digits = match(whole .. fraction, "^(0*)(.-)0*$")
  local point = #whole - #zeros + (tonumber(power) or 0)
  local count = #digits
  if count <= point and point <= 21 then return digits .. rep("0", point - count) end
  if 0 < point and point <= 21 then return sub(digits, 1, point) .. "." .. sub(digits, point + 1) end
  if -6 < point and point <= 0 then return "0." .. rep("0", -point) .. digits end
  return format("%s%s%se%+d", sub(digits, 1, 1), count > 1 and "." or "", sub(digits, 2), point - 1)
end

local DIGITS <const> = { x = "^%x+$", b = "^[01]+$", o = "^[0-7]+$" }
local BASE <const> = { x = 16, b = 2, o = 8 }

---A number without a sign: 12, 1.5, .5, 5., 1e3, 0x1F, 0b101, 0o17; nil when it is none.
---@param s string
---@return number?
function M.unsigned(s)
  local prefix, rest = match(s, "^0([xXbBoO])(%w+)$")
  if prefix then
    prefix = prefix:lower()
    if not match(rest, DIGITS[prefix]) then return nil end
    local value = 0.0
    for digit in rest:gmatch "." do value = value * BASE[prefix] + tonumber(digit, 16) end
    return value
  end
  local mantissa = match(s, "^(.-)[eE][-+]?%d+$") or s
  if match(mantissa, "^%d+%.?%d*$") or match(mantissa, "^%.%d+$") then return tonumber(s) + 0.0 end
  return nil
end

---What `Number(text)` gives; white space is that of ASCII.
---@param s string
---@return number
function M.from_string(s)
  local sign, rest = match(trim(s), "^([-+]?)(.*)$")
  if rest == "" then return sign == "" and 0.0 or 0 / 0 end
  local value = rest == "Infinity" and math.huge
    or not (sign ~= "" and match(rest, "^0[xXbBoO]")) and M.unsigned(rest) or 0 / 0
  return sign == "-" and -value or value
end

return M
