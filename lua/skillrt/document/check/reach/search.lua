-- document/check/reach/search.lua: all states that a run can reach, breadth first, within a bound.
--
-- A fixed strategy takes the first action that may run; one that may or may not run (it reads an undeclared key)
-- leaves room for those after it. Any other strategy may take each of them. Knows no texts for people. Called by
-- document/check/reach.lua and document/simulate.lua.
local truth = require "skillrt.document.check.reach.truth"

local M = {}

M.MAX_STATES = 100000
M.MAX_TESTS = 4000000
M.MAX_BYTES = 64 << 20

local MAX_OUTCOMES <const> = 256 -- of one step in one state
local MAX_SEEDS <const> = 1000
local RAN <const> = 2
local char, unpack = string.char, table.unpack

---@class skillrt.check.Search
---@field space skillrt.check.Space
---@field states string[]         in the order in which they were found
---@field numbers table<string, integer>  of each state that was found
---@field parent integer[]        0: a first state
---@field via integer[]           the step that led there; negative: leading phases; 0: the very first
---@field count integer           how many were found
---@field looked integer          how many were visited
---@field complete boolean        all states were visited
---@field full boolean            it stopped at its memory limit
---@field chosen integer[]        by step: the first state in which it may be taken
---@field passed table[]          by step: { state, by }: it could run, but another was taken
---@field ends table<string, integer>  status -> the first state in which a run may end with it
---@field ways integer[][]  for each visited state: a step, the number of the next state (0: the run ends), the next
---  step, and so on
---@field halts table<integer, boolean>  states in which a run may end or be blocked
---@field phase_runs table<integer, boolean>  by phase before the loop: it may run
---@field vague table<integer, boolean>  states that are reached only by a guess
---@field blocked_at integer?     the first state without a way on
---@field blocked_count integer
---@field over string?            the end that is true before anything ran
local Search = {}
Search.__index = Search

-- Unpacks a state into a list of its bytes, reused by the next call.
function Search:lay_out(state)
  self.now = { state:byte(1, -1) }
  return self.now
end

---Whether a term is true in an unpacked state. That depends only on the classes of its variables, so the result is
---cached by these.
---@param term skillrt.check.Term
---@param now integer[]
---@param reading skillrt.check.Reading
---@return boolean
function Search:asks(term, now, reading)
  local key, places = 0, term.places
  for i = 1, #places do
    key = key << 6 | now[places[i]]
  end
  local answer = term.answers[reading][key]
  if answer == nil then
    local variables = self.space.variables
    answer = truth.holds(term, variables, reading, function(name)
      local variable = variables[name]
      if variable.place then
        return { now[variable.place] }
      end
      return reading ~= "first" and variable.after or { variable.init }
    end)
    term.answers[reading][key] = answer
  end
  return answer
end

-- Whether all terms of a step are true. Nearly all the time is spent here, so a term of one variable is looked up
-- without a call.
function Search:holds(step, now, reading)
  local terms = step.terms
  for i = 1, #terms do
    local term = terms[i]
    local answer = term.only and term.answers[reading][now[term.only]]
    if answer == nil or not term.only then
      answer = self:asks(term, now, reading)
    end
    if not answer then
      return false
    end
  end
  return true
end

---Whether nothing has run yet in the state of this number.
---@param at integer
---@return boolean
function Search:is_fresh(at)
  return self.via[at] == 0
end

---The terms of a step that are false in the state of a number, as far as that is known.
---@param step skillrt.check.Step
---@param at integer
---@return skillrt.check.Term[]
function Search:unmet(step, at)
  local out, now = {}, self:lay_out(self.states[at])
  for _, term in ipairs(step.terms) do
    out[#out + 1] = not self:asks(term, now, self:is_fresh(at) and "first" or "may") and term or nil
  end
  return out
end

---The steps that may be taken in a state, which it unpacks, and those that are never chosen.
---@param at integer
---@return integer[] taken
---@return integer[] passed
function Search:open(at)
  local now, taken, passed = self:lay_out(self.states[at]), {}, {}
  local fresh, fixed, list = self:is_fresh(at), self.space.fixed, taken
  local reading = fresh and "first" or "may"
  for i, step in ipairs(self.space.steps) do
    local place = step.place
    if not (place and now[place] >= step.most) and self:holds(step, now, reading) then
      list[#list + 1] = i
      if fixed and list == taken and (fresh or self:holds(step, now, "must")) then
        list = passed -- the strategy certainly takes this one
      end
    end
  end
  return taken, passed
end

-- All states that result from several choices, from the k-th on.
local function add_all(now, choices, k, out)
  local one = choices[k]
  if not one then
    out[#out + 1] = #out < MAX_OUTCOMES and char(unpack(now)) or nil
    return out
  end
  for _, target in ipairs(one.targets) do
    now[one.place] = target
    add_all(now, choices, k + 1, out)
  end
  return out
end

---The states that a step may make of the unpacked one.
---@param step skillrt.check.Step
---@return string[] states
---@return boolean vague  which of them results is a guess
function Search:after(step)
  local now, changes, before, choices, vague = self.now, step.changes, self.before, nil, false
  local ran = now[1]
  now[1] = RAN
  for k = 1, #changes do
    local one = changes[k]
    local place = one.place
    local targets = one.targets[now[place]]
    before[k], now[place] = now[place], targets[1]
    if #targets > 1 then
      choices, vague = choices or {}, vague or one.vague or false
      choices[#choices + 1] = { place = place, targets = targets }
    end
  end
  local out = choices and add_all(now, choices, 1, {}) or { char(unpack(now)) }
  for k = #changes, 1, -1 do
    now[changes[k].place] = before[k]
  end
  now[1] = ran
  return out, vague
end

function Search:add(state, parent, via, vague)
  local number = self.count + 1
  self.count, self.numbers[state] = number, number
  self.kept = self.kept + #state + 80 -- memory of a text and its entries in tables
  if number <= self.max_states then
    self.states[number], self.parent[number], self.via[number] = state, parent, via
    self.vague[number] = vague or nil
  end
  return number
end

-- The states after a phase: the earlier ones if it may be skipped, and those it makes of them.
function Search:after_phase(phase, i, current)
  local known, following = {}, {}
  local function keep(state, via)
    if not known[state] and #following < MAX_SEEDS then
      known[state] = true
      following[#following + 1] = { state, via }
    end
  end
  for _, one in ipairs(current) do
    local now = self:lay_out(one[1])
    if not self:holds(phase, now, "must") then
      keep(one[1], one[2])
    end
    local may = self:holds(phase, now, "may")
    self.phase_runs[i] = self.phase_runs[i] or may
    for _, state in ipairs(may and self:after(phase) or {}) do
      keep(state, -i)
    end
  end
  return following
end

-- Hybrid: the phases before the loop, each run or skipped; afterwards a step has run.
function Search:seed()
  local current = { { self.space.start, 0 } }
  for i, phase in ipairs(self.space.phases) do
    if not phase.action.trailing then
      current = self:after_phase(phase, i, current)
    end
  end
  for _, one in ipairs(current) do
    self:add(one[1], 0, one[2])
  end
end

function Search:finish(status, at)
  self.ends[status] = self.ends[status] or at
  self.halts[at] = true
end

-- Whether an end certainly comes before anything is chosen.
function Search:ended(at)
  local fresh, now = self:is_fresh(at), #self.space.ends > 0 and self:lay_out(self.states[at])
  for _, one in ipairs(self.space.ends) do
    if self:holds(one, now, fresh and "first" or "may") then
      self:finish(one.action.status, at)
      self.over = self.over or fresh and one.action.text or nil
      if fresh or self:holds(one, now, "must") then
        return true
      end
    end
  end
  return false
end

function Search:is_goal()
  for _, did in ipairs(self.space.goal) do
    if self.now[did.place] ~= 2 then
      return false
    end
  end
  return true
end

-- Whether all is done, and each step that is left waits for a key that any action may have set: the run may end here.
function Search:may_rest(taken)
  local rests = self:is_goal()
  for k = 1, rests and #taken or 0 do
    local waits = false
    for _, term in ipairs(self.space.steps[taken[k]].terms) do
      for _, name in ipairs(not self:asks(term, self.now, "must") and term.vars or {}) do
        local variable = self.space.variables[name]
        waits = waits or variable.after ~= nil and not variable.counted
      end
    end
    rests = rests and waits
  end
  return rests
end

function Search:nothing_to_choose(at)
  self.halts[at] = true
  if self:is_goal() then
    self:finish("completed", at)
    return
  end
  self.blocked_count = self.blocked_count + 1
  if not self.blocked_at or (self.vague[self.blocked_at] and not self.vague[at]) then
    self.blocked_at = at
  end
end

function Search:take(i, at)
  local step, ways = self.space.steps[i], self.ways[at]
  self.chosen[i] = self.chosen[i] or at
  if step.action.terminal then
    ways[#ways + 1], ways[#ways + 2] = i, 0
    self:finish(step.action.terminal, at)
    return
  end
  local following, guessed = self:after(step)
  local vague = self.vague[at] or guessed
  for _, one in ipairs(following) do
    local known = self.numbers[one]
    if known and not vague then
      self.vague[known] = nil
    end
    ways[#ways + 1], ways[#ways + 2] = i, known or self:add(one, at, i, vague)
  end
  self.kept = self.kept + 32 * #following
end

function Search:look(at)
  self.ways[at] = {}
  if self:ended(at) then
    return
  end
  local taken, passed = self:open(at)
  if #taken > 0 and self:may_rest(taken) then
    self:finish("completed", at)
  end
  for _, i in ipairs(taken) do
    self:take(i, at)
  end
  for _, i in ipairs(passed) do
    self.passed[i] = self.passed[i] or { state = at, by = taken[#taken] }
  end
  self.tests = self.tests + #self.space.steps
  if #taken == 0 then
    self:nothing_to_choose(at)
  end
end

---Searches the space.
---@param space skillrt.check.Space
---@param options { max_states: integer?, max_tests: integer?, max_bytes: integer? }?
---@return skillrt.check.Search
function M.run(space, options)
  options = options or {}
  local self = setmetatable({
    space = space,
    max_states = options.max_states or M.MAX_STATES,
    max_tests = options.max_tests or M.MAX_TESTS,
    max_bytes = options.max_bytes or M.MAX_BYTES,
    states = {}, numbers = {}, parent = {}, via = {}, count = 0, looked = 0, tests = 0, kept = 0,
    chosen = {}, passed = {}, ends = {}, halts = {}, ways = {}, phase_runs = {}, vague = {}, blocked_count = 0,
    before = {},
  }, Search)
  self:seed()
  while self.looked < self.count and self.looked < self.max_states and self.tests < self.max_tests do
    self.full = self.kept > self.max_bytes
    if self.full then
      break
    end
    self.looked = self.looked + 1
    self:look(self.looked)
  end
  self.complete = self.looked == self.count
  return self
end

---The first state from which neither an end nor an unvisited state can be reached.
---@return integer?
function Search:stuck()
  local good = {}
  local function leads_on(ways)
    for k = 2, #ways, 2 do
      if ways[k] > self.looked or good[ways[k]] then
        return true
      end
    end
  end
  local function grow()
    local grown = false
    for at = self.looked, 1, -1 do
      if not good[at] and (self.halts[at] or leads_on(self.ways[at])) then
        good[at], grown = true, true
      end
    end
    return grown
  end
  repeat until not grow()
  for at = 1, self.looked do
    if not good[at] then
      return at
    end
  end
end

---A cycle that the run takes from a state: the actions until a state repeats.
---@param at integer  no end can be reached from it
---@return string[]
function Search:round(at)
  local ids, seen = {}, {}
  while not seen[at] do
    seen[at] = #ids + 1
    local ways = self.ways[at]
    ids[#ids + 1], at = self.space.steps[ways[1]].action.id, ways[2]
  end
  return table.move(ids, seen[at], #ids, 1, {})
end

---The steps that lead to a state, the shortest sequence.
---@param at integer
---@return string[] ids
function Search:path(at)
  local ids = {}
  while at > 0 and self.via[at] ~= 0 do
    local via = self.via[at]
    for i = -via, 1, -1 do
      local phase = self.space.phases[i].action
      table.insert(ids, 1, not phase.trailing and phase.id or nil)
    end
    if via < 0 then
      break
    end
    table.insert(ids, 1, self.space.steps[via].action.id)
    at = self.parent[at]
  end
  return ids
end

---Whether an action has run in a state.
---@param at integer
---@param id string
---@return boolean
function Search:did(at, id)
  return self.states[at]:byte(self.space.variables["did " .. id].place) == 2
end

return M
