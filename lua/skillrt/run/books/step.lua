-- run/books/step.lua: the steps under way, as the books have them: how one begins and ends, and the lists of what is
-- recorded of it. Those of each kind are a list in the order they began, whose newest is "the current action" or phase.
--
-- A step begins in the books before its function runs; its start is written with its first record. Called by the types
-- of records and by journal.lua.

local M = {}

---@class skillrt.Step
---@field number integer
---@field id string             of the action or phase
---@field kind "action"|"phase"
---@field sub string|nil        the sub-run that it belongs to
---@field attempt integer       from 1
---@field told boolean|nil       there is more to it than what its function gives: it drew, waited, undoes, was taken up
---@field root table            the state as it was when the step started
---@field started_at integer    UTC ms
---@field after integer|nil     how many steps were over when it started
---@field edge integer|nil      in machine mode: the row of the table that it was chosen by
---@field undoes integer|nil    the step that it undoes
---@field retry_at integer|nil  UTC ms: not before
---@field failures table[]      failed attempts: their `fail` records
---@field calls table<string, table>    by place: the `call` record of a call that is not over
---@field known table<string, table>    by place: { digest, seq | result } of a call that is over
---@field order string[]        the places of `known`, as they were over; what was dropped stands there still
---@field values table<string, any[]>   by place: times, random numbers and ids drawn there
---@field notes table<string, integer>  by place: lines that were said there
---@field rounds table<string, table>   by place: the newest round of a loop: { n, seq | value, from }
---@field generations table<string, integer>  by place: answered results that were dropped

-- Most steps never fill their lists: they share this one until they do.
local EMPTY = setmetatable({}, {
  __newindex = function()
    error("books: the shared empty list was written to")
  end,
})
M.EMPTY = EMPTY

-- The runtime's field that names the newest step of a kind.
local FIELD <const> = { action = "current_action", phase = "current_phase" }

local Step = { attempt = 1 }
for field in ("failures calls known order values notes rounds tools generations talks blamed"):gmatch("%a+") do
  Step[field] = EMPTY
end
Step.__index = Step

---A list of a step's that may be written to.
---@param step skillrt.Step
---@param field string
---@return table
function M.own(step, field)
  if step[field] == EMPTY then
    step[field], step.told = {}, true
  end
  return step[field]
end

---A step of a snapshot is under way again: the newest of its scope.
---@param books skillrt.Books  of its scope
---@param step table
function M.restore(books, step)
  step.told = true
  M.add(books, setmetatable(step, Step))
end

---@param books skillrt.Books
---@param step skillrt.Step  the newest of all
function M.add(books, step)
  local newest, kind = books.newest, step.kind
  local before = newest[kind]
  if before then
    before.behind, step.before = step, before
  end
  newest[kind], books.steps[step.number], books.open = step, step, books.open + 1
end

---@param books skillrt.Books
---@param step skillrt.Step
---@return skillrt.Step|nil newest  of its kind, of those that are left
function M.remove(books, step)
  local newest, kind, before, behind = books.newest, step.kind, step.before, step.behind
  books.steps[step.number], books.open = nil, books.open - 1
  if before then
    before.behind, step.before = behind, nil
  end
  if behind then
    behind.before, step.behind = before, nil
  else
    newest[kind] = before
  end
  return newest[kind]
end

-- What its start says besides, of few steps.
local function take_said(books, step, said)
  step.edge, step.undoes = said.edge, said.undo
  step.told = said.undo and true or step.told
  if said.same then
    require("skillrt.run.books.spent").same(books, step.id, said)
  end
  if said.plan then
    books.plan = said.plan
  end
  if said.keeps then
    books.state:patch(said.keeps)
  end
end

-- A step goes on that had failed, with all that it had got but what is asked for anew.
local function resume(books, step, from)
  local held = books.held[step.id]
  for _, field in ipairs(require("skillrt.mode.repeats").HELD) do
    step[field] = held[field]
  end
  step.attempt, step.since, step.told = held.attempt + 1, held.attempt, true
  books.held[step.id] = nil
  require("skillrt.run.books.calls").drop(step, from)
end

---A step begins.
---@param books skillrt.Books  of its scope
---@param step table  { number, id, kind, n = iterations with this one, started_at }: it becomes a skillrt.Step
---@param said table  its `start`
---@param whole skillrt.Books  the run's
function M.begin(books, step, said, whole)
  local id, state = step.id, books.state
  whole.last_step = math.max(whole.last_step, step.number)
  if books ~= whole then
    books.last_step = math.max(books.last_step, step.number)
  end
  step.sub = books.sub
  step.cut = whole.doubtful and { ["."] = true } or nil
  if books.status ~= "executing" then
    books.status = "executing"
    state:set("status", "running")
  end
  if books.retrying == id then
    books.retrying, books.stands = nil, nil
  end
  if books.answer ~= nil or books.answers then
    books.answer, books.answers = nil, nil -- they were for this choice
  end
  books.chosen[id] = state.progress
  if books.handlers[1] then
    require("skillrt.run.books.failed").took_over(books, id)
  end
  take_said(books, step, said)
  step.root, step.after = state:begin(step.n, FIELD[step.kind], id), books.finished
  M.add(books, setmetatable(step, Step))
  if said.from then
    resume(books, step, said.from)
  end
  if said.tool_set then
    require("skillrt.run.books.phased").start(books, step, said)
  end
end

---A step is over, or as if it had not begun: nobody looks at its state any more.
---@param books skillrt.Books  of its scope
---@param step skillrt.Step
---@param record table  that ends it
function M.close(books, step, record)
  local newest = M.remove(books, step)
  if books.sub or books.bounds and books.bounds[step.id] then -- there is a limit that its time may count in
    require("skillrt.run.books.spent").closed(books, step, record.at)
  end
  if step.undoes and record.step == step.number then
    require("skillrt.run.books.failed").undone(books, step, record)
  end
  books.finished = books.finished + 1
  if books.doubtful then
    books.doubtful = nil
  end
  books.state:over(step.root, FIELD[step.kind], step.id, newest and newest.id)
end

---A line was said at a place of a step, once for good.
---@param step skillrt.Step|nil
---@param record table
function M.said(step, record)
  if step then
    local place, notes = record.c or "0", M.own(step, "notes")
    notes[place] = (notes[place] or 0) + 1
  end
end

return M
