-- agent/condition.lua: interprets a provider's, or a coding agent's, failure to answer: its class, whether the call
-- may have been executed, and how long to wait. It reads the status, the error code or the words.
--
-- The one place where these are read, so models over HTTP and coding agents treat the same cause alike. Times of day
-- are in the machine's own zone, as coding agents run on it.

local cut = require("skillrt.base.text").cut
local failure = require("skillrt.agent.failure")
local json = require("skillrt.base.json")

local M = {}

---How long to wait before asking again when a usage limit names no time.
M.USAGE_WAIT_MS = 15 * 60 * 1000

-- By the error code of the provider, as its API names it.
local CLASS = {
  overloaded_error = "rate_limit",
  rate_limit_error = "rate_limit",
  rate_limit_exceeded = "rate_limit",
  usage_limit_reached = "rate_limit",
  api_error = "transient",
  server_error = "transient",
  timeout_error = "transient",
  internal_error = "transient",
}

-- Errors that waiting does not fix, though their status suggests it.
local LASTING = { "insufficient_quota", "billing_error", "credit_balance_too_low", "credit balance" }

-- ---- when a usage limit ends ----

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

-- The hour of a day, read from "3:04 pm" or "3pm".
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

---How long until the usage limit ends that a text mentions; nil: it names no time.
---@param text string
---@param now integer  seconds since the epoch
---@return integer|nil ms
function M.after(text, now)
  local low = text:sub(1, MAX_TEXT):lower()
  local at = tonumber(low:match("limit reached|(%d+)"))
  local seconds = at and at - now or in_words(low) or on_a_day(low, now) or at_an_hour(low, now)
  return seconds and math.tointeger(math.max(0, seconds) * 1000) or nil
end

-- ---- in words ----

local function low_of(text)
  return (text:sub(1, MAX_TEXT):lower():gsub("’", "'"))
end

local function has_any(low, list)
  for _, pattern in ipairs(list) do
    if low:find(pattern) then
      return true
    end
  end
  return false
end

local USAGE = { "usage[ _]limit", "session limit", "hour limit", "daily limit", "weekly limit", "daily quota",
  "hit your [%a%s]*limit" }
local BUSY = { "rate limit", "overloaded", "resource_exhausted", "quota", "too many requests" }
local PASSING = { "unable to connect", "econnrefused", "econnreset", "stream disconnected", "connection failed",
  "connection refused", "api error: terminated", "fetch failed", "socket hang up" }
local CODES = { "api error:? (%d%d%d)", "%((%d%d%d)%)", "status:? (%d%d%d)", "http (%d%d%d)" }
local OPENINGS = { "^%[?api error", "^you've hit your ", "^you have hit your ", "^[%w%s-]+limit reached" }

local function code_in(low)
  for _, pattern in ipairs(CODES) do
    local code = tonumber(low:match(pattern))
    if code then
      return code
    end
  end
  return 0
end

local function class_of(low, code)
  for _, word in ipairs(LASTING) do
    if low:find(word, 1, true) then
      return "permanent"
    end
  end
  code = code ~= 0 and code or code_in(low)
  if has_any(low, USAGE) then
    return "rate_limit", true
  elseif code ~= 0 then
    return failure.of_http(code)
  end
  return has_any(low, BUSY) and "rate_limit" or has_any(low, PASSING) and "transient" or "permanent"
end

---What the words mean with which a coding agent ends instead of giving an answer.
---@param text string
---@param code integer|nil  the HTTP status, where the agent reports it separately
---@param has_acted boolean  it used a tool before
---@return skillrt.Failure
function M.told(text, code, has_acted)
  local low = low_of(text)
  local class, is_usage = class_of(low, code or 0)
  local wait = class == "rate_limit" and M.after(low, os.time()) or nil
  return { class = class, message = cut(text, 1000, ""), is_usage = is_usage,
    executed = class == "permanent" and "answered" or has_acted and "perhaps" or "no",
    retry_after_ms = wait or is_usage and M.USAGE_WAIT_MS or nil }
end

---Whether the last words of a coding agent that reports success are such a condition and no answer.
---@param text string
---@return boolean
function M.is_told(text)
  local low = low_of(text):match("^%s*(.*)")
  return #text <= 1000 and has_any(low, OPENINGS) and (low:find("^%[?api error") ~= nil or has_any(low, USAGE))
end

-- ---- of a provider's reply ----

---A refusal whose body says more than its status: it is permanent, or a usage limit was reached; nil: the status is
---enough.
---@param reply table
---@return skillrt.Failure|nil
function M.of_status(reply)
  if not failure.is_refusal(reply.code) then
    return nil
  end
  local value = json.decode(reply.body or "")
  local problem = type(value) == "table" and type(value.error) == "table" and value.error or {}
  local word = type(problem.code) == "string" and problem.code or type(problem.type) == "string" and problem.type or ""
  local message = type(problem.message) == "string" and problem.message or ""
  local told = M.told(("%s %s"):format(word, message), reply.code, false)
  if told.class == "permanent" or told.is_usage then
    local seconds = math.tointeger(problem.resets_in_seconds)
    told.message = ("HTTP %d %s: %s"):format(reply.code, word, cut(message, 500, ""))
    if told.is_usage and (seconds or (reply.retry_after_ms or 0) > 0) then
      told.retry_after_ms = seconds and seconds * 1000 or reply.retry_after_ms
    end
    return told
  end
end

---A reply that was cut, garbled or of another shape: a retry may succeed.
---@param message string
---@return skillrt.Failure
function M.broken(message)
  return { class = "transient", message = message, executed = "perhaps" }
end

---An error that a provider reports inside a reply.
---@param problem any  { type, code, message }
---@return skillrt.Failure
function M.of(problem)
  problem = type(problem) == "table" and problem or { message = problem }
  local kind = type(problem.type) == "string" and problem.type or nil
  local code = type(problem.code) == "string" and problem.code or nil
  local class = CLASS[code] or CLASS[kind] or "permanent"
  local text = type(problem.message) == "string" and problem.message or "no reason given"
  local is_usage = class == "rate_limit" and has_any(low_of(("%s %s"):format(code or kind, text)), USAGE) or nil
  return {
    class = class,
    message = ("the provider reports %s: %s"):format(code or kind or "an error", cut(text, 500, "")),
    executed = class == "rate_limit" and "no" or class == "transient" and "perhaps" or "answered",
    is_usage = is_usage,
    retry_after_ms = is_usage and (M.after(text, os.time()) or M.USAGE_WAIT_MS) or nil,
  }
end

return M
