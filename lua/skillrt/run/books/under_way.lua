-- run/books/under_way.lua: the steps under way: by number, and those of each kind as a list in the order they
-- began, whose newest is "the current action" or phase.
--
-- Part of books.lua and snapshot.lua, which alone call it. Knows nothing of what a step is about.

local M = {}

---@param books skillrt.Books
---@param step skillrt.Step  the newest of all
function M.add(books, step)
  local newest, kind = books.newest, step.kind
  local before = newest[kind]
  if before then
    before.behind, step.before = step, before
  end
  newest[kind], books.steps[step.number], books.open = step, step, books.open + 1
end

---@param books skillrt.Books
---@param step skillrt.Step
---@return skillrt.Step|nil newest  of its kind, of those that are left
function M.remove(books, step)
  local before, behind, newest, kind = step.before, step.behind, books.newest, step.kind
  books.steps[step.number], books.open = nil, books.open - 1
  if before then
    before.behind, step.before = behind, nil
  end
  if behind then
    behind.before, step.behind = before, nil
    return newest[kind]
  end
  newest[kind] = before
  return before
end

return M
