-- skill/limit/calls.lua: how many calls may be sent, counting each attempt; for a run, or for one action.
--
-- A call that is about to be sent counts as one until the books count it. Found by its name, by skill/limits.lua.

---@type skillrt.Limit
local M = { name = "calls", type = "positive", unit = "calls", status = "paused", reason = "call_limit", code = 10,
  action = true, text = "calls that are sent (requests, programs), counting every attempt", is_spent = true,
  reserved_until = "sent" }

---What a call that is to be sent counts.
function M.asked()
  return 1
end

return M
