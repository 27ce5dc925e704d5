-- document/generate/fields.lua: what a normalised config says of one thing in several places: a step's refinements,
-- retries, agents. Called by config and its parts.
local names = require "skillrt.base.names"

local M = {}

---What x_skillrt says of one action or phase of a normalised config.
---@param config skillrt.generate.Config
---@param kind "actions"|"phases"
---@param id string
---@return table
function M.own(config, kind, id)
  return (config.x_skillrt[kind] or {})[id] or {}
end

---How often a failed attempt is made again, where a normalised config says it.
---@param config skillrt.generate.Config
---@return integer?
function M.retries(config)
  local limits = config.x_skillrt.limits or {}
  local attempts = math.tointeger(limits.attempts_per_action)
  return (config.x_skillrt.termination or {}).max_retries or limits.max_retries or attempts and attempts - 1
end

---Who performs an action of a normalised config, in the words in which phases say it.
---@param action table
---@return { type: string, tool: string?, fallback_chain: any }
function M.agent(action)
  local tool = action.type == "llm" and action.tool
  if tool and tool.primary then
    return { type = "llm", tool = tool.primary, fallback_chain = tool.fallback_chain }
  end
  return { type = action.agent and action.agent.type or "universal-executor" }
end

---Ids that differ only in "-", "." and "_" would become one name in documents and the context.
---@param ids table<string, any> the ids by themselves
---@param key string
function M.check_mapped(ids, key, found)
  local mapped = {}
  for _, id in ipairs(names.sorted(ids)) do
    local name = id:gsub("[^%w_]", "_")
    if mapped[name] then
      found:error("duplicate-id", key, "%s and %s both become %s in names: rename one", mapped[name], id, name)
    end
    mapped[name] = id
  end
end

return M
