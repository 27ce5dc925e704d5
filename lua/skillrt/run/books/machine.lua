-- run/books/machine.lua: what the books of a run in machine mode say of its states: which one it is in, those before
-- it, how often each limited edge was taken, and the error that is to be dealt with.
--
-- Called by books.lua for records with a `move`: all that it needs stands there. These fields of
-- the state are no progress: a machine that goes round in a circle and changes nothing else stands still.

local instant = require("skillrt.base.instant")
local json = require("skillrt.base.json")
local state_of = require("skillrt.skill.state")

local M = {}

---The fields of the state that the machine alone writes (R143).
M.OWN = { state = true, history = true, metrics = true, error = true }

---@class skillrt.Move  from one state to another, in the record of what led there
---@field from string?     nil: the run begins
---@field to string
---@field action string?
---@field edge string?     of an edge with a limit, taken or tried in vain: how `metrics.edges` names it
---@field class string?    of a class of errors with a limit, the same
---@field keep integer?    how many entries `history` holds at most; where the run begins
---@field error table?     what is to be dealt with from now on: { class, type, message, action, state, timestamp }
---@field settled boolean?  the error before is dealt with

---Which changes of these books count as progress.
---@param books skillrt.Books  of a run in machine mode
function M.mind(books)
  books.state.apart = M.OWN
end

local function begin(books, record, time)
  local metrics = { state_transitions = 0, actions_executed = 0, error_count = 0, start_time = time, edges = {},
    action_duration = {} }
  books.history_most = record.move.keep
  books.state:patch({ state = record.move.to, metrics = metrics })
  books.state:set("history", json.array({ { state = record.move.to, timestamp = time } }))
  M.mind(books)
end

-- The newest stay; when the list is full the older half goes, so that an entry costs the same however many there were.
local function remember(books, entry)
  local state, most = books.state, books.history_most
  local list = state.root.history
  if not json.is_array(list) then -- a person took it away
    list = json.array({})
    state:set("history", list)
  end
  if #list >= most then
    local kept = json.array({})
    table.move(list, #list - (most // 2) + 1, #list, 1, kept)
    state:set("history", kept)
  end
  state:append("history", entry)
end

local function table_of(value)
  return type(value) == "table" and value or {}
end

local function number_of(value)
  return type(value) == "number" and value or 0
end

-- How long an action took: how often, all together, the longest; in ms.
local function lasted(metrics, id, ms)
  local before = table_of(table_of(metrics.action_duration)[id])
  return { [id] = {
    count = number_of(before.count) + 1,
    total_ms = number_of(before.total_ms) + ms,
    longest_ms = math.max(number_of(before.longest_ms), ms),
  } }
end

---The machine has moved, or an error was noted on the way.
---@param books skillrt.Books
---@param record table  with `move`; `ms`: how long the action took
function M.moved(books, record)
  local move, state, time = record.move, books.state, instant.iso(record.at)
  if not move.from then
    return begin(books, record, time)
  end
  local metrics, progress = table_of(state.root.metrics), state.progress
  local counts = { actions_executed = record.t == "done" and number_of(metrics.actions_executed) + 1 or nil,
    error_count = record.t == "fail" and number_of(metrics.error_count) + 1 or nil }
  if record.ms and move.action then
    counts.action_duration = lasted(metrics, move.action, record.ms)
  end
  if move.to then
    counts.state_transitions = number_of(metrics.state_transitions) + 1
    remember(books, { state = move.to, timestamp = time, action = move.action })
  end
  for _, key in pairs({ move.edge, move.class }) do
    counts.edges = counts.edges or {}
    counts.edges[key] = number_of(table_of(metrics.edges)[key]) + 1
    books.same = {} -- what is limited may go round
  end
  state:patch({ state = move.to, metrics = counts, error = move.settled and json.null or nil })
  if move.error then
    local problem = state_of.copy(move.error)
    problem.timestamp = time
    state:set("error", problem)
  end
  state.progress = progress
end

return M
