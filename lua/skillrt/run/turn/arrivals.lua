-- run/turn/arrivals.lua: answers and events from outside, on their way into a live run: in the order in which they
-- came, and in order with the times that were due.
--
-- Recorded first, then applied; a file is removed only when its record is durable. Knows turn, store, questions and
-- waits. Called by turn.lua.

local arrived = require("skillrt.run.books.arrivals")
local child = require("skillrt.run.call.kind.child")
local core = require("skillrt.core")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local questions = require("skillrt.run.questions")
local steady = require("skillrt.run.steady")

---@class skillrt.Arrivals
---@field turn skillrt.Turn
---@field recorded string[]    arrivals whose records are not yet durable
---@field handed table[]|nil   answers and events from a host, or from whoever resumed the run
---@field has_come boolean     there is or may be something
---@field deaf boolean         the inbox cannot be watched
---@field unread integer       how often in a row it could not be read
---@field again_at integer|nil  of steady.lua: when it is read again after that
local Arrivals = {}
Arrivals.__index = Arrivals

---@param turn skillrt.Turn
---@return skillrt.Arrivals
function Arrivals.new(turn)
  return setmetatable({ turn = turn, recorded = {}, has_come = false, deaf = false, unread = 0 }, Arrivals)
end

-- The delay before an unreadable inbox is read again, and how often.
local AGAIN_MS <const>, MOST_UNREAD <const> = 100, 100

-- An entry from the inbox or a host: an answer or an event; or why it is neither.
local function read(text, name)
  local entry, why = json.decode(text)
  if not json.is_object(entry) then
    return { problem = "is not a JSON object" .. (why and ": " .. why or "") }
  end
  local id = entry.id == nil and name and name:match("^(.*)%.json$") or entry.id
  local what = { arrival = id, event = entry.event, value = entry.value, question = entry.question,
    nonce = entry.nonce, approval = entry.approval, steer = entry.steer, agent = entry.agent, text = entry.text,
    cancel = entry.cancel }
  if id ~= nil and (type(id) ~= "string" or id == "" or #id > 200) then
    what.problem = "its id must be a text of at most 200 bytes"
  elseif type(entry.event) == "string" then
    what.value = entry.value == nil or entry.value
  elseif entry.answer ~= nil and entry.answer ~= json.null then
    what.event, what.value = nil, entry.answer
  elseif not (what.steer or what.cancel) then
    what.problem = 'has neither "answer" nor "event"'
  end
  return what
end

-- Reports the reason, and sets the file aside.
local function refuse(turn, what, why)
  turn.journal:note(("%s: %s"):format(what.name and "inbox/" .. what.name or "what was handed to the run", why))
  if what.name then
    turn.run.store:refuse(what.name)
  end
end

-- An event is kept until a step receives it.
local function keep(turn, what)
  local books = turn.books
  if child.is_unwanted(books, what.event) then
    return true
  end
  local problem = not child.is_outcome(what.event) and names.problem_of_event(what.event)
  if not problem and (books.events_count or 0) >= arrived.MOST then
    problem = ("the event %s was refused: %d are waiting already, and no step takes them"):format(what.event,
      arrived.MOST)
  end
  if problem then
    return nil, problem
  end
  local ok, why = turn:emit({ t = "event", name = what.event, value = what.value, arrival = what.arrival })
  if ok then
    turn.calls:event_came(what.event)
  end
  return ok, why
end

local function take(turn, what, recorded)
  if what.problem then
    return refuse(turn, what, what.problem)
  elseif not (what.arrival and arrived.is_seen(turn.books, what.arrival)) then -- otherwise it was put in twice
    local ok, why
    if what.event then
      ok, why = keep(turn, what)
    elseif what.cancel then
      ok, why = turn:cancel(what.cancel)
    elseif what.steer then
      ok, why = require("skillrt.run.steering").take(turn, what)
    else
      ok, why = questions.take(turn, what)
    end
    if not ok then
      return refuse(turn, what, why)
    end
  end
  table.insert(recorded, what.name)
end

---Takes what has come.
function Arrivals:take()
  local turn = self.turn
  local now, list, handed = core.wall_ms(), {}, self.handed or {}
  self.handed, self.has_come, self.again_at = nil, false, nil
  if not turn.run.keeps_nothing then
    local arrivals, whole = turn.run.store:take()
    for i, arrival in ipairs(arrivals) do
      list[i] = arrival.text and read(arrival.text, arrival.name) or { problem = arrival.problem }
      list[i].name, list[i].came = arrival.name, math.min(now, arrival.came)
    end
    self.unread = not whole and self.unread + 1 or 0
    if not whole and self.unread <= MOST_UNREAD then -- no free descriptors now: it stays there
      self.has_come, self.again_at = true, core.mono_ms() + AGAIN_MS
    end
  end
  local answered = {}
  turn.run.limits:rest(false)
  for _, what in ipairs(handed) do
    list[#list + 1] = what
    answered[what.question or 0] = true
  end
  for _, what in ipairs(list) do
    turn:ring(steady.at(turn.run, what.came or now))
    if what.name and answered[what.question] then
      refuse(turn, what, "the process that resumed the run gave another answer")
    else
      take(turn, what, self.recorded)
    end
  end
end

---Records are durable: removes the entries from the inbox.
function Arrivals:durable()
  for i = #self.recorded, 1, -1 do
    self.turn.run.store:acknowledge(table.remove(self.recorded, i))
  end
end

---Something may have come while the run was closed; whoever resumed it gave answers.
---@param answers table[]|nil
function Arrivals:reopen(answers)
  self.handed, self.has_come = answers, true
end

---Something came: the next choice handles it.
---@param source string
---@param bytes string
function Arrivals:noticed(source, bytes)
  local turn = self.turn
  if source == "inbox" then
    self.has_come = true
  elseif source == "deaf" then
    self.deaf = true
    turn.journal:note(bytes .. "; the next resume reads it")
  elseif source == "answer" or source == "event" then
    self.handed, self.has_come = self.handed or {}, true
    table.insert(self.handed, read(bytes))
  end
end

return Arrivals
