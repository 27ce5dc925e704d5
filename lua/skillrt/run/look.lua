-- run/look.lua: what can be read of a run without its lock: its first record, its records, its books.
--
-- Books alone are read from the newest snapshot on: that costs the same however long the run is. Knows journal
-- payloads through snapshot.lua. Called by the commands that show a run, by runner.lua and run/travel.

local books_of = require("skillrt.run.books")
local poison = require("skillrt.skill.limit.poison")
local questions = require("skillrt.run.books.questions")
local record_of = require("skillrt.run.record")
local record = require("skillrt.base.record")
local snapshot = require("skillrt.run.snapshot")
local store = require("skillrt.run.store")

local M = {}

---Why a run's directory has no record.
---@param place string
---@return string
function M.nothing(place)
  local cuts = store.at(place):cuts()
  if cuts[1] then
    return ("%s: contains no run: its journal was damaged before its first record and is saved in %s; check what "
      .. "its steps did before you start it again"):format(place, cuts[#cuts])
  end
  return place .. ": contains no run: one was started here, and ended before its first record"
end

-- Reads the store, unless the run has no record at all.
local function read(place, each, wishes)
  local is_empty = true
  local report, message, code = store.at(place):read(function(payload, seq)
    is_empty = false
    return each(payload, seq)
  end, wishes)
  if report and is_empty and not wishes.from then
    return nil, M.nothing(place), "missing"
  end
  return report, message, code
end

---A run's status, as people and programs see it.
---@param status string  of its books, or of the store's list
---@param is_held any    whether a process advances it
---@return "running"|"interrupted"|"paused"|"completed"|"failed"|"aborted"
function M.standing(status, is_held)
  if status ~= "executing" and status ~= "pending" then
    return status
  end
  return is_held and "running" or "interrupted"
end

---Whether a run has ended: it takes no event any more.
---@param books skillrt.Books
---@return boolean
function M.has_ended(books)
  return books.status == "completed" or books.status == "failed" or books.status == "aborted"
end

-- What lists show about a schedule.
local function schedule_of(books)
  local schedule = books.schedule
  return schedule and { cron = schedule.cron, due = schedule.due, begun = schedule.begun, missed = schedule.missed }
end

---What lists show about a run. It is stored at the end of the journal, so that a list need not read all of it.
---@param books skillrt.Books
---@return { at: integer, skill: string, status: string, reason: string?, limit: string?, steps: integer,
---          questions: integer, schedule: table? }
function M.summary(books)
  return { at = books.at, skill = books.skill, status = books.status, reason = books.reason, limit = books.limit,
    steps = books.finished, questions = #questions.list(books), schedule = schedule_of(books) }
end

local WAITS <const> = { waiting_for_person = true, waiting_for_event = true, waiting_for_time = true,
  needs_decision = true, submitted = true, drained = true, scheduled = true,
  [poison.DIED] = true }

---Whether a run is paused until a person, an event or a time comes.
---@param books skillrt.Books
---@return boolean
function M.waits(books)
  return books.status == "paused" and WAITS[books.reason] == true
end

---Every record, in order, until `each` returns false.
---@param place string
---@param each fun(entry: table, seq: integer, blob: fun(digest: string): string?): boolean?
---@param from integer?  the number of the first
---@return table|nil report  of the store
---@return string? message
---@return string? code
function M.records(place, each, from)
  local wishes = { from = from }
  return read(place, function(payload, seq)
    local entry, why, code = record.decode(payload, wishes.blob)
    if not entry then
      error({ message = ("%s: record %d: %s"):format(place, seq, why), code = code or "corrupt" }, 0)
    end
    return each(entry, seq, wishes.blob)
  end, wishes)
end

---The first record of a run: skill, script, input.
---@param place string
---@param each nil|fun(entry: table, blob: fun(digest: string): string?, string?, string?)  gets it while blobs can be
---       read
---@return table|nil entry
---@return string? message
---@return string? code
function M.first(place, each)
  local entry, why
  local wishes = {}
  local report, message, code = read(place, function(payload)
    entry, why = record.decode(payload, wishes.blob)
    why = why or entry and record_of.problem_of(entry)
    if each and not why then
      each(entry --[[@as table]], wishes.blob)
    end
    return false
  end, wishes)
  if report and why then
    return nil, ("%s: record 1: %s"):format(place, why), "corrupt"
  end
  return report and entry, message, code
end

---The records of a run whose text contains one of these words.
---@param place string
---@param each fun(entry: table, seq: integer)
---@param words string[]
---@return table|nil report
---@return string? message
---@return string? code
function M.some(place, each, words)
  local wishes = {}
  return store.at(place):read(function(payload, seq)
    for _, word in ipairs(words) do
      if payload:find(word, 1, true) then
        each(record.decode(payload, wishes.blob) or {}, seq)
        break
      end
    end
    return true
  end, wishes)
end

---The books of a run from all its records. `each` gets every record after it was applied.
---@param place string
---@param each fun(entry: table, books: skillrt.Books)|nil
---@param before fun(entry: table, books: skillrt.Books, seq: integer)|nil  gets it before that
---@return skillrt.Books|nil books
---@return string|table message_or_report
---@return string? code
function M.read(place, each, before)
  local books = books_of.new()
  local report, message, code = M.records(place, function(entry, seq)
    record_of.each(entry, function(one)
      if before then
        before(one, books, seq)
      end
      books_of.apply(books, one, seq)
      if each then
        each(one, books)
      end
    end)
  end)
  return report and books, report or message, code
end

---The books of a run as they are now, or as they were after one of its records.
---@param place string
---@param last integer?  its number
---@return skillrt.Books|nil books
---@return string|table message_or_report
---@return string? code
function M.books(place, last)
  local books, wishes = books_of.new(), { ending = not last and snapshot.ENDING or nil }
  local past = snapshot.new(books)
  local report, message, code = read(place, function(payload, seq)
    past:add(payload, seq, wishes.blob)
    if not last or seq == last then
      past:apply() -- while separate values can be read
    end
    return not last or seq < last
  end, wishes)
  return report and books, report or message, code
end

---Passes on the records that were not passed on yet.
---@param place string
---@param told { next: integer }  the number of the next record; it is advanced
---@param tell fun(entry: table, seq: integer)
---@return table|nil report
---@return string? message
---@return string? code
function M.behind(place, told, tell)
  return M.records(place, function(entry, seq)
    if seq >= told.next then
      told.next = seq + 1
      record_of.each(entry, tell, seq)
    end
  end, told.next)
end

return M
