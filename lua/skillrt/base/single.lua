-- base/single.lua: objects of which a run has one: their methods are fields of their own.
--
-- What is asked many times with each step is found so at once, and a field that is not there, too: a class
-- behind a metatable costs a second search for each. A host of many runs has their memory spared instead.
-- Knows nothing of who uses it.

local M = {}

---Whether objects that are made now are some of many: set by cli/host.lua.
M.many = false

---@generic T
---@param class table  its functions by name
---@param fields T
---@return T fields    with the methods
function M.of(class, fields)
  if M.many then
    class.__index = class
    return setmetatable(fields, class)
  end
  for name, method in pairs(class) do
    fields[name] = method
  end
  return fields
end

return M
