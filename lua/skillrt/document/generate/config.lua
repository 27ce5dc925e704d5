-- document/generate/config.lua: skill-config.json in its normal form: every default applied once, before all
-- generators (F3), every error reported with its key.
--
-- Works on a copy; reads no files. Called by generate and by load/config.

local ends = require "skillrt.skill.ends"
local findings_of = require "skillrt.document.findings"
local form = require "skillrt.document.form"
local json = require "skillrt.base.json"
local machine_of = require "skillrt.document.generate.machine"
local names = require "skillrt.base.names"
local tables = require "skillrt.base.tables"

local M = {}

---The entry for the loop of actions in the order of a hybrid skill.
M.LOOP = "@autonomous"

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

---The x_skillrt settings of one action or phase of a normalised config.
---@param config skillrt.generate.Config
---@param kind "actions"|"phases"
---@param id string
---@return table
function M.own(config, kind, id)
  return (config.x_skillrt[kind] or {})[id] or {}
end

---How often a failed attempt is retried, if a normalised config says so.
---@param config skillrt.generate.Config
---@return integer?
function M.retries(config)
  local limits = config.x_skillrt.limits or {}
  local attempts = math.tointeger(limits.attempts_per_action)
  return (config.x_skillrt.termination or {}).max_retries or limits.max_retries or attempts and attempts - 1
end

---The agent of an action in a normalised config, in the words of phases.
---@param action table
---@return { type: string, tool: string?, fallback_chain: any }
function M.agent(action)
  local tool = action.type == "llm" and action.tool
  if tool and tool.primary then
    return { type = "llm", tool = tool.primary, fallback_chain = tool.fallback_chain }
  end
  return { type = action.agent and action.agent.type or "universal-executor" }
end

-- Ids that differ only in "-", "." and "_" would get the same name in documents and the context.
local function check_mapped(ids, key, found)
  local mapped = {}
  for _, id in ipairs(names.sorted(ids)) do
    local name = id:gsub("[^%w_]", "_")
    if mapped[name] then
      found:error("duplicate-id", key, "%s and %s both become %s in names: rename one", mapped[name], id, name)
    end
    mapped[name] = id
  end
end

-- Moves keys that older configs have at the top to their place.
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
        found:warn("moved-key", key, "belongs in %s; it was read from there", place)
      else
        found:warn("moved-key", key, "is ignored: %s.%s is there too", place, key)
      end
    end
  end
end

-- Without a mode, the existing parts determine it; reports a part that the mode cannot use, and one that it lacks.
local function check_mode(config, found)
  local phases, loop = config.sequential_config ~= nil, config.autonomous_config ~= nil
  if config.execution_mode == nil then
    config.execution_mode = phases and loop and "hybrid" or loop and "autonomous" or "sequential"
  end
  if config.execution_mode == "autonomous" and phases then
    found:warn("unused", "sequential_config", "is ignored: a skill in autonomous mode has no phases")
    config.sequential_config = nil
  elseif config.execution_mode == "sequential" and loop then
    found:warn("unused", "autonomous_config", "is ignored: a sequential skill has no actions")
    config.autonomous_config = nil
  end
  local loops = config.execution_mode == "autonomous" or config.execution_mode == "hybrid"
  if loops and not loop then
    found:error("missing", "autonomous_config", "is missing: a skill in %s mode needs it", config.execution_mode)
  elseif config.execution_mode == "sequential" and not phases then
    found:error("missing", "sequential_config", "is missing: a sequential skill needs it")
  end
end

-- Files in phases/ that skillrt writes itself.
local OURS = tables.words "orchestrator state-schema 00-spec-study"

-- The group that x_skillrt gives a phase: the phases of a group run at the same time.
local function group_of(phase, config)
  return M.own(config, "phases", phase.id).group
end

-- Parallel neighbours are one group, whatever its names.
local function tell_groups(before, group, id, found)
  if before ~= nil and group ~= nil and before ~= group then
    local message = "runs at once with the phase before it, of group %s: let another phase stand between them"
    found:warn("order", ("x_skillrt.phases.%s.group"):format(id), message, form.show(before))
  end
end

-- The agent of a phase that names none (R14); with llm_integration, its model.
local function default_agent(config)
  local llm = config.llm_integration
  if not llm or not llm.enabled then
    return { type = "universal-executor", run_in_background = false }
  end
  local first, chain = llm.default_tool or "gemini", json.array {}
  for _, tool in ipairs(llm.fallback_chain or {}) do
    chain[#chain + 1] = tool ~= first and tool or nil
  end
  return { type = "llm", tool = first, mode = llm.mode or "analysis", fallback_chain = chain,
    run_in_background = false }
end

local function apply_agent(phase, config)
  local agent = phase.agent or default_agent(config)
  phase.agent, agent.type = agent, agent.type or "universal-executor"
  agent.run_in_background = agent.run_in_background or false
end

local function check_output(phase, where, made, found)
  phase.output = phase.output or phase.id .. ".json" -- F2
  if phase.output == "skill-config.json" or names.is_taken(phase.output) then
    local message = "%s belongs to the runtime: choose another name"
    found:error("output", where .. "output", message, form.show(phase.output))
  elseif made[phase.output] then
    local message = "phase %s writes %s already: choose another name"
    found:error("output", where .. "output", message, made[phase.output], form.show(phase.output))
  end
end

-- Without a list, a phase reads the previous phase's output (R10); F6 checks a list. An input may be named by the
-- phase that makes it.
local function check_input(phase, where, before, state, found)
  if phase.input == nil then
    phase.input = json.array(before and { before.output } or {})
    return
  end
  for i, name in ipairs(phase.input) do
    name = state.outputs[name] or name
    phase.input[i] = name
    if (state.made_at[name] or state.group) >= state.group then
      local message = "no earlier phase makes %s: name an output of a phase above"
      found:error("input", ("%sinput[%d]"):format(where, i), message, form.show(name))
    end
  end
end

local function check_phase(phase, i, list, state, config, found)
  local where = ("sequential_config.phases[%d]."):format(i)
  if OURS[phase.id] then
    found:error("id", where .. "id", "%s is a file skillrt writes: choose another id", form.show(phase.id))
  end
  state.ids[phase.id] = i
  phase.name = phase.name or phase.id
  phase.parallel = phase.parallel or group_of(phase, config) ~= nil
  apply_agent(phase, config)
  check_output(phase, where, state.made, found)
  -- Parallel neighbours cannot read each other's outputs.
  local before = list[i - 1]
  if phase.parallel and before and before.parallel then
    tell_groups(group_of(before, config), group_of(phase, config), phase.id, found)
    before = state.before_group
  else
    state.before_group, state.group = before, i
  end
  check_input(phase, where, before, state, found)
  state.made[phase.output], state.made_at[phase.output], state.outputs[phase.id] = phase.id, i, phase.output
end

-- Applies the defaults of `sequential_config.phases` and checks them.
local function set_phases(config, found)
  config.sequential_config = config.sequential_config or { phases = json.array {} }
  local list = config.sequential_config.phases
  if #list == 0 and config.execution_mode ~= "hybrid" then
    found:error("empty", "sequential_config.phases", "is empty: give at least one phase")
  end
  local state = { ids = {}, made = {}, made_at = {}, outputs = {}, group = 1 }
  for i, phase in ipairs(list) do
    check_phase(phase, i, list, state, config, found)
  end
  check_mapped(state.ids, "sequential_config.phases", found)
end

-- The position of the loop if the config does not say it: before the last of several phases.
local function default_order(phases)
  local order = {}
  for i, phase in ipairs(phases) do
    if i == #phases and i > 1 then
      order[#order + 1] = M.LOOP
    end
    order[#order + 1] = phase.id
  end
  if #phases < 2 then
    order[#order + 1] = M.LOOP
  end
  return order
end

-- Hybrid: the order of leading phases, loop and trailing phases, and the effect of a failed loop (F7).
local function check_order(config, found)
  local hybrid, phases, wanted = config.x_skillrt.hybrid or {}, config.sequential_config.phases, {}
  config.x_skillrt.hybrid = hybrid
  hybrid.order = hybrid.order or json.array(default_order(phases))
  for i, id in ipairs(hybrid.order) do
    if id ~= M.LOOP then
      wanted[#wanted + 1] = id
    end
    if id == M.LOOP and hybrid.loop_at then
      found:error("order", ("x_skillrt.hybrid.order[%d]"):format(i), "%s occurs here a second time", M.LOOP)
    end
    hybrid.loop_at = hybrid.loop_at or id == M.LOOP and i or nil
  end
  local declared = tables.column(phases, "id")
  if not hybrid.loop_at then
    found:error("order", "x_skillrt.hybrid.order", "does not say where the loop runs: put %s into it", M.LOOP)
  elseif table.concat(wanted, "\n") ~= table.concat(declared, "\n") then
    found:error("order", "x_skillrt.hybrid.order", "must name every phase once, in the order they are declared")
  end
  hybrid.loop_at = nil
  hybrid.on_loop_failed = hybrid.on_loop_failed or "stop"
end

local function check_termination(autonomous, found)
  local fields = tables.by(autonomous.state_schema.fields, "name")
  for i, condition in ipairs(autonomous.termination_conditions) do
    local bare = condition:find "^[%a_][%w_]*$"
    if bare and not ends.is_builtin[condition] and not fields[condition] then
      local key = ("autonomous_config.termination_conditions[%d]"):format(i)
      local message = "%s is neither a known reason nor a field of the state"
      found:warn("unknown-termination", key, message, form.show(condition))
    end
  end
end

-- Applies the defaults of `autonomous_config` and checks it.
local function set_actions(config, found)
  local autonomous, ids = config.autonomous_config, {}
  machine_of.normalise(config, found)
  if #autonomous.actions == 0 then
    found:error("empty", "autonomous_config.actions", "is empty: give at least one action")
  end
  for i, action in ipairs(autonomous.actions) do
    ids[action.id] = i
    action.name = action.name or action.id
  end
  check_mapped(ids, "autonomous_config.actions", found)
  check_termination(autonomous, found)
end

-- Other defaults of a config.
local function derive(config)
  local output, extension = config.output, { html = "html", json = "json" }
  for _, list in ipairs { config.specs, config.templates } do
    for _, entry in ipairs(list) do
      entry.purpose = entry.purpose or entry.path
    end
  end
  config.display_name = config.display_name or config.skill_name
  output.location = output.location or (".workflow/.scratchpad/%s-{timestamp}"):format(config.skill_name)
  output.filename_pattern = output.filename_pattern or "{name}-output." .. (extension[output.format] or "md")
end

-- Checks the meaning of each part, once all types are right.
local function check_meaning(config, found)
  derive(config)
  local mode, agent = config.execution_mode, config.x_skillrt.agent
  if agent ~= nil and (agent == "" or type(agent) ~= "string" and type(agent) ~= "table") then
    found:error("type", "x_skillrt.agent", "must be what --agent takes, or an agent's definition, not %s",
      form.show(agent))
  end
  if mode ~= "autonomous" then
    set_phases(config, found)
  end
  if mode ~= "sequential" then
    set_actions(config, found)
  end
  if mode == "hybrid" and not found:errors() then
    check_order(config, found)
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
      found:error("type", "skill-config", "contains something that is not JSON: %s", problem)
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
