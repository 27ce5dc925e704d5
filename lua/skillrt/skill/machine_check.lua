-- skill/machine_check.lua: finds where a transition table contradicts itself, leads nowhere or cycles for ever
-- (F59-F61, F64).
--
-- Pure. Called by the loader, the generator and the mode that runs it.
local machine_of = require("skillrt.skill.machine")
local names = require("skillrt.base.names")
local tables = require("skillrt.base.tables")

local M = {}

---@class skillrt.MachineProblem
---@field code string      unknown-state leaves-end ambiguous forbidden unregistered no-route never-routed unreachable
--- dead-end stuck loop no-failure
---@field level "error"|"warning"  an error contradicts the table itself
---@field message string
---@field edge skillrt.Edge?
---@field state skillrt.MachineState?
---@field route table?     the entry of `routes`
---@field class integer?   place in `errors`

-- The edges of each state that its route takes, and whether an edge counts here.
local function ways_of(machine, counts)
  local ways = {}
  for _, state in ipairs(machine.states) do
    local list = {}
    for _, one in ipairs(machine_of.route(machine, state.name)) do
      for _, edge in ipairs(one.edges) do
        list[#list + 1] = (not counts or counts(edge)) and edge or nil
      end
    end
    ways[state.name] = list
  end
  return ways
end

-- The states that can be reached from some, these included.
local function reached(ways, start)
  local seen, todo = {}, tables.append({}, start)
  while #todo > 0 do
    local name = table.remove(todo)
    for _, edge in ipairs(not seen[name] and ways[name] or {}) do
      todo[#todo + 1] = edge.to
    end
    seen[name] = true
  end
  return seen
end

local function unknown(machine, name)
  return ("%s, which is no state%s"):format(names.show(name), names.suggest(name, machine.by_name))
end

local function check_names(machine, add)
  if not machine.by_name[machine.initial] then
    add("unknown-state", "error", {}, "begins in %s", unknown(machine, machine.initial))
  end
  for _, edge in ipairs(machine.edges) do
    for _, from in ipairs(edge.from) do
      local state = machine.by_name[from]
      if not state then
        add("unknown-state", "error", { edge = edge }, "%s leaves %s", edge.action, unknown(machine, from))
      end
    end
    if not machine.by_name[edge.to] then
      add("unknown-state", "error", { edge = edge }, "%s leads to %s", edge.action, unknown(machine, edge.to))
    end
  end
  for _, state in ipairs(names.sorted(machine.routes or {})) do
    if not machine.by_name[state] then
      add("unknown-state", "error", { route = machine.routes[state][1] }, "routes name %s", unknown(machine, state))
    end
  end
  for i, one in ipairs(machine.errors) do
    if not machine.by_name[one.to] then
      add("unknown-state", "error", { class = i }, "%s leads to %s", one.class, unknown(machine, one.to))
    end
  end
end

-- Compares the routes with the edges (F59, F60, F64).
local function check_routed(machine, add)
  local routed, _, by_action = {}, machine_of.registry(machine)
  for _, state in ipairs(machine.states) do
    local list = machine_of.route(machine, state.name)
    for _, one in ipairs(list) do
      local row, about = by_action[one.action], { state = state, route = one.given }
      routed[one.action] = true
      if not row then
        add("unregistered", "error", about, 'in state "%s" the route returns "%s", which is not registered',
          state.name, one.action)
      elseif #one.edges == 0 then
        add("forbidden", "error", about, 'in state "%s" the route picks "%s", but the registry allows it only from %s',
          state.name, one.action, table.concat(row.from, ", "))
      end
    end
    if #list == 0 and not state.terminal then
      add("no-route", "error", { state = state }, 'state "%s" has no case in the route', state.name)
    end
  end
  for _, edge in ipairs(machine.edges) do
    if not routed[edge.action] and not machine_of.is_handling(machine, edge) then
      routed[edge.action] = true
      add("never-routed", "warning", { edge = edge }, 'no state routes to "%s"', edge.action)
    end
  end
end

-- An action that leads from one state to two, without conditions that decide.
local function check_ambiguous(machine, add)
  local told = {}
  for _, state in ipairs(machine.states) do
    local first = {}
    for _, edge in ipairs(machine_of.leaving(machine, state.name)) do
      local before = first[edge.action]
      local open = before and before.to ~= edge.to and before.when == nil and machine.by_name[before.to].when == nil
      if open and not told[edge.action] then
        told[edge.action] = true
        add("ambiguous", "warning", { edge = edge }, 'from "%s" %s leads to %s or %s, and no condition says to which',
          state.name, edge.action, before.to, edge.to)
      end
      first[edge.action] = before or edge
    end
  end
end

-- A row after one without conditions that is always taken: its action can never run.
local function check_shadowed(machine, add)
  for _, state in ipairs(machine.routes == nil and machine.route == nil and machine.states or {}) do
    local first
    for _, edge in ipairs(machine_of.leaving(machine, state.name)) do
      if first and not edge.any and edge.action ~= first.action then
        add("shadowed", "warning", { edge = edge }, 'in state "%s" %s is first and has no condition: %s is never taken',
          state.name, first.action, edge.action)
      elseif not first and not edge.any and edge.when == nil and not edge.max_runs then
        first = edge
      end
    end
  end
end

-- An edge that closes a cycle without any limit (F61); one for each cycle.
local function check_circles(machine, add)
  local free = ways_of(machine, function(edge)
    return not edge.max_runs
  end)
  local told = {}
  for _, state in ipairs(machine.states) do
    for _, edge in ipairs(not told[state.name] and free[state.name] or {}) do
      local beyond = reached(free, { edge.to })
      if beyond[state.name] and not machine.by_name[state.name].terminal then
        for name in pairs(beyond) do
          told[name] = reached(free, { name })[state.name] or told[name]
        end
        add("loop", "warning", { state = state, edge = edge },
          '%s comes back to itself by %s without any limit', state.name, edge.action)
        break
      end
    end
  end
end

local function check_ends(machine, add)
  for _, edge in ipairs(machine.edges) do
    for _, from in ipairs(edge.from) do
      if machine.by_name[from].terminal and edge.to ~= from then -- an end that stays is an end
        add("leaves-end", "error", { edge = edge }, "%s leaves %s, which ends the run", edge.action, from)
      end
    end
  end
end

local function check_ways(machine, add)
  local start = { machine.initial }
  for _, one in ipairs(machine.errors) do
    start[#start + 1] = one.to
  end
  for _, edge in ipairs(machine.edges) do
    start[#start + 1] = machine_of.is_handling(machine, edge) and edge.to or nil
  end
  local seen, fails = reached(ways_of(machine), start), false
  for _, state in ipairs(machine.states) do
    local route = machine_of.route(machine, state.name)
    fails = fails or state.terminal == "failed" or state.terminal == "aborted"
    if not seen[state.name] and not machine_of.TERMINAL[state.name] then
      add("unreachable", "warning", { state = state }, 'state "%s" is never reached', state.name)
    elseif #route == 0 and not state.terminal and not machine.routes then
      add("dead-end", "warning", { state = state },
        "%s has no edge that leaves it: add one, or mark it terminal", state.name)
    end
    local always = #route == 0
    for _, one in ipairs(route) do
      always = always or one.when == nil
    end
    if not always then
      add("stuck", "warning", { state = state },
        "%s has only edges with conditions: add one without, so that the run cannot get stuck there", state.name)
    end
  end
  if not fails then
    add("no-failure", "warning", {}, "no terminal state has the status failed or aborted")
  end
end

---Finds contradictions in a table (R153): wrong names first, and nothing else until they are fixed.
---@param machine skillrt.Machine  normal form
---@return skillrt.MachineProblem[]
function M.of(machine)
  local out = {}
  local function add(code, level, about, message, ...)
    about.code, about.level, about.message = code, level, message:format(...)
    out[#out + 1] = about
  end
  check_names(machine, add)
  if #out > 0 then
    return out
  elseif machine.routes then
    check_routed(machine, add)
  end
  check_ends(machine, add)
  check_ambiguous(machine, add)
  check_shadowed(machine, add)
  check_ways(machine, add)
  check_circles(machine, add)
  return out
end

return M
