-- report/both.lua: several watchers of one run as one.
--
-- Knows what a watcher is (run/journal.lua), none of them. Called by watch.lua.

local M = {}

-- Records that nobody wants to see.
local function dull_to_all(list)
  local dull
  for _, watcher in ipairs(list) do
    if not watcher.dull then
      return nil
    end
    local kept = {}
    for kind in pairs(watcher.dull) do
      kept[kind] = (not dull or dull[kind]) and true or nil
    end
    dull = kept
  end
  return dull
end

---@param list table[]  the first shows the run to people
---@return table watcher
function M.of(list)
  if #list == 1 then
    return list[1]
  end
  local self = { dull = dull_to_all(list) }
  for _, name in ipairs({ "observe", "flush", "forget", "progress", "tick", "opened", "closed" }) do
    local heard = {}
    for _, watcher in ipairs(list) do
      heard[#heard + 1] = watcher[name]
    end
    self[name] = heard[1] and function(...)
      for i = 1, #heard do
        heard[i](...)
      end
    end
  end
  for _, watcher in ipairs(list) do
    self.at_once = self.at_once or watcher.at_once
  end
  return self
end

return M
