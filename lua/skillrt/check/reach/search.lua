-- reach/search.lua: every state a run can come to, breadth first, within a bound.
--
-- A fixed strategy takes the first action that may run; one that only may hold (it reads what
-- nobody declares) leaves room for those behind it. Any other strategy may take each of them.
-- Knows packed states, no texts. Called by check/reach.lua.
local machine_of = require "skillrt.check.reach.machine"

local M = {}

M.MAX_STATES = 100000
M.MAX_TESTS = 4000000

---@class skillrt.check.Search
---@field states any[]            packed, in the order in which they were found
---@field parent integer[]        0: a first state
---@field via integer[]           the step that led there; negative: leading phases
---@field complete boolean        all states were looked at
---@field looked integer          how many were looked at
---@field chosen integer[]        by step: the first state in which it may be taken
---@field passed table[]          by step: { state, by }: it might run, another was taken
---@field ends table<string, integer>  status -> the first state in which a run may end so
---@field blocked_at integer?     the first state with no way on
---@field vague table<integer, boolean>  states that counting beyond what is told apart led to
---@field blocked_count integer
---@field over string?           the end that holds before anything ran
---@field stuck integer?          the first state from which no end can be reached

local function new(space)
  local machine = machine_of.of(space)
  local self = {
    space = space,
    machine = machine,
    narrow = space.words == 1,
    states = {}, parent = {}, via = {}, index = {}, count = 0,
    chosen = {}, passed = {}, ends = {}, blocked_count = 0,
    from = {}, to = {}, edges = 0, halts = {}, tests = 0, looked = 0,
    terminal = {}, apply = {}, guess = {}, vague = {},
  }
  for _, mode in ipairs { "first", "may", "must" } do
    self[mode] = {}
    for i, step in ipairs(space.steps) do
      self[mode][i] = machine.test(step[mode])
    end
  end
  for i, step in ipairs(space.steps) do
    self.apply[i], self.terminal[i] = machine.apply(step.updates), step.action.terminal
    for _, update in ipairs(step.updates) do
      self.guess[i] = self.guess[i] or update.vague
    end
  end
  self.goal = machine.test { space.goal }
  self.finals = {}
  for i, one in ipairs(space.ends) do
    self.finals[i] = { status = one.action.status, text = one.action.text, first = machine.test(one.first),
      may = machine.test(one.may), must = machine.test(one.must) }
  end
  return self
end

local function add(self, state, parent, via)
  local key = self.machine.key(state)
  local known = self.index[key]
  if not known then
    known = self.count + 1
    self.count, self.index[key] = known, known
    self.states[known], self.parent[known], self.via[known] = state, parent, via
  end
  if parent > 0 then
    local edge = self.edges + 1
    self.edges, self.from[edge], self.to[edge] = edge, parent, known
  end
  return known
end

-- Hybrid: the phases before the loop, each run or left out; then a step has run already.
local function seed(self, space)
  local current, out = { { self.machine.start, 0 } }, {}
  for i, phase in ipairs(space.phases) do
    if not phase.action.trailing then
      local may = self.machine.test(phase.may)
      local must = self.machine.test(phase.must)
      local apply, following = self.machine.apply(phase.updates), {}
      local keys = {}
      for _, one in ipairs(current) do
        local list = must(one[1]) and {} or { one }
        if may(one[1]) then
          for k = 1, apply(one[1], out) do
            list[#list + 1] = { out[k], -i }
          end
        end
        for _, next_one in ipairs(list) do
          local key = self.machine.key(next_one[1])
          if not keys[key] and #following < 1000 then
            keys[key] = true
            following[#following + 1] = next_one
          end
        end
      end
      current = following
    end
  end
  for _, one in ipairs(current) do
    add(self, one[1], 0, one[2])
  end
end

local function finish(self, status, at)
  self.ends[status] = self.ends[status] or at
  self.halts[#self.halts + 1] = at
end

-- Whether an end surely comes before anything is chosen.
local function ended(self, state, at, fresh)
  for _, final in ipairs(self.finals) do
    if fresh and final.first(state) or not fresh and final.may(state) then
      finish(self, final.status, at)
      self.over = self.over or fresh and final.text or nil
      if fresh or final.must(state) then
        return true
      end
    end
  end
  return false
end

local function take(self, i, state, at, out)
  self.chosen[i] = self.chosen[i] or at
  local status = self.terminal[i]
  if status then
    finish(self, status, at)
    return
  end
  local count = self.apply[i](state, out)
  local vague = self.vague[at] or (count > 1 and self.guess[i]) or nil
  for k = 1, count do
    local known = self.narrow and self.index[out[k]]
    if known then
      local edge = self.edges + 1
      self.edges, self.from[edge], self.to[edge] = edge, at, known
    else
      known = add(self, out[k], at, i)
    end
    if not vague then
      self.vague[known] = nil
    elseif known == self.count and self.parent[known] == at and self.via[known] == i then
      self.vague[known] = true
    end
  end
end

local function nothing_to_choose(self, state, at)
  if self.goal(state) then
    finish(self, "completed", at)
    return
  end
  self.halts[#self.halts + 1] = at
  self.blocked_count = self.blocked_count + 1
  if not self.blocked_at or (self.vague[self.blocked_at] and not self.vague[at]) then
    self.blocked_at = at
  end
end

local function look(self, at, fresh, out)
  local state, count = self.states[at], #self.space.steps
  if ended(self, state, at, fresh) then
    return
  end
  local may, must, fixed = fresh and self.first or self.may, fresh and self.first or self.must, self.space.fixed
  local any, sure = false, nil
  for i = 1, count do
    if (not sure or not self.chosen[i]) and may[i](state) then
      if sure then
        self.passed[i] = self.passed[i] or { state = at, by = sure }
      else
        any = true
        take(self, i, state, at, out)
        sure = fixed and must[i](state) and i or nil
      end
    end
  end
  self.tests = self.tests + count
  if not any then
    nothing_to_choose(self, state, at)
  end
end

-- The first state from which no end, and no state that was not looked at, can be reached.
local function find_stuck(self)
  local heads, following, good, stack = {}, {}, {}, {}
  for edge = 1, self.edges do
    local to = self.to[edge]
    following[edge], heads[to] = heads[to], edge
  end
  local function mark(at)
    if not good[at] then
      good[at] = true
      stack[#stack + 1] = at
    end
  end
  for _, at in ipairs(self.halts) do
    mark(at)
  end
  for at = self.looked + 1, self.count do
    mark(at)
  end
  while #stack > 0 do
    local edge = heads[table.remove(stack)]
    while edge do
      mark(self.from[edge])
      edge = following[edge]
    end
  end
  for at = 1, self.looked do
    if not good[at] then
      return at
    end
  end
end

---Searches the space.
---@param space skillrt.check.Space
---@param options { max_states: integer?, max_tests: integer? }?
---@return skillrt.check.Search
function M.run(space, options)
  options = options or {}
  local max_states, max_tests = options.max_states or M.MAX_STATES, options.max_tests or M.MAX_TESTS
  local self, out = new(space), {}
  seed(self, space)
  while self.looked < self.count and self.looked < max_states and self.tests < max_tests do
    local at = self.looked + 1
    self.looked = at
    look(self, at, at == 1 and self.via[1] == 0, out)
  end
  self.complete = self.looked == self.count
  self.stuck = find_stuck(self)
  return self
end

---The steps that lead to a state, the shortest sequence.
---@param self skillrt.check.Search
---@param at integer
---@return string[] ids
function M.path(self, at)
  local ids = {}
  while at > 0 and self.via[at] ~= 0 do
    local via = self.via[at]
    if via < 0 then
      for i = -via, 1, -1 do
        if not self.space.phases[i].action.trailing then
          table.insert(ids, 1, self.space.phases[i].action.id)
        end
      end
      break
    end
    table.insert(ids, 1, self.space.steps[via].action.id)
    at = self.parent[at]
  end
  return ids
end

---The class a variable has in a state; 1 for what is not tracked.
---@param self skillrt.check.Search
---@param at integer
---@param name string
---@return integer
function M.class(self, at, name)
  local place = self.space.places[name]
  if not place then
    return 1
  end
  local state = self.states[at]
  local bits = (type(state) == "table" and state[place.word] or state) & place.mask
  for class, one in ipairs(place.bits) do
    if one == bits then
      return class
    end
  end
  return 1
end

---A round that the run takes from a state: the actions until a state comes again.
---@param self skillrt.check.Search
---@param at integer
---@return string[]
function M.loop(self, at)
  local ids, seen, out = {}, {}, {}
  while not seen[at] do
    seen[at] = #ids + 1
    for i in ipairs(self.space.steps) do
      if self.may[i](self.states[at]) then
        self.apply[i](self.states[at], out)
        ids[#ids + 1] = self.space.steps[i].action.id
        at = self.index[self.machine.key(out[1])]
        break
      end
    end
    if not at then
      break
    end
  end
  return table.move(ids, seen[at] or 1, #ids, 1, {})
end

return M
