-- document/load/machine.lua: the state machine of a folder's documents as one transition table, built of its state
-- table, registry (`| Action | From States | To States |`, R127), route and diagram. Joining them reports
-- contradictions (F59-F64); a table that contradicts itself is not run.
--
-- The form of the table and its checks are skill/machine.lua's. Called by sources.lua.
local ends = require "skillrt.skill.ends"
local condition = require "skillrt.document.load.condition"
local machine_check = require "skillrt.skill.machine_check"
local machine_of = require "skillrt.skill.machine"
local names = require "skillrt.base.names"
local tables = require "skillrt.base.tables"

local M = {}

local FAILURE = tables.words "failed failure error aborted cancelled"
local STATUS = { error = "failed", failure = "failed", cancelled = "aborted" }

-- Problems of the table that are reported, by level; the others are reported as differences of its sources.
local TOLD = {
  forbidden = "error", unregistered = "error", ["no-route"] = "error", unreachable = "error", ["leaves-end"] = "error",
  ["never-routed"] = "warning", loop = "warning", ["no-failure"] = "warning", ambiguous = "note",
  shadowed = "warning",
}

---@class skillrt.load.Machine
---@field table skillrt.Machine
---@field parts skillrt.load.Prose  what its documents say besides
---@field runs boolean      its registry says from where to where, so it can be run
---@field broken boolean    it contradicts itself

-- The edges of the diagrams.
local function edges_in(prose)
  local out = {}
  for _, graph in ipairs(prose.graphs) do
    local ours = graph.kind == "state" and graph.file:find "orchestrator[^/]*%.md$"
    for _, edge in ipairs(ours and graph.edges or {}) do
      if edge.from ~= "[*]" and edge.to ~= "[*]" then
        out[#out + 1] = { from = edge.from, to = edge.to, line = edge.line, file = graph.file }
      end
    end
  end
  return out
end

-- The states in the order they are met: state table, registry, diagrams.
local function states_of(self)
  local list, seen, leaves = {}, {}, {}
  local function add(name, place)
    if name:find "%w" and not seen[name] then -- "-" is no state
      seen[name] = true
      list[#list + 1] = { name = name, x = { file = place.file, line = place.line } }
    end
  end
  for _, one in ipairs(self.prose.states) do
    add(one.name, one)
    leaves[one.name] = #one.exits > 0
  end
  for _, row in ipairs(self.rows) do
    for _, name in ipairs(row.any and {} or row.from) do
      add(name, row)
      leaves[name] = leaves[name] or row.to[1] ~= name
    end
    for _, name in ipairs(row.to) do
      add(name, row)
    end
  end
  for _, edge in ipairs(self.edges) do
    add(edge.from, edge)
    add(edge.to, edge)
    leaves[edge.from] = true
  end
  for _, state in ipairs(list) do
    state.terminal = not leaves[state.name] and (STATUS[state.name] or true) or nil
  end
  return list
end

-- Without From and To a registry only names actions: they lead where route and diagram do.
local function rows_of(self)
  local rows, known = {}, {}
  for _, row in ipairs(self.prose.transitions) do
    local id, problem = names.id(row.action)
    if id then
      rows[#rows + 1] = row
    else
      self.found:error("action-id", row, ("an action's name %s"):format(problem))
    end
  end
  if #rows > 0 then
    return rows
  end
  local next_of, route = {}, self.prose.route
  for _, edge in ipairs(self.edges) do
    next_of[edge.from] = next_of[edge.from] or {}
    table.insert(next_of[edge.from], edge.to)
  end
  for _, one in ipairs(self.prose.names) do
    known[one.id or ""] = names.id(one.id) and one or nil
  end
  for _, state in ipairs(route and route.order or {}) do
    for _, one in ipairs(route.cases[state].to) do
      local row = known[one.action]
      if row then
        rows[#rows + 1] = { action = one.action, from = { state }, to = next_of[state] or { state }, file = row.file,
          line = row.line }
      end
    end
  end
  return rows
end

-- The condition that a test of the route's code stands for, by the table of conditions.
local function resolved(self, test, place)
  local tests = {}
  for _, one in ipairs(self.prose.conditions) do
    tests[one.name:gsub("%s*%(%s*%)$", "")] = one.text
  end
  local alone = test:match "^[%w_.]-([%w_]+)%s*%(%s*%)$"
  local text = alone and tests[alone] or test:gsub("[%w_.]-([%w_]+)%s*%(%s*%)", function(name)
    return tests[name] and ("(%s)"):format(tests[name])
  end):gsub("%(%((.-)%)%)", "(%1)")
  local told = condition.item(("`` %s ``"):format(text))
  if told and told.condition then
    return told.condition
  end
  self.found:warn("condition-unread", place, ("the route's test cannot be read: %s"):format(text))
  return condition.judged(text)
end

-- What the route says, state by state; one without a case takes the default.
local function routes_of(self, states)
  local route, out = self.prose.route, {}
  for _, state in ipairs(route and states or {}) do
    local case = route.cases[state.name] or not state.terminal and route.default
    for i, one in ipairs(case and case.to or {}) do
      out[state.name] = out[state.name] or {}
      local place = { file = self.prose.route_file, line = one.line }
      local when = one.when and self.runs and resolved(self, one.when, place) or one.when and "true" or nil
      out[state.name][i] = { action = one.action, when = when, x = place }
    end
  end
  return route and out
end

-- Edges of the table: the rows of the registry, each state's in the order of its route.
local function edges_of(self, routes)
  local edges, tests, states = {}, {}, {}
  for state, list in pairs(routes or {}) do
    for _, one in ipairs(list) do
      tests[state .. "\0" .. one.action] = one
    end
  end
  for _, row in ipairs(self.rows) do
    states[1] = row.any and "*" or nil
    for _, from in ipairs(row.any and states or row.from) do
      local routed = tests[from .. "\0" .. row.action]
      for _, to in ipairs(row.to) do
        if to:find "%w" and from:find "[%w*]" then
          edges[#edges + 1] = { action = row.action, from = from, to = to, max_runs = row.max_runs,
            when = row.when or routed and routed.when, x = routed and routed.x or { file = row.file, line = row.line } }
        end
      end
    end
  end
  return edges
end

local function shown(set)
  local list = names.sorted(set)
  return #list > 0 and table.concat(list, ", ") or "nothing"
end

-- What each source says comes after a state; a state of failure need not be named by all.
local function next_by(self)
  local by = { table = {}, registry = {}, diagram = {} }
  local function add(kind, from, to)
    by[kind][from] = by[kind][from] or {}
    by[kind][from][to] = from ~= to and not (FAILURE[to] and to ~= "error") or nil -- an end that stays is an end
  end
  for _, one in ipairs(self.prose.states) do
    for _, to in ipairs(one.exits) do
      add("table", one.name, to)
    end
  end
  for _, row in ipairs(self.prose.transitions) do
    for _, from in ipairs(row.any and {} or row.from) do
      for _, to in ipairs(row.to) do
        add("registry", from, to)
      end
    end
  end
  for _, edge in ipairs(self.edges) do
    add("diagram", edge.from, edge.to)
  end
  return by
end

-- Where state table, registry and diagram describe different machines (F59).
local function tell_differing(self, states)
  local by = next_by(self)
  for _, state in ipairs(states) do
    local said, first, differs = {}, nil, false
    for _, kind in ipairs { "table", "registry", "diagram" } do
      if next(by[kind]) then
        local text = shown(by[kind][state.name] or {})
        said[#said + 1] = ("%s: %s"):format(kind, text)
        differs, first = differs or first ~= nil and text ~= first, first or text
      end
    end
    if differs then
      self.found:warn("machine.differs", state.x,
        ('after "%s" comes, by the %s'):format(state.name, table.concat(said, "; by the ")))
    end
  end
end

-- States without a case of their own: their work is left out, or the route throws at the end (F60, F64).
local function tell_cases(self, states)
  local route = self.prose.route
  for _, state in ipairs(route and states or {}) do
    local default = route.default and route.default.to[1]
    if not route.cases[state.name] and not (FAILURE[state.name] and state.terminal) then
      if default and not state.terminal then
        self.found:warn("machine.falls-through", state.x,
          ('state "%s" has no case in the route and falls to "%s"'):format(state.name, default.action))
      elseif not default then
        self.found:error("machine.no-route", state.x, ('state "%s" has no case in the route%s'):format(state.name,
          route.default and ": it throws" or ""))
      end
    end
  end
end

local function tell_problems(self, machine)
  for _, one in ipairs(machine_check.of(machine)) do
    local at = one.route and one.route.x or one.edge and one.edge.x or one.state and one.state.x or machine.states[1].x
    local level = TOLD[one.code]
    local guessed = not self.listed and (one.code == "unreachable" or one.code == "ambiguous" or one.code == "loop")
    if level and not guessed and one.code ~= "no-route" then -- told by tell_cases, with what the route does there
      self.found:add("machine." .. one.code, at, one.message, { level = level })
    end
    self.broken = self.broken or one.level == "error"
  end
end

-- Whether each action that has a document stands in the registry: else the table is not all there is.
local function covers(self)
  local listed = {}
  for _, row in ipairs(self.rows) do
    listed[row.action] = true
  end
  for _, id in ipairs(self.prose.order) do
    if not listed[id] and not ends.TERMINAL[id] then
      self.found:warn("registry-unread", self.prose.actions[id].at,
        ("the state machine is not run: no row of its registry has action %s%s"):format(id, names.suggest(id, listed)))
      return false
    end
  end
  return true
end

---The machine that the documents of a folder describe; nil where they describe none.
---@param prose skillrt.load.Prose
---@param found skillrt.Findings
---@return skillrt.load.Machine?
function M.read(prose, found)
  local self = { prose = prose, found = found, edges = edges_in(prose), broken = false }
  self.listed = #prose.transitions > 0
  self.rows = rows_of(self)
  self.runs = self.listed and covers(self)
  local told = #self.prose.names > 0 or #prose.states > 0 and self.prose.route
  if not self.listed and not (told and (#self.rows > 0 or #self.edges > 0)) then
    return nil
  end
  local states = states_of(self)
  local routes = routes_of(self, states)
  local machine, message = machine_of.new {
    initial = states[1] and states[1].name, states = states, edges = edges_of(self, routes), routes = routes,
  }
  if not machine then
    found:warn("state-unread", { file = prose.documents[1] }, message)
    return nil
  end
  for i, state in ipairs(machine.states) do
    states[i].terminal = state.terminal
  end
  tell_differing(self, machine.states)
  tell_cases(self, machine.states)
  tell_problems(self, machine)
  return { table = machine, parts = prose, runs = self.runs, broken = self.broken, rows = self.rows }
end

---The rows of a machine's actions, in the order of its registry. When they run says the table.
---@param self skillrt.load.Machine
---@param found skillrt.Findings
---@return table[] rows
function M.actions(self, found)
  local rows, first = {}, {}
  for _, row in ipairs(self.rows) do
    first[row.action] = first[row.action] or row
  end
  for i, row in ipairs((machine_of.registry(self.table))) do
    rows[i] = first[row.action]
    if row.any and row.action ~= self.table.handler then
      found:warn("registry-any", rows[i],
        ("action %s: may run in any state, and no table says when"):format(row.action))
    end
  end
  return rows
end

return M
