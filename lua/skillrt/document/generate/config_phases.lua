-- document/generate/config_phases.lua: the phases of a config: ids, outputs, inputs, agents, hybrid order.
--
-- Called by generate.config only.
local fields = require "skillrt.document.generate.fields"
local json = require "skillrt.base.json"
local names = require "skillrt.base.names"

local M = {}

M.LOOP = "@autonomous"

-- Files of phases/ that skillrt writes itself.
local OURS = { orchestrator = true, ["state-schema"] = true, ["00-spec-study"] = true }

-- The group that x_skillrt names for a phase: its phases run at once.
local function group_of(phase, config)
  local own = type(config.x_skillrt.phases) == "table" and config.x_skillrt.phases[phase.id]
  return type(own) == "table" and own.group or nil
end

-- Neighbours that run at once are one group, whatever they are called.
local function tell_groups(before, group, id, found)
  if before ~= nil and group ~= nil and before ~= group then
    local message = "runs at once with the phase before it, of group %s: let another phase stand between them"
    found:warn("order", ("x_skillrt.phases.%s.group"):format(id), message, fields.show(before))
  end
end

-- The agent of a phase that names none (R14); with llm_integration the model it names.
local function default_agent(config)
  local llm = config.llm_integration
  if type(llm) ~= "table" or llm.enabled ~= true then
    return { type = "universal-executor", run_in_background = false }
  end
  local chain = {}
  for _, tool in ipairs(type(llm.fallback_chain) == "table" and llm.fallback_chain or {}) do
    if tool ~= llm.default_tool then
      chain[#chain + 1] = tool
    end
  end
  return {
    type = "llm",
    tool = type(llm.default_tool) == "string" and llm.default_tool or "gemini",
    mode = type(llm.mode) == "string" and llm.mode or "analysis",
    fallback_chain = json.array(chain),
    run_in_background = false,
  }
end

local function check_agent(phase, where, config, found)
  local agent = phase.agent
  if type(agent) == "string" then
    agent = { type = agent }
  elseif agent == nil then
    agent = default_agent(config)
  elseif type(agent) ~= "table" or json.is_array(agent) then
    found:error("type", where .. "agent", "must be an object with a type, not %s", fields.show(agent))
    agent = {}
  end
  phase.agent = agent
  agent.type = agent.type or "universal-executor"
  fields.text(agent, "type", where .. "agent.", found, {})
  if agent.run_in_background == nil then
    agent.run_in_background = false
  end
  if agent.fallback_chain ~= nil then
    fields.texts(agent, "fallback_chain", where .. "agent.", found)
  end
end

local function check_output(phase, where, made, found)
  if phase.output == nil then
    phase.output = phase.id .. ".json" -- F2
  end
  if not fields.path(phase, "output", where, found) then
    return
  end
  if phase.output == "skill-config.json" or names.is_taken(phase.output) then
    local message = "%s belongs to the runtime: choose another name"
    found:error("output", where .. "output", message, fields.show(phase.output))
  elseif made[phase.output] then
    local message = "phase %s writes %s already: choose another name"
    found:error("output", where .. "output", message, made[phase.output], fields.show(phase.output))
  end
end

-- Without a list, a phase reads what the phase before it made (R10); F6 checks a list.
local function check_input(phase, where, before, state, found)
  if phase.input == nil then
    phase.input = json.array(before and { before.output } or {})
    return
  end
  for i, name in ipairs(fields.texts(phase, "input", where, found)) do
    if (state.made_at[name] or state.group) >= state.group then
      local message = "no earlier phase makes %s: name an output of a phase above"
      found:error("input", ("%sinput[%d]"):format(where, i), message, fields.show(name))
    end
  end
end

local function check_phase(phase, i, list, state, config, found)
  local where = ("sequential_config.phases[%d]."):format(i)
  if not fields.id(phase, "id", where, found) then
    return
  elseif state.ids[phase.id] then
    local message = "%s is phase %d too: rename one"
    found:error("duplicate-id", where .. "id", message, fields.show(phase.id), state.ids[phase.id])
    return
  elseif OURS[phase.id] then
    found:error("id", where .. "id", "%s is a file skillrt writes: choose another id", fields.show(phase.id))
  end
  state.ids[phase.id] = i
  phase.name = phase.name == nil and phase.id or phase.name
  fields.text(phase, "name", where, found, { required = true })
  fields.text(phase, "description", where, found, {})
  fields.text(phase, "condition", where, found, {})
  fields.texts(phase, "objectives", where, found)
  phase.parallel = phase.parallel == true or group_of(phase, config) ~= nil
  check_agent(phase, where, config, found)
  check_output(phase, where, state.made, found)
  -- Neighbours that run at once cannot read each other.
  local before = list[i - 1]
  if phase.parallel and before and before.parallel then
    tell_groups(group_of(before, config), group_of(phase, config), phase.id, found)
    before = state.before_group
  else
    state.before_group, state.group = before, i
  end
  check_input(phase, where, before, state, found)
  if type(phase.output) == "string" then
    state.made[phase.output], state.made_at[phase.output] = phase.id, i
  end
end

---Applies the defaults of `sequential_config.phases` and checks them.
---@param config table
---@param found skillrt.generate.Findings
function M.normalise(config, found)
  local hybrid = config.execution_mode == "hybrid"
  if config.sequential_config == nil and not hybrid then
    found:error("missing", "sequential_config", "is missing: a sequential skill needs it")
  end
  local sequential = fields.object(config, "sequential_config", "", found)
  local list = fields.list(sequential, "phases", "sequential_config.", found)
  if #list == 0 and not hybrid then
    found:error("empty", "sequential_config.phases", "is empty: give at least one phase")
  end
  local state = { ids = {}, made = {}, made_at = {}, group = 1 }
  for i, phase in ipairs(list) do
    if type(phase) == "table" and not json.is_array(phase) then
      check_phase(phase, i, list, state, config, found)
    else
      found:error("type", ("sequential_config.phases[%d]"):format(i), "must be an object, not %s", fields.show(phase))
      list[i] = { id = "", output = "" }
    end
  end
  fields.check_mapped(state.ids, "sequential_config.phases", found)
end

-- Where the loop stands when the config does not say: before the last of several phases.
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

---Hybrid: the order of leading phases, loop and trailing phases, and what a failed loop does (F7).
---@param config table
---@param found skillrt.generate.Findings
function M.check_order(config, found)
  local hybrid = fields.object(config.x_skillrt, "hybrid", "x_skillrt.", found)
  local phases = config.sequential_config.phases
  hybrid.order = hybrid.order or default_order(phases)
  local order = fields.texts(hybrid, "order", "x_skillrt.hybrid.", found)
  local wanted = {}
  for i, id in ipairs(order) do
    if id ~= M.LOOP then
      wanted[#wanted + 1] = id
    end
    if id == M.LOOP and hybrid.loop_at then
      found:error("order", ("x_skillrt.hybrid.order[%d]"):format(i), "%s stands here a second time", M.LOOP)
    end
    hybrid.loop_at = hybrid.loop_at or id == M.LOOP and i or nil
  end
  local declared = {}
  for i, phase in ipairs(phases) do
    declared[i] = phase.id
  end
  if not hybrid.loop_at then
    found:error("order", "x_skillrt.hybrid.order", "does not say where the loop runs: put %s into it", M.LOOP)
  elseif table.concat(wanted, "\n") ~= table.concat(declared, "\n") then
    found:error("order", "x_skillrt.hybrid.order", "must name every phase once, in the order they are declared")
  end
  hybrid.loop_at = nil
  hybrid.on_loop_failed = hybrid.on_loop_failed or "stop"
  if hybrid.on_loop_failed ~= "stop" and hybrid.on_loop_failed ~= "run_finalize" then
    local message = 'must be "stop" or "run_finalize", not %s'
    found:error("choice", "x_skillrt.hybrid.on_loop_failed", message, fields.show(hybrid.on_loop_failed))
  end
end

return M
