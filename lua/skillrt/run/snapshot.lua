-- run/snapshot.lua: writes the books as one record (a snapshot), and reads a journal back from the newest one.
--
-- journal.lua writes a snapshot from time to time, with the steps and calls that are under way, so that a resume
-- costs the same however many steps the run had. Knows the books and record payloads, no files.

local asked = require("skillrt.run.books.questions")
local books_of = require("skillrt.run.books")
local fields = require("skillrt.run.books.fields")
local json = require("skillrt.base.json")
local record = require("skillrt.base.record")
local state = require("skillrt.skill.state")
local steps_of = require("skillrt.run.step.step")

local M = {}

-- Only a `books` record ends like this: its type is its last key, and in any other record such a value is followed by
-- another bracket.
M.ENDING = '"t":"books"}'

-- How many records are held back at most, in case a `books` record makes them unnecessary.
local KEPT_MOST <const> = 8192

local OF_STEP <const> = {
  "number", "id", "kind", "attempt", "started_at", "after", "retry_at", "failures", "calls", "known", "values", "notes",
  "generations", "ms", "state", "cut", "sub", "edge", "tools", "talks", "stage", "undoes", "late", "people_ms", "file",
  "tool_set", "whole", "phases", "since", "blamed", "acted_in", "told",
}

-- A step that is under way: its fields in the books, and how its state differs from the present one.
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

-- The maximal number of old values in a snapshot: each step under way has what changed since it started.
local OLD_MOST <const> = 100000

---Whether a snapshot is worthwhile now: not while many steps are under way and much has changed since they started,
---as each has its own list of changes.
---@param books skillrt.Books
---@return boolean
function M.is_worth_it(books)
  local old = books.open * books.state.past.kept
  for _, scope in pairs(books.subs or {}) do
    old = old + scope.open * scope.state.past.kept
  end
  return old <= OLD_MOST
end

-- What is written of the books of a run or scope, besides their steps and state.
local function fields_of(books)
  local all = {}
  for _, row in ipairs(fields.ROWS) do
    if row.kept ~= false then
      all[row[1]] = books[row[1]]
    end
  end
  return all
end

---The books as a record.
---@param books skillrt.Books
---@return table record
function M.whole(books)
  local steps = json.array({})
  for _, step in pairs(books.steps) do
    steps[#steps + 1] = step
  end
  table.sort(steps, function(a, b) -- their states are restored oldest first
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

-- The books of a run or scope as they were written; all other fields get their initial values.
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

-- Replaces the books by what such a record holds.
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

---@class skillrt.Snapshot  records on their way into the books: none before the newest snapshot
---@field books skillrt.Books
---@field kept string[]    those that are held back
---@field seqs integer[]
---@field count integer
---@field anew boolean|nil  the first of them is a snapshot
local Snapshot = {}
Snapshot.__index = Snapshot

---@param books skillrt.Books
---@return skillrt.Snapshot
function M.new(books)
  return setmetatable({ books = books, kept = {}, seqs = {}, count = 0 }, Snapshot)
end

---Whether a record is a snapshot, which reports nothing that happened.
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

---Applies the records that were held back.
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
