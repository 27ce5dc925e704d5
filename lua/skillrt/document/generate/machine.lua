-- document/generate/machine.lua: a state machine as one transition table (R117-R153, F59-F64): its rows, and all
-- that is derived of them: registry, route, diagram, the conditions of actions; and whether it is complete.
--
-- Pure; knows no config and no documents. Called by config_machine and machine_md.
local M = {}

---@class skillrt.generate.Transition
---@field from string
---@field action string
---@field to string
---@field when string?    a condition on the state; rows of one state are asked in their order
---@field limit integer?  how often a run may take it (F61)

---@class skillrt.generate.Machine
---@field initial string
---@field states { name: string, description: string, entry: string?, terminal: boolean? }[]
---@field transitions skillrt.generate.Transition[]
---@field conditions { name: string, test: string }[]
---@field errors { class: string, severity: string, recovery: string, to: string, limit: integer? }[]

---The field of the state that says which state the machine is in.
M.KEY = "state"

---The action that deals with errors, where a table has it.
M.HANDLER = "handle_error"

---The states that end a run, whoever declares them (F60).
M.TERMINAL = { completed = true, failed = true, aborted = true }

---The rows that leave a state.
---@param machine skillrt.generate.Machine
---@param name string
---@return skillrt.generate.Transition[]
function M.leaving(machine, name)
  local rows = {}
  for _, row in ipairs(machine.transitions) do
    rows[#rows + 1] = row.from == name and row or nil
  end
  return rows
end

local function add_once(list, value)
  for _, one in ipairs(list) do
    if one == value then
      return
    end
  end
  list[#list + 1] = value
end

---The registry: each action with the states it comes from and leads to, in the order of the table (R127). The one
---that deals with errors comes from any state and leads to where the classes of errors say (R133).
---@param machine skillrt.generate.Machine
---@return { action: string, from: string[], to: string[], any: boolean?, rows: skillrt.generate.Transition[] }[]
function M.registry(machine)
  local list, by_action = {}, {}
  for _, row in ipairs(machine.transitions) do
    local one = by_action[row.action]
    if not one then
      one = { action = row.action, from = {}, to = {}, rows = {} }
      by_action[row.action], list[#list + 1] = one, one
    end
    add_once(one.from, row.from)
    add_once(one.to, row.to)
    one.rows[#one.rows + 1] = row
  end
  local handler = by_action[M.HANDLER]
  for _, row in ipairs(handler and machine.errors or {}) do
    handler.any = true
    add_once(handler.to, row.to)
  end
  return list
end

local function quoted(name)
  return "'" .. name:gsub("[\\']", "\\%0") .. "'"
end

-- A row is taken where its condition holds and that of no row before it in the same state does.
local function test_of(machine, row)
  local tests = { ("state.%s === %s"):format(M.KEY, quoted(row.from)) }
  for _, other in ipairs(M.leaving(machine, row.from)) do
    if other == row then
      break
    end
    tests[#tests + 1] = other.when and ("!(%s)"):format(other.when) or "false"
  end
  tests[#tests + 1] = row.when and ("(%s)"):format(row.when) or nil
  return table.concat(tests, " && ")
end

---When an action may run, as one condition.
---@param machine skillrt.generate.Machine
---@param rows skillrt.generate.Transition[]  of the action
---@return string
function M.precondition(machine, rows)
  local tests = {}
  for i, row in ipairs(rows) do
    local test = test_of(machine, row)
    tests[i] = #rows > 1 and "(" .. test .. ")" or test
  end
  return table.concat(tests, " || ")
end

-- The states that only errors lead to.
local function error_states(machine)
  local set, list = {}, {}
  for _, row in ipairs(machine.errors) do
    set[row.to] = true
  end
  for _, row in ipairs(machine.transitions) do
    set[row.to] = nil
  end
  for _, state in ipairs(machine.states) do
    list[#list + 1] = set[state.name] and state.name or nil
  end
  return list
end

---Where a state is left to: by its rows, and by an error.
---@param machine skillrt.generate.Machine
---@param state { name: string, terminal: boolean? }
---@return string[]
function M.exits(machine, state)
  local list = {}
  for _, row in ipairs(M.leaving(machine, state.name)) do
    add_once(list, row.to)
  end
  for _, name in ipairs(state.terminal and {} or error_states(machine)) do
    if name ~= state.name then
      add_once(list, name)
    end
  end
  return list
end

---A state diagram in Mermaid: every row an edge, and the ways into the states that only errors lead to.
---@param machine skillrt.generate.Machine
---@param name_of fun(name: string): string  a name that Mermaid takes
---@return string[] lines
function M.diagram(machine, name_of)
  local lines = { "stateDiagram-v2", "    [*] --> " .. name_of(machine.initial) }
  for _, row in ipairs(machine.transitions) do
    lines[#lines + 1] = ("    %s --> %s: %s"):format(name_of(row.from), name_of(row.to), row.action)
  end
  for _, name in ipairs(error_states(machine)) do
    for _, state in ipairs(machine.states) do
      if state.name ~= name and not state.terminal then
        lines[#lines + 1] = ("    %s --> %s: %s"):format(name_of(state.name), name_of(name), M.HANDLER)
      end
    end
  end
  for _, state in ipairs(machine.states) do
    if state.terminal then
      lines[#lines + 1] = ("    %s --> [*]"):format(name_of(state.name))
    end
  end
  return lines
end

local function set_of(list, field)
  local set = {}
  for _, one in ipairs(list) do
    set[one[field]] = true
  end
  return set
end

-- Every state a run can come to, errors taken as ways too.
local function reached_from(machine, start, follow_errors)
  local seen, todo = { [start] = true }, { start }
  while #todo > 0 do
    local name = table.remove(todo)
    local targets = {}
    for _, row in ipairs(M.leaving(machine, name)) do
      targets[#targets + 1] = row.to
    end
    for _, row in ipairs(follow_errors and machine.errors or {}) do
      targets[#targets + 1] = row.to
    end
    for _, to in ipairs(targets) do
      if not seen[to] then
        seen[to], todo[#todo + 1] = true, to
      end
    end
  end
  return seen
end

-- The table without the rows that have a limit.
local function unlimited(machine)
  local free = { transitions = {} }
  for _, row in ipairs(machine.transitions) do
    free.transitions[#free.transitions + 1] = not row.limit and row or nil
  end
  return free
end

-- The row by which a way begins that leads from a state back to it.
local function way_back(free, state)
  for _, row in ipairs(M.leaving(free, state)) do
    if row.to == state or reached_from(free, row.to)[state] then
      return row
    end
  end
end

---What is wrong with a table (R153): each problem with the row or state it is about.
---@param machine skillrt.generate.Machine
---@return { kind: "transition"|"state"|"error", index: integer, message: string }[]
function M.problems(machine)
  local out, names = {}, set_of(machine.states, "name")
  local function add(kind, index, message, ...)
    out[#out + 1] = { kind = kind, index = index, message = message:format(...) }
  end
  for i, row in ipairs(machine.transitions) do
    for _, end_of in ipairs { "from", "to" } do
      if not names[row[end_of]] then
        add("transition", i, "%s is no state: declare it", row[end_of])
      end
    end
    if M.TERMINAL[row.from] then
      add("transition", i, "leaves %s, which ends the run", row.from)
    end
  end
  for i, row in ipairs(machine.errors) do
    if not names[row.to] then
      add("error", i, "%s is no state: declare it", row.to)
    end
  end
  if #out > 0 then
    return out
  end
  local reached, free, told = reached_from(machine, machine.initial, true), unlimited(machine), {}
  for i, state in ipairs(machine.states) do
    local rows = M.leaving(machine, state.name)
    local loop = not told[state.name] and way_back(free, state.name) -- F61
    if not reached[state.name] and not M.TERMINAL[state.name] then
      add("state", i, "%s is never reached", state.name)
    elseif #rows == 0 and not state.terminal then
      add("state", i, "%s is left by nothing: add a transition, or mark it terminal", state.name)
    end
    if #rows > 0 and rows[#rows].when then
      add("state", i, "%s is left by nothing where no condition holds: the last row needs none", state.name)
    end
    if loop then
      for name in pairs(reached_from(free, state.name)) do
        told[name] = true -- one finding for the whole circle
      end
      add("state", i, "%s comes back to itself by %s without end: give a transition a limit", state.name, loop.action)
    end
  end
  return out
end

return M
