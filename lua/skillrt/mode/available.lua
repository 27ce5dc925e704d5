-- mode/available.lua: which actions may be chosen now, kept up to date instead of worked out anew.
--
-- Actions stand in rank order (priority descending, then declaration). A condition is
-- evaluated again only when a state key that it reads has changed, first by its quick test,
-- all of them under one pcall; counts of 64 ranks and of 64 times 64 answer "the i-th" at once
-- for any number there may be. List-like for strategies: #a, a[i], ipairs(a), a:has(id). Knows actions and
-- the state, no strategy. Called by mode/autonomous.lua.

local M = {}

---@class skillrt.Available
---@field [integer] table  the i-th available action in rank order
local Available = {}

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

local SHIFT <const> = 6

local function zeros(count)
  local list = {}
  for i = 1, count do
    list[i] = 0
  end
  return list
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
  local ranks, open, tests, all = {}, {}, {}, {}
  for rank, action in ipairs(order) do
    ranks[action.id] = rank
    open[rank], tests[rank], all[rank] = false, false, rank
  end
  for _, action in ipairs(actions) do -- those that are declared together are asked together: near in memory
    tests[ranks[action.id]] = rules.quick(action) or false
  end
  return setmetatable({
    order = order,
    readers = readers,
    always = always,
    built_in = built_in or {},
    ranks = ranks,
    blocks = zeros(#order + 63 >> SHIFT), -- open ones among 64 ranks each
    groups = zeros(#order + 4095 >> 2 * SHIFT), -- and among 64 blocks each
    open = open,
    tests = tests, -- by rank; false: to be asked with care; nil: spent
    count = 0,
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
  }, Available)
end

local function set(self, rank, now)
  local blocks, groups, delta = self.blocks, self.groups, now and 1 or -1
  local block, group = rank + 63 >> SHIFT, rank + 4095 >> 2 * SHIFT
  self.open[rank], self.count = now, self.count + delta
  blocks[block], groups[group] = blocks[block] + delta, groups[group] + delta
end

local function check(self, rank)
  local action = self.order[rank]
  local now = not self.rules.spent(action) and self.rules.holds(action)
  if now ~= self.open[rank] then
    set(self, rank, now)
  end
end

-- Asks quick tests from place `first` of the list on; whoever catches finds where it stopped in self.at.
local function ask_quickly(self, list, first, state)
  local tests, open = self.tests, self.open
  for i = first, #list do
    local rank = list[i]
    local test = tests[rank]
    self.at = i
    if test then
      local now = test(state)
      if now ~= open[rank] then
        set(self, rank, now)
      end
    elseif test == false then
      check(self, rank)
    end
  end
end

-- A test that gave up is not tried again: it would mostly give up again.
local function ask(self, list, state)
  local first = 1
  while not pcall(ask_quickly, self, list, first, state) do
    local rank = list[self.at]
    first = self.at + 1
    check(self, rank)
    self.tests[rank] = false
  end
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
    if self.open[rank] then
      set(self, rank, false)
    end
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
  if self.open[rank] then
    set(self, rank, false)
  end
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
  return rank ~= nil and self.open[rank] == true or self.built_in[id] == true
end

---@param id string
---@return table|nil action
function methods:get(id)
  local rank = self.ranks[id]
  return rank and self.open[rank] and self.order[rank] or nil
end

-- The i-th open rank: which group of blocks it is in, which block, which place. Also a[i]: i may be anything.
local function nth(self, i)
  if i ~= 1 and math.type(i) ~= "integer" or i < 1 or i > self.count then
    return nil
  end
  local group, block = 1, 1
  local groups, blocks, open = self.groups, self.blocks, self.open
  while groups[group] < i do
    i, group, block = i - groups[group], group + 1, block + 64
  end
  while blocks[block] < i do
    i, block = i - blocks[block], block + 1
  end
  local rank = (block - 1 << SHIFT) + 1
  while true do
    if open[rank] then
      i = i - 1
      if i == 0 then
        return self.order[rank]
      end
    end
    rank = rank + 1
  end
end

Available.__index = nth

function Available:__len()
  return self.count
end

return M
