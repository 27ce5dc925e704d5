-- base/instant.lua: an instant in UTC: milliseconds since the epoch, and as ISO 8601 says it. Pure.

local names = require("skillrt.base.names")

local M = {}

-- Days from 1970-01-01 to a date of the Gregorian calendar.
local function days_to(year, month, day)
  if month <= 2 then
    year, month = year - 1, month + 12
  end
  return 365 * year + year // 4 - year // 100 + year // 400 + (153 * (month - 3) + 2) // 5 + day - 719469
end

---@param value any  milliseconds since the epoch, or "2026-03-01T09:00:00Z", "2026-03-01T09:00Z", "2026-03-01"
---@return integer|nil ms
---@return string? message
function M.read(value)
  if math.type(value) == "integer" and value >= 0 and value < 1 << 47 then
    return value
  elseif type(value) == "number" and value >= 0 and value < 1 << 47 then
    return math.floor(value)
  end
  local text = type(value) == "string" and value or ""
  local year, month, day, rest = text:match("^(%d%d%d%d)-(%d%d)-(%d%d)(.*)$")
  local hour, minute, tail = (rest or ""):match("^T(%d%d):(%d%d)(.*)Z$")
  local second, part = (tail or ""):match("^:(%d%d)(%.?%d*)$")
  local fits = year and (rest == "" or hour and (tail == "" or second and (part == "" or part:find("^%.%d+$"))))
  if not fits then
    local text_of = "%s is not a time: use milliseconds since the epoch, as ctx.now() gives them, or UTC as in "
      .. '"2026-03-01T09:00:00Z"'
    return nil, text_of:format(names.show(value))
  end
  local function number(digits)
    return math.tointeger(tonumber(digits or 0))
  end
  month, day, hour, minute, second = number(month), number(day), number(hour), number(minute), number(second)
  if month < 1 or month > 12 or day < 1 or day > 31 or hour > 23 or minute > 59 or second > 60 then
    return nil, ("%s is not a valid date"):format(names.show(value))
  end
  local seconds = ((days_to(number(year), month, day) * 24 + hour) * 60 + minute) * 60 + second
  return seconds * 1000 + math.floor((tonumber("0" .. (part or "")) or 0) * 1000)
end

---ISO 8601 in UTC, with milliseconds.
---@param ms integer
---@return string
function M.iso(ms)
  return os.date("!%Y-%m-%dT%H:%M:%S", ms // 1000) .. (".%03dZ"):format(ms % 1000)
end

return M
