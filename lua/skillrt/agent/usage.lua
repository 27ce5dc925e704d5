-- agent/usage.lua: what calls use of things that are counted by name (tokens, money). Checked where it arrives, from
-- a script or an answer.
--
-- Numbers by names, nothing else; who counts is run/limits.lua.

local names = require("skillrt.base.names")
local tables = require("skillrt.base.tables")

local M = {}

---@alias skillrt.Usage table<string, number>  by name, 0 or more: { tokens = 120, dollars = 0.02 }

---@param value any
---@return skillrt.Usage? usage
---@return string? problem  what it must be instead
function M.check(value)
  if type(value) ~= "table" then
    return nil, "must be a table such as { tokens = 120 }, not " .. names.show(value)
  end
  for name, amount in pairs(value) do
    if type(name) ~= "string" or not names.id(name) then
      return nil, ("must name what is used by letters and digits, not %s"):format(names.show(name))
    elseif type(amount) ~= "number" or not (amount >= 0 and amount < math.huge) then
      return nil, ("%s must be a number, 0 or more, not %s"):format(name, names.show(amount))
    end
  end
  return value
end

---A count as a provider or a program wrote it; 0 where it wrote none.
---@param object any
---@param name string
---@return integer
function M.count(object, name)
  return math.tointeger(tonumber(tables.object(object)[name])) or 0
end

---Tokens that were read and written, as the limits of a run count them.
---@param input integer
---@param output integer
---@param dollars number?
---@return skillrt.Usage
function M.of_tokens(input, output, dollars)
  return { tokens = input + output, input_tokens = input, output_tokens = output, dollars = dollars }
end

return M
