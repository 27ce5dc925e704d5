-- agent/tally.lua: counts what agents used: tokens, and money where a price is known. Without a price the cost is
-- unknown, which is never taken for zero.
--
-- Knows names of models, no providers.

local person = require("skillrt.agent.person")
local prices_of = require("skillrt.agent.prices")
local usage = require("skillrt.agent.usage")

local M = {}

---@class skillrt.Used
---@field input integer         tokens read, without those from or to a cache
---@field output integer
---@field cache_read integer    tokens read from a cache
---@field cache_write integer   tokens written to one

local own -- a person's prices, read when one is first asked for

local function of_person()
  if not own then
    local settings = person.read()
    own = settings and settings.prices or {}
  end
  return own
end

-- The prices of a model; nil: unknown. An agent's come first, then a person's, then ours.
local function row_of(model, prices)
  return prices and prices_of.row(prices, model) or prices_of.row(of_person(), model)
    or prices_of.row(prices_of.OURS, model)
end

-- What some tokens cost; nil: unknown.
local function price(used, model, prices)
  local row = row_of(model, prices)
  if not row then
    return nil
  end
  local usd = used.input * row.input + used.output * row.output
  for _, name in ipairs({ "cache_read", "cache_write" }) do
    local rate = row[name] or row.input
    usd = usd + (used[name] or 0) * rate
  end
  return usd / 1e6
end

---The usage of an exchange, as the limits of a run count it.
---@param one table
---@param model string
---@param prices table?  of the agent, model by model
---@return skillrt.Usage
function M.counted(one, model, prices)
  local input = one.input + (one.cache_read or 0) + (one.cache_write or 0)
  return usage.of_tokens(input, one.output, price(one, model, prices))
end

---The most that an exchange may use, as the limits of a run reserve it.
---@param bytes integer    of the request
---@param max_tokens integer?
---@param model string
---@param prices table?
---@return skillrt.Usage
function M.most(bytes, max_tokens, model, prices)
  return M.counted({ input = bytes // 3, output = max_tokens or 0 }, model, prices)
end

return M
