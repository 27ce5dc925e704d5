-- document/generate/config_phases.lua: the phases of a config: ids, outputs, inputs, agents, hybrid order.
--
-- Called by generate.config only.
local fields = require "skillrt.document.generate.fields"
local form = require "skillrt.document.form"
local json = require "skillrt.base.json"
local names = require "skillrt.base.names"

local M = {}

M.LOOP = "@autonomous"

-- Files of phases/ that skillrt writes itself.
local OURS = { orchestrator = true, ["state-schema"] = true, ["00-spec-study"] = true }

-- The group that x_skillrt names for a phase: its phases run at once.
local function group_of(phase, config)
  return fields.own(config, "phases", phase.id).group
end

-- Neighbours that run at once are one group, whatever they are called.
local function tell_groups(before, group, id, found)
  if before ~= nil and group ~= nil and before ~= group then
    local message = "runs at once with the phase before it, of group %s: let another phase stand between them"
    found:warn("order", ("x_skillrt.phases.%s.group"):format(id), message, form.show(before))
  end
end

-- The agent of a phase that names none (R14); with llm_integration the model it names.
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

-- Without a list, a phase reads what the phase before it made (R10); F6 checks a list. An input may be named by the
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
  if state.ids[phase.id] then
    local message = "%s is phase %d too: rename one"
    found:error("duplicate-id", where .. "id", message, form.show(phase.id), state.ids[phase.id])
    return
  elseif OURS[phase.id] then
    found:error("id", where .. "id", "%s is a file skillrt writes: choose another id", form.show(phase.id))
  end
  state.ids[phase.id] = i
  phase.name = phase.name or phase.id
  phase.parallel = phase.parallel or group_of(phase, config) ~= nil
  apply_agent(phase, config)
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
  state.made[phase.output], state.made_at[phase.output], state.outputs[phase.id] = phase.id, i, phase.output
end

---Applies the defaults of `sequential_config.phases` and checks them.
---@param config table
---@param found skillrt.Findings
function M.normalise(config, found)
  config.sequential_config = config.sequential_config or { phases = json.array {} }
  local list = config.sequential_config.phases
  if #list == 0 and config.execution_mode ~= "hybrid" then
    found:error("empty", "sequential_config.phases", "is empty: give at least one phase")
  end
  local state = { ids = {}, made = {}, made_at = {}, outputs = {}, group = 1 }
  for i, phase in ipairs(list) do
    check_phase(phase, i, list, state, config, found)
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
---@param found skillrt.Findings
function M.check_order(config, found)
  local hybrid, phases, wanted = config.x_skillrt.hybrid or {}, config.sequential_config.phases, {}
  config.x_skillrt.hybrid = hybrid
  hybrid.order = hybrid.order or json.array(default_order(phases))
  for i, id in ipairs(hybrid.order) do
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
end

return M
