-- run/runner/reading.lua: a run's journal read from outside: its first record, all of its books.
--
-- Takes no lock and changes nothing. Knows no skill. Called by runner.lua and by the views of a run.

local books_of = require("skillrt.run.books")
local core = require("skillrt.core")
local record = require("skillrt.base.record")
local record_of = require("skillrt.run.record")

local M = {}

---The first record of a run: skill, script, input.
---@param work_dir string
---@return table|nil record
---@return string? message
---@return string? code
function M.first(work_dir)
  local entry, why
  local blobs = {}
  local report, message, code = core.read(work_dir, function(payload)
    entry, why = record.decode(payload, blobs.blob)
    return false
  end, blobs)
  if not report then
    return nil, message, code
  elseif not entry then
    if why then
      return nil, ("%s: %s"):format(work_dir, why), "corrupt"
    end
    return nil, ("%s: holds no run: one was begun here, and ended before its first record"):format(work_dir), "missing"
  end
  local problem = record_of.problem_of(entry)
  if problem then
    return nil, ("%s: record 1: %s"):format(work_dir, problem), "corrupt"
  end
  return entry
end

---Some records of a run: those whose text has one of these words in it.
---@param work_dir string
---@param each fun(record: table, seq: integer)
---@param words string[]
---@return boolean|nil ok
---@return string? message
---@return string? code
function M.each(work_dir, each, words)
  local blobs = {}
  local report, message, code = core.read(work_dir, function(payload, seq)
    local found = false
    for _, word in ipairs(words) do
      found = found or payload:find(word, 1, true) ~= nil
    end
    if found then
      each(record.decode(payload, blobs.blob) or {}, seq)
    end
    return true
  end, blobs)
  return report and true, message, code
end

---The books of a run, read without its lock. `each` sees every record after it was applied.
---@param work_dir string
---@param each fun(record: table, books: skillrt.Books)|nil
---@param before fun(record: table, books: skillrt.Books, seq: integer)|nil  sees it before that
---@return skillrt.Books|nil books
---@return string|table message_or_report
---@return string? code
function M.read(work_dir, each, before)
  local books, blobs = books_of.new(), {}
  local report, message, code = core.read(work_dir, function(payload, seq)
    local entry, why = record.decode(payload, blobs.blob)
    if not entry then
      error({ message = ("%s: record %d: %s"):format(work_dir, seq, why), code = "corrupt" }, 0)
    end
    record_of.each(entry, function(one)
      if before then
        before(one, books, seq)
      end
      books_of.apply(books, one, seq)
      if each then
        each(one, books)
      end
    end)
    return true
  end, blobs)
  if not report then
    return nil, message, code
  end
  return books, report
end

return M
