-- run/journal.lua: records on their way: into the books, to whoever watches, and with the next batch into
-- the journal.
--
-- A watcher hears of a record when it is made and may tell of it when it is durable. Results of calls are
-- held only until they are durable; then the books know where they lie, and they are read back in `load` alone: what a
-- step that is performed again does not ask for there is read ahead. Knows no modes and no agents.

local core = require("skillrt.core")
local draws = require("skillrt.run.branch.draws")
local fatal = require("skillrt.base.fatal")
local snapshot = require("skillrt.run.snapshot")
local record = require("skillrt.base.record")
local secrets = require("skillrt.base.secrets")
local steps_of = require("skillrt.run.step.step")
local books_of = require("skillrt.run.books")

local apply, encode = books_of.apply, record.encode
local mono_ms, wall_ms = core.mono_ms, core.wall_ms

---@class skillrt.Journal
---@field books skillrt.Books
---@field out string[]     payloads that the engine has not taken yet
---@field blobs table[]    { digest, text } to keep before them
---@field count integer    records since the last `durable`
---@field has_news boolean|nil  the watcher has heard of records since its last `flush`
---@field newest skillrt.Snapshot
---@field since integer    bytes of records since the newest one of all the books
---@field due number|nil   from how many on the next one is due
---@field ahead table<table, table|string>  what was read ahead: a record, or a text, by what the books hold of it
---@field begun table|nil  the start of the newest step, as its first record will carry it; nil: it has one
---@field begun_step integer|nil  the number of that step
---@field watcher table|nil { observe = fun(record, books), flush = fun(), forget = fun(), dull = set of types }
local Journal = {}
Journal.__index = Journal

local LARGE <const> = 64 * 1024 -- bytes of a record

-- How many bytes of records make a new one of all the books worth its own, at least; and how many times its own size: a
-- large state is not written for every few small changes.
local INTERVAL <const>, TIMES <const> = 256 * 1024, 8

-- The kinds of records that the books hold until they know where in the journal they lie.
local HELD <const> = { result = true, round = true }

local SET_MS <const> = 1000 -- the wall clock was set: what less it differs by, two looks at the clocks do

-- Kinds of records that whoever watches is not shown.
local function dull_to(watcher)
  local dull = { books = true }
  for kind in pairs(watcher and watcher.dull or {}) do
    dull[kind] = true
  end
  return dull
end

-- Shows a record to whoever watches.
local function show(self, entry)
  self.source.news, self.has_news = true, true
  self.watcher.observe(entry, self.books)
end

---@param run table  { books, keeps_nothing, books_bytes, watcher }
---@return skillrt.Journal
function Journal.new(run)
  return setmetatable({
    books = run.books,
    keeps_nothing = run.keeps_nothing,
    out = run.out,
    blobs = run.blobs,
    count = 0,
    unplaced = {},
    ahead = setmetatable({}, { __mode = "k" }),
    ahead_ms = wall_ms() - mono_ms(), -- of the clock that no user sets
    source = run.source, -- read_blob and read_record are put there by the core
    newest = snapshot.new(run.books),
    since = 0,
    interval = run.books_bytes or INTERVAL,
    times = run.books_bytes and 0 or TIMES,
    watcher = run.watcher,
    dull = dull_to(run.watcher),
  }, Journal)
end

-- A record of all the books was read or written, or the first of a run, which holds its state as large as it is then:
-- when the next one is due.
local function set_due(self, size, is_books, blobs)
  for _, blob in ipairs(blobs or {}) do
    size = size + #blob[2]
  end
  self.due = math.max(self.interval, self.times * size)
  self.since = is_books and 0 or self.since
end

-- Encodes a record for the next batch; nothing else is changed, but that secrets are taken out of it. Where a large
-- record is `ours` the books are given a mark: a copy of it would be as large.
local function put(self, entry, ours)
  local payload, blobs, code = encode(entry)
  local suspects = secrets.suspects
  local is_suspect = payload and suspects(payload)
  for i = 1, payload and blobs and #blobs or 0 do
    is_suspect = is_suspect or suspects(blobs[i][2])
  end
  if is_suspect and entry.t ~= "books" then
    secrets.take_out(entry)
    payload, blobs, code = encode(entry)
  end
  if not payload then
    fatal.pass_on({ message = blobs, code = code })
    return nil, blobs --[[@as string]]
  elseif blobs then
    table.move(blobs --[[@as table]], 1, #blobs, #self.blobs + 1, self.blobs)
  end
  self.out[#self.out + 1] = payload
  self.source.news = true
  entry.is_large = (blobs or #payload > LARGE) and (ours or true) or nil -- then its users release it early
  self.since = self.since + #payload
  if entry.t == "books" or not self.due then
    set_due(self, #payload, entry.t == "books", blobs)
  end
  self.count = self.count + 1
  return true
end

-- A start that a step's first record could carry, as a record of its own.
local function start_record(start, step)
  local own = { t = "start", step = step }
  for key, value in pairs(start) do
    own[key] = value
  end
  return own
end

-- The start of the newest step becomes a record of its own: something else is recorded, or the run stops, and the step
-- has recorded nothing yet.
local function write_begun(self)
  local start = start_record(self.begun, self.begun_step)
  self.begun = nil
  assert(put(self, start))
end

---A step begins: in the books, and for who watches. Its start is written with its first record.
---@param step table  { number, id, kind, n, started_at }: it becomes a skillrt.Step
---@param said table|nil  what its start says besides
---@param sub string|nil  of which sub-run
function Journal:begin(step, said, sub)
  if self.begun then
    write_begun(self)
  end
  local start = { [step.kind] = step.id, n = step.n, at = step.started_at, sub = sub }
  if said then
    for key, value in pairs(said) do
      start[key] = value
    end
  end
  self.begun, self.begun_step = start, step.number
  steps_of.begin(sub and self.books.subs[sub] or self.books, step, start, self.books)
  if self.watcher and not self.dull.start then
    show(self, start_record(start, step.number))
  end
end

-- The time of a record. Where somebody has set the clock since the one before, a record says by how much.
local function time_of(self)
  local at = wall_ms()
  local moved = at - mono_ms() - self.ahead_ms
  if moved > SET_MS or moved < -SET_MS then
    self.ahead_ms = self.ahead_ms + moved
    if self.books.opened_at then
      assert(self:emit({ t = "clock", at = at, moved = moved }))
    end
  end
  return at
end

---Writes one record: into the books and, with the next batch, into the journal.
---@param entry table
---@param ours "ours"|nil   the journal alone has the tables in it
---@return boolean|nil ok
---@return string? message  why it cannot be encoded; nothing was changed
function Journal:emit(entry, ours)
  if not entry.at then
    entry.at = time_of(self)
  end
  local step = self.books.steps[entry.step]
  if step and (step.live.fresh or step.live.read) then
    draws.tell(self, step, entry)
  end
  if self.begun and entry.step == self.begun_step then
    entry.start = self.begun
  elseif self.begun then
    write_begun(self)
  end
  local ok, message = put(self, entry, ours)
  entry.start = nil -- the books and who watches know it
  if not ok then
    return nil, message
  end
  self.begun = nil
  apply(self.books, entry)
  entry.is_large = nil -- it was for the books; watchers see what was written
  if HELD[entry.t] then
    self:note_place(entry)
  end
  if self.watcher and not self.dull[entry.t] then
    show(self, entry)
  end
  return true
end

---A text is kept beside the next record, which names its digest.
---@param text string
---@return string digest
function Journal:keep(text)
  local digest = core.sha256(text)
  self.blobs[#self.blobs + 1] = { digest, text }
  return digest
end

---A line for people.
---@param text string
---@param step integer|nil  the number of the step that it is about
function Journal:note(text, step)
  assert(self:emit({ t = "note", step = step, text = record.printable(text) }))
end

-- A result is held until it is known where in the journal it lies.
function Journal:note_place(entry)
  local step = self.books.steps[entry.step]
  local held = (entry.t == "result" and step.known or step.rounds)[entry.c]
  if not self.keeps_nothing then
    self.unplaced[#self.unplaced + 1] = { held = held, number = self.count }
  end
end

---A function is about to run, perhaps for long: who watches is shown what began, once all that came before is durable.
function Journal:show()
  if self.count == 0 then
    self.has_news = false
    self.watcher.flush()
  end
end

---All up to a record is durable.
---@param seq integer  of the last record of the batch
function Journal:durable(seq)
  local unplaced = self.unplaced
  if unplaced[1] then
    for i = 1, #unplaced do
      local one = unplaced[i]
      one.held.seq, one.held.result = seq - self.count + one.number, nil
      unplaced[i] = nil
    end
  end
  self.count = 0
  if self.has_news then
    self.has_news = false
    self.watcher.flush()
  end
  if self.due and self.since >= self.due and not self.keeps_nothing and self.books.status == "executing" then
    self:keep_books() -- not behind the last record: no batch would take it, and no view is written before one does
  end
end

---What came since the last `durable` is lost with the batch that failed: no watcher sees it, and what has begun
---behind it has not begun.
function Journal:forget()
  self.begun = nil
  if self.watcher and self.watcher.forget then
    self.watcher.forget()
  end
end

local function read_record(self, seq)
  local payload, message, code = self.source.read_record(seq)
  local entry
  if payload then
    entry, message, code = record.decode(payload, self.source.read_blob)
  end
  if not entry then
    fatal.raise(("record %d: %s"):format(seq, message), code or "corrupt") -- a script may be asking
  end
  return entry
end

local function read_text(self, digest)
  local text, message, code = self.source.read_blob(digest)
  if not text then
    fatal.raise("what a step has read: " .. message, code)
  end
  return text
end

---What was recorded of a step: the record of a result or round that is over, or a long text that it has read.
---@param held table  { seq }, { result } or { sha256 }: of the books
---@return table|string
function Journal:reread(held)
  local known = held.result or self.ahead[held]
  self.ahead[held] = nil
  return known or held.seq and read_record(self, held.seq) or read_text(self, held.sha256)
end

---It may be asked for later, when the store is not read.
---@param held table
function Journal:read_ahead(held)
  self.ahead[held] = not held.result and self:reread(held) or nil
end

---One record read back from the journal.
---@param payload string
---@param seq integer
---@param is_applied boolean|nil  the books know it already
function Journal:take_back(payload, seq, is_applied)
  local is_books = snapshot.is_books(payload)
  self.since = self.since + #payload
  if is_books or not self.due then
    set_due(self, #payload, is_books)
  end
  if not is_applied then
    self.newest:add(payload, seq, self.source.read_blob)
  end
end

---Now and then all that the books say becomes a record, so that reading begins there.
function Journal:keep_books()
  if self.books.run_id and not snapshot.is_worth_it(self.books) then
    self.due = self.since + self.interval -- others come first
  elseif self.books.run_id and not self:emit(snapshot.whole(self.books)) then
    self.due = math.huge -- they hold what cannot be kept: the records alone must do
  end
end

return Journal
