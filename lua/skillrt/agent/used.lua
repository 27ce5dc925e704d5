-- agent/used.lua: what agents used: tokens, and money where a price is known. Prices are a table that a person
-- edits; what is not in it stays unknown, and is never taken for nothing.
--
-- Pure. Knows names of models, no providers.

local names = require("skillrt.base.names")

local M = {}

---@class skillrt.Used
---@field calls integer
---@field input integer         tokens that were read, without those below
---@field output integer
---@field cache_read integer    tokens read from a cache
---@field cache_write integer   tokens written to one
---@field usd number?           nil: the price of something in it is not known

---US dollars per million tokens, by the beginning of a model's name: the longest that fits counts.
---@type table<string, { input: number, output: number, cache_read: number?, cache_write: number? }>
M.PRICES = {
  ["claude-opus-4-5"] = { input = 5, output = 25, cache_read = 0.5, cache_write = 6.25 },
  ["claude-opus-4-1"] = { input = 15, output = 75, cache_read = 1.5, cache_write = 18.75 },
  ["claude-sonnet-4"] = { input = 3, output = 15, cache_read = 0.3, cache_write = 3.75 },
  ["claude-haiku-4-5"] = { input = 1, output = 5, cache_read = 0.1, cache_write = 1.25 },
  ["gpt-5"] = { input = 1.25, output = 10, cache_read = 0.125 },
  ["gpt-5-mini"] = { input = 0.25, output = 2, cache_read = 0.025 },
  ["gpt-5-nano"] = { input = 0.05, output = 0.4, cache_read = 0.005 },
}

local RATES = { input = true, output = true, cache_read = true, cache_write = true }

---What is wrong with a table of prices.
---@param prices table
---@param where string
---@return string? message
function M.check_prices(prices, where)
  for _, model in ipairs(names.sorted(prices)) do
    local row = prices[model]
    local at = ("%s: prices of %s"):format(where, names.show(model))
    if type(row) ~= "table" or type(row.input) ~= "number" or type(row.output) ~= "number" then
      return at .. ": must have input and output, in US dollars per million tokens"
    end
    for key, value in pairs(row) do
      if not RATES[key] then
        return ("%s: %s is not a price%s"):format(at, names.show(key), names.suggest(tostring(key), RATES))
      elseif type(value) ~= "number" or value < 0 then
        return ("%s: %s must be a number, 0 or more"):format(at, key)
      end
    end
  end
end

-- A name goes on with "-" behind the beginning that has a price: gpt-5-2025-08-07 is gpt-5, gpt-50 is not, and
-- what has letters behind it is another model: gpt-5-pro.
local function row_for(prices, model)
  local best
  for beginning in pairs(prices) do
    local fits = model == beginning
      or model:sub(1, #beginning) == beginning and model:find("^[-@:]%d[%d-]*$", #beginning + 1) ~= nil
      or model == beginning .. "-latest"
    if fits and (not best or #beginning > #best) then
      best = beginning
    end
  end
  return best and prices[best]
end

---@return skillrt.Used
function M.new()
  return { calls = 0, input = 0, output = 0, cache_read = 0, cache_write = 0, usd = 0 }
end

local own -- a person's prices, read when one is first asked for

local function of_person()
  if not own then
    local settings = require("skillrt.agent.person").read()
    own = settings and settings.prices or {}
  end
  return own
end

---What some tokens cost; nil: nobody knows. An agent's prices come first, then a person's, then ours.
---@param used table
---@param model string
---@param prices table?  of the agent, model by model
---@return number?
function M.price(used, model, prices)
  local row = prices and row_for(prices, model) or row_for(of_person(), model) or row_for(M.PRICES, model)
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

-- As the limits of a run count it.
local function counted(one, usd)
  local input = one.input + (one.cache_read or 0) + (one.cache_write or 0)
  return { tokens = input + one.output, input_tokens = input, output_tokens = one.output, dollars = usd }
end

---The most that an exchange may use, as the limits of a run reserve it.
---@param bytes integer    of the request
---@param max_tokens integer?
---@param model string
---@param prices table?
---@return skillrt.Usage
function M.most(bytes, max_tokens, model, prices)
  local one = { input = bytes // 3, output = max_tokens or 0 }
  return counted(one, M.price(one, model, prices))
end

---Adds what an exchange used; gives it as the limits of a run count it.
---@param all skillrt.Used
---@param one table
---@param model string
---@param prices table?
---@return skillrt.Usage
function M.add(all, one, model, prices)
  all.calls = all.calls + 1
  for name in pairs(RATES) do
    all[name] = all[name] + (one[name] or 0)
  end
  local usd = one.usd or M.price(one, model, prices)
  all.usd = all.usd and usd and all.usd + usd
  return counted(one, usd)
end

return M
