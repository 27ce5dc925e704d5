-- base/privileges.lua: functions of a ctx that only skillrt's own agents and tools may use.
--
-- They are stored under a key that no script has; a script finds in its ctx what docs/write/skills.md lists. A ctx
-- that wraps another one passes the key on. Knows nothing of what they do (run/ctx.lua).

local M = {}

M.KEY = {}

---@class skillrt.Inside
---@field mark fun(entry: table)  records an event of a conversation, in a record type of our own
---@field use fun(use: table, fn: function): any  the result of a tool, as one entry in the journal
---@field place fun(): string  the place of the calling branch
---@field drawn fun(make: function): any  the result of a function, recorded

---@param ctx table
---@return skillrt.Inside
function M.of(ctx)
  return ctx[M.KEY]
end

return M
