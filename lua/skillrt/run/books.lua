-- run/books.lua: the books of a run: what a sequence of journal records amounts to.
--
-- The only place where a record changes anything: a live run applies each record as it is written, a resumed run
-- applies the same records as they are read back, so both arrive at the same books. What a record changes says its
-- type (record/<type>.lua), which fields there are books/fields.lua. Knows no agents, no journal file, no mode.

local arrived = require("skillrt.run.books.arrived")
local fields = require("skillrt.run.books.fields")
local record_of = require("skillrt.run.record")

local M = {}

---A run's books, or a sub-run's, with every field that is declared and does not begin empty.
---@return skillrt.Books
function M.new()
  return fields.new()
end

-- The books that a record belongs to: of the scope of its step, else of the one that it names, else the run's.
local function scope_of(self, record)
  local step = record.step and self.steps[record.step]
  local sub = record.sub
  if step then
    sub = step.sub
  elseif record.t == "run" then
    sub = nil -- it begins with it
  end
  return not sub and self or self.subs and self.subs[sub]
    or error(("record of a sub-run that has not begun: %q"):format(sub), 0)
end

---Applies one record. Raises where the records do not fit each other (a journal of another
---program, or a bug): the caller reports it with the record's place.
---@param self skillrt.Books
---@param record table
---@param seq integer|nil   its number in the journal, where it is read back
function M.apply(self, record, seq)
  if record.start then
    M.apply(self, record_of.start_in(record))
    record.start = nil
  end
  local kind = record_of.of(record.t)
    or error(("record of unknown type %q: written by a newer skillrt?"):format(tostring(record.t)), 0)
  local books, step = scope_of(self, record), record.step and self.steps[record.step]
  if record.rec and step then
    require("skillrt.run.books.calls").keep_values(step, record.rec)
  end
  books = kind.apply(books, record, self, seq) or books
  if record.arrival then
    arrived.seen(self, record.arrival)
  end
  if record.move then
    require("skillrt.run.books.machine").moved(books, record)
  end
  books.at, self.at = record.at or books.at, record.at or self.at
end

return M
