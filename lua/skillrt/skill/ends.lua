-- skill/ends.lua: the ways in which a run ends: the ends that every run has (R73), and the actions whose names end
-- it.
--
-- Nothing but words. Called by all who read skills, of scripts or of documents.

local tables = require("skillrt.base.tables")

local M = {}

---What ends a run automatically, unless a skill says otherwise.
M.BUILTIN = { "user_exit", "error_limit", "task_completed", "max_iterations" }

---The same, by name.
---@type table<string, boolean>
M.is_builtin = {}
tables.fill(M.is_builtin, tables.set(M.BUILTIN))

---Actions that end a run by their name, and with which status.
---@type table<string, "completed"|"failed">
M.TERMINAL = { ["action-complete"] = "completed", ["action-abort"] = "failed" }

return M
