-- skill/machine_skill.lua: the rules for a skill of mode "machine" besides its transition table: an action for each
-- row, a row for each action, no other deciding field; and which action handles errors.
--
-- Knows no runs. Called by skill/init.lua, once the actions have their normal form.

local machine_check = require("skillrt.skill.machine_check")
local machine_of = require("skillrt.skill.machine")
local names = require("skillrt.base.names")
local tables = require("skillrt.base.tables")

local M = {}

---The fields of the state that only the machine writes, besides those of every run (R143).
M.OWN = { "state", "history", "metrics", "error" }

-- A table that contradicts itself is not run (F59).
local function contradictions(machine)
  local lines = {}
  for _, one in ipairs(machine_check.of(machine)) do
    lines[#lines + 1] = one.level == "error" and one.message or nil
  end
  if lines[1] then
    return 'field "machine": ' .. table.concat(lines, "; ", 1, math.min(#lines, 5))
  end
end

local function check_actions(machine, by_id)
  local _, rows = machine_of.registry(machine)
  for _, edge in ipairs(machine.edges) do
    if not by_id[edge.action] then
      return ('field "machine": edges[%d]: action %s is not declared%s'):format(edge.index, names.show(edge.action),
        names.suggest(edge.action, by_id))
    end
  end
  for _, id in ipairs(names.sorted(by_id)) do
    if not rows[id] then
      return ('action "%s": no edge of the machine takes it; add one, or leave it out'):format(id)
    end
  end
end

local REFUSED <const> = { skip = true, continue = true }

-- The action that handles errors takes over wherever an action names no other.
local function check_errors(machine, actions, by_id)
  local handler = by_id[machine.handler]
  machine.handlers = {}
  for _, one in ipairs(actions) do
    if REFUSED[one.on_error] or one.optional then
      return ('action "%s": a machine goes where an edge leads; "on_error" may be "fail" or an action'):format(one.id)
    elseif one == handler then
      one.on_error = one.on_error or "fail"
    elseif handler then
      one.on_error = one.on_error or machine.handler
    end
    if one.on_error and one.on_error ~= "fail" then
      machine.handlers[one.on_error] = true
    end
  end
end

local function check_state(skill, machine)
  for _, key in ipairs(M.OWN) do
    local given = skill.state[key]
    if key == "state" and given == machine.initial then
      skill.state[key] = nil -- says the same
    elseif given ~= nil then
      return ('field "state": "%s" is written by the machine; leave it out or choose another name'):format(key)
    end
  end
end

---Gives a skill's machine its normal form and checks table and actions against each other.
---@param skill table
---@param where string  names the skill in messages
---@return string? problem
function M.check(skill, where)
  local machine, message = machine_of.new(skill.machine, ('%s: field "machine"'):format(where))
  if not machine then
    return message:sub(#where + 3)
  end
  local by_id = tables.by(skill.actions, "id")
  skill.machine = machine
  local strategy = skill.strategy
  if strategy ~= "priority" and not (type(strategy) == "table" and strategy.name == "priority") then
    return 'field "strategy": a machine goes by its table; leave it out'
  end
  return contradictions(machine) or check_actions(machine, by_id) or check_errors(machine, skill.actions, by_id)
    or check_state(skill, machine)
end

return M
