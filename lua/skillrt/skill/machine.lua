-- skill/machine.lua: a state machine as one transition table: its normal form, and what is derived from it: the
-- route, the registry, the conditions of its actions.
--
-- Pure: knows no runs, documents or configs. Called by the loader, the generator and the mode that runs it.
-- machine_check.lua finds contradictions in a table.
local action = require("skillrt.skill.action")
local names = require("skillrt.base.names")
local schema = require("skillrt.skill.schema")
local tables = require("skillrt.base.tables")

local M = {}

---@class skillrt.MachineState
---@field name string
---@field terminal "completed"|"failed"|"aborted"|nil  the run ends here with this status
---@field description string?
---@field entry string?       when it is entered, in words
---@field when any            as given: conditions for entering it, evaluated when the previous action has finished
---@field tests table[]       `when`, compiled
---@field x any               untouched

---@class skillrt.Edge  one row of the table; those that leave a state are checked in order
---@field index integer       place in the table, from 1
---@field action string
---@field from string[]       the states it leaves
---@field any boolean?        written as from = "*": it leaves every state that is not terminal
---@field to string
---@field when any            as given: a condition, a function or a list; nil: always
---@field tests table[]       `when`, compiled: all must hold
---@field max_runs integer?   how often a run may take it
---@field x any               untouched

---@class skillrt.ErrorClass  where an error of this class leads (F62)
---@field class string
---@field to string
---@field max_runs integer?
---@field severity string?
---@field recovery string?

---@class skillrt.Machine
---@field initial string
---@field states skillrt.MachineState[]
---@field by_name table<string, skillrt.MachineState>
---@field edges skillrt.Edge[]
---@field errors skillrt.ErrorClass[]
---@field routes table<string, { action: string, when: any, tests: table[], x: any }[]>?  nil: the edges are the route
---@field route (fun(state: table, name: string): string?, string?)?  called instead of them
---@field handler string      the action that handles errors, if it is declared
---@field history integer     how many entries of `history` are kept at most

---The states that end a run, whoever declares them (F60).
M.TERMINAL = { completed = "completed", failed = "failed", aborted = "aborted" }

local STATE = {
  name = { type = "text", required = true },
  terminal = { type = { "boolean", "string" } },
  description = { type = "string" },
  entry = { type = "string" },
  when = {},
  x = {},
}
local EDGE = {
  action = { type = "id", required = true },
  from = { type = "text", list = true, required = true },
  to = { type = "text", required = true },
  when = {},
  max_runs = { type = "positive" },
  x = {},
}
local ERROR = {
  class = { type = "text", required = true },
  to = { type = "text", required = true },
  max_runs = { type = "positive" },
  severity = { type = "text" },
  recovery = { type = "text" },
}
local ROUTE = { action = { type = "id", required = true }, when = {}, x = {} }
local FIELDS = {
  initial = { type = "text", required = true },
  states = { type = { "text", "table" }, list = true, required = true },
  edges = { type = "table", list = true, required = true },
  errors = { type = "table", list = true, default = {} },
  routes = { type = "table", map = true },
  route = { type = "function" },
  handler = { type = "id", default = "handle_error" },
  history = { type = "positive", default = 200 },
}
local MEANT = { transitions = "edges", limit = "max_runs", condition = "when", next = "to", start = "initial" }

local function check_states(machine, where)
  machine.by_name = {}
  for i, given in ipairs(machine.states) do
    local named = type(given) == "string" and { name = given } or given
    local one, message = schema.record(named, STATE, ("%s: states[%d]"):format(where, i))
    if not one then
      return message
    elseif machine.by_name[one.name] then
      return ("%s: states[%d]: %s is declared twice"):format(where, i, names.show(one.name))
    end
    local ends = one.terminal
    if type(ends) == "string" and not M.TERMINAL[ends] then
      local wanted = 'must be true, "completed", "failed" or "aborted", not %s'
      return ("%s: states[%d]: field \"terminal\" " .. wanted):format(where, i, names.show(ends))
    end
    one.tests, message = action.conditions(one.when, ("%s: states[%d]: when"):format(where, i))
    if not one.tests then
      return message
    end
    one.terminal = M.TERMINAL[one.name] or ends == true and "completed" or ends or nil
    machine.states[i], machine.by_name[one.name] = one, one
  end
end

local function check_edges(machine, where)
  for i, given in ipairs(machine.edges) do
    local place = ("%s: edges[%d]"):format(where, i)
    local edge, message = schema.record(given, EDGE, place, MEANT)
    if not edge then
      return message
    end
    edge.tests, message = action.conditions(edge.when, place .. ": when")
    if not edge.tests then
      return message
    end
    edge.index, edge.any = i, edge.from[1] == "*" or nil
    if edge.any then
      edge.from = {}
      for _, state in ipairs(machine.states) do
        edge.from[#edge.from + 1] = not state.terminal and state.name or nil
      end
    end
    machine.edges[i] = edge
  end
end

local function check_routes(machine, where)
  for state, list in pairs(machine.routes or {}) do
    for i, given in ipairs(list) do
      local place = ("%s: routes %s[%d]"):format(where, names.show(state), i)
      local one, message = schema.record(type(given) == "string" and { action = given } or given, ROUTE, place, MEANT)
      if not one then
        return message
      end
      one.tests, message = action.conditions(one.when, place .. ": when")
      if not one.tests then
        return message
      end
      list[i] = one
    end
  end
end

local Machine = { __name = "machine" }

---The normal form of a machine; one that has it stays as it is.
---@param given table
---@param where string?  names it in messages
---@return skillrt.Machine? machine
---@return string? message
function M.new(given, where)
  where = where or "machine"
  if getmetatable(given) == Machine then
    return given
  end
  local machine, message = schema.record(given, FIELDS, where, MEANT)
  if not machine then
    return nil, message
  end
  for i, one in ipairs(machine.errors) do
    machine.errors[i], message = schema.record(one, ERROR, ("%s: errors[%d]"):format(where, i), MEANT)
    if message then
      return nil, message
    end
  end
  if machine.routes and machine.route then
    message = where .. ': has both "routes" and "route"; keep the one that says what is next'
  end
  message = message or check_states(machine, where) or check_edges(machine, where) or check_routes(machine, where)
  machine.begins = { to = machine.initial, keep = math.max(2, machine.history) }
  return not message and setmetatable(machine, Machine) or nil, message
end

local function has(list, value)
  return tables.has(list, value)
end

---The edges that leave a state, in the order of the table.
---@param machine skillrt.Machine
---@param state string
---@return skillrt.Edge[]
function M.leaving(machine, state)
  local edges = {}
  for _, edge in ipairs(machine.edges) do
    edges[#edges + 1] = has(edge.from, state) and edge or nil
  end
  return edges
end

---Whether an edge is for errors alone: the handler's, in any state.
---@param machine skillrt.Machine
---@param edge skillrt.Edge
---@return boolean
function M.is_handling(machine, edge)
  return edge.any == true and edge.action == machine.handler
end

---The route of a state: its actions in order, each with the edges that it may take.
---@param machine skillrt.Machine
---@param state string
---@return { action: string, when: any, tests: table[], edges: skillrt.Edge[], given: table? }[]
function M.route(machine, state)
  local out, edges = {}, M.leaving(machine, state)
  if not machine.routes then
    for _, edge in ipairs(edges) do
      if not M.is_handling(machine, edge) then
        out[#out + 1] = { action = edge.action, when = edge.when, tests = edge.tests, edges = { edge } }
      end
    end
    return out
  end
  for i, one in ipairs(machine.routes[state] or {}) do
    local mine = {}
    for _, edge in ipairs(edges) do
      mine[#mine + 1] = edge.action == one.action and edge or nil
    end
    out[i] = { action = one.action, when = one.when, tests = one.tests, edges = mine, given = one }
  end
  return out
end

---The registry: each action with the states it leaves and enters, in the order of the table (R127).
---@param machine skillrt.Machine
---@return { action: string, from: string[], to: string[], any: boolean?, edges: skillrt.Edge[] }[]
---@return table<string, table> by_action
function M.registry(machine)
  local list, by_action = {}, {}
  for _, edge in ipairs(machine.edges) do
    local row = by_action[edge.action]
    if not row then
      row = { action = edge.action, from = {}, to = {}, edges = {} }
      by_action[edge.action], list[#list + 1] = row, row
    end
    for _, from in ipairs(edge.from) do
      row.from[#row.from + 1] = not has(row.from, from) and from or nil
    end
    row.to[#row.to + 1] = not has(row.to, edge.to) and edge.to or nil
    row.any = row.any or edge.any
    row.edges[#row.edges + 1] = edge
  end
  return list, by_action
end

local function quoted(name)
  return "'" .. name:gsub("[\\']", "\\%0") .. "'"
end

-- An edge is taken if its condition is true and that of no earlier edge of the same state is. If an action has two
-- edges without a condition, the agent chooses between them.
local function test_of(machine, edge, from, key)
  local tests = { ("state.%s === %s"):format(key, quoted(from)) }
  for _, other in ipairs(M.leaving(machine, from)) do
    if other == edge then
      break
    elseif other.when ~= nil then
      tests[#tests + 1] = ("!(%s)"):format(other.when)
    elseif other.action ~= edge.action then
      tests[#tests + 1] = "false"
    end
  end
  tests[#tests + 1] = edge.when and ("(%s)"):format(edge.when) or nil
  return table.concat(tests, " && ")
end

---When an action may run, as one condition on a key that names the state.
---@param machine skillrt.Machine  its conditions are texts
---@param row { edges: skillrt.Edge[] }  of the registry
---@param key string
---@return string
function M.precondition(machine, row, key)
  local tests, seen = {}, {}
  for _, edge in ipairs(row.edges) do
    for _, from in ipairs(edge.from) do
      local test = test_of(machine, edge, from, key)
      tests[#tests + 1] = not seen[test] and test or nil
      seen[test] = true
    end
  end
  local text = table.concat(tests, " || ")
  if #tests > 1 and text:find(" && ", 1, true) then
    return "(" .. table.concat(tests, ") || (") .. ")"
  end
  return text
end

return M
