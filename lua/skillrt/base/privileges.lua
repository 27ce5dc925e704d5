-- base/privileges.lua: what a ctx does for skillrt's own agents and tools, and for no script.
--
-- Behind a key that no script has: a script finds in its ctx what docs/write/skills.md says, and a ctx that stands
-- before another one passes the key on. Knows nothing of what it does (run/ctx.lua).

local M = {}

M.KEY = {}

---@class skillrt.Inside
---@field mark fun(entry: table)  what happened in a conversation: a record of our own
---@field use fun(use: table, fn: function): any  what a tool gives, as one thing in the journal
---@field place fun(): string  where the branch that asks is
---@field drawn fun(make: function): any  what a function gives, recorded

---@param ctx table
---@return skillrt.Inside
function M.of(ctx)
  return ctx[M.KEY]
end

return M
