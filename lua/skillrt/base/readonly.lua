-- base/readonly.lua: what scripts get of the state: reads pass through, writes raise with the author's line.
--
-- A view is an empty table in front of the true one; nothing of the tree can be reached through
-- it but values and further views. Knows nothing of states or runs. Called by state.lua.

local json = require("skillrt.base.json")

local M = {}

local views = setmetatable({}, { __mode = "k" }) -- by tree
local targets = setmetatable({}, { __mode = "k" }) -- by view

-- What getmetatable gives for a view: whether it is an array, and no way to the tree.
local ARRAY_FACE, OBJECT_FACE = { __is_json_array = true }, { __is_json_array = false }

---The tree behind a view; nil where the value is no view.
---@param value any
---@return table?
function M.target(value)
  return targets[value]
end

-- The author's line, also where a library function such as table.insert did the writing.
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

local function length(view)
  return #targets[view]
end

local function step(view, key)
  local k, value = next(targets[view], key)
  return k, M.of(value)
end

local function each(view)
  return step, view, nil
end

---A view of `tree`; a value that is no table is itself.
---@param tree any
---@return any
function M.of(tree)
  local known = views[tree]
  if known and next(known) == nil then -- one that rawset wrote into is not given again
    return known
  elseif type(tree) ~= "table" or targets[tree] then
    return tree
  end
  local proxy = setmetatable({}, {
    __index = function(_, key)
      local value = tree[key]
      if type(value) == "table" then
        return M.of(value)
      end
      return value
    end,
    __newindex = refuse,
    __len = length,
    __pairs = each,
    __json_target = tree,
    __metatable = json.is_array(tree) and ARRAY_FACE or OBJECT_FACE,
    __name = "read-only state",
  })
  views[tree], targets[proxy] = proxy, tree
  return proxy
end

return M
