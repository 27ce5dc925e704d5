-- skill/limit/usage.lua: how much calls may use of what their replies count (tokens, dollars); for a run, or for one
-- action.
--
-- The amount that a call announces is reserved until it has finished. Found by its name, by skill/limits.lua.

---@type skillrt.Limit
local M = { name = "usage", type = "amount", map = true, unit = "what is named", status = "paused",
  reason = "usage_limit", code = 11, action = true,
  text = "what calls report as used, by name: `usage = { tokens = 100000, dollars = 2.5 }`", is_spent = true,
  reserved_until = "over" }

---What a call that is to be sent counts, as far as that is known before.
function M.asked(bound, call)
  local usage = call.request.usage
  return usage and usage[bound.what] or 0
end

return M
