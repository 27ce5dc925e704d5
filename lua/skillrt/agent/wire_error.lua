-- agent/wire_error.lua: what it means that a provider's reply says an error with a good status code, or is no
-- reply at all: its class, and whether the exchange may be made again. Pure.

local json = require("skillrt.base.json")

local M = {}

-- By the provider's word for it, as types and codes of both APIs have them.
local CLASS = {
  overloaded_error = "rate_limit",
  rate_limit_error = "rate_limit",
  rate_limit_exceeded = "rate_limit",
  api_error = "transient",
  server_error = "transient",
  timeout_error = "transient",
  internal_error = "transient",
}

-- What no waiting mends, though its status says so.
local LASTING = { insufficient_quota = true, billing_error = true, credit_balance_too_low = true }

---What a status code that is no success means where the body knows better; nil: the code says it.
---@param reply table
---@return string? class
---@return string? message
function M.of_status(reply)
  local value = reply.code == 429 and json.decode(reply.body or "")
  local problem = type(value) == "table" and type(value.error) == "table" and value.error or {}
  local word = LASTING[problem.code] and problem.code or LASTING[problem.type] and problem.type
  if word then
    return "permanent", ("HTTP %d %s: %s"):format(reply.code, word, tostring(problem.message):sub(1, 500))
  end
end

---A reply that was cut, garbled or of another shape: it may be better the next time.
---@param message string
---@return skillrt.Failure
function M.broken(message)
  return { class = "transient", message = message, executed = "perhaps" }
end

---An error that a provider tells inside a reply.
---@param problem any  { type, code, message }
---@return skillrt.Failure
function M.of(problem)
  problem = type(problem) == "table" and problem or { message = problem }
  local kind = type(problem.type) == "string" and problem.type or nil
  local code = type(problem.code) == "string" and problem.code or nil
  local class = CLASS[code] or CLASS[kind] or "permanent"
  local text = type(problem.message) == "string" and problem.message or "it does not say why"
  return {
    class = class,
    message = ("the provider says %s: %s"):format(code or kind or "an error", text:sub(1, 500)),
    executed = class == "rate_limit" and "no" or class == "transient" and "perhaps" or "answered",
  }
end

return M
