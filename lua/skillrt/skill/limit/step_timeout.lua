-- skill/limit/step_timeout.lua: how long one exchange of a step may take, and how long its Lua may run without
-- yielding.
--
-- The transports end an exchange, the core ends Lua (csrc/lua/limits.c). Found by its name, by skill/limits.lua.

---@type skillrt.Limit
local M = { name = "step_timeout", type = "seconds", unit = "seconds", status = "paused", reason = "step_timeout",
  code = 14,
  text = "seconds of one request or program, which then fails; also of Lua code that never yields: the run then "
    .. "pauses" }

---A message about what the core stopped; without a bound it was the timeout of its action.
function M.interrupted(bound, where)
  return ("%s: Lua code did not yield for longer than %s (an endless loop?)"):format(where or "a function",
    bound and ("step_timeout, %g seconds"):format(bound.most) or "the timeout of its action")
end

return M
