-- cli/serve/events.lua: the records of runs as server-sent events.
--
-- The journal is the log: a viewer is a record number, so a slow viewer costs no memory. Viewers at the same record
-- share what is read.

local event_of = require("skillrt.report.events").event
local is_books = require("skillrt.run.snapshot").is_books
local json = require("skillrt.base.json")
local look = require("skillrt.run.look")
local store_of = require("skillrt.run.store")

local M = {}

local BATCH <const> = 256 << 10 -- bytes read at once, and queued for a viewer
local BEAT_MS <const> = 15000 -- an event is sent at least that often, so that proxies keep the connection
local SLOW_MS <const> = 100 -- until a slow viewer is tried again

---@class skillrt.cli.serve.Events
---@field http userdata
---@field feeds table<string, table>  by directory: { store, run_id, viewers: { id, next }[] }
local Events = {}
Events.__index = Events

---@return skillrt.cli.serve.Events
function M.new(http)
  return setmetatable({ http = http, feeds = {}, beat = 0 }, Events)
end

---Adds a viewer of a run, from a record on.
---@param id integer  the id of the exchange, whose stream has begun
---@param dir string
---@param from integer
function Events:add(id, dir, from)
  local feed = self.feeds[dir]
  if not feed then
    feed = { store = store_of.at(dir), run_id = (look.first(dir) or {}).run or "", viewers = {} }
    self.feeds[dir] = feed
  end
  feed.viewers[#feed.viewers + 1], feed.goes_on = { id = id, next = from }, true
end

-- Reads from a record on; returns the text of the events, and the number of the next record.
local function read(feed, from)
  local parts, size, behind = {}, 0, from
  local ok, report, message = pcall(feed.store.read, feed.store, function(payload, seq)
    if seq >= from then
      behind = seq + 1
      if not is_books(payload) then -- as in the live events
        parts[#parts + 1] = ("id: %d\ndata: %s\n\n"):format(seq, event_of(payload, feed.run_id))
        size = size + #parts[#parts]
      end
    end
    return size < BATCH
  end, { from = from })
  return table.concat(parts), behind, (not ok or not report) and tostring(message or report) or nil
end

-- Sends new records to the viewers of a run.
local function advance(self, feed)
  local groups = {}
  feed.goes_on, feed.is_slow = false, false
  for _, viewer in ipairs(feed.viewers) do
    if self.http:behind(viewer.id) < BATCH then
      groups[viewer.next] = groups[viewer.next] or {}
      table.insert(groups[viewer.next], viewer)
    else
      feed.is_slow = true
    end
  end
  for from, viewers in pairs(groups) do
    local text, behind, problem = read(feed, from)
    feed.goes_on = feed.goes_on or #text >= BATCH
    for _, viewer in ipairs(viewers) do
      viewer.next = behind
      viewer.gone = text ~= "" and not self.http:push(viewer.id, text)
      if problem then
        self.http:push(viewer.id, ("event: error\ndata: %s\n\n"):format(json.encode({ message = problem })))
        self.http:finish(viewer.id)
        viewer.gone = true
      end
    end
  end
end

---@param now integer  ms
function Events:advance(now)
  local beats = now >= self.beat + BEAT_MS
  self.beat = beats and now or self.beat
  for dir, feed in pairs(self.feeds) do
    local watch = feed.store:changes()
    if not watch or watch:changed() or feed.goes_on or feed.is_slow then
      advance(self, feed)
    end
    local left = {}
    for _, viewer in ipairs(feed.viewers) do
      if not viewer.gone and (not beats or self.http:push(viewer.id, ":\n\n")) then
        left[#left + 1] = viewer
      end
    end
    feed.viewers = left
    self.feeds[dir] = left[1] and feed or nil
  end
end

---The ms until there is work.
---@return integer
function Events:patience()
  local least = next(self.feeds) and 1000 or 60000
  for _, feed in pairs(self.feeds) do
    least = feed.goes_on and 0 or feed.is_slow and math.min(least, SLOW_MS) or least
  end
  return least
end

return M
