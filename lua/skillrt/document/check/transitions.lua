-- document/check/transitions.lua: where a document's state table, action registry, route and diagram disagree
-- (F59-F64).
--
-- Judges what machine.lua read; knows no text. Called by check.lua.
local machine_of = require "skillrt.document.check.machine"

local M = {}

local FAILURES = { failed = true, aborted = true, cancelled = true, failure = true }

local function set_of(list)
  local set = {}
  for _, name in ipairs(list) do
    set[name] = true
  end
  return set
end

local function sorted(set)
  local list = {}
  for name in pairs(set) do
    list[#list + 1] = name
  end
  table.sort(list)
  return list
end

-- A state that says that the run failed need not be told as an exit of each.
local function without_failures(set)
  local out = {}
  for name in pairs(set) do
    out[name] = not FAILURES[name] or nil
  end
  return out
end

local function shown(set)
  local list = sorted(set)
  return #list > 0 and table.concat(list, ", ") or "nothing"
end

local function allows(row, state)
  return row.any or set_of(row.from)[state] == true
end

local function first_state(self)
  local machine = self.machine
  if machine.states[1] then
    return machine.states[1].name
  elseif machine.edges[1] then
    return machine.edges[1].from
  end
  return machine.route and machine.route.order[1]
end

-- All states that are named as such, with the line to show.
local function all_states(self)
  local states, order = {}, {}
  local function add(name, line)
    if not states[name] then
      states[name] = line
      order[#order + 1] = name
    end
  end
  for _, one in ipairs(self.machine.states) do
    add(one.name, one.line)
  end
  for _, edge in ipairs(self.machine.edges) do
    add(edge.from, edge.line)
    add(edge.to, edge.line)
  end
  return states, order
end

-- The route against the registry: F59, F60, F64.
local function check_route(self)
  local machine, routed = self.machine, {}
  local route = machine.route
  local function look(case, state)
    for _, one in ipairs(case.to) do
      local row = machine.by_action[one.action]
      routed[one.action] = true
      if not row then
        self:add("machine.unregistered", one.line,
          ('in state "%s" the route returns "%s", which is not registered'):format(state, one.action))
      elseif machine.listed and state ~= "any other" and not allows(row, state) then
        self:add("machine.forbidden", one.line,
          ('in state "%s" the route picks "%s", but the registry allows it only from %s'):format(
          state, one.action, shown(set_of(row.from))))
      end
    end
  end
  for _, state in ipairs(route.order) do
    look(route.cases[state], state)
  end
  if route.default then
    look(route.default, "any other")
  end
  for _, row in ipairs(machine.registry) do
    if not routed[row.action] then
      self:add("machine.never-routed", row.line, ('no state routes to "%s"'):format(row.action))
    end
  end
end

local function check_cases(self)
  local route = self.machine.route
  local states, order = all_states(self)
  for _, state in ipairs(order) do
    if not route.cases[state] and not FAILURES[state] then
      if not route.default or route.default.throws then
        self:add("machine.no-route", states[state], ('state "%s" has no case in the route%s'):format(
          state, route.default and ": it throws" or ""))
      elseif route.default.to[1] and state ~= "completed" then
        self:add("machine.falls-through", states[state],
          ('state "%s" has no case in the route and falls to "%s"'):format(
          state, route.default.to[1].action))
      end
    end
  end
end

-- What each source says comes after a state.
local function next_by(self)
  local by = { table = {}, registry = {}, diagram = {} }
  local function add(kind, from, to)
    by[kind][from] = by[kind][from] or {}
    by[kind][from][to] = true
  end
  for _, one in ipairs(self.machine.states) do
    for _, to in ipairs(one.exits) do
      add("table", one.name, to)
    end
  end
  for _, row in ipairs(self.machine.registry) do
    for _, from in ipairs(row.from) do
      for _, to in ipairs(row.to) do
        if from ~= to then -- an end that stays is an end
          add("registry", from, to)
        end
      end
    end
  end
  for _, edge in ipairs(self.machine.edges) do
    add("diagram", edge.from, edge.to)
  end
  return by
end

local function check_sources(self, by)
  local states, order = all_states(self)
  local kinds = {}
  for _, kind in ipairs { "table", "registry", "diagram" } do
    kinds[#kinds + 1] = next(by[kind]) and kind or nil
  end
  for _, state in ipairs(order) do
    local said, first, differs = {}, nil, false
    for _, kind in ipairs(kinds) do
      local text = shown(without_failures(by[kind][state] or {}))
      said[#said + 1] = ("%s: %s"):format(kind, text)
      differs = differs or (first ~= nil and text ~= first)
      first = first or text
    end
    if differs then
      self:add("machine.differs", states[state],
        ('after "%s" comes, by the %s'):format(state, table.concat(said, "; by the ")))
    end
  end
end

-- The states to which routed actions lead, obeying the registry.
local function edges_of(self)
  local machine, edges = self.machine, {}
  for _, state in ipairs(machine.route.order) do
    for _, one in ipairs(machine.route.cases[state].to) do
      local row = machine.by_action[one.action]
      if row and allows(row, state) then
        for _, to in ipairs(row.to) do
          edges[#edges + 1] = { from = state, to = to, action = one.action, line = one.line }
        end
      end
    end
  end
  return edges
end

local function check_reachable(self, edges)
  local reached, todo = {}, { first_state(self) }
  while #todo > 0 do
    local state = table.remove(todo)
    if not reached[state] then
      reached[state] = true
      for _, edge in ipairs(edges) do
        if edge.from == state then
          todo[#todo + 1] = edge.to
        end
      end
    end
  end
  local states, order = all_states(self)
  for _, state in ipairs(order) do
    if not reached[state] and not FAILURES[state] then
      self:add("machine.unreachable", states[state],
        ('state "%s" is reached by no chain of routed actions that the registry allows'):format(state))
    end
  end
end

-- Whether the action that led into a state is what the route returns there again.
local function led_here(self, state, action)
  for _, before in ipairs(self.machine.states) do
    local case = set_of(before.exits)[state] and before.name ~= state and self.machine.route.cases[before.name]
    for _, one in ipairs(case and case.to or {}) do
      local row = self.machine.by_action[one.action]
      if one.action == action and (not row or allows(row, before.name)) then
        return true
      end
    end
  end
  return false
end

-- An edge that leads back to where the machine has been, without a limit (F61).
local function check_loops(self)
  local machine, rank = self.machine, {}
  for i, one in ipairs(machine.states) do
    rank[one.name] = i
  end
  for _, state in ipairs(machine.route.order) do
    for _, one in ipairs(machine.route.cases[state].to) do
      local row = machine.by_action[one.action]
      for _, to in ipairs(row and row.to or {}) do
        if rank[state] and rank[to] and rank[to] < rank[state] and not FAILURES[to] then
          self:add("machine.loop", one.line,
            ('"%s" leads from "%s" back to "%s", and nothing limits how often'):format(one.action, state, to))
        end
      end
      if self:led_here(state, one.action) then
        self:repeated(state, one)
      end
    end
  end
end

local function words_of(data, out)
  for key, value in pairs(type(data) == "table" and data or {}) do
    if type(key) == "string" then
      out[key] = true
    end
    words_of(value, out)
  end
  return out
end

local PLAIN = {}
for word in ([[in and or not true false null passed checks length context state includes some every
  undefined]]):gmatch "%S+" do
  PLAIN[word] = true
end

-- Names of conditions and metrics that the state file does not hold (F62, F63).
local function check_names(self)
  local machine = self.machine
  local known = words_of(machine.data, {})
  for _, one in ipairs(machine.data and machine.conditions or {}) do
    local missing = {}
    for name in one.text:gmatch "[%a_][%w_]*" do
      if not known[name] and not PLAIN[name] then
        missing[#missing + 1] = name
      end
    end
    if #missing > 0 then
      self:add("machine.undefined", one.line,
        ("%s reads %s, which the state does not hold"):format(one.name, table.concat(missing, ", ")))
    end
  end
  local metrics = machine.data and machine.data.metrics
  for _, one in ipairs(type(metrics) == "table" and machine.metrics or {}) do
    if metrics[one.name] == nil then
      self:add("machine.metric", one.line,
        ('the state file holds no "%s" (it has %s)'):format(one.name, shown(metrics)))
    end
  end
end

local function check_failures(self)
  local machine, told = self.machine, {}
  for _, one in ipairs(machine.recoveries) do
    local action = one.name:lower()
    if not machine.by_action[action] and not told[action] then
      told[action] = true
      self:add("machine.recovery", one.line, ("the recovery %s is returned and consumed by nothing"):format(one.name))
    end
  end
  local has, last = false, machine.states[#machine.states]
  for _, one in ipairs(machine.states) do
    has = has or FAILURES[one.name]
  end
  if last and not has then
    self:add("machine.no-failure", last.line, "no state says that a run failed or was aborted")
  end
end

-- The same action again and again in one state: the branch that waits for more.
local function repeated(self, state, one)
  if not self.told_repeat[state .. one.action] then
    self.told_repeat[state .. one.action] = true
    local what = 'in state "%s" the route may return "%s" again and again, and nothing limits how often'
    self:add("machine.loop", one.line, what:format(state, one.action))
  end
end

local function check_machine(machine, found)
  local self = { machine = machine, told_repeat = {}, repeated = repeated, led_here = led_here }
  function self.add(_, code, line, what)
    found:add(code, { file = machine.file, line = line }, what)
  end
  local by = next_by(self)
  check_sources(self, by)
  if machine.route and #machine.registry > 0 then
    check_route(self)
    check_cases(self)
    if machine.listed then
      check_reachable(self, edges_of(self))
      check_loops(self)
    end
  end
  check_names(self)
  check_failures(self)
end

---@param subject skillrt.check.Subject
---@param found skillrt.check.Found
function M.check(subject, found)
  local config = subject.config
  local autonomous = type(config) == "table" and config.autonomous_config
  if not subject.tree or (type(autonomous) == "table" and autonomous.machine ~= nil) then
    return -- the table of a config is checked as it is read (config.machine); its document is derived of it
  end
  local graphs = subject.prose and subject.prose.graphs or {}
  for _, path in ipairs(subject.tree.paths) do
    if path:find "orchestrator[^/]*%.md$" then
      local machine = machine_of.read(path, subject.tree:document(path) or {}, graphs)
      if machine then
        check_machine(machine, found)
      end
    end
  end
end

return M
