-- run/books/consumption.lua: how much a run has used of what its limits count, over all its resumes: calls, their
-- usage, the time it was open; for the run and for each action.
--
-- Part of books.lua, which alone changes anything through it. Knows no limits: those are the skill's.

local time = require("skillrt.skill.limit.run_timeout")

local M = {}

---A step of this action or phase used something.
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

---A call used something: counts for its step, its sub-run, and all scopes above.
---@param books skillrt.Books  the run's
---@param step skillrt.Step
---@param key string
---@param amount number
function M.of_call(books, step, key, amount)
  while step.sub do
    local scope = books.subs[step.sub]
    M.add(scope, step.id, key, amount)
    step = books.steps[scope.parent]
  end
  M.add(books, step.id, key, amount)
end

---A step has finished.
---@param books skillrt.Books
---@param step skillrt.Step
---@param at integer  UTC ms
function M.closed(books, step, at)
  local by, ms = books.spent_by[step.id], at - step.started_at
  if books.active or ms < 0 then -- the run was closed meanwhile, or the clock was set back
    ms = time.step_ms(books, step, at)
  end
  if by then
    by.ms = (by.ms or 0) + ms
  else
    books.spent_by[step.id] = { ms = ms }
  end
end

---The run was open until `closed`, and is open again from `at` on; a sub-run was open as long as the run. If somebody
---set the wall clock in between, only time that really passed counts.
---@param books skillrt.Books
---@param closed integer  UTC ms
---@param at integer
function M.reopen(books, closed, at)
  for _, step in pairs(books.steps) do
    step:was_open(time.step_ms(books, step, closed))
  end
  for _, scope in pairs(books.subs or {}) do
    if scope.status ~= "failed" then
      scope.active = (scope.active or 0) + math.max(0, closed - (scope.opened_at or closed))
      scope.opened_at = at
    end
  end
  books.active, books.opened_at = (books.active or 0) + math.max(0, closed - (books.opened_at or closed)), at
end

---The run is opened again; its limits may be raised.
---@param books skillrt.Books
---@param record table  { at, add, bounds if they changed }
function M.reopened(books, record)
  M.reopen(books, books.at, record.at)
  books.bounds = record.bounds or books.bounds
  for full, amount in pairs(record.add or {}) do
    books.added = books.added or {}
    books.added[full] = (books.added[full] or 0) + amount
  end
end

local REMEMBERED <const> = 128 -- distinct states of an action

---An action starts in a state that it started in before.
---@param books skillrt.Books
---@param id string
---@param record table  { same = how often, print = a digest of the state }
function M.same(books, id, record)
  local same, count = books.same[id] or {}, 0
  for _ in pairs(same) do
    count = count + 1
  end
  same = count < REMEMBERED and same or {}
  same[record.print] = record.same
  books.same[id] = same
end

return M
