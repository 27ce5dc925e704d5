-- run/calls/held.lua: calls for which a limit has no room now: of each list of bounds a queue, so that only those at
-- the head are asked about when there is room again.
--
-- Knows of a call what is still awaited; limits and engine are the caller's. Used by calls.lua.

local single = require("skillrt.base.single")

---@class skillrt.Held
---@field [integer] table  a queue: { bounds, first, last, [integer] = skillrt.Call }
local Held = {}

---@return skillrt.Held
function Held.new()
  return single.of(Held, {})
end

---Keeps a call back where others wait for room within the same bounds, or `has_room` says no.
---@param call skillrt.Call
---@param bounds table|nil
---@param has_room fun(call: skillrt.Call): boolean  lets it leave
function Held:put(call, bounds, has_room)
  for _, queue in ipairs(self) do
    if queue.bounds == bounds then
      queue.last = queue.last + 1
      queue[queue.last] = call -- whoever waited first leaves first
      return
    end
  end
  if not has_room(call) then
    self[#self + 1] = { bounds = bounds, first = 1, last = 1, call }
  end
end

-- Those at the head of a queue leave while there is room; whether any is left.
local function go_on_with(queue, has_room)
  while queue.first <= queue.last do
    local call = queue[queue.first]
    local is_awaited = call.execution.calls[call.place] == call and not call.execution.ended
    if is_awaited and not has_room(call) then
      return true
    end
    queue[queue.first], queue.first = nil, queue.first + 1
  end
  return false
end

---Those that waited leave as far as there is room.
---@param has_room fun(call: skillrt.Call): boolean
function Held:go_on(has_room)
  for i = #self, 1, -1 do
    if not go_on_with(self[i], has_room) then
      table.remove(self, i)
    end
  end
end

return Held
