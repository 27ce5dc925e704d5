-- skill/limit/run_timeout.lua: how long a run may be open, or the steps of one action in total; pauses do not count.
--
-- All times in the books are those of the wall clock; run/limits.lua converts them to the monotonic clock. Found by
-- its name, by skill/limits.lua.

---@type skillrt.Limit
local M = { name = "run_timeout", type = "seconds", unit = "seconds", status = "paused", reason = "run_timeout",
  code = 12, action = true, is_timed = true,
  text = "seconds that a run is open, or that the steps of an action take in total; pauses do not count" }

---How long a run has been open, according to its records: a pause does not count.
---@param books skillrt.Books
---@return number ms
function M.open_ms(books)
  return (books.active or 0) + math.max(0, books.at - (books.opened_at or books.at))
end

---How long a step has been under way while the run was open.
---@param books skillrt.Books
---@param step skillrt.Step
---@param at integer  UTC ms
---@return number ms
function M.step_ms(books, step, at)
  local begun, opened, ms = step.started_at, books.opened_at, step.ms or 0
  if opened and (step.ms or opened > begun) then
    begun = opened
  end
  return at > begun and ms + at - begun or ms
end

function M.spent(books, id)
  if not id then
    return M.open_ms(books) / 1000
  end
  local by = books.spent_by[id]
  local ms = by and by.ms or 0
  for _, step in pairs(books.steps) do
    ms = ms + (step.id == id and not step.sub and M.step_ms(books, step, books.at) or 0)
  end
  return ms / 1000
end

---How much time is left when it continues: for the run, or for an action after its finished steps.
---@param bound skillrt.Bound
---@return integer ms
function M.left_ms(bound)
  if not bound.id then
    return math.max(0, math.ceil(bound.most * 1000 - M.open_ms(bound.books)))
  end
  local by = bound.books.spent_by[bound.id]
  return math.ceil(bound.most * 1000 - (by and by.ms or 0))
end

---A message about what took too long.
function M.message(bound)
  local sub, who = bound.books.sub, "the run"
  if bound.id then
    who = ("the steps of %s%s"):format(bound.id, sub and " in sub-run " .. sub or "")
  elseif sub then
    who = "sub-run " .. sub
  end
  return ("%s took longer than run_timeout, %g seconds"):format(who, bound.most)
end

---A message about what the core stopped.
function M.interrupted(bound, where)
  return bound and ("%s: %s"):format(where or "a function", M.message(bound))
end

return M
