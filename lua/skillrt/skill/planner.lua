-- skill/planner.lua: finds a way to a goal: a sequence of actions whose conditions are true one after the other, by
-- their declared effects; A* over states, with a heuristic that ignores that effects may undo each other.
--
-- Pure: the state is only read. Called by mode/plan.lua and `skillrt plan`.

local expr = require("skillrt.expr")
local foresee = require("skillrt.skill.foresee")
local heap_of = require("skillrt.base.heap")
local json = require("skillrt.base.json")
local tables = require("skillrt.base.tables")
local when = require("skillrt.skill.when")

local M = {}

-- ---- conditions ----

---@class skillrt.Formula
---@field all skillrt.Formula[]?  all of these must be true
---@field any skillrt.Formula[]?  one of these must be true
---@field holds (fun(state: table): boolean)?  a leaf
---@field reads table<string, boolean>?  its keys; nil: unknown
---@field text string?

local build

local function leaf_of(condition)
  local reads = tables.set(condition.reads)
  return {
    text = condition.text,
    reads = not condition.reads_all and reads or nil,
    holds = function(state)
      return condition(state) == true
    end,
  }
end

-- A part of a condition.
function build(node, text)
  local part = expr.compile(text:sub(node.from, node.to))
  if not part then
    return nil
  elseif node.type ~= "logical" or node.operator ~= "&&" and node.operator ~= "||" then
    return leaf_of(part)
  end
  local terms = {}
  for i, one in ipairs(node.terms) do
    terms[i] = build(one, text)
    if not terms[i] then
      return leaf_of(part)
    end
  end
  return node.operator == "&&" and { all = terms } or { any = terms }
end

---The conjunction of a list of conditions.
---@param conditions (skillrt.Condition|function)[]
---@return skillrt.Formula
local function formula_of(conditions)
  local terms = {}
  for i, condition in ipairs(conditions) do
    if type(condition) == "table" then
      terms[i] = build(condition.ast, condition.text) or leaf_of(condition)
    else
      terms[i] = { text = when.text(condition), holds = function(state)
        return (when.test(condition, state))
      end }
    end
  end
  return #terms == 1 and terms[1] or { all = terms }
end

---@param formula skillrt.Formula
---@param state table
---@return boolean
local function holds(formula, state)
  if formula.all then
    for _, one in ipairs(formula.all) do
      if not holds(one, state) then
        return false
      end
    end
    return true
  elseif formula.any then
    for _, one in ipairs(formula.any) do
      if holds(one, state) then
        return true
      end
    end
    return false
  end
  return formula.holds(state)
end

---Each leaf of a formula.
---@param formula skillrt.Formula
---@param visit fun(leaf: skillrt.Formula)
local function each_leaf(formula, visit)
  for _, one in ipairs(formula.all or formula.any or {}) do
    each_leaf(one, visit)
  end
  if formula.holds then
    visit(formula)
  end
end

-- ---- the estimated cost of a goal: each part by the cheapest action, as if nothing undid anything ----

local REPEATED <const> = 64 -- how often one action may count for one part of a condition

---The actions that a part of a condition names.
local function named(leaf, by_id)
  local found = {}
  for id in (leaf.text or ""):gmatch("['\"]([^'\"]+)['\"]") do
    found[id] = by_id[id]
  end
  return found
end

---Applies an action's effects to the working state; `undo` collects what restores it.
local function apply(now, one, undo)
  for _, effect in ipairs(one.effects) do
    if undo[effect.key] == nil then
      undo[effect.key] = now[effect.key] == nil and json.null or now[effect.key]
    end
    foresee.apply(now, effect)
  end
end

local function put_back(now, undo)
  for key, value in pairs(undo) do
    now[key] = value ~= json.null and value or nil
    if value == false then
      now[key] = false
    end
  end
end

local sum_of

-- How often an action must run, alone, until a leaf is true; nil: it does not help alone.
local function runs_until(search, leaf, one)
  if leaf.sure[one] then
    return 1
  end
  local undo, count = {}, nil
  local repeats = false
  for _, effect in ipairs(one.effects) do
    repeats = repeats or effect.step ~= nil
  end
  for i = 1, repeats and math.min(one.most, REPEATED) or 1 do
    apply(search.now, one, undo)
    search.asked = search.asked + 1
    if leaf.holds(search.now) then
      count = i
      break
    end
  end
  put_back(search.now, undo)
  if not count and leaf.reads and leaf.reads.completed_actions and named(leaf, search.by_id)[one.id] then
    return 1
  end
  return count
end

local function of_leaf(search, leaf)
  search.asked = search.asked + 1
  if leaf.holds(search.now) then
    return 0
  elseif search.memo[leaf.memo] then
    return search.memo[leaf.memo]
  elseif search.open[leaf.memo] or search.asked > search.most_asked then
    return search.open[leaf.memo] and math.huge or 0
  end
  search.open[leaf.memo] = true
  local best = math.huge
  for _, one in ipairs(leaf.helpers or {}) do
    local used = (search.node.ran[one.id] or 0) + search.runs(one.id)
    if used < one.most and one.cost < best then
      local count = runs_until(search, leaf, one)
      local cost = (count or 2) * one.cost + sum_of(search, one.needs)
      best = math.min(best, cost)
    end
  end
  search.open[leaf.memo] = nil
  if best < math.huge then
    search.memo[leaf.memo] = best
  end
  return best
end

function sum_of(search, formula)
  if formula.all then
    local sum = 0
    for _, one in ipairs(formula.all) do
      sum = sum + sum_of(search, one)
    end
    return sum
  elseif formula.any then
    local least = math.huge
    for _, one in ipairs(formula.any) do
      least = math.min(least, sum_of(search, one))
    end
    return least
  end
  return of_leaf(search, formula)
end

---The estimated cost of the goal from the working state.
---@param search table
---@param node table
---@param goal skillrt.Formula
---@return number
local function rest_of(search, node, goal)
  search.memo, search.open, search.node = {}, {}, node
  return sum_of(search, goal)
end

---How many states, and parts of conditions for estimates, are examined before it gives up.
M.MAX_STATES, M.MAX_ASKED = 20000, 4000000

---@class skillrt.Planner
---@field goal skillrt.Formula
---@field actions table[]  { id, cost, needs = formula, effects, most, keys }: those that can help, in declaration order
local Planner = {}
Planner.__index = Planner

-- ---- what can help ----

-- Whether an action makes a leaf true in any state: if its effects set everything that the leaf reads. nil: that
-- depends.
local function surely(leaf, one)
  local given, now = {}, {}
  for _, effect in ipairs(one.effects) do
    local outright = effect.truthy ~= nil or effect.op and not effect.op:find("[<>!]")
    if #effect.path == 1 and outright and not effect.reserved then
      given[effect.key] = true
    end
  end
  for key in pairs(leaf.reads or { [""] = true }) do
    if not given[key] then
      return nil
    end
  end
  for _, effect in ipairs(one.effects) do
    foresee.apply(now, effect)
  end
  return leaf.holds(now)
end

-- The actions that change what a leaf reads; a leaf that reads who completed is changed by those it names.
local function helpers_of(self, leaf)
  local found, seen = {}, {}
  local function add(one)
    if not seen[one] then
      seen[one] = true
      local sure = surely(leaf, one)
      leaf.sure[one] = sure
      found[#found + 1] = sure ~= false and one or nil
    end
  end
  leaf.sure = {}
  for key in pairs(leaf.reads or self.by_key) do
    for _, one in ipairs(self.by_key[key] or {}) do
      add(one)
    end
    if key == "completed_actions" then
      for _, one in pairs(named(leaf, self.by_id)) do
        add(one)
      end
    end
  end
  table.sort(found, function(a, b)
    return a.index < b.index
  end)
  return found
end

-- Backwards from the goal: the actions that help it, and those that help these.
local function relevant(self)
  local todo, list = { self.goal }, {}
  while #todo > 0 do
    each_leaf(table.remove(todo), function(leaf)
      leaf.memo = self.memos[leaf.text] or {} -- equal texts are the same part
      self.memos[leaf.text or leaf] = leaf.memo
      self.reads_completed = self.reads_completed or leaf.reads and leaf.reads.completed_actions
      leaf.helpers = leaf.helpers or helpers_of(self, leaf)
      for _, one in ipairs(leaf.helpers) do
        if not one.helps then
          one.helps, todo[#todo + 1], list[#list + 1] = true, one.needs, one
        end
      end
    end)
  end
  table.sort(list, function(a, b)
    return a.index < b.index
  end)
  self.actions = list
end

---@param actions skillrt.Action[]
---@param goal (skillrt.Condition|function)[]
---@return skillrt.Planner
function M.new(actions, goal)
  local self = setmetatable({ goal = formula_of(goal), by_key = {}, by_id = {}, memos = {} }, Planner)
  for _, action in ipairs(actions) do
    local one = { id = action.id, index = action.index, cost = action.cost or 1, needs = formula_of(action.when),
      effects = action.effects, most = action.max_runs }
    self.by_id[one.id] = one
    for _, effect in ipairs(action.effects) do
      self.by_key[effect.key] = self.by_key[effect.key] or {}
      table.insert(self.by_key[effect.key], one)
    end
  end
  relevant(self)
  return self
end

-- ---- states ----

local function lay_out(search, node)
  local now = search.now
  for key in pairs(search.laid) do
    now[key] = search.root[key]
  end
  search.laid = node.changed
  put_back(now, node.changed)
end

local function name_of(node)
  local parts = {}
  for key, value in pairs(node.changed) do
    parts[#parts + 1] = key .. "=" .. (json.encode(value, { sorted = true }) or "?")
  end
  for id, count in pairs(node.ran) do
    parts[#parts + 1] = id .. "*" .. count
  end
  table.sort(parts)
  return table.concat(parts, "\0")
end

-- ---- the search ----

-- The actions that may run in the working state.
local function candidates(self, search, node)
  local list = {}
  for _, one in ipairs(self.actions) do
    if (node.ran[one.id] or 0) + search.runs(one.id) < one.most and holds(one.needs, search.now) then
      list[#list + 1] = one
    end
  end
  return list
end

local function completed(now, one, undo)
  local list = now.completed_actions
  if type(list) == "table" then
    undo.completed_actions = undo.completed_actions or list
    local longer = tables.append(json.array({}), list)
    longer[#longer + 1] = one.id
    now.completed_actions = longer
  end
end

-- The state after an action; nil if nothing that matters differs.
local function successor(self, search, node, one)
  local now, undo = search.now, {}
  apply(now, one, undo)
  if self.reads_completed then
    completed(now, one, undo)
  end
  local next_node = { via = one, before = node, cost = node.cost + one.cost, changed = {}, ran = {} }
  tables.fill(next_node.changed, node.changed)
  local differs = false
  for key in pairs(undo) do
    local value = now[key] == nil and json.null or now[key]
    if value ~= undo[key] then
      differs = true
      next_node.changed[key] = value
    end
  end
  if differs then
    tables.fill(next_node.ran, node.ran)
    next_node.ran[one.id] = (node.ran[one.id] or 0) + 1
  end
  return differs and next_node or nil, undo
end

local function steps_of(node)
  local steps = {}
  while node.via do
    table.insert(steps, 1, node.via.id)
    node = node.before
  end
  return steps
end

local function expand(self, search, node)
  lay_out(search, node)
  for _, one in ipairs(candidates(self, search, node)) do
    local next_node, undo = successor(self, search, node, one)
    local name = next_node and name_of(next_node)
    local known = name and search.seen[name]
    if next_node and not (known and known <= next_node.cost) then
      search.seen[name] = next_node.cost
      local rest = rest_of(search, next_node, self.goal)
      search.states = search.states + 1
      if rest < math.huge then
        search.count = search.count + 1
        next_node.name = name
        search.heap:put(next_node.cost + rest, next_node, -search.count) -- of equals the newest
      end
    end
    put_back(search.now, undo)
  end
end

local function new_search(self, root, runs)
  local now = tables.fill({}, root)
  return { root = root, now = now, laid = {}, seen = {}, heap = heap_of.new(), runs = runs, by_id = self.by_id,
    states = 1, count = 0, asked = 0, most_asked = M.MAX_ASKED }
end

---@class skillrt.Plan
---@field steps string[]   ids of actions, in order; none: the goal is reached
---@field cost number
---@field states integer   that were examined

---Finds a way from a state to the goal.
---@param root table  the state; only read
---@param runs (fun(id: string): integer)?  how often an action has run already
---@return skillrt.Plan? plan
---@return string? message  why there is none
function Planner:plan(root, runs)
  local search = new_search(self, root, runs or function()
    return 0
  end)
  local first = { cost = 0, changed = {}, ran = {}, name = "" }
  search.heap:put(rest_of(search, first, self.goal), first, 0)
  search.seen[""] = 0
  while true do
    local node = search.heap:take()
    if not node then
      return nil, "no sequence of actions, as they are declared, leads to the goal" .. self:missing(root)
    end
    lay_out(search, node)
    if holds(self.goal, search.now) then
      return { steps = steps_of(node), cost = node.cost, states = search.states }
    elseif search.states >= M.MAX_STATES then
      return nil, ("no way to the goal was found within %d states"):format(search.states)
    elseif search.seen[node.name] == node.cost then
      expand(self, search, node)
    end
  end
end

---The parts of the goal that are false and that no action declares to change, in words.
---@param root table
---@return string
function Planner:missing(root)
  local list = {}
  each_leaf(self.goal, function(leaf)
    if not leaf.holds(root) and #(leaf.helpers or {}) == 0 then
      list[#list + 1] = leaf.text
    end
  end)
  return list[1] and ": no effect changes what `" .. table.concat(list, "`, `") .. "` reads" or ""
end

---Whether steps still lead from a state to the goal, by their declarations; if not, the first that may not run.
---@param root table
---@param steps string[]
---@param from integer  the first one to consider
---@return boolean
---@return string? id  nil: the goal is not reached after them
function Planner:leads(root, steps, from)
  local now = tables.fill({}, root)
  for i = from, #steps do
    local one = self.by_id[steps[i]]
    if not one or not holds(one.needs, now) then
      return false, steps[i]
    end
    apply(now, one, {})
    completed(now, one, {})
  end
  return holds(self.goal, now), nil
end

return M
