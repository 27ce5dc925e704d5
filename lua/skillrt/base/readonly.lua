-- base/readonly.lua: what scripts get of the state: reads pass through, writes raise with the author's line.
--
-- A view is an empty table in front of the real one; only values and further views can be reached through it. A view
-- of a snapshot shows the tree as it was then. `pairs` has a fixed order. Knows nothing of states or runs. Called by
-- state.lua.

local json = require("skillrt.base.json")
local versions = require("skillrt.base.versions")

local M = {}

local WEAK = { __mode = "k" }
local views = setmetatable({}, WEAK) -- by tree: views of the present
local trees = setmetatable({}, WEAK) -- by view
local snapshots = setmetatable({}, WEAK) -- by view

---The snapshot of each view; none for a view of the present.
---@type table<table, skillrt.Snapshot>
M.snapshots = snapshots

---The tree behind a view, to be read and not kept; nil: the value is no view.
---@param view any
---@return table?
function M.target(view)
  local tree, snapshot = trees[view], snapshots[view]
  return snapshot and versions.plain(snapshot, tree) or tree
end

---Whether a value is a view.
---@param value any
---@return boolean
function M.is(value)
  return trees[value] ~= nil
end

-- Finds the author's line, also where a library function such as table.insert did the writing.
local function authors_level()
  local level = 3
  while true do
    local info = debug.getinfo(level, "l")
    if not info then
      return 2
    elseif info.currentline > 0 then
      return level - 1
    end
    level = level + 1
  end
end

local function refuse(_, key)
  local name = type(key) == "number" and ("[%s]"):format(key) or tostring(key)
  local update = type(key) == "string" and key:find("^[%a_][%w_]*$") and key or "key"
  error(
    ("the state is read-only: instead of assigning to %s return the update, as in return { %s = ... }"):format(
      name,
      update
    ),
    authors_level()
  )
end

local type, versions_read = type, versions.read

-- Cached for the view read last, as most reads come from it.
local latest, latest_tree, latest_snapshot

local function read(view, key)
  if view ~= latest then
    latest, latest_tree, latest_snapshot = view, trees[view], snapshots[view]
  end
  local snapshot, value = latest_snapshot
  if snapshot and snapshot.changed then
    value = versions_read(snapshot, latest_tree, key)
  else
    value = latest_tree[key]
  end
  if type(value) == "table" then
    return M.of(value, snapshot)
  end
  return value
end

local function length(view)
  local tree, snapshot = trees[view], snapshots[view]
  return snapshot and versions.length(snapshot, tree) or #tree
end

local function each_item(view, i)
  local value = read(view, i + 1)
  if value ~= nil then
    return i + 1, value
  end
end

-- The state may change between two rounds of a loop, so the keys are collected at once.
local function each(view)
  local tree = trees[view]
  if json.is_array(tree) then
    return each_item, view, 0
  end
  local keys, i = versions.keys(snapshots[view], tree), 0
  return function()
    local value
    repeat -- in a view of the present a key may have disappeared
      i = i + 1
      value = keys[i] and read(view, keys[i])
    until value ~= nil or not keys[i]
    return keys[i], value
  end
end

-- What getmetatable gives for a view: whether it is an array, without access to the tree.
local function face(is_array)
  return {
    __index = read,
    __newindex = refuse,
    __len = length,
    __pairs = each,
    __json_target = M.target,
    __metatable = { __is_json_array = is_array },
    __name = "read-only state",
  }
end
local ARRAY, OBJECT = face(true), face(false)

---A view of `tree`; a value that is no table is itself.
---@param tree any
---@param snapshot skillrt.Snapshot?  the tree as it was then
---@return any
function M.of(tree, snapshot)
  local known = snapshot and snapshot.views or views
  local view = trees[tree] and tree or known[tree]
  if view and next(view) == nil then -- one that rawset wrote into is not given again
    return view
  elseif type(tree) ~= "table" then
    return tree
  elseif view then
    tree, snapshot = trees[view], snapshots[view]
    known = snapshot and snapshot.views or views
  end
  view = setmetatable({}, json.is_array(tree) and ARRAY or OBJECT)
  known[tree], trees[view], snapshots[view] = view, tree, snapshot
  return view
end

return M
