-- agent/gate.lua: decides when an agent may be asked. All runs of a process share one gate for each agent and
-- account, and ask it before each call is sent. Waiting is cheaper than being refused.
--
-- A reply that names a limit closes the gate until the time it names. Then one call goes first; the others follow
-- when it was answered, or a moment later. Nothing of this is recorded: what waits has not been sent, and a resume
-- closes the gate again for each recorded refusal (run/call/transport.lua). Knows headers, no runs.

local files = require("skillrt.base.files")
local instant = require("skillrt.base.instant")
local retry = require("skillrt.skill.retry")

local M = {}

-- How long the others wait for the call that goes first.
local TRIAL_MS <const> = 3000

-- By agent and account: { state, until_ms, why, requests = bucket, tokens = bucket }.
--   state    | closes (a refusal) | its time has come            | a good reply
--   open     | closed             |                              | open
--   closed   | closed             | trial: one call goes first   | closed
--   trial    | closed             | open                         | open
local states = {}

---@class skillrt.Gate  of one request
---@field at table             what all requests to this agent share
---@field rates table<string, number>?  as declared: requests and tokens per minute
---@field needs table<string, number>
local Gate = {}
Gate.__index = Gate

-- How much a bucket, refilled evenly over a minute, lacks for a request; the amount is taken in any case.
local function take(bucket, rate, needs, now)
  local level = math.min(rate, bucket.level + (now - bucket.at) * rate / 60000)
  bucket.level, bucket.at = level - math.min(needs, rate), now
  return bucket.level >= 0 and 0 or math.ceil(-bucket.level * 60000 / rate)
end

---How long the gate is still closed.
---@param now integer  ms
---@return integer ms
function Gate:left(now)
  return math.max(0, (self.at.until_ms or 0) - now)
end

---How long a call has to wait before it may be sent, in ms.
---@param now integer  ms
---@param is_placed boolean|nil  it already took its place within the declared rates
---@return integer ms
function Gate:wait(now, is_placed)
  local at, wait = self.at, self:left(now)
  if wait == 0 and at.state == "closed" then
    at.state, at.until_ms = "trial", now + TRIAL_MS
  end
  for name, rate in pairs(not is_placed and self.rates or {}) do
    at[name] = at[name] or { level = rate, at = now }
    wait = math.max(wait, take(at[name], rate, self.needs[name] or 1, now))
  end
  return wait
end

---Closes the gate until then.
---@param until_ms integer
---@param why string|nil  in words for people
function Gate:close(until_ms, why)
  local at = self.at
  if at.state ~= "closed" or until_ms > at.until_ms then
    at.state, at.until_ms, at.why = "closed", until_ms, why
  end
end

---@return string|nil  why it is closed, or was closed last
function Gate:why()
  return self.at.why
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

---Takes note of a good reply: the agent answers again; if its headers say that nothing is left, the gate closes
---until the time they name.
---@param reply table
---@param now integer  ms
---@param wall integer  ms since the epoch
function Gate:answered(reply, now, wall)
  local at = self.at
  if at.state == "trial" then
    at.state, at.until_ms = "open", nil
  end
  local headers = headers_of(reply.extra)
  for _, way in ipairs(WAYS) do
    local left, reset = tonumber(headers[way[1]]), headers[way[2]]
    if left and left <= 0 and reset then
      local wait = duration(reset)
      local ends = wait and wall + wait or instant.read(reset)
      at.until_ms = math.max(at.until_ms or 0, now + retry.asked(ends and ends - wall))
    end
  end
end

---The gate for one request.
---@param agent string     a server or a program
---@param account string?  a secret, or something else that tells accounts apart
---@param rates table<string, number>?  declared: { requests =, tokens = } per minute
---@param tokens integer?  how many the request may use
---@return skillrt.Gate
function M.of(agent, account, rates, tokens)
  local name = account and ("%s %s"):format(agent, files.digest(account):sub(1, 16)) or agent
  states[name] = states[name] or { state = "open" }
  return setmetatable({ at = states[name], rates = rates, needs = { requests = 1, tokens = tokens } }, Gate)
end

---Forgets everything; for tests.
function M.forget()
  states = {}
end

return M
