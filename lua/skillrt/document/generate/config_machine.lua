-- document/generate/config_machine.lua: autonomous_config.machine in its normal form: one transition table, and the
-- conditions and effects that its actions have by it.
--
-- Called by config_actions and machine_md.
local files = require "skillrt.base.files"
local json = require "skillrt.base.json"
local machine_check = require "skillrt.skill.machine_check"
local machine_of = require "skillrt.skill.machine"
local of_config = require "skillrt.document.generate.machine"

local M = {}

local WHERE <const> = "autonomous_config.machine."

---What `"machine": "standard"` stands for: the state machine of seed 003 with its contradictions resolved (F59-F62), as
---a config says it, and its texts in Chinese.
---@return { machine: table, actions: table<string, string>, initial_state: table, zh: table<string, string> }
function M.standard()
  return assert(json.decode(files.asset "templates/code/standard-machine.json"))
end

-- The table with the names of conditions replaced by what they test.
local function resolved(machine)
  local tests, rows = {}, {}
  for _, one in ipairs(machine.conditions) do
    tests[one.name] = one.test
  end
  for i, row in ipairs(machine.transitions) do
    local negated, name = (row.when or ""):match "^%s*(!?)%s*([%a_][%w_]*)%s*$"
    local test = name and tests[name]
    rows[i] = setmetatable({ when = test and (negated == "!" and ("!(%s)"):format(test) or test) or row.when },
      { __index = row })
  end
  return setmetatable({ transitions = rows }, { __index = machine })
end

local function title(id)
  local words = id:gsub("_", " ")
  return words:sub(1, 1):upper() .. words:sub(2)
end

-- Actions have their conditions, and where they lead to, by the table; how often they may run, too.
local function derive(autonomous, machine, own_actions)
  local by_id = {}
  for _, action in ipairs(autonomous.actions) do
    by_id[type(action) == "table" and action.id or ""] = action
  end
  for _, row in ipairs(of_config.registry(machine)) do
    local action = by_id[row.action]
    if not action then
      action = { id = row.action, name = title(row.action), description = M.standard().actions[row.action],
        priority = 0 }
      autonomous.actions[#autonomous.actions + 1] = action
    end
    local effects = json.array {}
    for _, effect in ipairs(type(action.effects) == "table" and action.effects or {}) do
      effects[#effects + 1] = not tostring(effect):find "^%s*state%s*=" and effect or nil
    end
    local to = (#row.edges == 1 or #row.to == 1) and row.edges[1].to
    if to then
      effects[#effects + 1] = ("%s=%s"):format(of_config.KEY, to)
      local ends = machine.by_name[to] and machine.by_name[to].terminal
      if ends then
        own_actions[row.action] = own_actions[row.action] or {}
        own_actions[row.action].terminal = ends
      end
    end
    action.preconditions = json.array { machine_of.precondition(machine, row, of_config.KEY) }
    action.effects = effects
    action.repeatable = true
  end
end

-- Where in the config a problem of the table lies.
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

---Puts the table that `"machine": "standard"` stands for in the place of that word.
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

---Checks a machine, and gives its actions what follows from it.
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
  local whole, message = of_config.of(resolved(machine))
  if not whole then
    found:error("machine", WHERE:sub(1, -2), "%s", message)
    return
  end
  tell(whole, found)
  config.x_skillrt.actions = config.x_skillrt.actions or {}
  derive(autonomous, whole, config.x_skillrt.actions)
end

M.resolved = resolved

---The table of a normalised config as a run goes by it.
---@param machine table  autonomous_config.machine
---@return table given   as skill/machine.lua takes it
function M.to_run(machine)
  return of_config.to_run(resolved(machine))
end

return M
