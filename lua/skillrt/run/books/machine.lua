-- run/books/machine.lua: the states of a run in machine mode: the present one, the earlier ones, how often each
-- limited edge was taken, and the error to be handled.
--
-- Called by books.lua for records with a `move`, which hold all that is needed. These fields of the state do not
-- count as progress: a machine that cycles without changing anything else makes none.

local instant = require("skillrt.base.instant")
local json = require("skillrt.base.json")
local state_of = require("skillrt.skill.state")

local M = {}

---The fields of the state that only the machine writes (R143).
M.OWN = { state = true, history = true, metrics = true, error = true }

---@class skillrt.Move  from one state to another, in the record that caused it
---@field from string?     nil: the run starts
---@field to string
---@field action string?
---@field edge string?     an edge with a limit that was taken or tried, under its name in `metrics.edges`
---@field class string?    a class of errors with a limit, likewise
---@field keep integer?    how many entries `history` holds at most; set when the run starts
---@field error table?     the error to handle from now on: { class, type, message, action, state, timestamp }
---@field settled boolean?  the previous error has been handled

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

-- Keeps the newest; when the list is full its older half is dropped, so that an entry costs the same however many
-- there were.
local function remember(books, entry)
  local state, most = books.state, books.history_most
  local list = state.root.history
  if not json.is_array(list) then -- a person removed it
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

-- The durations of an action: count, total, longest; in ms.
local function lasted(metrics, id, ms)
  local before = table_of(table_of(metrics.action_duration)[id])
  return { [id] = {
    count = number_of(before.count) + 1,
    total_ms = number_of(before.total_ms) + ms,
    longest_ms = math.max(number_of(before.longest_ms), ms),
  } }
end

---The machine has moved, or an error was noted without a move.
---@param books skillrt.Books
---@param record table  with `move`; `ms`: the duration of the action
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
    books.same = {} -- limited edges may form a cycle
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
