-- base/regex.lua: the core's regular expressions under a name for Lua modules, each compiled once while it is in use.
--
-- A thin door: knows nothing of what is looked for.

local core = require("skillrt.core")

local M = {}

local known = setmetatable({}, { __mode = "v" })

---What tells whether an expression is found in a text (nil: that takes too long); or nil and what is wrong with it.
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
