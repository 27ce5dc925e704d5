-- run/travel.lua: rolls a run back to an earlier place, forks a new run at a place of another, stores a run for
-- others to perform, and adds records to one.
--
-- All write records of their own into a journal and leave the run paused: none needs the skill, runs its script or
-- deletes anything; the journal and the usage only grow. Called by the commands rollback, fork, submit and resume,
-- and by schedule.lua.

local books_of = require("skillrt.run.books")
local child = require("skillrt.run.call.kind.child")
local core = require("skillrt.core")
local journal_of = require("skillrt.run.journal")
local moment = require("skillrt.run.travel.moment")
local output_files = require("skillrt.run.output_files")
local json = require("skillrt.base.json")
local look = require("skillrt.run.look")
local rolled_files = require("skillrt.run.travel.rolled_files")
local seal = require("skillrt.base.seal")
local state = require("skillrt.skill.state")
local store_of = require("skillrt.run.store")
local tables = require("skillrt.base.tables")
local views = require("skillrt.run.views")

local M = {}

-- The policy of a run that only takes some records and stops: it has no steps.
---@class skillrt.Writer
local Writer = {}
Writer.__index = Writer

local function writer(store, entries)
  local self = setmetatable({ books = books_of.new(), out = {}, blobs = {}, known_views = {} }, Writer)
  self.store, self.entries, self.skill = store, entries, { phases = {} }
  self.journal = journal_of.new({ books = self.books, out = self.out, blobs = self.blobs, source = self })
  return self
end

function Writer:record(payload, seq)
  self.journal:take_back(payload, seq)
end

function Writer:load()
  self.journal.newest:apply()
  self.wanted = self.entries(self.books)
end

-- All records in one batch, so that a process that dies leaves all or none; with the stop, because the summary for
-- lists comes with the last batch.
function Writer:choose()
  for _, entry in ipairs(self.wanted) do
    assert(self.journal:emit(entry))
  end
  self.wanted = {}
  if next(self.books.state.root.phases_completed) or self.store:stat("execution-state.json") then
    self.skill.phases[1] = true
  end
  local about = json.encode(look.summary(self.books), { sorted = true })
  return "stop", self.books.status, self.books.reason, self.books.due, about
end

function Writer:save(seq)
  return views.list(self, seq)
end

function Writer:durable(seq)
  self.journal:durable(seq)
end

for _, notice in ipairs({ "event", "stop", "forget", "progress" }) do
  Writer[notice] = function() end
end

-- Opens the run, writes the records and closes it.
local function write(store, mode, first, entries, blobs, label)
  local self = writer(store, entries)
  tables.append(self.blobs, blobs or {})
  local run, message, code = store:open(self, { mode = mode, durability = first.durability,
    run_id = first.run, label = label })
  if not run then
    return nil, message, code
  end
  local _ <close> = run
  run:wait()
  local trouble = select(3, run:status())
  if trouble then
    return nil, trouble, "system"
  end
  return self.books
end

---The record of a pause.
---@param reason string
---@param message string
---@param due integer?  UTC ms
---@return table
function M.stop(reason, message, due)
  return { t = "stop", status = "paused", reason = reason, message = message, due = due }
end

---Creates a run for others to perform.
---@param store skillrt.Store
---@param first table     its first record
---@param others table[]  the records after it
---@param blobs table[]   { digest, text }: the files that were submitted with it
---@param label table?    what workers claim it by, from the beginning: { queue, prio, key, most, rate, rate_ms }
---@return skillrt.Books|nil books
---@return string? message
---@return string? code
function M.create(store, first, others, blobs, label)
  return write(store, "submit", first, function()
    return tables.append({ first }, others)
  end, blobs, label)
end

---Adds records to a run that no process advances.
---@param place string
---@param others table[]
---@return skillrt.Books|nil books
---@return string? message
---@return string? code
function M.write(place, others)
  local first, why, code = look.first(place)
  if not first then
    return nil, why, code
  end
  return write(store_of.at(place), "resume", first, function()
    return tables.append({ { t = "resume", by = "skillrt " .. core.version } }, others)
  end)
end

---Closes a run that has ended, but whose process died before it had closed the journal: its end is recorded once more,
---and lists show it.
---@param place string
---@return skillrt.Books|nil books
---@return string? message
---@return string? code
function M.close(place)
  local first, why, code = look.first(place)
  if not first then
    return nil, why, code
  end
  return write(store_of.at(place), "resume", first, function(books)
    return { { t = "stop", at = books.at, status = books.status, reason = books.reason, message = books.message,
      limit = books.limit } }
  end)
end

---The files that were submitted with a run: { digest, text } each.
---@param place string
---@param first table  its first record
---@return table[]
function M.files_of(place, first)
  local wishes, blobs = {}, {}
  store_of.at(place):read(function()
    for _, digest in pairs(first.submitted and first.submitted.files or {}) do
      blobs[#blobs + 1] = { digest, assert(wishes.blob(digest)) }
    end
    return false
  end, wishes)
  return blobs
end

-- A run's first record, its books as they were at a place, and that place.
local function beginning(dir, place)
  local first, message, code = look.first(dir)
  local there
  if first then
    there, message, code = moment.at(dir, place)
  end
  return there and first, there, message, code
end

-- What happens to the steps that were under way at a place, a line for each.
local function told(there)
  local lines = {}
  for _, step in pairs(there.steps) do
    local held, count = (there.held or {})[step.id], 0
    for _ in pairs(held and held.open and held.known or {}) do
      count = count + 1
    end
    if not step.sub then
      local results = ("continues with the results of %d call%s"):format(count, count == 1 and "" or "s")
      lines[#lines + 1] = ("%s was under way there: it %s"):format(step.id, count > 0 and results or "starts over")
    end
  end
  for id in pairs(there.subs or {}) do
    lines[#lines + 1] = ("sub-run %s was under way there: it starts over"):format(id)
  end
  table.sort(lines)
  return lines
end

-- The results of unfinished steps are in the journal that a run is forked from: they are copied.
local function bring(dir, there, blobs)
  local held_by, texts = {}, {}
  for _, held in pairs(there.held or {}) do
    for _, field in ipairs({ "known", "rounds" }) do
      for _, one in pairs(held[field] or {}) do
        if one.seq then
          held_by[one.seq] = one
        end
      end
    end
    for _, values in pairs(held.values or {}) do
      for _, value in ipairs(values) do
        texts[type(value) == "table" and value.sha256 or ""] = true
      end
    end
  end
  texts[""] = nil
  if not next(held_by) and not next(texts) then
    return
  end
  look.records(dir, function(entry, seq, blob)
    local one = held_by[seq]
    if one then
      one.seq, one.result = nil, entry
    end
    for digest in pairs(texts) do
      blobs[#blobs + 1], texts[digest] = { digest, assert(blob(digest)) }, nil
    end
    return true
  end)
end

---Rolls a run back to its state after a record; it is then paused, and `resume` continues from there.
---@param dir string
---@param place string  a record's number, or a checkpoint's name
---@return { seq: integer, files: string[], left: table[], books: skillrt.Books, under_way: string[] }|nil  left: of
---  rolled_files.plan; under_way: what happens to each step that was under way there
---@return string? message
---@return string? code
function M.rollback(dir, place)
  local first, there, seq, cause = beginning(dir, place)
  if not first then
    return nil, seq, cause
  end
  local changes, left, trouble = rolled_files.plan(dir, seq)
  if not changes then
    return nil, left, trouble
  end
  local aside, left_behind
  local name = math.tointeger(tonumber(place)) == nil and place or nil
  local store = store_of.at(dir)
  local books, message, code = write(store, "resume", first, function(books)
    if books.mode ~= first.mode or not there.state then
      error({ message = ("%s: record %d is before the start of the run"):format(dir, seq), code = "invalid" }, 0)
    end
    left_behind = child.open(books)
    local entry = moment.rollback(there)
    entry.to, entry.name = seq, name
    rolled_files.tell(entry, changes)
    rolled_files.tell_outputs(entry, store, books, there)
    aside = entry.aside
    return {
      { t = "resume", by = "skillrt " .. core.version },
      entry,
      M.stop("rolled_back", ("to %s, record %d"):format(name or there.state.root.status, seq)),
    }
  end)
  if not books then
    return nil, message, code
  end
  local others, written
  local problem = child.leave(store, left_behind, child.open(there))
  problem = problem or rolled_files.put_aside(store, aside, seq)
  if not problem then
    written, problem = output_files.restore(store, books)
  end
  if not problem then
    others, problem = rolled_files.apply(changes)
  end
  if problem then
    return nil, problem, "system"
  end
  tables.append(written, others)
  return { seq = seq, files = written, left = left, books = books, under_way = told(there) }
end

---Starts a new run at a place of another one: paused, with the state it had there.
---@param dir string
---@param place string
---@param out string   the new run's directory
---@param set table?   a merge patch for its state
---@return { seq: integer, books: skillrt.Books, under_way: string[] }|nil
---@return string? message
---@return string? code
function M.fork(dir, place, out, set)
  local first, there, seq, cause = beginning(dir, place)
  if not first then
    return nil, seq, cause
  end
  for key in pairs(set or {}) do
    if state.is_reserved(key) then
      return nil, ("%s is written by the runtime; it cannot be set"):format(key), "invalid"
    end
  end
  local is_ours = seal.is_ours(first)
  local from = { run = first.run, dir = store_of.absolute(dir), seq = seq }
  first.run = require("skillrt.base.names").new_run()
  first.from, first.at, first.schedule, first.child_of = from, nil, nil, nil
  first.pins = there.pins or first.pins
  first.seal = is_ours and seal.of(first) or nil
  local entry = moment.rollback(there)
  entry.to, entry.from, entry.set = seq, from, set and next(set) and set or nil
  entry.last_step = there.last_step
  local store, blobs = store_of.at(out), M.files_of(dir, first)
  bring(dir, there, blobs)
  local books, message, code = write(store, "create", first, function()
    return { first, entry, M.stop("forked", ("from %s, record %d"):format(dir, seq)) }
  end, blobs)
  if not books then
    return nil, message, code
  end
  local _, problem = output_files.restore(store, books)
  if problem then
    return nil, problem, "system"
  end
  return { seq = seq, books = books, under_way = told(there) }
end

return M
