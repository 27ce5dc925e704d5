-- agent/prices.lua: the prices of models, in a table that a person may change (`prices` in their config.json), and
-- the row that a model's name means.
--
-- Pure. Knows names of models, no providers.

local names = require("skillrt.base.names")

local M = {}

---US dollars per million tokens, by the beginning of a model's name; the longest that fits wins.
---@type table<string, { input: number, output: number, cache_read: number?, cache_write: number? }>
M.OURS = {
  ["claude-opus-4-5"] = { input = 5, output = 25, cache_read = 0.5, cache_write = 6.25 },
  ["claude-opus-4-1"] = { input = 15, output = 75, cache_read = 1.5, cache_write = 18.75 },
  ["claude-sonnet-4"] = { input = 3, output = 15, cache_read = 0.3, cache_write = 3.75 },
  ["claude-haiku-4-5"] = { input = 1, output = 5, cache_read = 0.1, cache_write = 1.25 },
  ["gpt-5"] = { input = 1.25, output = 10, cache_read = 0.125 },
  ["gpt-5-mini"] = { input = 0.25, output = 2, cache_read = 0.025 },
  ["gpt-5-nano"] = { input = 0.05, output = 0.4, cache_read = 0.005 },
}

M.RATES = { input = true, output = true, cache_read = true, cache_write = true }

---What is wrong with a table of prices.
---@param prices table
---@param where string
---@return string? message
function M.check(prices, where)
  for _, model in ipairs(names.sorted(prices)) do
    local row = prices[model]
    local at = ("%s: prices of %s"):format(where, names.show(model))
    if type(row) ~= "table" or type(row.input) ~= "number" or type(row.output) ~= "number" then
      return at .. ": must have input and output, in US dollars per million tokens"
    end
    for key, value in pairs(row) do
      if not M.RATES[key] then
        return ("%s: %s is not a price%s"):format(at, names.show(key), names.suggest(tostring(key), M.RATES))
      elseif type(value) ~= "number" or value < 0 then
        return ("%s: %s must be a number, 0 or more"):format(at, key)
      end
    end
  end
end

-- After a beginning that has a price, a version may follow "-": gpt-5-2025-08-07 is gpt-5; gpt-50 and gpt-5-pro are
-- other models.
---@param prices table
---@param model string
---@return table|nil row
function M.row(prices, model)
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

return M
