-- available.lua: which actions may be chosen now, kept up to date instead of worked out anew.
--
-- Actions stand in rank order (priority descending, then declaration). A condition is
-- evaluated again only when a state key that it reads has changed; a Fenwick tree over the
-- ranks answers "how many" and "the i-th" in O(log n). List-like for strategies: #a, a[i],
-- ipairs(a), a:has(id). Knows actions and the state, no strategy. Called by mode/autonomous.lua.

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

---@param actions table[]  normal actions, in declaration order
---@param holds fun(action: table): boolean  whether one may be chosen now
---@param by "priority"|"declaration"|nil  what comes first (default: priority)
---@return skillrt.Available
function M.new(actions, holds, by)
  local order = rank_order(actions, by)
  local readers, always = index_readers(order)
  local ranks, tree = {}, {}
  for rank, action in ipairs(order) do
    ranks[action.id] = rank
    tree[rank] = 0
  end
  local top = 1
  while top * 2 <= #order do
    top = top * 2
  end
  return setmetatable({
    order = order,
    readers = readers,
    always = always,
    ranks = ranks,
    tree = tree,
    top = top,
    open = {},
    count = 0,
    holds = holds,
    fresh = true,
  }, Available)
end

local methods = {}

function methods:set(rank, open)
  if (self.open[rank] or false) == open then
    return
  end
  self.open[rank] = open
  local delta = open and 1 or -1
  self.count = self.count + delta
  local tree, size, at = self.tree, #self.order, rank
  while at <= size do
    tree[at] = tree[at] + delta
    at = at + (at & -at)
  end
end

function methods:check(rank)
  self:set(rank, self.holds(self.order[rank]))
end

---Takes the changes of the state into account.
---@param dirty table<string, boolean>  keys changed since the last call
function methods:update(dirty)
  if self.fresh then
    self.fresh = false
    for rank = 1, #self.order do
      self:check(rank)
    end
    return
  end
  local changed = false
  for key in pairs(dirty) do
    changed = true
    local list = self.readers[key]
    if list then
      for i = 1, #list do
        self:check(list[i])
      end
    end
  end
  if changed then
    for i = 1, #self.always do
      self:check(self.always[i])
    end
  end
end

---Asks one action again: it ran, so max_runs may be reached.
---@param id string
function methods:recheck(id)
  local rank = self.ranks[id]
  if rank and not self.fresh then
    self:check(rank)
  end
end

---@param id string
---@return boolean
function methods:has(id)
  local rank = self.ranks[id]
  return rank ~= nil and self.open[rank] == true
end

---@param id string
---@return table|nil action
function methods:get(id)
  local rank = self.ranks[id]
  return rank and self.open[rank] and self.order[rank] or nil
end

-- The i-th open rank: binary descent in the Fenwick tree.
local function nth(self, i)
  if i < 1 or i > self.count then
    return nil
  end
  local at, step, tree, size = 0, self.top, self.tree, #self.order
  while step > 0 do
    local next_at = at + step
    if next_at <= size and tree[next_at] < i then
      at = next_at
      i = i - tree[next_at]
    end
    step = step // 2
  end
  return self.order[at + 1]
end

function Available:__index(key)
  if math.type(key) == "integer" then
    return nth(self, key)
  end
  return methods[key]
end

function Available:__len()
  return self.count
end

return M
