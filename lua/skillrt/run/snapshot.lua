-- run/snapshot.lua: all that the books say as one record, and a journal read back from the newest of these.
--
-- journal.lua writes such a record now and then, with the steps and calls that are under way, so that going on with a
-- run costs the same however many steps it had. Knows the books and record payloads, no files.

local asked = require("skillrt.run.books.questions")
local books_of = require("skillrt.run.books")
local fields = require("skillrt.run.books.fields")
local json = require("skillrt.base.json")
local record = require("skillrt.base.record")
local state = require("skillrt.skill.state")
local steps_of = require("skillrt.run.step.step")

local M = {}

-- A `books` record ends like this and no other does: its type is its last key, and in any other a
-- value of such an end is followed by one more bracket.
M.ENDING = '"t":"books"}'

-- Records kept back at most, in case a `books` record makes them needless.
local KEPT_MOST <const> = 8192

local OF_STEP <const> = {
  "number", "id", "kind", "attempt", "started_at", "after", "retry_at", "failures", "calls", "known", "values", "notes",
  "generations", "ms", "state", "cut", "sub", "edge", "tools", "talks", "stage", "undoes", "late", "people_ms", "file",
  "tool_set", "whole", "phases", "since", "blamed", "acted_in", "told",
}

-- A step that is under way: what the books know of it, and how its state differs from the present one.
local function written(books, step)
  local out = { undo = books.state:undo_patch(step.root), order = json.array({}) }
  for _, field in ipairs(OF_STEP) do
    local value = step[field]
    out[field] = (type(value) ~= "table" or next(value) ~= nil) and value or nil
  end
  for place, round in pairs(step.rounds) do
    out.rounds = out.rounds or {}
    out.rounds[place] = { n = round.n, seq = round.seq, result = round.result }
  end
  for _, place in ipairs(step.order) do
    if step.known[place] or step.rounds[place] then
      out.order[#out.order + 1] = place
    end
  end
  return out
end

-- Old values in such a record at most: each step under way has what changed since it began.
local OLD_MOST <const> = 100000

---Whether all that the books say is worth a record now: not while many steps are under way and much has changed
---since they began, as each has its own list of that.
---@param books skillrt.Books
---@return boolean
function M.is_worth_it(books)
  local old = books.open * books.state.past.kept
  for _, scope in pairs(books.subs or {}) do
    old = old + scope.open * scope.state.past.kept
  end
  return old <= OLD_MOST
end

-- What is written of books, or of a scope's, beside their steps and state.
local function fields_of(books)
  local all = {}
  for _, row in ipairs(fields.ROWS) do
    if row.kept ~= false then
      all[row[1]] = books[row[1]]
    end
  end
  return all
end

---All that the books say, as a record.
---@param books skillrt.Books
---@return table record
function M.whole(books)
  local steps = json.array({})
  for _, step in pairs(books.steps) do
    steps[#steps + 1] = step
  end
  table.sort(steps, function(a, b) -- their states are taken up oldest first
    return a.number < b.number
  end)
  for i, step in ipairs(steps) do
    steps[i] = written(step.sub and books.subs[step.sub] or books, step)
  end
  local subs
  for id, scope in pairs(books.subs or {}) do
    subs = subs or {}
    subs[id] = { books = fields_of(scope), state = scope.state.root, progress = scope.state.progress }
  end
  return {
    t = "books",
    books = fields_of(books),
    subs = subs,
    steps = steps[1] and steps or nil,
    questions = asked.written(books),
    state = books.state.root,
    progress = books.state.progress,
  }
end

-- Books, or a scope's, as they were written: all fields that are not begin anew.
local function read(books, kept, root, progress)
  local new = fields.new()
  for _, row in ipairs(fields.ROWS) do
    local value = kept[row[1]]
    if value == nil then
      value = new[row[1]]
    end
    books[row[1]] = value
  end
  books.state = state.new(root)
  books.state.progress = progress
  if books.mode == "machine" then -- some fields of its state are the machine's
    require("skillrt.run.books.machine").mind(books)
  end
  return books
end

-- Takes over what such a record tells, whatever the books said before.
local function restore(books, entry)
  read(books, entry.books, entry.state, entry.progress)
  books.at = entry.at
  for id, kept in pairs(entry.subs or {}) do
    books.subs = books.subs or {}
    books.subs[id] = read(fields.new(), kept.books, kept.state, kept.progress)
    books.subs[id].steps = books.steps
  end
  for _, step in ipairs(entry.steps or {}) do
    local scope = step.sub and books.subs[step.sub] or books
    steps_of.restore(scope, step)
  end
  asked.restore(books, entry.questions)
end

---@class skillrt.Snapshot  records on their way into the books: none before the newest of these
---@field books skillrt.Books
---@field kept string[]    those that were kept back
---@field seqs integer[]
---@field count integer
---@field anew boolean|nil  the first of them is of all the books
local Snapshot = {}
Snapshot.__index = Snapshot

---@param books skillrt.Books
---@return skillrt.Snapshot
function M.new(books)
  return setmetatable({ books = books, kept = {}, seqs = {}, count = 0 }, Snapshot)
end

---Whether a record is one of all the books, which tells nothing that happened.
---@param payload string
---@return boolean
function M.is_books(payload)
  return payload:sub(-#M.ENDING) == M.ENDING
end

---One record of the journal, in order.
---@param payload string
---@param seq integer
---@param read_blob function
function Snapshot:add(payload, seq, read_blob)
  self.read_blob = read_blob
  local starts_anew = M.is_books(payload)
  if starts_anew then
    self.count = 0
  elseif self.count >= KEPT_MOST then
    self:apply()
  end
  if self.count == 0 then
    self.anew = starts_anew
  end
  self.count = self.count + 1
  self.kept[self.count], self.seqs[self.count] = payload, seq
end

---Applies what was kept back.
function Snapshot:apply()
  local kept, seqs, books = self.kept, self.seqs, self.books
  for i = 1, self.count do
    local entry, message, code = record.decode(kept[i], self.read_blob)
    if not entry then
      error({ message = ("record %d: %s"):format(seqs[i], message), code = code }, 0)
    elseif i == 1 and self.anew then
      books_of.take_back(entry, seqs[i], restore, books)
    else
      books_of.apply(books, entry, seqs[i])
    end
  end
  self.kept, self.seqs, self.count, self.anew = {}, {}, 0, false
end

return M
