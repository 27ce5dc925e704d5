-- run/books/arrivals.lua: what came from outside: the ids of arrivals, so that a repeated one is taken once, and a
-- queue for each event name with events that no step has received yet.
--
-- Called by the record types event, call and result, and by whoever takes arrivals.

local names = require("skillrt.base.names")

local M = {}

---How many events may wait to be received; and how many ids, at least, are remembered.
M.MOST = 1000

local NONE <const> = {}

---An arrival was taken from the inbox.
---@param books skillrt.Books
---@param id string
function M.seen(books, id)
  local ids, count = books.arrivals or {}, (books.arrived_count or 0) + 1
  books.arrivals, books.arrived_count = ids, count
  ids[id] = count
  if count % M.MOST == 0 then -- the oldest are dropped
    for one, number in pairs(ids) do
      if number <= count - 2 * M.MOST then
        ids[one] = nil
      end
    end
  end
end

---Whether an arrival was already taken.
---@param books skillrt.Books
---@param id string
---@return boolean
function M.is_seen(books, id)
  return (books.arrivals or NONE)[id] ~= nil
end

---An event came. Of consecutive ends of a session's programs that no step has received, only the last stays.
---@param books skillrt.Books
---@param record table  { name, value, arrival, ended = number of a session's program }
function M.came(books, record)
  local events, name = books.events or {}, record.name
  local queue = events[name] or {}
  local at = #queue + 1
  if record.ended then
    books.talking[name:sub(9)] = nil -- after "session:"
    at = queue[at - 1] and queue[at - 1].ended and at - 1 or at
  end
  books.events, books.events_count = events, (books.events_count or 0) + at - #queue
  events[name] = queue
  queue[at] = { arrival = record.arrival, value = record.value, at = record.at, ended = record.ended }
end

---A message is sent to a session: which of its programs answers it, and how many were sent before.
---@param books skillrt.Books
---@param step skillrt.Step
---@param record table  { session, epoch, said }
function M.talked(books, step, record)
  local name = record.session
  books.epochs, books.talking = books.epochs or {}, books.talking or {}
  if record.epoch > (books.epochs[name] or 0) then
    books.epochs[name], books.talking[name] = record.epoch, record.epoch
  end
  books.said = math.max(books.said or 0, record.said)
  step:own("talks")[name] = record.epoch
end

---The event of a name that has waited longest.
---@param books skillrt.Books
---@param name string
---@return table|nil event  { arrival, value, at }
function M.first(books, name)
  local queue = (books.events or NONE)[name]
  return queue and queue[1]
end

---A step received the first event of a name.
---@param books skillrt.Books
---@param name string
function M.took(books, name)
  local queue = books.events[name]
  table.remove(queue, 1)
  books.events_count = books.events_count - 1
  if #queue == 0 then
    books.events[name] = nil
  end
end

---The events that no step has received.
---@param books skillrt.Books
---@return table[]  { name, value, at }, by name and then as they came
function M.list(books)
  local list = {}
  for _, name in ipairs(names.sorted(books.events or NONE)) do
    for _, event in ipairs(books.events[name]) do
      list[#list + 1] = { name = name, value = event.value, at = event.at }
    end
  end
  return list
end

return M
