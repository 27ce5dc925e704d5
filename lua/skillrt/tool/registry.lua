-- tool/registry.lua: all tools of a task, by name, in the order they were added.
--
-- presence.lua decides which of them a model is sent. Pure.

local tables = require("skillrt.base.tables")

local M = {}

---@class skillrt.Registry
local Registry = {}
Registry.__index = Registry

---@param tools skillrt.Tool[]?
---@return skillrt.Registry
function M.new(tools)
  local self = setmetatable({ by_name = {}, order = {} }, Registry)
  for _, tool in ipairs(tools or {}) do
    assert(self:add(tool))
  end
  return self
end

---@param tool skillrt.Tool
---@return boolean|nil ok
---@return string? message  there is one of that name already
function Registry:add(tool)
  local known = self.by_name[tool.name]
  if known then
    return nil, ("tool %s: there are two of that name, of %s and of %s"):format(tool.name, known.source, tool.source)
  end
  self.by_name[tool.name] = tool
  self.order[#self.order + 1] = tool.name
  return true
end

---Removes a tool, for example one that its server no longer has.
---@param name string
function Registry:remove(name)
  if self.by_name[name] then
    self.by_name[name] = nil
    for i, one in ipairs(self.order) do
      if one == name then
        table.remove(self.order, i)
        break
      end
    end
  end
end

---@param name string
---@return skillrt.Tool|nil
function Registry:find(name)
  return self.by_name[name]
end

---The tools of a name: one, or those of a server as mcp__SERVER and mcp__SERVER__*.
---@param name string
---@return string[]
function Registry:named(name)
  local out, server = { self.by_name[name] and name or nil }, name:match("^mcp__[^*]*")
  if out[1] or not server then
    return out
  end
  server = name:find("*", 1, true) and server or server .. "__"
  for _, one in ipairs(self.order) do
    out[#out + 1] = one:sub(1, #server) == server and one or nil
  end
  return out
end

---@return string[]
function Registry:names()
  return tables.append({}, self.order)
end

---The tools with these names, in order; nil: all. Unknown names are the second value.
---@param names string[]?
---@return skillrt.Tool[] tools
---@return string[] unknown
function Registry:present(names)
  local tools, unknown, seen = {}, {}, {}
  for _, name in ipairs(names or self.order) do
    local tool = self.by_name[name]
    if not tool then
      unknown[#unknown + 1] = name
    elseif not seen[name] then
      tools[#tools + 1], seen[name] = tool, true
    end
  end
  return tools, unknown
end

return M
