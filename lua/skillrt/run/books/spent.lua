-- run/books/spent.lua: what a run has used up of what its limits count, over all its resumes: calls, what
-- they used, the time it was open; of the run and of each action.
--
-- Part of books.lua, which alone changes anything by it. Knows no limits: those are the skill's.

local M = {}

---Something is used up, by a step of this action or phase.
---@param books skillrt.Books
---@param id string
---@param key string     "calls", "usage.tokens"
---@param amount number
function M.add(books, id, key, amount)
  local all, by = books.spent, books.spent_by[id]
  all[key] = (all[key] or 0) + amount
  if not by then
    by = {}
    books.spent_by[id] = by
  end
  by[key] = (by[key] or 0) + amount
end

---The function of a step said what it used.
---@param books skillrt.Books
---@param step skillrt.Step
---@param used skillrt.Usage
function M.used(books, step, used)
  for name, amount in pairs(used) do
    M.add(books, step.id, "usage." .. name, amount)
  end
end

---How long a run has been open, as far as its records tell: a pause is no work.
---@param books skillrt.Books
---@return number ms
function M.active(books)
  return (books.active or 0) + math.max(0, books.at - (books.opened_at or books.at))
end

---The run is opened again.
---@param books skillrt.Books
---@param at integer  UTC ms
function M.pause(books, at)
  books.active, books.opened_at = M.active(books), at
end

return M
