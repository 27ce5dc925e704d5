-- run/books/step.lua: a step that is under way: how it begins, and the lists of what is recorded of it.
--
-- A step begins in the books before its function runs, whether its start is a record of its own by then or comes with
-- its end. Part of books.lua.

local failed = require("skillrt.run.books.failed")
local repeats = require("skillrt.mode.repeats")
local spent = require("skillrt.run.books.spent")
local under_way = require("skillrt.run.books.under_way")
local calls = setmetatable({}, { __index = function(_, key) return require("skillrt.run.books.calls")[key] end })
local phased = setmetatable({}, { __index = function(_, key) return require("skillrt.run.books.phased")[key] end })

local M = {}

-- Most steps never fill their lists: they share this one until they do.
local EMPTY = setmetatable({}, {
  __newindex = function()
    error("books: the shared empty list was written to")
  end,
})
M.EMPTY = EMPTY

-- The runtime's field that names the newest step of a kind.
local FIELD <const> = { action = "current_action", phase = "current_phase" }
M.FIELD = FIELD

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

---A step that is under way, with what is not given as it is in the beginning.
---@param step table
---@return skillrt.Step
function M.new(step)
  step.told = true
  return setmetatable(step, Step)
end

-- What its start says besides, of few steps.
local function take_said(books, step, said)
  step.edge, step.undoes = said.edge, said.undo
  step.told = said.undo and true or step.told
  if said.same then
    spent.same(books, step.id, said)
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
  for _, field in ipairs(repeats.HELD) do
    step[field] = held[field]
  end
  step.attempt, step.since, step.told = held.attempt + 1, held.attempt, true
  books.held[step.id] = nil
  calls.drop(step, { from = from })
end

---A step begins.
---@param books skillrt.Books
---@param step table  { number, id, kind, n = iterations with this one, started_at }: it becomes a skillrt.Step
---@param said table|nil  what its `start` says besides
function M.begin(books, step, said)
  local id, state = step.id, books.state
  books.last_step = math.max(books.last_step, step.number)
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
    failed.took_over(books, id)
  end
  if said then
    take_said(books, step, said)
  end
  step.root, step.after = state:begin(step.n, FIELD[step.kind], id), books.finished
  under_way.add(books, setmetatable(step, Step))
  if said and said.from then
    resume(books, step, said.from)
  end
  if said and said.tool_set then
    phased.start(books, step, said)
  end
end

---The `start` of a step, where its `done` stands for both: nothing of it was recorded in between.
---@param record table  any
---@return table|nil start
function M.start_in(record)
  return record.t == "done" and record.n and { t = "start", step = record.step, action = record.action, n = record.n,
    at = record.at - record.ms } or nil
end

---What a record tells, one after the other.
---@param record table
---@param take fun(record: table, ...: any): any
---@return any of_the_last
function M.each(record, take, ...)
  local start = M.start_in(record)
  if start then
    take(start, ...)
  end
  return take(record, ...)
end

return M
