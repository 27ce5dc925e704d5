-- skill/limit/max_errors.lua: how many steps may fail before the run does; and how often one action may fail before
-- its `on_error` applies.
--
-- Reads the books that it is given. Found by its name, by skill/limits.lua.

local on_error = require("skillrt.skill.on_error")

---@type skillrt.Limit
local M = { name = "max_errors", type = "positive", default = 3, unit = "steps", status = "failed",
  reason = "error_limit", text = "failed steps before the run fails" }

function M.spent(books, id)
  if id then
    return books.spent_by[id] and books.spent_by[id].max_errors or 0
  end
  return (books.state and books.state.root.error_count or 0) - (books.free_errors or 0)
end

---If an action's own limit ended the run, that action's.
function M.full(bound)
  return bound.books.fatal and bound.books.fatal .. ".max_errors" or bound.full
end

function M.before_choice(bound)
  local root = bound.books.state.root
  if root.error_count > 0 and (bound.books.fatal or M.spent(bound.books) >= bound.most) then
    local last = root.errors[#root.errors]
    return last and ("last error: %s: %s"):format(last.action or last.phase, last.message) or ""
  end
end

---Whether an action or phase that fails now may fail once more before its `on_error` applies.
---@param bound skillrt.Bound  the run's
---@param one skillrt.Action
---@param class skillrt.FailureClass
---@return boolean
function M.may_fail_again(bound, one, class)
  local books = bound.books
  local added = books.added and books.added[one.id .. ".max_errors"] or 0
  return 1 + M.spent(books, one.id) < on_error.most(one, bound.most, class) + added
end

return M
