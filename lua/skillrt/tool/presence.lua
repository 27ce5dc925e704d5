-- tool/presence.lua: which tools are present, that is, sent with the next request. A call to another one is never
-- performed; how it is handled (`on_absent`) changes the next request (F53).
--
-- Everything follows from what was recorded, so a resume arrives at the same set. Pure. Used by loop.lua; whoever
-- changes the set calls `change`.

local names = require("skillrt.base.names")
local tables = require("skillrt.base.tables")

local M = {}

---How a call to an absent tool changes the next request.
M.ON_ABSENT = { "widen", "refuse", "all" }

---@class skillrt.Presence
---@field registry skillrt.Registry
---@field on_absent "widen"|"refuse"|"all"
---@field known table<string, true>|nil  the names of all sets; nil: every tool may become present
---@field order string[]     names of present tools
---@field absent integer     calls to absent ones
---@field switching skillrt.ToolSwitching|nil  if the skill has tool sets
local Presence = {}
Presence.__index = Presence

local function set_of(list)
  local out = tables.set(list)
  return out
end

---@param registry skillrt.Registry
---@param settings { names: string[]?, known: string[]?, on_absent: string? }?  names nil: all of `known`
---@return skillrt.Presence
function M.new(registry, settings)
  settings = settings or {}
  local self = setmetatable({ registry = registry, on_absent = settings.on_absent or "widen", absent = 0 }, Presence)
  self.known = settings.known and set_of(settings.known)
  self:change(settings.names)
  return self
end

---Another set from now on; nil, or an empty one: all (F53).
---@param list string[]?
function Presence:change(list)
  self.order, self.is_present, self.sent = {}, {}, nil
  self.is_all = not (list and list[1])
  for _, name in ipairs(self.is_all and self.registry:names() or list) do
    self:add(name)
  end
end

---Adds one tool, until the set changes.
---@param name string
function Presence:add(name)
  if not self.is_present[name] and (not self.known or self.known[name]) then
    self.order[#self.order + 1], self.is_present[name], self.sent = name, true, nil
  end
end

---The tools have changed: what may be present now, and what is from now on, in addition to the present ones.
---@param known string[]|nil
---@param list string[]?  nil: all
function Presence:renew(known, list)
  self.known, self.sent = known and set_of(known), nil
  for _, name in ipairs(self.is_all and self.registry:names() or list or self.registry:names()) do
    self:add(name)
  end
end

---The tools of the next request.
---@return skillrt.Tool[]
function Presence:tools()
  self.sent = self.sent or self.registry:present(self.order)
  return self.sent
end

local function list(presence)
  local tools = presence:tools()
  local all = {}
  for i, tool in ipairs(tools) do
    all[i] = tool.name
  end
  return all[1] and "there are " .. table.concat(all, ", ") or "there are none"
end

-- Handles a call to a tool that exists, belongs to a set, and is not present.
local function widened(self, name)
  local told = self.switching and self.switching:fall_back(name)
  if told then
    return told, "fallback"
  elseif self.on_absent == "refuse" then
    return ("the tool %s is not available now; %s"):format(name, list(self)), "refused"
  elseif self.on_absent == "all" then
    self:change(nil)
    return ("the tool %s was not available; all tools are from now on, call it again"):format(name), "all"
  end
  self:add(name)
  return ("the tool %s was not available; it is from now on, call it again"):format(name), "widened"
end

---Whether a tool is present now.
---@param name string
---@return boolean
function Presence:has(name)
  return self.is_present[name] == true
end

---A model calls a tool: returns the tool, if it is present; else what the model gets, and how the call was handled.
---@param name string
---@param was_sent boolean  it was present when the request was sent: what an absent one leads to is for the next
---  request
---@return skillrt.Tool|nil tool
---@return string? message
---@return "unknown"|"refused"|"widened"|"all"|"fallback"|nil absent
function Presence:called(name, was_sent)
  local tool = self.registry:find(name)
  if tool and was_sent then
    return tool
  end
  self.absent = self.absent + 1
  if not tool then
    return nil, ("there is no tool %s%s; %s"):format(names.show(name), names.meant(name, self.is_present), list(self)),
      "unknown"
  elseif self.known and not self.known[name] then
    return nil, ("the tool %s is in no set; %s"):format(name, list(self)), "refused"
  end
  return nil, widened(self, name)
end

return M
