-- mode/available.lua: which actions may be chosen now, kept up to date instead of worked out anew.
--
-- Actions stand in rank order (priority descending, then declaration). A condition is
-- evaluated again only when a state key that it reads has changed, first by its quick test,
-- all of them under one pcall; the core keeps which ranks are open, and finds the i-th of them at once,
-- however many there are. List-like for strategies: #a, a[i], ipairs(a), a:has(id). Knows actions and
-- the state, no strategy. Called by mode/autonomous.lua.

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

-- Who has to be asked again when a key changed; actions whose reads are unknown, always.
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
---@field holds fun(action: table): boolean  whether one may be chosen now
---@field spent fun(action: table): boolean  it has used up its runs and is never asked again
---@field quick fun(action: table): (fun(state: table): boolean)?  may raise instead of answering

---@param actions table[]  normal actions, in declaration order
---@param rules skillrt.Available.Rules
---@param by "priority"|"declaration"|nil  what comes first (default: priority)
---@param built_in table<string, boolean>|nil  ids that may always be chosen though not in the list
---@return skillrt.Available
function M.new(actions, rules, by, built_in)
  local order = rank_order(actions, by)
  local readers, always = index_readers(order)
  local ranks, tests, all = {}, {}, {}
  for rank, action in ipairs(order) do
    ranks[action.id] = rank
    tests[rank], all[rank] = false, rank
  end
  for _, action in ipairs(actions) do -- those that are declared together are asked together: near in memory
    tests[ranks[action.id]] = rules.quick(action) or false
  end
  local set = ranks_of.new(#order, order, tests)
  return setmetatable({
    order = order,
    readers = readers,
    always = always,
    built_in = built_in or {},
    ranks = ranks,
    tests = tests, -- by rank; false: to be asked with care; nil: spent
    count = 0, -- of those that are open
    put = set.put,
    is_open = set.is_open,
    ask = set.ask,
    stopped = set.stopped,
    rules = rules,
    fresh = all, -- the ranks that were never asked
    update = methods.update, -- own fields are found without a call of __index
    unread = methods.unread,
    recheck = methods.recheck,
    hold_back = methods.hold_back,
    give_back = methods.give_back,
    held = {}, -- by rank: the tests of those that are held back
    has = methods.has,
    get = methods.get,
  }, { __index = set.index, __len = length })
end

local function check(self, rank)
  local action = self.order[rank]
  self.count = self.put(rank, not self.rules.spent(action) and self.rules.holds(action))
end

-- Asks quick tests, and the rules where there is none or it gives up: it is not tried again then, as it would mostly
-- give up again.
local function ask(self, list, state)
  local ok, count, place = pcall(self.ask, list, 1, state)
  while place or not ok do
    if not ok then
      count, place = self.stopped()
      self.tests[list[place]] = false
    end
    self.count = count
    check(self, list[place])
    ok, count, place = pcall(self.ask, list, place + 1, state)
  end
  self.count = count
end

-- Those that used up their runs before this run of the program.
local function retire(self)
  for rank, action in ipairs(self.order) do
    if self.rules.spent(action) then
      self.tests[rank] = nil
    end
  end
end

---Takes the changes of the state into account.
---@param keys { n: integer, [integer]: string }  changed since the last call, see State:take_dirty
---@param state table
function methods:update(keys, state)
  if self.fresh then
    local all = self.fresh
    self.fresh = false
    retire(self)
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

---Those of some keys that no condition depends on.
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

---An action ran: it may have used up its runs.
---@param id string
function methods:recheck(id)
  local rank = self.ranks[id]
  if rank and not self.fresh and self.rules.spent(self.order[rank]) then
    self.tests[rank] = nil
    self.count = self.put(rank, false)
  end
end

---It may not be chosen for now, whatever its condition says.
---@param id string
function methods:hold_back(id)
  local rank = self.ranks[id]
  if not rank or self.tests[rank] == nil then
    return
  end
  self.held[rank], self.tests[rank] = self.tests[rank], nil
  self.count = self.put(rank, false)
end

---It may be chosen again, if its condition holds.
---@param id string
function methods:give_back(id)
  local rank = self.ranks[id]
  local test = self.held[rank]
  if test == nil then
    return
  end
  self.held[rank] = nil
  if not self.rules.spent(self.order[rank]) then
    self.tests[rank] = test
    if not self.fresh then
      check(self, rank)
    end
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
