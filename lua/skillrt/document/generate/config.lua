-- document/generate/config.lua: skill-config.json in its normal form: every default applied once, before all
-- generators (F3), every fault named by its key.
--
-- Works on a copy; reads no files. Called by generate and by load/config.
local findings_of = require "skillrt.document.findings"
local form = require "skillrt.document.form"
local json = require "skillrt.base.json"
local machine_of = require "skillrt.document.generate.config_machine"
local names = require "skillrt.base.names"
local actions_of = require "skillrt.document.generate.config_actions"
local phases_of = require "skillrt.document.generate.config_phases"

local M = {}

---@class skillrt.generate.Config skill-config.json with every default applied
---@field skill_name string
---@field display_name string
---@field description string
---@field triggers string[]
---@field execution_mode "sequential"|"autonomous"|"hybrid"
---@field context_strategy "file"|"memory"
---@field sequential_config { phases: table[] }?
---@field autonomous_config { state_schema: { fields: table[] }, actions: table[], termination_conditions: string[] }?
---@field allowed_tools string[]
---@field mcp_tools string[]
---@field output { format: string, location: string, filename_pattern: string }
---@field quality { dimensions: string[], pass_threshold: number }
---@field specs { path: string, purpose: string, context: string? }[]
---@field templates { path: string, purpose: string, context: string? }[]
---@field version string
---@field x_skillrt table

-- specs and templates: each path once (F13).
local function check_documents(config, key, found)
  local seen = {}
  for i, entry in ipairs(config[key]) do
    entry.purpose = entry.purpose or entry.path
    if seen[entry.path] then
      local place = ("%s[%d].path"):format(key, i)
      found:error("duplicate-path", place, "names %s a second time: remove one", form.show(entry.path))
    end
    seen[entry.path] = true
  end
end

-- The keys that older configs have at the top move to their place.
local MOVED <const> = { actions = "autonomous_config", termination_conditions = "autonomous_config",
  state_schema = "autonomous_config", phases = "sequential_config" }

local function move_old_keys(config, found)
  for _, key in ipairs(names.sorted(MOVED)) do
    local value, place = config[key], MOVED[key]
    if value ~= nil then
      config[key] = nil
      config[place] = config[place] == nil and {} or config[place]
      if type(config[place]) == "table" and config[place][key] == nil then
        config[place][key] = value
        found:warn("moved-key", key, "belongs into %s; taken from there", place)
      else
        found:warn("moved-key", key, "is ignored: %s.%s is there too", place, key)
      end
    end
  end
end

-- A count that somebody wrote down is held against the list.
local function check_count(config, key, list, found)
  if config[key] ~= nil and config[key] ~= #list then
    found:warn("count", key, "says %s, and there are %d: correct it, or leave it out", form.show(config[key]), #list)
  end
end

-- Without a mode the parts that are there say it; a part that the mode has no use for is named, and one that it lacks.
local function check_mode(config, found)
  local phases, loop = config.sequential_config ~= nil, config.autonomous_config ~= nil
  if config.execution_mode == nil then
    config.execution_mode = phases and loop and "hybrid" or loop and "autonomous" or "sequential"
  end
  if config.execution_mode == "autonomous" and phases then
    found:warn("unused", "sequential_config", "is ignored: a skill that runs autonomous has no phases")
    config.sequential_config = nil
  elseif config.execution_mode == "sequential" and loop then
    found:warn("unused", "autonomous_config", "is ignored: a sequential skill has no actions")
    config.autonomous_config = nil
  end
  local loops = config.execution_mode == "autonomous" or config.execution_mode == "hybrid"
  if loops and not loop then
    found:error("missing", "autonomous_config", "is missing: a skill that runs %s needs it", config.execution_mode)
  elseif config.execution_mode == "sequential" and not phases then
    found:error("missing", "sequential_config", "is missing: a sequential skill needs it")
  end
end

-- What else a config says where it does not say it.
local function derive(config)
  local output, extension = config.output, { html = "html", json = "json" }
  config.display_name = config.display_name or config.skill_name
  output.location = output.location or (".workflow/.scratchpad/%s-{timestamp}"):format(config.skill_name)
  output.filename_pattern = output.filename_pattern or "{name}-output." .. (extension[output.format] or "md")
end

-- Each part by what it means, once the types of all are right.
local function check_meaning(config, found)
  check_documents(config, "specs", found)
  check_documents(config, "templates", found)
  derive(config)
  local mode, agent = config.execution_mode, config.x_skillrt.agent
  if agent ~= nil and (agent == "" or type(agent) ~= "string" and type(agent) ~= "table") then
    found:error("type", "x_skillrt.agent", "must be what --agent takes, or an agent's definition, not %s",
      form.show(agent))
  end
  if mode ~= "autonomous" then
    phases_of.normalise(config, found)
    check_count(config, "phase_count", config.sequential_config.phases, found)
  end
  if mode ~= "sequential" then
    actions_of.normalise(config, found)
    check_count(config, "action_count", config.autonomous_config.actions, found)
  end
  if mode == "hybrid" and not found:errors() then
    phases_of.check_order(config, found)
  end
end

---The config with every default applied. Never changes what it is given.
---@param raw table a decoded skill-config.json
---@return skillrt.generate.Config? config
---@return string? message all errors, one a line
---@return string? code "invalid"
---@return skillrt.Finding[] findings errors and warnings
function M.normalise(raw)
  local found, config = findings_of.new(), nil
  if type(raw) ~= "table" or json.is_array(raw) then
    found:error("type", "skill-config", "must be an object, not %s", form.show(raw))
  else
    local text, problem = json.encode(raw)
    config = text and json.decode(text)
    if not config then
      found:error("type", "skill-config", "holds something that is no JSON: %s", problem)
    end
  end
  if config then
    for key, value in pairs(config) do
      config[key] = value ~= json.null and value or nil
    end
    move_old_keys(config, found)
    check_mode(config, found)
    machine_of.expand(config)
    if form.check("config", config, found) then
      check_meaning(config, found)
    end
  end
  local message = found:errors()
  if message then
    return nil, message, "invalid", found
  end
  return config, nil, nil, found
end

return M
