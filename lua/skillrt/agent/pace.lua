-- agent/pace.lua: how fast a provider may be asked: requests and tokens of a minute, declared or learned from what it
-- says of itself, shared by all runs of a process that use one address and key. Waiting beats a refusal.
--
-- Nothing of it is recorded: what waits has not left. Knows headers, no runs; calls.lua asks when a call would leave.

local files = require("skillrt.base.files")
local retry = require("skillrt.skill.retry")

local M = {}

-- By address and key: { until_ms, requests = bucket, tokens = bucket }.
local states = {}

---@class skillrt.Pace  of one request
---@field state table
---@field rates table<string, number>?  declared: requests, tokens of a minute
---@field needs table<string, number>
local Pace = {}
Pace.__index = Pace

-- What is missing for a request in a bucket that fills evenly over a minute; it is taken, missing or not.
local function take(bucket, rate, needs, now)
  local level = math.min(rate, bucket.level + (now - bucket.at) * rate / 60000)
  bucket.level, bucket.at = level - math.min(needs, rate), now
  return bucket.level >= 0 and 0 or math.ceil(-bucket.level * 60000 / rate)
end

---How long a call has to wait before it may leave, in ms; its place is taken.
---@param now integer  ms since the epoch
---@return integer ms
function Pace:wait(now)
  local state = self.state
  local wait = math.max(0, (state.until_ms or 0) - now)
  for name, rate in pairs(self.rates or {}) do
    local bucket = state[name]
    if not bucket then
      bucket = { level = rate, at = now }
      state[name] = bucket
    end
    wait = math.max(wait, take(bucket, rate, self.needs[name] or 1, now))
  end
  return wait
end

-- "6m0s", "1.5s", "20ms" in ms; nil: it is none.
local function duration(text)
  local ms, found = 0, false
  for number, unit in text:gmatch("%f[%d.]([%d.]+)([a-z]+)") do
    local factor = ({ h = 3600000, m = 60000, s = 1000, ms = 1 })[unit]
    local value = tonumber(number)
    if not factor or not value then
      return nil
    end
    ms, found = ms + value * factor, true
  end
  return found and math.ceil(ms) or nil
end

-- "2026-01-27T12:00:30Z" in ms since the epoch.
local function instant(text)
  local y, mo, d, h, mi, s = text:match("^(%d+)%-(%d+)%-(%d+)T(%d+):(%d+):(%d+)")
  if not y then
    return nil
  end
  y, mo, d = tonumber(y), tonumber(mo), tonumber(d)
  local a = (14 - mo) // 12
  local year, month = y + 4800 - a, mo + 12 * a - 3
  local days = d + (153 * month + 2) // 5 + 365 * year + year // 4 - year // 100 + year // 400 - 32045 - 2440588
  return (days * 86400 + tonumber(h) * 3600 + tonumber(mi) * 60 + tonumber(s)) * 1000
end

local WAYS <const> = {
  { "anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset" },
  { "anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset" },
  { "anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset" },
  { "anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset" },
  { "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests" },
  { "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens" },
}

local function headers_of(extra)
  local out = {}
  for name, value in ("\n" .. (extra or "")):gmatch("\n([%w-]+):[ \t]*([^\r\n]*)") do
    out[name:lower()] = value
  end
  return out
end

---What a reply tells of the pace: nothing is left until then, or it came too soon.
---@param reply table
---@param now integer
function Pace:learn(reply, now)
  local state, headers = self.state, headers_of(reply.extra)
  for _, way in ipairs(WAYS) do
    local left, reset = tonumber(headers[way[1]]), headers[way[2]]
    if left and left <= 0 and reset then
      local wait = duration(reset)
      local at = wait and now + wait or instant(reset)
      state.until_ms = math.max(state.until_ms or 0, now + retry.asked(at and at - now))
    end
  end
  local asked = reply.retry_after_ms
  if (reply.code == 429 or reply.code == 529) and asked and asked > 0 then
    state.until_ms = math.max(state.until_ms or 0, now + retry.asked(asked))
  end
end

---The pace of one request.
---@param url string
---@param key string?
---@param rates table<string, number>?  declared: { requests =, tokens = } of a minute
---@param tokens integer  that it may use
---@return skillrt.Pace
function M.of(url, key, rates, tokens)
  local host = url:match("^%a+://[^/]+") or url
  local name = key and ("%s %s"):format(host, files.digest(key):sub(1, 16)) or host
  local state = states[name]
  if not state then
    state = {}
    states[name] = state
  end
  return setmetatable({ state = state, rates = rates, needs = { requests = 1, tokens = tokens } }, Pace)
end

---Forgets all that was learned; for tests.
function M.forget()
  states = {}
end

return M
