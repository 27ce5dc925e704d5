-- document/load/config.lua: converts a skill-config to the definition for skillrt.skill; keys under x_skillrt refine
-- it.
--
-- Prompts are named, not read; only from_path reads a file, the config itself.
local agents_of = require "skillrt.document.load.config_agents"
local config_of = require "skillrt.document.generate.config"
local files = require "skillrt.base.files"
local form = require "skillrt.document.form"
local initial_state = require "skillrt.document.generate.initial_state"
local json = require "skillrt.base.json"
local limits_table = require "skillrt.skill.limits"
local machine_skill = require "skillrt.skill.machine_skill"
local skill = require "skillrt.skill"
local tables = require "skillrt.base.tables"
local types = require "skillrt.skill.types"

local M = {}

---@class skillrt.load.ConfigOptions
---@field folder string? the skill's folder: prompts are taken from its phases/
---@field tree skillrt.load.Tree? the folder, where links lead to its prompts
---@field config string? the config's file: pinned with a run
---@field source string? the script or config that a resumed run loads again
---@field agents table<string, table>? by type or tool; "*" for all others
---@field agents_required boolean? false: a missing agent is no error (checks)

local function seconds(milliseconds)
  return type(milliseconds) == "number" and milliseconds > 0 and milliseconds / 1000 or nil
end

local function list_or_nil(list)
  return #list > 0 and list or nil
end

-- The words of configs for how people take part; anything else is refused with the skill.
local INTERACTION <const> = { required = "interactive", none = "autonomous" }

local function refine(step, own)
  step.interaction = INTERACTION[own.interaction] or own.interaction
  step.x = next(own) ~= nil and own or nil
  return step
end

-- The document of a step, by its path without links.
local function prompt_of(options, path)
  return options.folder and (options.tree and options.tree:unlinked(path) or path) or nil
end

local function action_of(action, config, options, agents)
  local own = config_of.own(config, "actions", action.id)
  local step = form.taken("own_action", own, form.taken("action", action))
  step.when, step.timeout = list_or_nil(step.when), step.timeout or seconds(action.timeout)
  step.agent = agents:of_action(action)
  step.prompt = prompt_of(options, ("phases/actions/%s.md"):format(action.id))
  step.repeatable = step.max_runs == nil and (own.repeatable or action.repeatable) or nil
  return refine(step, own)
end

local function phase_of(phase, trailing, config, options, agents)
  local own = config_of.own(config, "phases", phase.id)
  local step = form.taken("own_phase", own, form.taken("phase", phase))
  step.objectives, step.trailing = list_or_nil(step.objectives), trailing or nil
  step.agent = agents:of_phase(phase)
  step.prompt = prompt_of(options, ("phases/%s.md"):format(phase.id))
  return refine(step, own)
end

local function phases_of(config, options, agents)
  local list, behind, trailing = {}, false, {}
  if config.execution_mode == "hybrid" then
    for _, id in ipairs(config.x_skillrt.hybrid.order) do
      behind = behind or id == config_of.LOOP
      trailing[id] = behind
    end
  end
  for i, phase in ipairs(config.sequential_config and config.sequential_config.phases or {}) do
    list[i] = phase_of(phase, trailing[phase.id], config, options, agents)
  end
  return list
end

local function limits_of(config)
  local own, limits = config.x_skillrt.limits or {}, {}
  for _, name in ipairs(limits_table.names()) do
    limits[name] = own[name]
  end
  limits.max_retries = config_of.retries(config)
  return limits
end

local function schema_of(config)
  local declared = {}
  for _, field in ipairs(config.autonomous_config.state_schema.fields) do
    if not initial_state.is_runtime_field(field.name) then
      declared[field.name] = types.of_words(field.type)
    end
  end
  return next(declared) ~= nil and declared or nil
end

local FROM_TABLE <const> = { "terminal", "repeatable", "priority" }

-- A transition table says what is next, so nothing derived from it stays with the actions.
local function run_by_table(definition, machine)
  for _, action in ipairs(definition.actions) do
    local effects = action.effects or {}
    for _, key in ipairs(FROM_TABLE) do
      action[key] = nil
    end
    action.effects = {}
    for _, one in ipairs(effects) do
      local text = type(one) == "table" and one.text or one
      table.insert(action.effects, not tostring(text):find "^%s*state%s*=" and one or nil)
    end
  end
  for _, key in ipairs(machine_skill.OWN) do
    definition.state[key] = nil
  end
  definition.mode, definition.machine, definition.strategy = "machine", machine, nil
end

local function add_loop(definition, config, options, agents)
  local autonomous = config.autonomous_config
  definition.state, definition.marked = initial_state.business(config), true
  definition.schema = schema_of(config)
  definition.terminate = list_or_nil(autonomous.termination_conditions)
  definition.strategy = config.x_skillrt.strategy
  definition.actions = {}
  for i, action in ipairs(autonomous.actions) do
    definition.actions[i] = action_of(action, config, options, agents)
  end
  if autonomous.machine then
    run_by_table(definition, require("skillrt.document.generate.machine").to_run(autonomous.machine))
  end
end

-- The language of a run's reports: as declared, else the language in which the folder was generated.
local function records_of(own, folder)
  if own.records ~= nil then
    return own.records ~= json.null and own.records or nil
  end
  local text = folder and files.kept(folder, ".skillrt-generated.json")
  return text and (text:match('"lang": *"(%a+)"') == "zh" and "zh" or "en") or nil
end

-- The names of configs for the ways of switching (R106).
local BY <const> = { llm_self_report = "report", self_report = "report", tool_calls = "calls",
  tool_call_pattern = "calls", prompt = "rules", explicit = "rules" }

-- The tool sets (x_skillrt.skills) and how they are switched (x_skillrt.phase_detection); skill.check judges them.
local function add_tool_sets(definition, own)
  local given = own.phase_detection
  if #(own.skills or {}) == 0 then
    return
  end
  definition.tool_sets = {}
  for i, set in ipairs(own.skills) do
    definition.tool_sets[i] = form.taken("tool_set", set)
  end
  definition.switching = given and form.taken("detection", given, { by = BY[given.strategy] or given.strategy,
    summary = (given.context_summary or {}).max_bytes })
end

---The definition a config stands for.
---@param raw table a decoded skill-config.json
---@param options skillrt.load.ConfigOptions?
---@return table? definition
---@return string? message
---@return string? code "invalid"
---@return skillrt.Finding[] findings
function M.definition(raw, options)
  options = options or {}
  local config, message, code, findings = config_of.normalise(raw)
  if not config then
    return nil, message, code, findings
  end
  local agents = agents_of.new(config, options)
  local own = config.x_skillrt
  local definition = form.taken("config", config, {
    dir = options.folder,
    source = options.source,
    interaction = own.interaction_mode,
    sandbox = own.sandbox,
    records = records_of(own, options.folder),
    on_error = (own.termination or {}).on_error,
    on_loop_failed = own.hybrid and own.hybrid.on_loop_failed,
    limits = limits_of(config),
    timeouts = form.taken("timeouts", own.timeouts_s or {}), -- nothing if it says nothing
    protocol = true,
    specs = list_or_nil(tables.column(config.specs, "path")),
    config = options.config,
    x = { specs = config.specs, templates = config.templates, output = config.output, quality = config.quality },
  })
  add_tool_sets(definition, own)
  definition.phases = phases_of(config, options, agents)
  if definition.mode ~= "sequential" then
    add_loop(definition, config, options, agents)
  end
  if definition.mode == "hybrid" and #definition.phases == 0 then
    definition.mode, definition.on_loop_failed = "autonomous", nil
  end
  local missing
  definition.agents, missing = agents:all()
  if not definition.agents then
    return nil, ("%s: %s"):format(config.skill_name, missing), "invalid", findings
  end
  definition.missing = missing
  return definition, nil, nil, findings
end

---The skill a config stands for, checked.
---@param raw table
---@param options skillrt.load.ConfigOptions?
---@return skillrt.Skill? skill
---@return string? message
---@return string? code
---@return skillrt.Finding[] findings
function M.skill(raw, options)
  local definition, message, code, findings = M.definition(raw, options)
  if not definition then
    return nil, message, code, findings
  end
  local checked
  checked, message = skill.check(definition)
  if not checked then
    return nil, message, "invalid", findings
  end
  return checked, nil, nil, findings
end

local MAX_CONFIG = 16 << 20

-- What is next to a config: the documents that are the prompts, the script that is run.
local function beside(path, options)
  local folder = options.folder or files.dirname(path)
  local phases, actions = files.stat(folder .. "/phases"), files.stat(folder .. "/phases/actions")
  local out = { folder = phases and folder or nil, source = options.source, config = path }
  if phases and phases.kind == "link" or actions and actions.kind == "link" then
    out.tree = require("skillrt.document.load.tree").open(folder, require("skillrt.document.findings").new())
  end
  out.agents, out.agents_required = options.agents, options.agents_required
  if not out.source then
    local script = folder .. "/skill.lua"
    out.source = files.stat(script) and script or path
  end
  return out
end

---The skill of a skill-config.json, with the documents next to it as prompts.
---@param path string
---@param options skillrt.load.ConfigOptions?
---@return skillrt.Skill? skill
---@return string? message
---@return string? code
---@return skillrt.Finding[]? findings
function M.from_path(path, options)
  local text, message, code = files.kept(files.dirname(path), path:match "[^/]+$", MAX_CONFIG)
  if not text then
    return nil, message, code
  end
  local raw, problem = json.decode(text)
  if raw == nil then
    return nil, ("%s: %s"):format(path, problem), "invalid"
  end
  local skill_or_nil, why, cause, findings = M.skill(raw, beside(path, options or {}))
  if not skill_or_nil then
    return nil, ("%s: %s"):format(path, why), cause, findings
  end
  return skill_or_nil, nil, nil, findings
end

return M
