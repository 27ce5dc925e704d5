-- agent/resets.lua: when a usage limit ends, read out of the words that coding agents tell it in.
--
-- "try again in 2 days 17 hours 14 minutes", "try again at 2:57 PM", "at Jan 7th, 2026 3:04 PM", "resets 4pm", a
-- time of Unix behind a bar. Times of day are the machine's own, as the agents run on it. Pure.

local M = {}

local UNITS <const> = { day = 86400, hour = 3600, minute = 60, second = 1 }
local MONTHS <const> = { jan = 1, feb = 2, mar = 3, apr = 4, may = 5, jun = 6, jul = 7, aug = 8, sep = 9, oct = 10,
  nov = 11, dec = 12 }
local MAX_TEXT <const> = 2000

local function in_words(text)
  local rest, sum = text:match("try again in ([%w%s]+)"), 0
  for count, unit in (rest or ""):gmatch("(%d+) (%l+)") do
    local seconds = UNITS[unit] or UNITS[unit:match("^(%l+)s$")]
    if not seconds then
      break
    end
    sum = sum + tonumber(count) * seconds
  end
  return sum > 0 and sum or rest and rest:find("^less than a minute") and 60 or nil
end

-- The hour of a day, as "3:04 pm" or "3pm" say it.
local function hour_of(hour, half)
  return tonumber(hour) % 12 + (half == "pm" and 12 or 0)
end

local function on_a_day(text, now)
  local pattern = "at (%l%l%l)%l* (%d+)%l*,? (%d%d%d%d),? (%d+):(%d%d) ?([ap]m)"
  local month, day, year, hour, minute, half = text:match(pattern)
  if not MONTHS[month] then
    return nil
  end
  local at = os.time({ year = year, month = MONTHS[month], day = day, hour = hour_of(hour, half), min = minute })
  return at and at - now
end

local function at_an_hour(text, now)
  local hour, minute, half = text:match("at (%d+):(%d%d) ?([ap]m)")
  if not hour then
    hour, minute, half = text:match("resets (%d+):?(%d*) ?([ap]m)")
  end
  if not hour then
    return nil
  end
  local day = os.date("*t", now)
  local at = os.time({ year = day.year, month = day.month, day = day.day, hour = hour_of(hour, half),
    min = tonumber(minute) or 0 })
  return at <= now and at + 86400 - now or at - now
end

---How long until then; nil: the text does not say.
---@param text string
---@param now integer  seconds since the epoch
---@return integer|nil ms
function M.after(text, now)
  local low = text:sub(1, MAX_TEXT):lower()
  local at = tonumber(low:match("limit reached|(%d+)"))
  local seconds = at and at - now or in_words(low) or on_a_day(low, now) or at_an_hour(low, now)
  return seconds and math.tointeger(math.max(0, seconds) * 1000) or nil
end

return M
