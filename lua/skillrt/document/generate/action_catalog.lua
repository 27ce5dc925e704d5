-- document/generate/action_catalog.lua: specs/action-catalog.md: definitions, graph, priorities (R38, R53-R55).
-- Pure. Called by generate.
local graph = require "skillrt.document.generate.graph"
local json = require "skillrt.base.json"
local markdown = require "skillrt.document.generate.markdown"
local ordered = require "skillrt.document.generate.ordered"
local view = require "skillrt.document.generate.view"

local M = {}

-- Who performs an action, where that is not the host's own agent (F47).
local function agent_of(action)
  local tool = type(action.tool) == "table" and action.tool or {}
  if action.type == "llm" and type(tool.primary) == "string" then
    local chain = type(tool.fallback_chain) == "table" and #tool.fallback_chain > 0 and tool.fallback_chain or nil
    return { type = "llm", tool = tool.primary, fallback_chain = chain }
  end
  local agent = type(action.agent) == "table" and action.agent.type or action.agent
  return type(agent) == "string" and agent ~= "universal-executor" and { type = agent } or nil
end

---The actions as data, with all that decides when and how often each is chosen (R41).
---@param shared table
---@param with_description boolean?
---@return table[]
function M.entries(shared, with_description)
  local list = json.array {}
  for i, action in ipairs(shared.actions) do
    local source = action.source
    list[i] = {
      id = source.id,
      name = source.name,
      description = with_description and source.description or nil,
      preconditions = source.preconditions,
      effects = source.effects,
      priority = action.priority,
      repeatable = action.repeatable or nil,
      max_runs = action.max_runs,
      max_retries = action.max_retries,
      terminal = action.terminal,
      idempotent = action.idempotent,
      agent = agent_of(source),
    }
  end
  return list
end

---@param config skillrt.generate.Config
---@param shared table
---@return table
function M.data(config, shared)
  local definitions = ordered.encode(M.entries(shared, true), "action")
  return view.with(shared, {
    definitions = definitions,
    fence = markdown.fence(definitions),
    graph = table.concat(graph.mermaid(config.autonomous_config.actions), "\n"),
  })
end

return M
