-- cli/handing.lua: hands something to the process that goes on with a run, by the run's inbox, and waits until it has
-- met it.
--
-- Called by the commands that bring a run what it does not wait for by itself: answer, and those that steer an agent.

local M = {}

---@param store skillrt.Store
---@param entries table[]  in their order
---@return { name: string, fate: "taken"|"refused"|"waits" }[]|nil handed  waits: the process has gone before
---@return string? message  nil: somebody interrupted the wait
function M.over(store, entries)
  local handed, at = {}, 1
  for i, entry in ipairs(entries) do
    local name, problem = store:put(entry)
    if not name then
      return nil, problem
    end
    handed[i] = { name = name, fate = "waits" }
  end
  while handed[at] do
    local held, one = store:holder(), handed[at]
    one.fate = store:fate(one.name)
    if one.fate ~= "waits" then
      at = at + 1
    elseif not held then
      break
    elseif not require("skillrt.core").terminal.pause(20) then
      return nil
    end
  end
  return handed
end

return M
