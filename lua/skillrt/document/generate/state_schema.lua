-- document/generate/state_schema.lua: phases/state-schema.md: the state's fields, first values and tests (R36, F1).
-- Pure. Called by generate.
local helpers = require "skillrt.document.generate.helpers"
local initial_state = require "skillrt.document.generate.initial_state"
local json = require "skillrt.base.json"
local markdown = require "skillrt.document.generate.markdown"
local view = require "skillrt.document.generate.view"

local M = {}

local function field_views(config, first)
  local out = {}
  for _, field in ipairs(config.autonomous_config.state_schema.fields) do
    if not initial_state.is_runtime_field(field.name) then
      out[#out + 1] = {
        name = field.name,
        type = markdown.line(field.type),
        type_cell = markdown.code_cell(field.type),
        default_cell = markdown.code_cell(json.encode(first[field.name])),
        description_line = field.description ~= "" and markdown.line(field.description) or false,
        description_cell = field.description ~= "" and markdown.cell(field.description) or "-",
      }
    end
  end
  return out
end

---@param config skillrt.generate.Config
---@param shared table
---@return table
function M.data(config, shared)
  local first = initial_state.full(config)
  local terminations = {}
  for i, condition in ipairs(config.autonomous_config.termination_conditions) do
    terminations[i] = {
      name_cell = markdown.code_cell(condition),
      check_cell = markdown.code_cell(helpers.get_termination_check(condition, shared.max_errors)),
    }
  end
  local text = json.encode(first, { indent = 2 })
  return view.with(shared, {
    interface = helpers.to_pascal_case(config.skill_name) .. "State",
    fields = field_views(config, first),
    initial_state = text,
    fence = markdown.fence(text),
    terminations = terminations,
  })
end

return M
