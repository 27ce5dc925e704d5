-- document/generate/state_schema.lua: phases/state-schema.md: the state's fields and first values (R36, F1).
-- Pure. Called by generate.
local helpers = require "skillrt.document.generate.helpers"
local initial_state = require "skillrt.document.generate.initial_state"
local json = require "skillrt.base.json"
local markdown = require "skillrt.document.generate.markdown"
local ordered = require "skillrt.document.generate.ordered"
local view = require "skillrt.document.generate.view"

local M = {}

local function field_views(config, first)
  local own = json.array {}
  for _, field in ipairs(config.autonomous_config.state_schema.fields) do
    own[#own + 1] = not initial_state.is_runtime_field(field.name) and field or nil
  end
  return view.rows("field", own, function(field)
    return { default = json.encode(first[field.name]) }
  end)
end

---@param config skillrt.generate.Config
---@param shared table
---@return table
function M.data(config, shared)
  local first = initial_state.full(config)
  local text = ordered.encode(first)
  return view.with(shared, {
    interface = helpers.to_pascal_case(config.skill_name) .. "State",
    fields = field_views(config, first),
    initial_state = text,
    fence = markdown.fence(text),
  })
end

return M
