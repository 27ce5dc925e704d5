-- run/travel/moment.lua: a run as it was after one of its records: where that is, its books then, and the points that
-- a person can return to.
--
-- Reads journals without a lock; changes nothing. Called by travel.lua and the commands that look back.

local books_of = require("skillrt.run.books")
local fields = require("skillrt.run.books.fields")
local core = require("skillrt.core")
local instant = require("skillrt.base.instant")
local look = require("skillrt.run.look")
local names = require("skillrt.base.names")
local output_files = require("skillrt.run.output_files")
local record = require("skillrt.base.record")
local record_of = require("skillrt.run.record")
local repeats = require("skillrt.mode.repeats")
local store = require("skillrt.run.store")

local M = {}

---A word of a command line: "runs/a@12" is the run runs/a after record 12, "runs/a@begun" at its checkpoint begun.
---@param word string
---@return string dir
---@return string|nil place
function M.split(word)
  local dir, place = word:match("^(.+)@([^/@]+)$")
  return dir or word, place
end

-- The point that a record marks, if any.
local function point_of(entry)
  local kind = entry.t and record_of.types[entry.t]
  return kind and kind.point and kind.point(entry)
end

-- The results of the run's own steps under way there are kept for their actions; sub-runs start again.
local function suspend(books)
  for _, step in pairs(books.steps) do
    if not step.sub then
      repeats.suspend(books, step)
    end
  end
  for _, held in pairs(books.held or {}) do
    for _, known in pairs(held.known or {}) do
      known.scope = nil
    end
  end
end

---The record that rolls a run back to these books.
---@param books skillrt.Books  as they were there; they change: results of steps under way are kept (repeats.lua)
---@return table record  without `to`
function M.rollback(books)
  local position = {}
  suspend(books)
  for _, row in ipairs(fields.ROWS) do
    position[row[1]] = row[2] == "position" and books[row[1]] or nil
  end
  return { t = "rollback", position = position, state = books.state.root }
end

---The record after which a run is at `place`: a record's number, or the newest checkpoint of that name.
---@param dir string
---@param place string|nil  nil: as it is now
---@return integer|nil seq
---@return string? message
---@return string? code
function M.find(dir, place)
  local wanted, found, last = place and math.tointeger(tonumber(place)), nil, nil
  local known, wishes, behind = {}, {}, nil
  local report, message, code = store.at(dir):read(function(payload, seq)
    last = seq
    behind = wanted and seq <= wanted and seq or behind -- may be the number of the journal's end, which reports nothing
    if place and not wanted and payload:find('"checkpoint"', 1, true) then
      local point = point_of(record.decode(payload, wishes.blob) or {})
      local name = point and point.name
      if name then
        known[name], found = true, name == place and seq or found
      end
    end
    return true
  end, wishes)
  if not report then
    return nil, message, code
  elseif behind and wanted <= last then
    return behind
  elseif found or not place and last then
    return found or last
  elseif not last then
    return nil, ("%s: contains no run"):format(dir), "missing"
  elseif wanted then
    return nil, ("%s: has no record %d; its last one is %d"):format(dir, wanted, last), "missing"
  end
  return nil, ("%s: has no checkpoint %s%s"):format(dir, names.show(place), names.suggest(place, known)), "missing"
end

---The books of a run as they were at a place.
---@param dir string
---@param place string|nil
---@return skillrt.Books|nil books
---@return integer|string seq_or_message
---@return string? code
function M.at(dir, place)
  local seq, message, code = M.find(dir, place)
  local books
  if seq then
    books, message, code = look.books(dir, seq)
  end
  return books, books and seq or message, code
end

---@class skillrt.Point  a place that a person may return to
---@field seq integer
---@field at integer      UTC ms
---@field name string?    of a checkpoint
---@field step integer?
---@field id string?      of the action or phase
---@field attempt integer?
---@field what "begun"|"checkpoint"|"before"|"done"|"failed"|"rolled back"|"forked"|"stopped"
---@field text string?    more about it

-- Takes one record, and reports the point that it marks.
local function take(entry, books, seq, each)
  local step = entry.step and books.steps[entry.step]
  local about = { id = step and step.id, attempt = step and step.attempt }
  local point = not entry.sub and point_of(entry)
  if point then
    point.seq, point.at, point.step, point.id, point.attempt = seq, entry.at, entry.step, about.id, about.attempt
  end
  if point and point.what == "before" then
    point.seq = seq - 1
    each(point, books)
  end
  books_of.apply(books, entry, seq)
  if point and point.what ~= "before" then
    each(point, books)
  end
end

---Every point of a run, in order, each with the books as they were then.
---@param dir string
---@param each fun(point: skillrt.Point, books: skillrt.Books)
---@return boolean|nil ok
---@return string? message
---@return string? code
function M.points(dir, each)
  local books = books_of.new()
  local report, message, code = look.records(dir, function(entry, seq)
    record_of.each(entry, take, books, seq, each)
  end)
  return report and true, message, code
end

local function by_path(a, b)
  return a.path < b.path
end

---A point in the protocol's form of a checkpoint (R173, F69). An artifact is written, with the digest of the file's
---bytes, or in progress, while the step that must give it is open (R200).
---@param point skillrt.Point
---@param books skillrt.Books  as they were then
---@return table
function M.told(point, books)
  local artifacts = require("skillrt.base.json").array({})
  for _, path in ipairs(names.sorted(books.outputs)) do
    local value = books.state.root.outputs[books.outputs[path]]
    local text = value ~= nil and value ~= core.json.null and output_files.text_of(path, value) or nil
    artifacts[#artifacts + 1] = { path = path, status = "written", by = books.outputs[path],
      digest = text and core.sha256(text) or nil }
  end
  for _, step in pairs(books.steps) do
    if step.file and not books.outputs[step.file] then
      artifacts[#artifacts + 1] = { path = step.file, status = "in-progress", by = step.id }
    end
  end
  table.sort(artifacts, by_path)
  return {
    run_id = books.run_id,
    skill = books.skill,
    seq = point.seq,
    name = point.name,
    what = point.what,
    text = point.text,
    step = point.step,
    id = point.id,
    attempt = point.attempt,
    timestamp = instant.iso(point.at),
    context = books.state.root.context,
    artifacts = artifacts,
    digest = core.sha256(assert(core.json.encode(books.state.root))),
  }
end

return M
