-- document/check/reach/search.lua: every state a run can come to, breadth first, within a bound.
--
-- A fixed strategy takes the first action that may run; one that only may hold (it reads what
-- nobody declares) leaves room for those behind it. Any other strategy may take each of them.
-- Knows states as integers, no texts. Called by check/reach.lua and reach/rounds.lua.
local machine_of = require "skillrt.document.check.reach.machine"
local rows_of = require "skillrt.document.check.reach.rows"

local M = {}

local SPREAD = machine_of.SPREAD

M.MAX_STATES = 100000
M.MAX_TESTS = 4000000
M.MAX_KEPT = 2000000

local MAX_SEEDS = 1000

---@class skillrt.check.Search
---@field states integer[]        in the order in which they were found, as far as they may be looked at
---@field parent integer[]        0: a first state
---@field via integer[]           the step that led there; negative: leading phases
---@field index table<integer, integer>  the number of each state that was found
---@field count integer           how many were found
---@field complete boolean        all states were looked at
---@field full boolean            it stopped because it kept as much as it may
---@field looked integer          how many were looked at
---@field chosen integer[]        by step: the first state in which it may be taken
---@field passed table[]          by step: { state, by }: it might run, another was taken
---@field ends table<string, integer>  status -> the first state in which a run may end so
---@field halts table<integer, boolean>  states in which a run may end or be blocked
---@field leads_beyond table<integer, boolean>  states that lead to one which is never looked at
---@field blocked_at integer?     the first state with no way on
---@field vague table<integer, boolean>  states that counting beyond what is told apart led to
---@field blocked_count integer
---@field over string?           the end that holds before anything ran

-- The conditions of a list as rows of one table, and those of each on its own.
local function together(machine, list, mode)
  local all = {}
  for i, one in ipairs(list) do
    all[i] = one[mode]
  end
  return rows_of.of(machine.words, all)
end

local function one_by_one(machine, list, mode)
  local all = {}
  for i, one in ipairs(list) do
    all[i] = rows_of.of(machine.words, { one[mode] })
  end
  return all
end

-- A step, by columns. A state of several words follows whole: of the state before nothing is kept.
local function add_step(self, i, step)
  local parts = machine_of.parts(self.machine, step.updates)
  local first = parts[1]
  self.terminal[i], self.guess[i] = step.action.terminal or false, false
  for _, update in ipairs(step.updates) do
    self.guess[i] = self.guess[i] or update.vague or false
  end
  if self.machine.words == 1 then
    self.keep[i], self.reads[i], self.sets[i] = first.keep, first.reads, first.sets
    return
  end
  self.keep[i], self.reads[i] = 0, 0
  self.sets[i] = setmetatable({}, { __index = function()
    return machine_of.outcomes(self.machine, parts, self.now)
  end })
end

local function new(space, options)
  local machine = machine_of.new(space)
  local self = {
    space = space,
    machine = machine,
    max_states = options.max_states or M.MAX_STATES,
    max_tests = options.max_tests or M.MAX_TESTS,
    max_kept = options.max_kept or M.MAX_KEPT,
    states = {}, parent = {}, via = {}, index = {}, count = 0,
    chosen = {}, passed = {}, ends = {}, blocked_count = 0,
    halts = {}, leads_beyond = {}, tests = 0, looked = 0, vague = {},
    now = {}, held = {}, one = {}, -- of the state that is looked at: its words, the steps that may run
    terminal = {}, guess = {}, keep = {}, reads = {}, sets = {}, -- by step: what it makes
  }
  self.first, self.may = together(machine, space.steps, "first"), together(machine, space.steps, "may")
  self.must = space.fixed and one_by_one(machine, space.steps, "must")
  for i, step in ipairs(space.steps) do
    add_step(self, i, step)
  end
  self.goal = rows_of.of(machine.words, { { space.goal } })
  self.over_first, self.over_may = together(machine, space.ends, "first"), together(machine, space.ends, "may")
  self.over_must = one_by_one(machine, space.ends, "must")
  return self
end

local function add(self, state, parent, via, vague)
  local known = self.count + 1
  self.count, self.index[state * SPREAD] = known, known
  if known <= self.max_states then
    self.states[known], self.parent[known], self.via[known] = state, parent, via
    if vague then
      self.vague[known], self.any_vague = true, true
    end
  else
    self.leads_beyond[parent] = true
  end
end

-- The states a phase leaves: as they were where it may be left out, and what it makes of them.
local function after_phase(self, phase, i, current)
  local machine, now = self.machine, self.now
  local may, must = rows_of.of(machine.words, { phase.may }), rows_of.of(machine.words, { phase.must })
  local parts, known, following = machine_of.parts(machine, phase.updates), {}, {}
  local function keep(state, via)
    if not known[state] and #following < MAX_SEEDS then
      known[state] = true
      following[#following + 1] = { state, via }
    end
  end
  for _, one in ipairs(current) do
    machine_of.lay_out(machine, one[1], now)
    if rows_of.held(must, now, self.held) == 0 then
      keep(one[1], one[2])
    end
    if rows_of.held(may, now, self.held) > 0 then
      for _, state in ipairs(machine_of.outcomes(machine, parts, now)) do
        keep(state, -i)
      end
    end
  end
  return following
end

-- Hybrid: the phases before the loop, each run or left out; then a step has run already.
local function seed(self, space)
  local current = { { self.machine.start, 0 } }
  for i, phase in ipairs(space.phases) do
    if not phase.action.trailing then
      current = after_phase(self, phase, i, current)
    end
  end
  for _, one in ipairs(current) do
    add(self, one[1], 0, one[2])
  end
end

local function holds(self, rows)
  return rows_of.held(rows, self.now, self.one) > 0
end

local function finish(self, status, at)
  self.ends[status] = self.ends[status] or at
  self.halts[at] = true
end

-- Whether an end surely comes before anything is chosen.
local function ended(self, at, fresh)
  local held = self.held
  for k = 1, rows_of.held(fresh and self.over_first or self.over_may, self.now, held) do
    local i = held[k]
    local final = self.space.ends[i].action
    finish(self, final.status, at)
    self.over = self.over or fresh and final.text or nil
    if fresh or holds(self, self.over_must[i]) then
      return true
    end
  end
  return false
end

local function nothing_to_choose(self, at)
  self.halts[at] = true
  if holds(self, self.goal) then
    finish(self, "completed", at)
    return
  end
  self.blocked_count = self.blocked_count + 1
  if not self.blocked_at or (self.vague[self.blocked_at] and not self.vague[at]) then
    self.blocked_at = at
  end
end

-- Whether nothing has run yet.
local function is_fresh(self, at)
  return at == 1 and self.via[1] == 0
end

-- Whether the strategy takes this step before those behind it, whatever they are.
local function is_sure(self, i, at)
  return self.must and (is_fresh(self, at) or holds(self, self.must[i]))
end

-- Takes what may run, one after another, up to the first that surely does. No call for a state that
-- is known already: nearly all of the time is spent here.
local function take_all(self, count, at)
  local held, terminal, index, chosen = self.held, self.terminal, self.index, self.chosen
  local keep, reads, sets, guess = self.keep, self.reads, self.sets, self.guess
  local state, vague_here = self.now[1], self.vague[at]
  for k = 1, count do
    local i = held[k]
    chosen[i] = chosen[i] or at
    if terminal[i] then
      finish(self, terminal[i], at)
    else
      local following = sets[i][state & reads[i]]
      local kept, vague = state & keep[i], vague_here or (guess[i] and #following > 1)
      for n = 1, #following do
        local one = kept | following[n]
        local known = index[one * SPREAD]
        if not known then
          add(self, one, at, i, vague)
        elseif not vague and self.any_vague then
          self.vague[known] = nil
        end
      end
    end
    if self.must and is_sure(self, i, at) then
      return k
    end
  end
  return count
end

local function look(self, at)
  local now, held, fresh = self.now, self.held, is_fresh(self, at)
  machine_of.lay_out(self.machine, self.states[at], now)
  if ended(self, at, fresh) then
    return
  end
  local count = rows_of.held(fresh and self.first or self.may, now, held)
  local taken = take_all(self, count, at)
  for k = taken + 1, count do
    local i = held[k]
    if not self.chosen[i] then
      self.passed[i] = self.passed[i] or { state = at, by = held[taken] }
    end
  end
  self.tests = self.tests + #self.keep
  if count == 0 then
    nothing_to_choose(self, at)
  end
end

---Lays out a state and tells which steps may be taken in it.
---@param self skillrt.check.Search
---@param at integer
---@return integer[] steps
function M.open(self, at)
  machine_of.lay_out(self.machine, self.states[at], self.now)
  local steps = {}
  for k = 1, rows_of.held(is_fresh(self, at) and self.first or self.may, self.now, self.held) do
    steps[k] = self.held[k]
    if is_sure(self, steps[k], at) then
      break
    end
  end
  return steps
end

---The numbers of the states that may follow a step in the state laid out; 0: not kept.
---@param self skillrt.check.Search
---@param i integer
---@return integer[]
function M.following(self, i)
  local numbers, state = {}, self.now[1]
  for n, set in ipairs(self.sets[i][state & self.reads[i]]) do
    numbers[n] = self.index[(state & self.keep[i] | set) * SPREAD] or 0
  end
  return numbers
end

---Searches the space.
---@param space skillrt.check.Space
---@param options { max_states: integer?, max_tests: integer?, max_kept: integer? }?
---@return skillrt.check.Search
function M.run(space, options)
  local self = new(space, options or {})
  local nodes = self.machine.nodes
  seed(self, space)
  while self.looked < self.count and self.looked < self.max_states and self.tests < self.max_tests do
    self.full = self.count + #nodes > self.max_kept
    if self.full then
      break
    end
    self.looked = self.looked + 1
    look(self, self.looked)
  end
  self.complete = self.looked == self.count
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
  local bits = machine_of.word(self.machine, self.states[at], place.word) & place.mask
  for class, one in ipairs(place.bits) do
    if one == bits then
      return class
    end
  end
  return 1
end

return M
