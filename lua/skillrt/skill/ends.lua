-- skill/ends.lua: the words for how a run ends: the ends that every run has (R73), and the actions
-- whose very names end it.
--
-- Nothing but words. Called by all who read skills, of scripts or of documents.

local tables = require("skillrt.base.tables")

local M = {}

---What ends a run by itself, where a skill does not say otherwise.
M.BUILTIN = { "user_exit", "error_limit", "task_completed", "max_iterations" }

---The same, by name.
---@type table<string, boolean>
M.is_builtin = {}
tables.fill(M.is_builtin, tables.set(M.BUILTIN))

---Actions that end a run though nothing says so, and with which status.
---@type table<string, "completed"|"failed">
M.TERMINAL = { ["action-complete"] = "completed", ["action-abort"] = "failed" }

return M
