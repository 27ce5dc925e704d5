-- document/generate/machine.lua: autonomous_config.machine in its normal form: one transition table
-- (skill/machine.lua), the conditions and effects of its actions, and what documents show of it: exits, registry.
--
-- Called by config, machine_md, initial_state and load/config.
local files = require "skillrt.base.files"
local form = require "skillrt.document.form"
local json = require "skillrt.base.json"
local machine_check = require "skillrt.skill.machine_check"
local machine_of = require "skillrt.skill.machine"
local tables = require "skillrt.base.tables"

local M = {}

local WHERE <const> = "autonomous_config.machine."

---The field of the state that says which state the machine is in.
M.KEY = "state"

---The action that handles errors, if a table has one.
M.HANDLER = "handle_error"

---The table behind `"machine": "standard"`: the state machine of seed 003 with its contradictions resolved (F59-F62),
---in the form of a config, and its texts in Chinese.
---@return { machine: table, actions: table<string, string>, initial_state: table, zh: table<string, string> }
function M.standard()
  return assert(json.decode(files.asset "templates/code/standard-machine.json"))
end

---The transitions with the names of conditions replaced by what they test.
---@param config table  autonomous_config.machine
---@return { from: string, action: string, to: string, when: string?, limit: integer? }[]
function M.transitions(config)
  local tests, rows = {}, json.array {}
  for _, one in ipairs(config.conditions) do
    tests[one.name] = one.test
  end
  for i, row in ipairs(config.transitions) do
    local negated, name = (row.when or ""):match "^%s*(!?)%s*([%a_][%w_]*)%s*$"
    local test = name and tests[name]
    rows[i] = { from = row.from, action = row.action, to = row.to, limit = row.limit,
      when = test and (negated == "!" and ("!(%s)"):format(test) or test) or row.when }
  end
  return rows
end

-- A config says `transitions` and `limit` where the table says `edges` and `max_runs`.
local function given_of(config)
  local given = { initial = config.initial, states = {}, edges = {}, errors = {} }
  for i, one in ipairs(config.states) do
    given.states[i] = form.taken("state", one)
  end
  for i, row in ipairs(M.transitions(config)) do
    given.edges[i] = form.taken("transition", row)
  end
  for i, one in ipairs(config.errors) do
    given.errors[i] = form.taken("error_class", one)
  end
  return given
end

---@param config table  autonomous_config.machine
---@return skillrt.Machine? machine
---@return string? message
function M.of(config)
  return machine_of.new(given_of(config))
end

-- A reply without a class counts as this one (R147).
local UNNAMED <const> = "ExecutionError"
local OURS <const> = { "permanent", "transient", "rate_limit", "timeout", "invalid_output" }

---The table that a run uses: errors without a class are ExecutionErrors, all others end in `failed` (R148).
---@param config table  autonomous_config.machine of a normalised config
---@return table given
function M.to_run(config)
  local given, has_failed = given_of(config), false
  for _, state in ipairs(given.states) do
    has_failed = has_failed or state.name == "failed"
  end
  for _, one in ipairs(config.errors) do
    for _, class in ipairs(one.class == UNNAMED and OURS or {}) do
      given.errors[#given.errors + 1] = { class = class, to = one.to, max_runs = one.limit }
    end
  end
  if has_failed then
    given.errors[#given.errors + 1] = { class = "*", to = "failed" }
  end
  return given
end

local function add_once(list, value)
  list[#list + 1] = not tables.has(list, value) and value or nil
end

---The registry; the action that handles errors comes from any state and leads to where the classes say (R133).
---@param machine skillrt.Machine
---@return { action: string, from: string[], to: string[], any: boolean?, edges: skillrt.Edge[] }[]
function M.registry(machine)
  local list, by_action = machine_of.registry(machine)
  local handler = by_action[M.HANDLER]
  for _, one in ipairs(handler and machine.errors or {}) do
    handler.any = true
    add_once(handler.to, one.to)
  end
  return list
end

-- The states that only errors lead to.
local function error_states(machine)
  local set, list = tables.by(machine.errors, "to"), {}
  for _, edge in ipairs(machine.edges) do
    set[edge.to] = nil
  end
  for _, state in ipairs(machine.states) do
    list[#list + 1] = set[state.name] and state.name or nil
  end
  return list
end

---Where a state leads: by its rows, and by an error.
---@param machine skillrt.Machine
---@param state skillrt.MachineState
---@return string[]
function M.exits(machine, state)
  local list = {}
  for _, edge in ipairs(machine_of.leaving(machine, state.name)) do
    add_once(list, edge.to)
  end
  for _, name in ipairs(state.terminal and {} or error_states(machine)) do
    if name ~= state.name then
      add_once(list, name)
    end
  end
  return list
end

local function title(id)
  local words = id:gsub("_", " ")
  return words:sub(1, 1):upper() .. words:sub(2)
end

-- The table gives actions their conditions, their targets, and how often they may run.
local function derive(autonomous, machine, own_actions)
  local by_id = {}
  for _, action in ipairs(autonomous.actions) do
    by_id[type(action) == "table" and action.id or ""] = action
  end
  for _, row in ipairs(M.registry(machine)) do
    local action = by_id[row.action]
    if not action then
      action = { id = row.action, name = title(row.action), description = M.standard().actions[row.action],
        priority = 0 }
      autonomous.actions[#autonomous.actions + 1] = action
    end
    local effects = json.array {}
    for _, effect in ipairs(tables.object(action.effects)) do
      effects[#effects + 1] = not tostring(effect):find "^%s*state%s*=" and effect or nil
    end
    local to = (#row.edges == 1 or #row.to == 1) and row.edges[1].to
    if to then
      effects[#effects + 1] = ("%s=%s"):format(M.KEY, to)
      local ends = machine.by_name[to] and machine.by_name[to].terminal
      if ends then
        own_actions[row.action] = own_actions[row.action] or {}
        own_actions[row.action].terminal = ends
      end
    end
    action.preconditions = json.array { machine_of.precondition(machine, row, M.KEY) }
    action.effects = effects
    action.repeatable = true
  end
end

-- The place in the config of a problem in the table.
local function place_of(problem, machine)
  for i, state in ipairs(problem.state and machine.states or {}) do
    if state == problem.state then
      return ("%sstates[%d]"):format(WHERE, i)
    end
  end
  return problem.edge and ("%stransitions[%d]"):format(WHERE, problem.edge.index)
    or problem.class and ("%serrors[%d]"):format(WHERE, problem.class) or WHERE .. "initial"
end

local function tell(machine, found)
  for _, problem in ipairs(machine_check.of(machine)) do
    if problem.level == "error" then
      found:error("machine", place_of(problem, machine), "%s", problem.message)
    elseif problem.code ~= "no-failure" and problem.code ~= "ambiguous" then
      found:warn("machine-way", place_of(problem, machine), "%s", problem.message)
    end
  end
end

---Replaces `"machine": "standard"` by the table it stands for.
---@param config table
function M.expand(config)
  local autonomous = config.autonomous_config
  if type(autonomous) ~= "table" or autonomous.machine ~= "standard" then
    return
  end
  local standard, own = M.standard(), config.x_skillrt or {}
  autonomous.machine, config.x_skillrt = standard.machine, own
  local first = type(own) == "table" and (own.initial_state or {})
  for key, value in pairs(type(first) == "table" and standard.initial_state or {}) do
    first[key] = first[key] == nil and value or first[key]
    own.initial_state = first
  end
end

---Checks a machine, and sets what its actions derive from it.
---@param config table
---@param found skillrt.Findings
function M.normalise(config, found)
  local autonomous = config.autonomous_config
  local machine = autonomous.machine
  if machine == nil then
    return
  elseif config.execution_mode ~= "autonomous" then
    local message = "needs execution_mode autonomous, not %s"
    found:error("machine", "autonomous_config.machine", message, config.execution_mode)
    return
  end
  for _, state in ipairs(machine.states) do
    state.terminal = machine_of.TERMINAL[state.name] ~= nil or state.terminal == true or nil
  end
  local whole, message = M.of(machine)
  if not whole then
    found:error("machine", WHERE:sub(1, -2), "%s", message)
    return
  end
  tell(whole, found)
  config.x_skillrt.actions = config.x_skillrt.actions or {}
  derive(autonomous, whole, config.x_skillrt.actions)
end

return M
