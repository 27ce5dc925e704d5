-- base/cron.lua: times that recur, as the five fields of crontab(5) describe them, in UTC. Pure.

local names = require("skillrt.base.names")

local M = {}

local DAY_MS <const>, MINUTE_MS <const> = 86400000, 60000
local MOST_DAYS <const> = 366 * 9 -- 29 February comes every 8 years where a century has none

local NICKNAMES <const> = { ["@hourly"] = "0 * * * *", ["@daily"] = "0 0 * * *", ["@weekly"] = "0 0 * * 0",
  ["@monthly"] = "0 0 1 * *", ["@yearly"] = "0 0 1 1 *" }

---@class skillrt.CronField
---@field name string
---@field from integer
---@field to integer
---@field words string|nil  what stands for `from`, and so on, three letters each

---@type skillrt.CronField[]
local FIELDS <const> = {
  { name = "minute", from = 0, to = 59 },
  { name = "hour", from = 0, to = 23 },
  { name = "day", from = 1, to = 31 },
  { name = "month", from = 1, to = 12, words = "janfebmaraprmayjunjulaugsepoctnovdec" },
  { name = "weekday", from = 0, to = 7, words = "sunmontuewedthufrisat" },
}

local function number_of(field, text)
  local at = field.words and #text == 3 and field.words:find(text:lower(), 1, true)
  local number = at and at % 3 == 1 and at // 3 + field.from or math.tointeger(tonumber(text:match("^%d%d?$")))
  return number and number >= field.from and number <= field.to and number or nil
end

-- The numbers that a field names; nil: it cannot be read.
local function numbers_of(field, text)
  local set = {}
  for part in (text .. ","):gmatch("([^,]*),") do
    local range, step = part:match("^([^/]+)/?(%d*)$")
    local first, last = (range or ""):match("^(%w+)%-?(%w*)$")
    if range == "*" then
      first, last = field.from, field.name == "weekday" and 6 or field.to
    else
      last = last ~= "" and last or part:find("/") and tostring(field.to) or first
      first, last = first and number_of(field, first), last and number_of(field, last)
    end
    local by = step == "" and not part:find("/") and 1 or math.tointeger(tonumber(step))
    if not (first and last and by) or by < 1 or first > last then
      return nil
    end
    for number = first, last, by do
      set[field.name == "weekday" and number % 7 or number] = true
    end
  end
  return set
end

-- The fields of a text: sets of numbers by name; nil and what is wrong.
local function read(text)
  local fields, i = { any_day = false }, 0
  for word in (NICKNAMES[text] or text):gmatch("%S+") do
    i = i + 1
    local field = FIELDS[i]
    local set = field and numbers_of(field, word)
    if not set then
      return nil, field and ("the %s %s is not within %d to %d"):format(field.name, names.show(word), field.from,
        field.to) or "there are more than five fields"
    end
    fields[field.name] = set
    fields.any_day = fields.any_day or (field.name == "day" or field.name == "weekday") and word:sub(1, 1) == "*"
  end
  return i == #FIELDS and fields or nil, "there are less than five fields: minute, hour, day, month, weekday"
end

-- As crontab has it: where both days are restricted, either suffices.
local function has_day(fields, date)
  local day, weekday = fields.day[date.day], fields.weekday[date.wday - 1]
  if not fields.month[date.month] then
    return false
  elseif fields.any_day then
    return day and weekday
  end
  return day or weekday
end

---The first time behind another.
---@param text string
---@param after integer  UTC ms
---@return integer|nil at  UTC ms
---@return string? message
function M.next(text, after)
  local fields, problem = read(text)
  if not fields then
    return nil, ("%s: %s"):format(names.show(text), problem)
  end
  local from = (after // MINUTE_MS + 1) * MINUTE_MS
  local midnight = from // DAY_MS * DAY_MS
  for day = midnight, midnight + MOST_DAYS * DAY_MS, DAY_MS do
    if has_day(fields, os.date("!*t", day // 1000)) then
      for minute = math.max(0, from - day) // MINUTE_MS, 1439 do
        if fields.hour[minute // 60] and fields.minute[minute % 60] then
          return day + minute * MINUTE_MS
        end
      end
    end
  end
  return nil, names.show(text) .. ": never comes"
end

return M
