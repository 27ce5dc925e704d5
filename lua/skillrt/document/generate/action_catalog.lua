-- document/generate/action_catalog.lua: specs/action-catalog.md: definitions, graph, priorities (R38, R53-R55).
-- Pure. Called by generate and orchestrator.
local config_of = require "skillrt.document.generate.config"
local graph_of = require "skillrt.document.graph"
local json = require "skillrt.base.json"
local markdown = require "skillrt.document.generate.markdown"
local ordered = require "skillrt.document.generate.ordered"
local view = require "skillrt.document.generate.view"

local M = {}

-- The agent of an action, if it is not the host's own (F47).
local function agent_of(action)
  local agent = config_of.agent(action)
  local chain = type(agent.fallback_chain) == "table" and #agent.fallback_chain > 0
  agent.fallback_chain = chain and agent.fallback_chain or nil
  return agent.type ~= "universal-executor" and agent or nil
end

---The actions as data, with everything that decides when and how often each is chosen (R41).
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
      max_runs = action.max_runs or nil,
      max_retries = action.max_retries,
      terminal = action.terminal,
      idempotent = action.idempotent,
      agent = agent_of(source),
    }
  end
  return list
end

-- Limits for following conditions and effects: number of actions, length of texts.
local MOST_ACTIONS <const>, LONGEST <const> = 300, 2000

local function is_drawn(actions)
  for _, action in ipairs(#actions <= MOST_ACTIONS and actions or {}) do
    for _, list in ipairs { action.preconditions, action.effects } do
      for _, text in ipairs(list) do
        if #text > LONGEST then
          return false
        end
      end
    end
  end
  return #actions <= MOST_ACTIONS
end

---@param config skillrt.generate.Config
---@param shared table
---@return table
function M.data(config, shared)
  local definitions = ordered.encode(M.entries(shared, true), "entry")
  local graph = is_drawn(config.autonomous_config.actions) and graph_of.of(shared.definition)
  return view.with(shared, {
    definitions = definitions,
    fence = markdown.fence(definitions),
    graph = graph and graph_of.text(graph, "mermaid"):gsub("\n$", "") or false,
  })
end

return M
