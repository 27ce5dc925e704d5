-- mode/available.lua: the actions that may be chosen now, updated incrementally.
--
-- Actions are in rank order (descending priority, then declaration). A condition is evaluated again only when a state
-- key that it reads has changed; the core keeps the set of open ranks and finds the i-th in constant time. Behaves
-- like a list for strategies: #a, a[i], ipairs(a), a:has(id). Knows actions and the state, no strategy. Called by
-- mode/autonomous.lua.

local ranks_of = require("skillrt.base.ranks")

local M = {}

---@class skillrt.Available
---@field [integer] table  the i-th available action in rank order

local function rank_order(actions, by)
  local order = {}
  for i, action in ipairs(actions) do
    order[i] = action
  end
  if by == "declaration" then
    return order
  end
  table.sort(order, function(a, b)
    if a.priority ~= b.priority then
      return a.priority > b.priority
    end
    return a.index < b.index
  end)
  return order
end

-- Which actions to test again when a key changed; those whose reads are unknown, always.
local function index_readers(order)
  local readers, always = {}, {}
  for rank, action in ipairs(order) do
    if not action.reads then
      always[#always + 1] = rank
    else
      for _, key in ipairs(action.reads) do
        local list = readers[key]
        if not list then
          list = {}
          readers[key] = list
        end
        list[#list + 1] = rank
      end
    end
  end
  return readers, always
end

local methods = {}

local function length(self)
  return self.count
end

---@class skillrt.Available.Rules
---@field holds fun(action: table): boolean  whether an action may be chosen now
---@field test_of fun(action: table): (fun(state: table): any)|nil  the same, but it may raise; nil: ask `holds`
---@field refill fun()  called before tests
---@field spent fun(action: table): boolean  it has reached its max_runs and is never tested again

---@param actions table[]  normal actions, in declaration order
---@param rules skillrt.Available.Rules
---@param by "priority"|"declaration"|nil  what the order is by (default: priority)
---@param built_in table<string, boolean>|nil  ids that may always be chosen though they are not in the list
---@return skillrt.Available
function M.new(actions, rules, by, built_in)
  local order = rank_order(actions, by)
  local readers, always = index_readers(order)
  local ranks, all, tests = {}, {}, {}
  for rank, action in ipairs(order) do
    ranks[action.id], all[rank], tests[rank] = rank, rank, rules.test_of(action) or false
  end
  local set = ranks_of.new(#order, order)
  return setmetatable({
    order = order,
    readers = readers,
    always = always,
    built_in = built_in or {},
    ranks = ranks,
    tests = tests, -- by rank; false: none, or one has raised, as it probably would again
    closed = {}, -- by rank: "spent", or "away" while it is held back; its condition is not evaluated
    count = 0, -- of those that are open
    put = set.put,
    is_open = set.is_open,
    rules = rules,
    fresh = all, -- ranks that were never tested
    update = methods.update, -- own fields are found without a call of __index
    unread = methods.unread,
    recheck = methods.recheck,
    hold_back = methods.hold_back,
    give_back = methods.give_back,
    has = methods.has,
    get = methods.get,
  }, { __index = set.index, __len = length })
end

-- Evaluates the tests of the ranks in a list from `now.at` on; raises at one that only `holds` can evaluate.
local function ask_tests(self, list, state, now)
  local closed, tests, put = self.closed, self.tests, self.put
  for at = now.at, #list do
    local rank = list[at]
    if not closed[rank] then
      now.at = at
      self.count = put(rank, tests[rank](state)) -- false cannot be called
    end
  end
end

-- All tests under one pcall: one pcall for each would cost as much as a test.
local function ask(self, list, state)
  local rules, now = self.rules, { at = 1 }
  rules.refill()
  while not pcall(ask_tests, self, list, state, now) do
    local rank = list[now.at]
    self.tests[rank], now.at = false, now.at + 1
    self.count = self.put(rank, rules.holds(self.order[rank]))
    rules.refill()
  end
end

local function close(self, rank, why)
  self.closed[rank] = why
  self.count = self.put(rank, false)
end

---Takes the changes of the state into account.
---@param keys { n: integer, [integer]: string }  changed since the last call, see State:take_dirty
---@param state table
function methods:update(keys, state)
  if self.fresh then
    local all = self.fresh
    self.fresh = false
    for rank, action in ipairs(self.order) do -- those that reached their max_runs in an earlier process
      if self.rules.spent(action) then
        self.closed[rank] = "spent"
      end
    end
    return ask(self, all, state)
  end
  local readers, count = self.readers, keys.n
  for i = 1, count do
    local list = readers[keys[i]]
    if list then
      ask(self, list, state)
    end
  end
  if self.always[1] and count > 0 then
    ask(self, self.always, state)
  end
end

---Those of some keys that no condition reads.
---@param keys string[]
---@return string[]
function methods:unread(keys)
  local list = {}
  if #self.always > 0 then -- these may depend on any
    return list
  end
  for i = 1, #keys do
    if not self.readers[keys[i]] then
      list[#list + 1] = keys[i]
    end
  end
  return list
end

---An action ran: it may have reached its max_runs.
---@param id string
function methods:recheck(id)
  local rank = self.ranks[id]
  if rank and not self.fresh and self.rules.spent(self.order[rank]) then
    close(self, rank, "spent")
  end
end

---It may not be chosen for now, whatever its condition says.
---@param id string
function methods:hold_back(id)
  local rank = self.ranks[id]
  if rank and not self.closed[rank] then
    close(self, rank, "away")
  end
end

---It may be chosen again, if its condition is true.
---@param id string
function methods:give_back(id)
  local rank = self.ranks[id]
  if self.closed[rank or 0] ~= "away" then
    return
  end
  self.closed[rank] = self.rules.spent(self.order[rank]) and "spent" or nil
  if not self.fresh and not self.closed[rank] then
    self.count = self.put(rank, self.rules.holds(self.order[rank]))
  end
end

---@param id string
---@return boolean
function methods:has(id)
  local rank = self.ranks[id]
  return rank ~= nil and self.is_open(rank) or self.built_in[id] == true
end

---@param id string
---@return table|nil action
function methods:get(id)
  local rank = self.ranks[id]
  return rank and self.is_open(rank) and self.order[rank] or nil
end

return M
