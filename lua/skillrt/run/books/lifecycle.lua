-- run/books/lifecycle.lua: what the books know of the execution protocol: the stage of each step under way, what
-- could be undone, and that the run is being aborted.
--
-- Part of books.lua: the records `stage`, `undoable`, `abort`. Why something is undone decides run/steps/undo.lua.

local json = require("skillrt.base.json")

local function own(step, field)
  return require("skillrt.run.books").own(step, field)
end

local M = {}

-- The books of the run, or of the sub-run that a record names.
local function scope_of(books, record)
  return record.sub and books.subs and books.subs[record.sub] or books
end

---A step came to a stage; said once at its place, as lines are.
---@param books skillrt.Books
---@param record table  { step, c, stage }
function M.stage(books, record)
  local step = books.steps[record.step]
  if step then
    local place, notes = record.c or "0", own(step, "notes")
    notes[place] = (notes[place] or 0) + 1
    step.stage = record.stage
  end
end

---The contexts of the run are loaded: merged into its own (R165), by their names; or one that it needs is not there.
---@param books skillrt.Books
---@param record table  { sub, list, values, failed }
function M.contexts(books, record)
  local scope = scope_of(books, record)
  scope.contexts = record.list
  for name, value in pairs(record.values) do
    scope.state:replace("context", name, value)
  end
  if record.failed then
    scope.halt = { "failed", "preparing", record.failed }
  end
end

---A step takes longer than it should.
---@param books skillrt.Books
---@param record table  { step, seconds }
function M.late(books, record)
  books.steps[record.step].late = true
end

---A step completed that can be undone; or one is given up, and is to be cleaned up (`cleanup`).
---@param books skillrt.Books
---@param record table  { sub, step, id, set, cleanup }
function M.undoable(books, record)
  local scope = scope_of(books, record)
  scope.undo = scope.undo or json.array({})
  table.insert(scope.undo, { step = record.step, id = record.id, set = record.set, cleanup = record.cleanup })
end

local function forget(scope, number)
  for i = #scope.undo, 1, -1 do
    if scope.undo[i].step == number then
      return table.remove(scope.undo, i)
    end
  end
end

---The run is being aborted; `gone`: a step whose action is no longer part of the skill is not undone.
---@param books skillrt.Books
---@param record table  { sub, reason, message } or { sub, gone }
function M.abort(books, record)
  local scope = scope_of(books, record)
  if record.gone then
    M.left(scope, forget(scope, record.gone).id)
  else
    scope.abort = scope.abort or { reason = record.reason, message = record.message }
  end
end

---What could not be undone, or was not to be.
---@param scope skillrt.Books
---@param id string
function M.left(scope, id)
  local abort = scope.abort
  abort.left = abort.left or {}
  table.insert(abort.left, id)
end

---A step is over that undid another one, or failed to.
---@param scope skillrt.Books
---@param step skillrt.Step
---@param record table  `done`, `skip` or `fail`
function M.undone(scope, step, record)
  local one = forget(scope, step.undoes)
  if one and record.t ~= "done" then
    M.left(scope, one.id)
  end
end

---The lifecycle's word for a step under way (R169): failed while it waits for its next attempt, which begins by
---preparing (F66).
---@param step skillrt.Step
---@param now integer  UTC ms
---@return "preparing"|"executing"|"validating"|"failed"
function M.stage_of(step, now)
  if step.retry_at and step.retry_at > now and next(step.calls) == nil then
    return "failed"
  end
  return step.stage or "executing"
end

return M
