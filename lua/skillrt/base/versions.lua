-- base/versions.lua: trees that change in place and can still be read as they were.
--
-- When a cell (a table and a key) is written while somebody holds a snapshot, its old value is kept with the last
-- epoch at which it was valid; so holding costs the same however large the tree is, and writing however many hold it.
-- A change also marks the cells on the path to it, so that unchanged parts are known. Lists only grow in place. Knows
-- no states.


local tables = require("skillrt.base.tables")

local M = {}

-- In a cell's list: there was no value. As a key: the length of a list that grew.
local ABSENT, LENGTH = {}, {}
local WEAK = { __mode = "k" }

-- How many old values accumulate before those that no snapshot shows are dropped.
local SWEEP_LEAST <const> = 1024

---@class skillrt.Snapshot
---@field epoch integer
---@field count integer           how many hold it
---@field changed boolean         the tree has changed since
---@field owner skillrt.Versions
---@field views table<table, table>  readonly.lua's, by what they show
---@field held table|nil          state.lua's: the view of the whole tree

---@class skillrt.Versions
---@field epoch integer           of the newest snapshot
---@field holders integer         snapshots that are held
---@field held table<integer, skillrt.Snapshot>  by epoch; the latest, too, where no step holds it
---@field latest skillrt.Snapshot|nil            the one that shows the present
---@field cells table<table, table<any, table>>  per cell: n, and n / 2 times an epoch and a value
---@field kept integer            old values in `cells`
local Versions = {}
Versions.__index = Versions

---@return skillrt.Versions
function M.new()
  return setmetatable({ epoch = 0, holders = 0, held = {}, cells = {}, kept = 0, sweep_at = SWEEP_LEAST }, Versions)
end

-- Where the value is that a snapshot of this epoch shows; nil: in the tree itself.
local function place(list, epoch)
  local low, high = 1, list.n // 2 + 1
  while low < high do
    local middle = (low + high) // 2
    if list[2 * middle - 1] < epoch then
      low = middle + 1
    else
      high = middle
    end
  end
  return 2 * low <= list.n and 2 * low or nil
end

-- The old value of a cell: whether there is one, and which (nil: there was none).
local function old_value(list, epoch)
  local at = list and place(list, epoch)
  if not at then
    return false, nil
  end
  local value = list[at]
  if value == ABSENT then
    return true, nil
  end
  return true, value
end

local function add(self, tree, key, value)
  local cells = self.cells[tree]
  if not cells then
    cells = {}
    self.cells[tree] = cells
  end
  local list, epoch = cells[key], self.epoch
  if not list then
    list = { n = 0 }
    cells[key] = list
  elseif list[list.n - 1] == epoch then
    return
  elseif rawequal(list[list.n], value) and math.type(list[list.n]) == math.type(value) then
    list[list.n - 1] = epoch -- it was valid until now
    return
  end
  local n = list.n
  list[n + 1], list[n + 2], list.n = epoch, value, n + 2
  self.kept = self.kept + 1
  if self.kept >= self.sweep_at then
    self:sweep()
  end
end

-- Whether one of the sorted epochs is after `after`, and not after `till`.
local function any_between(epochs, after, till)
  local low, high = 1, #epochs + 1
  while low < high do
    local middle = (low + high) // 2
    if epochs[middle] <= after then
      low = middle + 1
    else
      high = middle
    end
  end
  return epochs[low] ~= nil and epochs[low] <= till
end

-- Keeps in a list only what a snapshot can see; returns how many values those are.
local function prune(list, epochs)
  local n, before = 0, 0
  for at = 1, list.n, 2 do
    local till = list[at]
    if any_between(epochs, before, till) then
      list[n + 1], list[n + 2] = till, list[at + 1]
      n = n + 2
    end
    before = till
  end
  for at = n + 1, list.n do
    list[at] = nil
  end
  list.n = n
  return n // 2
end

-- Drops the old values that no snapshot shows. Rare enough that a write stays O(1).
function Versions:sweep()
  local epochs, kept = {}, 0
  for epoch in pairs(self.held) do
    epochs[#epochs + 1] = epoch
  end
  table.sort(epochs)
  for tree, cells in pairs(self.cells) do
    for key, list in pairs(cells) do
      local left = prune(list, epochs)
      kept = kept + left
      if left == 0 then
        cells[key] = nil
      end
    end
    if next(cells) == nil then
      self.cells[tree] = nil
    end
  end
  self.kept = kept
  self.sweep_at = math.max(SWEEP_LEAST, 2 * kept, #epochs)
end

-- The latest snapshot no longer shows the present: its holders see what was.
local function outdate(self, latest)
  self.latest = nil
  if latest.count > 0 then
    latest.changed = true
  else
    self.held[latest.epoch] = nil
  end
end

---Saves what a cell holds before it, or something below it, changes. Only while there are holders.
---@param tree table
---@param key any
function Versions:keep(tree, key)
  local latest, value = self.latest, tree[key]
  if latest then
    outdate(self, latest)
  end
  if value == nil then
    value = ABSENT
  end
  add(self, tree, key, value)
end

---The same for a list that is about to grow.
---@param list table
function Versions:keep_length(list)
  add(self, list, LENGTH, #list)
end

---Holds the tree as it is now; without changes in between, holders share one snapshot.
---@return skillrt.Snapshot
function Versions:hold()
  local latest = self.latest
  if not latest then
    local epoch = self.epoch + 1
    latest = { epoch = epoch, count = 0, changed = false, owner = self, views = setmetatable({}, WEAK) }
    self.epoch, self.latest, self.held[epoch] = epoch, latest, latest
  end
  local count = latest.count
  latest.count = count + 1
  if count == 0 then
    self.holders = self.holders + 1
  end
  return latest
end

---This holder is done with the snapshot. A snapshot without holders shows the present, and is held again if nothing
---visible has changed: steps that follow each other need one snapshot.
---@param snapshot skillrt.Snapshot
function Versions:release(snapshot)
  local count = snapshot.count - 1
  if count < 0 then
    error("a snapshot was released more often than held", 2)
  end
  snapshot.count = count
  if count > 0 then
    return
  end
  local holders = self.holders - 1
  self.holders = holders
  if snapshot.changed then
    snapshot.changed, self.held[snapshot.epoch] = false, nil
  end
  if holders == 0 and self.kept > 0 then
    self.cells, self.kept, self.sweep_at = {}, 0, SWEEP_LEAST
  end
end

-- The cells of a table that may have been different then.
local function cells_of(snapshot, tree)
  return snapshot.changed and snapshot.owner.cells[tree] or nil
end

---How many items a list had then.
---@param snapshot skillrt.Snapshot
---@param list table
---@return integer
function M.length(snapshot, list)
  local cells = cells_of(snapshot, list)
  if cells then
    local known, length = old_value(cells[LENGTH], snapshot.epoch)
    if known then
      return length
    end
  end
  return #list
end

---What a cell held then.
---@param snapshot skillrt.Snapshot
---@param tree table
---@param key any
---@return any  for a table: the table, whose own cells may have changed
function M.read(snapshot, tree, key)
  local cells = cells_of(snapshot, tree)
  if not cells then
    return tree[key]
  end
  local known, value = old_value(cells[key], snapshot.epoch)
  if known then
    return value
  elseif cells[LENGTH] and math.type(key) == "integer" and key > M.length(snapshot, tree) then
    return nil
  end
  return tree[key]
end

---The keys of a table that is no list, as they were then, sorted.
---@param snapshot skillrt.Snapshot|nil  nil: now
---@param tree table
---@return string[]
function M.keys(snapshot, tree)
  local cells = snapshot and cells_of(snapshot, tree)
  local keys = {}
  for key in pairs(tree) do
    if not cells or M.read(snapshot, tree, key) ~= nil then
      keys[#keys + 1] = key
    end
  end
  for key in pairs(cells or {}) do
    if tree[key] == nil and M.read(snapshot, tree, key) ~= nil then
      keys[#keys + 1] = key
    end
  end
  table.sort(keys)
  return keys
end

---A table as it was, as plain tables. Shares what did not change: for reading only.
---@param snapshot skillrt.Snapshot
---@param tree table
---@return table
function M.plain(snapshot, tree)
  local cells = cells_of(snapshot, tree)
  if not cells then
    return tree
  end
  local out = setmetatable({}, getmetatable(tree))
  if cells[LENGTH] then
    return table.move(tree, 1, M.length(snapshot, tree), 1, out)
  end
  tables.fill(out, tree)
  for key, list in pairs(cells) do
    local known, value = old_value(list, snapshot.epoch)
    if known then
      out[key] = type(value) == "table" and M.plain(snapshot, value) or value
    end
  end
  return out
end

---The way back from a table as it is now to what it was, as JSON. Per changed key: { was = value }, {} where there
---was no value, { length = n } of a list that grew, or { below = the same of a table }. (A merge patch can neither
---say that a value was null nor cut a list.) O(what changed).
---@param snapshot skillrt.Snapshot
---@param tree table
---@return table<string, table>
function M.undo(snapshot, tree)
  local out, epoch = {}, snapshot.epoch
  for key, list in pairs(cells_of(snapshot, tree) or {}) do
    local known, old = old_value(list, epoch)
    if known and type(old) == "table" and old == tree[key] then
      local cells = snapshot.owner.cells[old]
      local grew, length = old_value(cells[LENGTH], epoch)
      out[key] = grew and { length = length } or { below = M.undo(snapshot, old) }
    elseif known and type(old) == "table" then
      out[key] = { was = M.plain(snapshot, old) }
    elseif known then
      out[key] = { was = old }
    end
  end
  return out
end

local function keep_undone(self, tree, undo)
  for key, step in pairs(undo) do
    local inner = tree[key]
    if step.below then
      add(self, tree, key, inner)
      keep_undone(self, inner, step.below)
    elseif step.length then
      add(self, tree, key, inner)
      add(self, inner, LENGTH, step.length)
    elseif step.was == nil then
      add(self, tree, key, ABSENT)
    else
      add(self, tree, key, step.was)
    end
  end
end

---Restores and holds the tree as it was, following what `undo` gave. Older snapshots must be restored before newer
---ones, and all before the first change.
---@param tree table
---@param undo table<string, table>
---@return skillrt.Snapshot
function Versions:hold_undone(tree, undo)
  if self.latest then
    outdate(self, self.latest)
  end
  local snapshot = self:hold()
  if next(undo) ~= nil then
    outdate(self, snapshot)
    keep_undone(self, tree, undo)
  end
  return snapshot
end

return M
