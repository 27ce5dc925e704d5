-- cli/handing.lua: puts entries into the inbox of a run, and waits until the process that advances it has taken or
-- refused them.
--
-- Called by the command answer and by cli/steering.lua.

local M = {}

---@param store skillrt.Store
---@param entries table[]  in their order
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
