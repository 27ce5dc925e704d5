-- document/generate/action_catalog.lua: specs/action-catalog.md: definitions, graph, priorities (R38, R53-R55).
-- Pure. Called by generate.
local graph = require "skillrt.document.generate.graph"
local json = require "skillrt.base.json"
local markdown = require "skillrt.document.generate.markdown"
local view = require "skillrt.document.generate.view"

local M = {}

---@param config skillrt.generate.Config
---@param shared table
---@return table
function M.data(config, shared)
  local actions, list = config.autonomous_config.actions, json.array {}
  for i, action in ipairs(actions) do
    list[i] = {
      id = action.id,
      name = action.name,
      description = action.description,
      preconditions = action.preconditions,
      effects = action.effects,
      priority = shared.actions[i].priority,
    }
  end
  local definitions = json.encode(list, { indent = 2 })
  return view.with(shared, {
    definitions = definitions,
    fence = markdown.fence(definitions),
    graph = table.concat(graph.mermaid(actions), "\n"),
  })
end

return M
