-- document/check/machine_actions.lua: a skill of mode "machine" in the form that the search uses: when each action
-- may run, by the key of the state, and where it leads; where the run ends.
--
-- Reads a table, runs nothing; conditions that are functions may be true or false. Called by model.lua.
local expr = require "skillrt.expr"
local machine_of = require "skillrt.skill.machine"
local machine_skill = require "skillrt.skill.machine_skill"
local state_of = require "skillrt.skill.state"
local tables = require "skillrt.base.tables"

local M = {}

local KEY <const> = "state"

-- What the machine writes besides the key of its state; the search follows that one.
local WRITTEN <const> = tables.set(machine_skill.OWN)

---Whether a condition of such a skill need not declare a key.
---@param key string
---@return boolean?
function M.is_reserved(key)
  return key ~= KEY and WRITTEN[key] or state_of.is_reserved(key)
end

local function is_in(state)
  return ("state.%s === '%s'"):format(KEY, (state:gsub("[\\']", "\\%0")))
end

-- Whether an action may run again: there is a way back to it.
local function repeats(machine, row)
  local seen, todo = {}, tables.append({}, row.to)
  while #todo > 0 do
    local name = table.remove(todo)
    for _, edge in ipairs(not seen[name] and machine_of.leaving(machine, name) or {}) do
      todo[#todo + 1] = edge.to
    end
    seen[name] = true
  end
  for _, from in ipairs(row.from) do
    if seen[from] then
      return true
    end
  end
  return false
end

-- How often an action may run: the sum of its edges' limits, if each has one.
local function runs_of(machine, row)
  local sum = 0
  for _, edge in ipairs(row.edges) do
    sum = sum + (edge.max_runs or math.huge)
  end
  local again = sum < math.huge or row.any and row.action == machine.handler or repeats(machine, row)
  return again and sum or 1
end

-- The edges of an action: any of them may be taken if its condition is true. Their order does not matter, as the
-- search follows all of them.
local function precondition(machine, row)
  local tests = {}
  for _, edge in ipairs(row.edges) do
    local text = not machine.routes and not machine.route and type(edge.when) == "string" and edge.when
    for _, from in ipairs(edge.from) do
      tests[#tests + 1] = text and ("(%s && (%s))"):format(is_in(from), text) or is_in(from)
    end
  end
  return assert(expr.compile(table.concat(tests, " || ")))
end

-- Where an action leads: to one of its states; as an effect in the form that the search uses.
local function target(row)
  local among = tables.set(row.to)
  return { text = ("%s=%s"):format(KEY, table.concat(row.to, "|")), key = KEY, path = { KEY },
    check = function(_, after)
      return among[after[KEY]] == true
    end }
end

local function action_of(machine, row, given)
  local when, effects = { precondition(machine, row) }, tables.append({}, given.effects)
  table.move(given.when, 1, #given.when, 2, when)
  effects[#effects + 1] = target(row)
  return setmetatable({ when = when, effects = effects, priority = row.any and -1 or 0, terminal = false,
    max_runs = given.max_runs < math.huge and given.max_runs or runs_of(machine, row) }, { __index = given })
end

---What the search reads of such a skill instead of its own parts.
---@param skill skillrt.Skill
---@return { actions: table[], state: table, terminate: table[] }
function M.of(skill)
  local machine = skill.machine
  local _, rows = machine_of.registry(machine)
  local out = { actions = {}, terminate = {}, state = tables.fill({ [KEY] = machine.initial }, skill.state) }
  for i, action in ipairs(skill.actions) do
    out.actions[i] = action_of(machine, rows[action.id], action)
  end
  for _, one in ipairs(machine.states) do
    out.terminate[#out.terminate + 1] = one.terminal and { condition = expr.compile(is_in(one.name)),
      text = is_in(one.name), status = one.terminal } or nil
  end
  tables.append(out.terminate, skill.terminate)
  return out
end

return M
