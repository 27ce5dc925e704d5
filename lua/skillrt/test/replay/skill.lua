-- test/replay/skill.lua: a skill as it is replayed: its limits as they came to be, no agent that needs a network, a
-- journal that is not synced.
--
-- Pure. Part of test/replay/world.lua.

local tables = require("skillrt.base.tables")

local M = {}

-- Limits are as they came to be; those of time are not counted.
local function limits_of(skill, adds)
  local limits = tables.fill({}, skill.limits)
  limits.run_timeout = nil
  for full, amount in pairs(adds) do
    local name, inner = full:match("^([%w_]+)%.?(.*)$")
    if inner == "" and type(limits[name]) == "number" then
      limits[name] = limits[name] + amount
    elseif type(limits[name]) == "table" and limits[name][inner] then
      limits[name] = setmetatable({ [inner] = limits[name][inner] + amount }, { __index = limits[name] })
    end
  end
  return limits
end

local function no()
  return false
end

---@param skill table  changed
---@param adds table<string, number>  by which limits were raised
function M.skill(skill, adds)
  local agents = {}
  for name, agent in pairs(skill.agents) do
    agents[name] = setmetatable({ needs_http = no }, { __index = agent, __metatable = getmetatable(agent) })
  end
  skill.agents, skill.limits, skill.durability = agents, limits_of(skill, adds), "process"
end

return M
