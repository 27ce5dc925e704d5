-- document/generate/workflow.lua: workflow.json: the phases as data (R8, R11-R15); for hybrid also the position of
-- the loop (F7). Pure. Called by generate.
local config_of = require "skillrt.document.generate.config"
local json = require "skillrt.base.json"

local M = {}

local function phase_entry(phase, order, own)
  return {
    id = phase.id,
    name = phase.name,
    order = order,
    input = phase.input[#phase.input] or json.null,
    inputs = phase.input,
    output = phase.output,
    parallel = phase.parallel,
    condition = phase.condition or json.null,
    agent = phase.agent,
    max_retries = own.max_retries,
    idempotent = own.idempotent,
  }
end

---The document as a table, ready to be encoded.
---@param config skillrt.generate.Config
---@param shared table
---@return table
function M.document(config, shared)
  local ids, phases = json.array {}, json.array {}
  for i, phase in ipairs(config.sequential_config.phases) do
    ids[i], phases[i] = phase.id, phase_entry(phase, i, config_of.own(config, "phases", phase.id))
  end
  local own = shared.termination
  local document = {
    ["$schema"] = "urn:skillrt:schema:workflow",
    skill_name = config.skill_name,
    version = config.version,
    execution_mode = config.execution_mode,
    context_strategy = config.context_strategy,
    phases_to_run = ids,
    phases = phases,
    termination = {
      on_success = own.on_success or "all_phases_completed",
      on_error = own.on_error or "stop_and_report",
      max_retries = shared.max_retries,
    },
  }
  if config.execution_mode == "hybrid" then
    document.loop = {
      order = json.array(config.x_skillrt.hybrid.order),
      orchestrator = "phases/orchestrator.md",
      on_loop_failed = config.x_skillrt.hybrid.on_loop_failed,
    }
  end
  return document
end

return M
