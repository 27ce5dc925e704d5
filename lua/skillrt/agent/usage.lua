-- agent/usage.lua: what calls use of a thing that is counted by name: tokens, money. Checked where it comes
-- in, from a script or an answer.
--
-- Numbers by names, nothing else; who counts is run/limits.lua.

local names = require("skillrt.base.names")

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

return M
