-- run/books.lua: the books of a run: the facts that a sequence of journal records amounts to.
--
-- The only place where a record changes anything: a live run applies each record as it is written, a resumed run
-- applies the same records as they are read back, so both arrive at the same books. Each record type says what it
-- changes (record/<type>.lua); books/fields.lua lists the fields. Knows no agents, no journal file, no mode.

local arrivals = require("skillrt.run.books.arrivals")
local fatal = require("skillrt.base.fatal")
local fields = require("skillrt.run.books.fields")
local poison = require("skillrt.skill.limit.poison")
local record_of = require("skillrt.run.record")

local M = {}

---The books of a run or a sub-run, with every declared field that starts non-empty.
---@return skillrt.Books
function M.new()
  return fields.new()
end

-- The books that a record belongs to: those of its step's scope, else of the scope it names, else the run's.
local function scope_of(self, record)
  local step = record.step and self.steps[record.step]
  local sub = record.sub
  if step then
    sub = step.sub
  elseif record.t == "run" then
    sub = nil -- it starts with it
  end
  return not sub and self or self.subs and self.subs[sub]
    or error(("record of a sub-run that has not begun: %q"):format(sub), 0)
end

local function change(self, record, seq)
  local start = record.start and record_of.start_in(record)
  if start then
    change(self, start)
    record.start = nil
  end
  local kind = record_of.types[record.t] or error(("its type %q is unknown"):format(tostring(record.t)), 0)
  local books, step = scope_of(self, record), record.step and self.steps[record.step]
  if record.rec and step then
    step:keep_values(record.rec)
  end
  books = kind.apply(books, record, self, seq) or books
  if self.fruitless or record.t == "resume" then
    poison.count(self, record)
  end
  if record.arrival then
    arrivals.seen(self, record.arrival)
  end
  if record.move then
    require("skillrt.run.books.machine").moved(books, record)
  end
  books.at, self.at = record.at or books.at, record.at or self.at
end

---Applies a record that is read back. A checksum shows that it is unchanged, not that skillrt wrote it: where it
---cannot have, `corrupt` is raised.
---@param record any
---@param seq integer  its number in the journal
---@param take fun(books: skillrt.Books, record: table, seq: integer)
---@param books skillrt.Books
function M.take_back(record, seq, take, books)
  local problem = record_of.problem_of(record)
  local start = not problem and record_of.start_in(record)
  problem = problem or start and record_of.problem_of(start)
  if not problem then
    local ok, message = pcall(take, books, record, seq)
    if ok then
      return
    end
    fatal.pass_on(message)
    if type(message) == "table" and message.code then
      error(message, 0)
    end
    problem = "it does not fit the records before it: " .. tostring(message)
  end
  error({ message = ("record %d: %s; another program wrote it, or a fault of skillrt"):format(seq, problem),
    code = "corrupt" }, 0)
end

---Applies one record.
---@param self skillrt.Books
---@param record table
---@param seq integer|nil   its number in the journal, if it is read back
function M.apply(self, record, seq)
  if seq then
    M.take_back(record, seq, change, self)
  else
    change(self, record)
  end
end

return M
