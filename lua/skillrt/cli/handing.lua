-- cli/handing.lua: puts entries into the inbox of a run, and waits until the process that advances it has accepted or
-- refused them.
--
-- Called by the command answer and by cli/steering.lua.

local M = {}

---@param store skillrt.Store
---@param entries table[]  in order
---@return { name: string, fate: "taken"|"refused"|"waits" }[]|nil handed  waits: the process ended before
---@return string? message  nil: a signal ended the wait
function M.over(store, entries)
  local handed, at = {}, 1
  for i, entry in ipairs(entries) do
    local name, problem = store:put(entry)
    if not name then
      return nil, problem
    end
    handed[i] = { name = name, fate = "waits" }
  end
  local waited = store:wait(function()
    local held = store:holder()
    while handed[at] do
      local one = handed[at]
      one.fate = store:fate(one.name)
      if one.fate == "waits" then
        return not held
      end
      at = at + 1
    end
    return true
  end)
  return waited and handed or nil
end

return M
