-- run/journal.lua: passes records on: into the books, to the watchers, and with the next batch into the journal.
--
-- A watcher gets a record when it is made and may show it when it is durable. Results of calls are held only until
-- they are durable; then the books know their places, and they are read back only in `load`: results that a resumed
-- step has not asked for by then are read ahead.

local core = require("skillrt.core")
local draws = require("skillrt.run.branch.draws")
local fatal = require("skillrt.base.fatal")
local snapshot = require("skillrt.run.snapshot")
local record = require("skillrt.base.record")
local secrets = require("skillrt.base.secrets")
local steps_of = require("skillrt.run.step.step")
local books_of = require("skillrt.run.books")
local tables = require("skillrt.base.tables")

local apply, encode = books_of.apply, record.encode
local mono_ms, wall_ms = core.mono_ms, core.wall_ms

---@class skillrt.Journal
---@field books skillrt.Books
---@field out string[]     payloads that the engine has not taken yet
---@field blobs table[]    { digest, text } to write before them
---@field count integer    records since the last `durable`
---@field has_news boolean|nil  the watcher got records since its last `flush`
---@field newest skillrt.Snapshot
---@field since integer    bytes of records since the newest snapshot of the books
---@field due number|nil   after how many the next snapshot is due
---@field ahead table<table, table|string>  what was read ahead: a record, or a text, by its entry in the books
---@field begun table|nil  the start of the newest step, to be carried by its first record; nil: it was written
---@field begun_step integer|nil  the number of that step
---@field watcher table|nil { observe = fun(record, books), flush = fun(), forget = fun(), dull = set of types }
local Journal = {}
Journal.__index = Journal

local LARGE <const> = 64 * 1024 -- bytes of a record

-- How many bytes of records justify a new snapshot of the books: a minimum, and a multiple of its own size, so that a
-- large state is not written for every few small changes.
local INTERVAL <const>, TIMES <const> = 256 * 1024, 8

-- The record types that the books hold until they know their places in the journal.
local HELD <const> = { result = true, round = true }

local SET_MS <const> = 1000 -- the wall clock was set; less comes from reading two clocks in turn

-- Record types that watchers do not get.
local function dull_to(watcher)
  local dull = { books = true }
  for kind in pairs(watcher and watcher.dull or {}) do
    dull[kind] = true
  end
  return dull
end

-- Passes a record to the watcher.
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

-- A snapshot of the books was read or written, or the first record of a run, which holds its state: sets when the
-- next one is due.
local function set_due(self, size, is_books, blobs)
  for _, blob in ipairs(blobs or {}) do
    size = size + #blob[2]
  end
  self.due = math.max(self.interval, self.times * size)
  self.since = is_books and 0 or self.since
end

-- Encodes a record for the next batch; changes nothing else, except that secrets are removed. If a large record is
-- `ours`, the books get a reference instead of a copy.
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
    tables.append(self.blobs, blobs --[[@as table]])
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

-- The start of the newest step becomes a record of its own: something else is recorded, or the run stops, and the
-- step has recorded nothing yet.
local function write_begun(self)
  local start = start_record(self.begun, self.begun_step)
  self.begun = nil
  assert(put(self, start))
end

---A step starts: in the books, and for watchers. Its start is written with its first record.
---@param step table  { number, id, kind, n, started_at }: it becomes a skillrt.Step
---@param said table|nil  more fields of its start
---@param sub string|nil  the sub-run it belongs to
function Journal:begin(step, said, sub)
  if self.begun then
    write_begun(self)
  end
  local start = { [step.kind] = step.id, n = step.n, at = step.started_at, sub = sub }
  if said then
    tables.fill(start, said)
  end
  self.begun, self.begun_step = start, step.number
  steps_of.begin(sub and self.books.subs[sub] or self.books, step, start, self.books)
  if self.watcher and not self.dull.start then
    show(self, start_record(start, step.number))
  end
end

---The time of what happens now. If somebody has set the clock since the previous record, a record says by how much.
---@return integer
function Journal:now()
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
---@param ours "ours"|nil   only the journal has references to its tables
---@return boolean|nil ok
---@return string? message  why it cannot be encoded; nothing was changed
function Journal:emit(entry, ours)
  if not entry.at then
    entry.at = self:now()
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
  entry.start = nil -- the books and watchers know it
  if not ok then
    return nil, message
  end
  self.begun = nil
  apply(self.books, entry)
  entry.is_large = nil -- this form is for the books; watchers get what was written
  if HELD[entry.t] then
    self:note_place(entry)
  end
  if self.watcher and not self.dull[entry.t] then
    show(self, entry)
  end
  return true
end

---Stores a text separately; the next record names its digest.
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

-- Holds a result until its place in the journal is known.
function Journal:note_place(entry)
  local step = self.books.steps[entry.step]
  local held = (entry.t == "result" and step.known or step.rounds)[entry.c]
  if not self.keeps_nothing then
    self.unplaced[#self.unplaced + 1] = { held = held, number = self.count }
  end
end

---A function is about to run, perhaps for long: watchers are shown that it started, once all earlier records are
---durable.
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
    self:keep_books() -- not after the last record: no batch would take it, and no view is written before one does
  end
end

---Records since the last `durable` are lost with the batch that failed: no watcher shows them, and steps that started
---after it have not started.
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

---The record of a step's finished call or round, or a long text that it has read.
---@param held table  { seq }, { result } or { sha256 }: of the books
---@return table|string
function Journal:reread(held)
  local known = held.result or self.ahead[held]
  self.ahead[held] = nil
  return known or held.seq and read_record(self, held.seq) or read_text(self, held.sha256)
end

---It may be asked for later, when the store must not be read.
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

---From time to time writes a snapshot of the books, so that reading starts there.
function Journal:keep_books()
  if not self.books.run_id then
    return
  elseif not snapshot.is_worth_it(self.books) then
    self.due = self.since + self.interval -- other records come first
    return
  end
  local at = self:now() -- first: that somebody has set the clock is a record before it
  local entry = snapshot.whole(self.books)
  entry.at = at
  if not self:emit(entry) then
    self.due = math.huge -- the books hold something that cannot be encoded: the records alone must do
  end
end

return Journal
