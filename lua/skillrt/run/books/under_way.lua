-- run/books/under_way.lua: the steps under way: by number, and those of each kind as a list in the order they
-- began, whose newest is "the current action" or phase.
--
-- Part of books.lua and snapshot.lua, which alone call it. Knows nothing of what a step is about.

local M = {}

---@class skillrt.Step
---@field number integer
---@field id string             of the action or phase
---@field kind "action"|"phase"
---@field attempt integer       from 1
---@field told boolean|nil       there is more to it than what its function gives: it drew, waited, undoes, was taken up
---@field root table            the state as it was when the step started
---@field started_at integer    UTC ms
---@field after integer|nil     how many steps were over when it started
---@field edge integer|nil      in machine mode: the row of the table that it was chosen by
---@field retry_at integer|nil  UTC ms: not before
---@field failures table[]      failed attempts: their `fail` records
---@field calls table<string, table>    by place: the `call` record of a call that is not over
---@field known table<string, table>    by place: { digest, seq | result } of a call that is over
---@field order string[]        the places of `known`, as they were over; what was dropped stands there still
---@field values table<string, any[]>   by place: times, random numbers and ids drawn there
---@field notes table<string, integer>  by place: lines that were said there
---@field rounds table<string, table>   by place: the newest round of a loop: { n, seq | value, from }
---@field generations table<string, integer>  by place: answered results that were dropped

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
  local open, newest, kind = books.open - 1, books.newest, step.kind
  books.steps[step.number], books.open = nil, open
  if open == 0 then -- it was the only one, as mostly
    newest[kind] = nil
    return nil
  end
  local before, behind = step.before, step.behind
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
