-- document/check/machine_actions.lua: a skill of mode "machine" as the search through its states takes it: when each
-- action may run, by the key of the state, and where it leads; where the run ends.
--
-- Reads a table, runs nothing; conditions that are functions may hold or not. Called by model.lua.
local machine_of = require "skillrt.skill.machine"
local state_of = require "skillrt.skill.state"

local M = {}

-- What the machine writes besides the key of its state; the search follows that one.
local WRITTEN <const> = { history = true, metrics = true, error = true }

local KEY <const> = "state"

-- Whether an action may run again: a way leads from where it leads to back to it.
local function repeats(machine, row)
  local seen, todo = {}, table.move(row.to, 1, #row.to, 1, {})
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

-- How often an action may run: as often as all of its edges together, where each has a limit.
local function limit_of(row)
  local sum = 0
  for _, edge in ipairs(row.edges) do
    if not edge.max_runs then
      return nil
    end
    sum = sum + edge.max_runs
  end
  return sum
end

-- The rows of an action: any of them may be taken where its condition holds. Which comes first is not asked: the search
-- follows them all.
local function precondition(machine, row)
  local tests = {}
  for _, edge in ipairs(row.edges) do
    local text = machine.routes == nil and machine.route == nil and type(edge.when) == "string" and edge.when or nil
    for _, from in ipairs(edge.from) do
      local test = ("state.%s === '%s'"):format(KEY, (from:gsub("[\\']", "\\%0")))
      tests[#tests + 1] = text and ("(%s && (%s))"):format(test, text) or test
    end
  end
  return table.concat(tests, " || ")
end

-- Where an action leads: to one of its states. As an effect that is no text, as the model takes it.
local function target(row)
  local among = {}
  for _, name in ipairs(row.to) do
    among[name] = true
  end
  return {
    text = ("%s=%s"):format(KEY, table.concat(row.to, "|")),
    key = KEY,
    path = { KEY },
    check = function(_, after)
      return among[after[KEY]] == true
    end,
  }
end

local function action_of(machine, row, given)
  local effects, when = {}, {}
  table.move(type(given.effects) == "table" and given.effects or {}, 1, #(given.effects or {}), 1, effects)
  effects[#effects + 1] = target(row)
  when[1] = precondition(machine, row)
  local own = given.when
  own = type(own) == "table" and not (getmetatable(own) or {}).__call and own or { own }
  table.move(own, 1, #own, 2, when)
  local handles = row.any and row.action == machine.handler
  return setmetatable({
    when = when,
    effects = effects,
    max_runs = given.max_runs ~= math.huge and given.max_runs or limit_of(row),
    repeatable = not limit_of(row) and repeats(machine, row) or handles or nil,
    priority = row.any and -1 or 0,
    terminal = false,
  }, { __index = given })
end

local function is_reserved(key)
  return WRITTEN[key] or state_of.is_reserved(key)
end

---What the search reads in place of a skill of mode "machine"; the skill itself where it is of another.
---@param given table  a definition or a skill
---@return table
function M.of(given)
  local machine = type(given.machine) == "table" and machine_of.new(given.machine)
  if not machine or type(given.actions) ~= "table" then
    return given
  end
  local _, rows = machine_of.registry(machine)
  local actions, ends, state = {}, {}, { [KEY] = machine.initial }
  for i, action in ipairs(given.actions) do
    local row = type(action) == "table" and rows[action.id]
    actions[i] = row and action_of(machine, row, action) or action
  end
  for key, value in pairs(type(given.state) == "table" and given.state or {}) do
    state[key] = value
  end
  for _, one in ipairs(machine.states) do
    if one.terminal then
      ends[#ends + 1] = { when = ("state.%s === '%s'"):format(KEY, (one.name:gsub("[\\']", "\\%0"))),
        status = one.terminal, reason = one.name:sub(1, 60) }
    end
  end
  local terminate = type(given.terminate) == "table" and given.terminate or {}
  table.move(terminate, 1, #terminate, #ends + 1, ends)
  -- the order of rows decides, not priority
  return setmetatable({ actions = actions, state = state, terminate = ends, mode = "autonomous",
    is_reserved = is_reserved, strategy = function() end }, { __index = given })
end

return M
