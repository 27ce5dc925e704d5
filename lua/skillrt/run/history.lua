-- run/history.lua: a journal read back: only what came after its newest `books` record is applied.
--
-- Such a record holds all that the books say, written now and then between steps, so
-- that going on with a run costs the same however many steps it had. Knows the ledger and record
-- payloads, no files. Called by policy.lua and cmd/log.lua.

local books_of = require("skillrt.run.ledger")
local record = require("skillrt.base.record")
local state = require("skillrt.skill.state")

local M = {}

---How many bytes of records make a new `books` record worth its own, at least.
M.INTERVAL = 256 * 1024
-- ... and how many times its own size: a large state is not written for every few small changes.
local TIMES <const> = 8

-- A `books` record ends like this and no other does: its type is its last key, and in any other a
-- value of such an end is followed by one more bracket.
M.ENDING = '"t":"books"}'

-- Records kept back at most, in case a `books` record makes them needless.
local KEPT_MOST <const> = 8192

local APART <const> = { steps = true, open = true, state = true }

---All that the books say, as a record; nil while a step is under way or a question open.
---@param ledger skillrt.Ledger
---@return table|nil record
function M.whole(ledger)
  if ledger.open > 0 or ledger.question or ledger.retrying then
    return nil
  end
  local books = {}
  for field, value in pairs(ledger) do
    if not APART[field] then
      books[field] = value
    end
  end
  return { t = "books", books = books, state = ledger.state.root }
end

-- Takes over what such a record tells, whatever the books said before.
local function restore(ledger, entry)
  for field in pairs(ledger) do
    ledger[field] = nil
  end
  for field, value in pairs(entry.books) do
    ledger[field] = value
  end
  ledger.steps, ledger.open, ledger.at = {}, 0, entry.at
  ledger.state = state.new(entry.state)
end

---@class skillrt.History
---@field since integer  bytes of records since the newest `books` record
---@field due number|nil  from how many on the next one is due
local History = {}
History.__index = History

---@param ledger skillrt.Ledger
---@param interval integer?  instead of INTERVAL, and whatever the size
---@return skillrt.History
function M.new(ledger, interval)
  local self = { ledger = ledger, interval = interval or M.INTERVAL, times = interval and 0 or TIMES, since = 0 }
  self.kept, self.count = {}, 0
  return setmetatable(self, History)
end

---Whether a record is one of all the books, which tells nothing that happened.
---@param payload string
---@return boolean
function M.is_books(payload)
  return payload:sub(-#M.ENDING) == M.ENDING
end

---A record was read or written. The first of a run holds its state, as large as it is then.
---@param size integer  of its payload, in bytes
---@param is_books boolean
---@param blobs table[]|nil  { digest, text } that it refers to, where it was written now
function History:passed(size, is_books, blobs)
  local since = self.since + size
  if is_books or not self.due then
    for _, blob in ipairs(blobs or {}) do
      size = size + #blob[2]
    end
    self.due = math.max(self.interval, self.times * size)
    since = is_books and 0 or since
  end
  self.since = since
end

---One record of the journal, in order.
---@param payload string
---@param seq integer
---@param read_blob function
function History:add(payload, seq, read_blob)
  self.read_blob = read_blob
  local starts_anew = M.is_books(payload)
  self:passed(#payload, starts_anew)
  if starts_anew then
    self.count = 0
  elseif self.count >= KEPT_MOST then
    self:apply()
  end
  if self.count == 0 then
    self.first, self.anew = seq, starts_anew
  end
  self.count = self.count + 1
  self.kept[self.count] = payload
end

---Applies what was kept back.
function History:apply()
  local kept, ledger = self.kept, self.ledger
  for i = 1, self.count do
    local entry, message, code = record.decode(kept[i], self.read_blob)
    if not entry then
      error({ message = ("record %d: %s"):format(self.first + i - 1, message), code = code }, 0)
    elseif i == 1 and self.anew then
      restore(ledger, entry)
    else
      books_of.apply(ledger, entry)
    end
  end
  self.kept, self.count, self.anew = {}, 0, false
end

return M
