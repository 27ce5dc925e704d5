-- skill/limit/max_iterations.lua: how many steps a run may take; for a hybrid run, its loop.
--
-- Reads the books that it is given. Found by its name, by skill/limits.lua.

---@type skillrt.Limit
local M = { name = "max_iterations", type = "positive", default = 100, unit = "steps", status = "failed",
  reason = "max_iterations", text = "steps of a run; in hybrid mode, of its loop of actions" }

function M.spent(books)
  return books.state and books.state.root.iteration_count or 0
end

---`iterations`: how many the step counts; phases of a hybrid run do not count against its loop.
function M.before_step(bound, one, iterations)
  if M.spent(bound.books) >= bound.most and iterations > 0 and one.id ~= "action-abort" then
    return ("the limit of %d iterations is reached"):format(bound.most)
  end
end

return M
