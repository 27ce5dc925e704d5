-- skill/retry.lua: how long to wait before the next attempt of a step, or that there is none (F19).
--
-- attempts = 1 + max_retries. Pure: the caller gives the random number, so that a resumed run
-- decides as it did before. Called by the modes after a failed attempt.

local M = {}

---The longest wait that a server may ask for: long enough for a weekly usage limit. A longer one is taken for a
---mistake; then the wait is an hour.
M.MAX_RETRY_AFTER_MS = 8 * 86400 * 1000
M.MISTAKEN_MS = 3600 * 1000

---How long to wait for a server that asks for a wait.
---@param asked integer|nil  ms; nil or negative: nothing
---@return integer ms
function M.asked(asked)
  local ms = math.max(0, math.tointeger(asked or 0) or 0)
  return ms <= M.MAX_RETRY_AFTER_MS and ms or M.MISTAKEN_MS
end

---@alias skillrt.FailureClass
---| "transient" # may pass by itself: a reset, a 502, a killed process
---| "rate_limit"      # 429, 503
---| "timeout"         # a deadline passed
---| "invalid_output"  # the reply was not what the contract asks for
---| "permanent"       # another attempt would fail the same way
---| "canceled"        # the run was stopped
---| "denied"          # a person did not allow it
---| "context" # information it needs is missing: another source (skill/protocol.lua: sources)
---| "validation" # its result is invalid: repaired, as often as `repair` says
---| "execution"       # it cannot be done this way: another action (alternative)
---| "fatal"           # the run is aborted

---@type table<string, boolean>
M.CLASSES = {
  transient = true,
  rate_limit = true,
  timeout = true,
  invalid_output = true,
  permanent = false,
  canceled = false,
  denied = false,
  context = false,
  validation = false,
  execution = false,
  fatal = false,
}

---Whether a class is a skill's own, such as "ContextError": a machine says where it leads (R145), and the work is not
---retried automatically.
---@param class any
---@return boolean
function M.is_own(class)
  return type(class) == "string" and #class <= 64 and class:find "^%u%w*Error$" ~= nil
end

---The short form of a class: "ContextError" is "context".
---@param class any
---@return string?
function M.plain(class)
  return M.is_own(class) and class:gsub("Error$", ""):lower() or class
end

---@class skillrt.RetrySettings
---@field max_retries integer?  attempts beyond the first (default 3)
---@field base number?          seconds before the second attempt (default 0.5)
---@field factor number?        each further wait is so many times longer (default 2)
---@field cap number?           the maximal back-off, in seconds (default 60)
---@field jitter boolean?       wait a random part of the back-off (default true)

-- The back-off in seconds, before jitter. The exponent is bounded, as 2^2000 is no finite wait.
local function backoff(settings, attempt)
  local base, factor, cap = settings.base or 0.5, settings.factor or 2, settings.cap or 60
  return math.min(cap, base * factor ^ math.min(attempt - 1, 64))
end

---Milliseconds to wait before the next attempt; nil when this attempt was the last one.
---@param settings skillrt.RetrySettings
---@param attempt integer         the number of the attempt that failed, from 1
---@param class skillrt.FailureClass
---@param retry_after_ms integer? the wait that the server asked for; nil or negative: none
---  for; nil or negative: none
---@param random (fun(): number)? gives a number in [0, 1); needed for jitter
---@return integer? ms
function M.delay(settings, attempt, class, retry_after_ms, random)
  local again = M.CLASSES[class]
  if again == nil and M.is_own(class) then
    again = false
  end
  if again == nil then
    error(('retry: unknown failure class "%s"'):format(tostring(class)), 2)
  elseif not again or attempt > (settings.max_retries or 3) then
    return nil
  end
  local seconds = backoff(settings, attempt)
  if settings.jitter ~= false and random then
    seconds = seconds * random()
  end
  local ms = math.ceil(seconds * 1000)
  return math.max(ms, M.asked(retry_after_ms))
end

return M
