-- run/books/failures.lua: steps that failed for good: errors, what is given up because of them, and what takes over.
--
-- Also what of an aborted run is to be undone. skill/on_error.lua decides what is given up; the record says it.
-- Called by record types and report/status.lua.

local M = {}

---A step has failed for good.
---@param books skillrt.Books
---@param step skillrt.Step
---@param record table
---@param message string
---@param time string  ISO 8601
function M.note(books, step, record, message, time)
  local id = step.id
  books.state:append("errors", { [step.kind] = id, message = message, class = record.class, timestamp = time })
  books.state:set("error_count", books.state.root.error_count + 1)
  books.last_failed = { id = id, step = step.number, kind = step.kind, finished = books.finished }
  books.failed[id] = true
  if record.free then
    books.free_errors = (books.free_errors or 0) + 1
  end
end

---The decision about it: `over` holds it; `again`: none yet, it may be retried.
---@param books skillrt.Books
---@param step skillrt.Step
---@param record table
---@param time string
function M.follow(books, step, record, time)
  local id, over = step.id, record.over
  if record.again and step.kind == "phase" then
    books.failed[id] = nil
  elseif over then
    books.given_up[id] = over
    if over == "circuit" then
      books.given_up[id], books.halt = nil, { "paused", "same_failure",
        ("%s failed repeatedly in the same way: %s"):format(id, record.message) }
    elseif over == "abort" then
      books.abort = books.abort or { reason = "fatal_error", message = ("%s: %s"):format(id, record.message) }
    elseif over == "fail" and step.kind == "action" then
      books.fatal = id
    elseif over ~= "fail" and over ~= "continue" then -- skipped, or another takes over
      books.failed[id], books.skipped[id] = nil, record.message
      if step.kind == "phase" then
        books.state:append("phases_skipped", { id = id, reason = "failed: " .. record.message, skipped_at = time })
      end
      if over ~= "skip" then
        books.handlers[#books.handlers + 1] = over
      end
    end
  end
end

---What was to take over has started, or was skipped.
---@param books skillrt.Books
---@param id string
function M.took_over(books, id)
  if books.handlers[1] == id then
    table.remove(books.handlers, 1)
  end
end

---An action or phase may run again.
---@param books skillrt.Books
---@param id string
function M.forgive(books, id)
  books.given_up[id], books.failed[id], books.skipped[id] = nil, nil, nil
  books.abort = nil
  if books.fatal == id then
    books.fatal = nil
  end
end

local function take_undo(books, number)
  for i = #books.undo, 1, -1 do
    if books.undo[i].step == number then
      return table.remove(books.undo, i)
    end
  end
end

local function leave(books, id)
  local abort = books.abort
  abort.left = abort.left or {}
  table.insert(abort.left, id)
end

---A step is not to be undone.
---@param books skillrt.Books
---@param number integer
function M.not_undone(books, number)
  leave(books, take_undo(books, number).id)
end

---A step that undid another one has finished, or failed to undo it.
---@param books skillrt.Books
---@param step skillrt.Step
---@param record table  `done`, `skip` or `fail`
function M.undone(books, step, record)
  local one = take_undo(books, step.undoes)
  if one and record.t ~= "done" then
    leave(books, one.id)
  end
end

---The lifecycle's word for a step under way (R169): failed while it waits for its next attempt, which starts with
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
