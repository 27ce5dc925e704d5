-- base/regex.lua: the core's regular expressions for Lua modules, each compiled once while it is in use.
--
-- Knows nothing of what is searched for.

local core = require("skillrt.core")

local M = {}

local known = setmetatable({}, { __mode = "v" })

---Returns a function that tells whether an expression is found in a text (nil: that takes too long); or nil and what
---is wrong with it.
---@param expression string
---@return (fun(text: string): boolean|nil)|nil
---@return string? problem
function M.compile(expression)
  local find, problem = known[expression], nil
  if not find then
    find, problem = core.regex(expression)
    known[expression] = find
  end
  return find, problem
end

return M
