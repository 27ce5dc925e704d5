-- report/differs.lua: how two runs differ, or one run at two places: the first different step, and the values of
-- their states.
--
-- All text is escaped here. Knows lists of steps and states, no files. Called by `skillrt diff`.

local changes = require("skillrt.report.changes")
local text_of = require("skillrt.base.terminal_text")

local M = {}

-- Fields that every run has of its own, and those that follow from others.
local OWN <const> = { run_id = true, started_at = true, completed_at = true, failed_at = true, iteration_count = true }

---What differs between two states, a line a value.
---@param a table
---@param b table
---@return string[] lines
function M.states(a, b)
  local out = {}
  for _, change in ipairs(changes.between(a, b)) do
    out[#out + 1] = not OWN[change.path] and changes.line(change) or nil
  end
  return out
end

---Where two lists of steps first differ: "count completed".
---@param a string[]
---@param b string[]
---@return string|nil line
function M.steps(a, b)
  for i = 1, math.max(#a, #b) do
    if a[i] ~= b[i] then
      return ("step %d: %s -> %s"):format(i, text_of.escape(a[i] or "none"), text_of.escape(b[i] or "none"))
    end
  end
end

return M
