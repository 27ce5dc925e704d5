-- base/single.lua: an object of a class. Called by the modules of run/ that are not rewritten yet.

local M = {}

---@generic T
---@param class table  its functions by name
---@param fields T
---@return T fields    with the methods
function M.of(class, fields)
  class.__index = class
  return setmetatable(fields, class)
end

return M
