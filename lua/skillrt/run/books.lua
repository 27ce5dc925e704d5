-- run/books.lua: the books of a run: what a sequence of journal records amounts to.
--
-- The only place where a record changes anything: a live run applies each record as it is written, a
-- resumed run applies the same records as they are read back, so both arrive at the same books. The
-- records stand in docs/steps.md and docs/architecture.md. Knows no agents, no journal file, no mode.

local under_way = require("skillrt.run.books.under_way")
local failed = require("skillrt.run.books.failed")
local json = require("skillrt.base.json")
local spent = require("skillrt.run.books.spent")
local state = require("skillrt.skill.state")

-- Loaded when a run first goes back, a step first calls, or a journal is older than calls.
local function later(name)
  return setmetatable({}, { __index = function(_, key) return require(name)[key] end })
end
local arrived = later("skillrt.run.books.arrived")
local asked = later("skillrt.run.books.asked")
local back = later("skillrt.run.books.back")
local calls = later("skillrt.run.books.calls")
local machine = later("skillrt.run.books.machine")
local old = later("skillrt.run.books.old")
local subs = later("skillrt.run.books.subs")

local M = {}

---@class skillrt.Books
---@field state skillrt.State
---@field steps table<integer, skillrt.Step>  steps under way
---@field open integer                         how many
---@field last_step integer
---@field finished integer                     steps that are over
---@field runs table<string, integer>          how often each action or phase completed
---@field spent table<string, number>  what the run used up of its limits: "calls", "usage.tokens"
---@field spent_by table<string, table<string, number>>  the same, of each action and phase
---@field added table<string, number>|nil  what was added to limits, by their full names; `bounds`: of skill/limits.lua
---@field chosen table<string, integer>   the state's progress when an action or phase began last
---@field same table<string, table<string, integer>>  how often an action began in a state, by its fingerprint
---@field given_up table<string, skillrt.OnError>  what failed too often, and what follows
---@field handlers string[]   who takes over next
---@field fatal string|nil    the action that ends the run by having failed
---@field free_errors integer|nil  those that do not count for max_errors
---@field limit string|nil    the full name of the limit that it ended at
---@field active number|nil   ms that the run was open before it was opened last
---@field opened_at integer   UTC ms, when that was
---@field subs table<string, skillrt.Books>|nil  of sub-runs under way, by scope
---@field status string   pending executing completed failed aborted paused
---@field reason string|nil

---The form of the records: 2 since steps have calls.
M.FORMAT = 2

---@return skillrt.Books
function M.new()
  local self = { steps = {}, open = 0, last_step = 0, finished = 0, status = "pending", at = 0, newest = {} }
  for _, field in ipairs({ "runs", "outputs", "completed", "skipped", "failed", "pins", "spent", "spent_by",
    "chosen", "same", "given_up", "handlers", "returned" }) do
    self[field] = {}
  end
  return self
end

---ISO 8601 in UTC, with milliseconds.
---@param ms integer
---@return string
function M.iso(ms)
  return os.date("!%Y-%m-%dT%H:%M:%S", ms // 1000) .. (".%03dZ"):format(ms % 1000)
end

local apply = {}

-- Most steps never fill their lists: they share this one until they do.
local EMPTY = setmetatable({}, {
  __newindex = function()
    error("books: the shared empty list was written to")
  end,
})

local Step = {}
for field in ("failures calls known order values notes rounds tools generations"):gmatch("%a+") do
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
local own = M.own

---A step that is under way, with what is not given as it is in the beginning.
---@param step table
---@return skillrt.Step
function M.step(step)
  step.told = true
  return setmetatable(step, Step)
end

function apply.run(self, record)
  self.run_id, self.skill, self.version = record.run, record.skill, record.version
  self.mode, self.input, self.pins = record.mode, record.input, record.pins
  self.context_strategy, self.started_at = record.context, record.at
  self.args, self.cwd, self.format = record.args, record.cwd, record.format or 1
  self.opened_at, self.bounds = record.at, record.bounds
  local initial = state.copy(record.state)
  initial.skill_name = record.skill
  initial.run_id = record.run
  initial.status = "pending"
  initial.started_at = M.iso(record.at)
  initial.completed_actions = json.array({})
  initial.errors = json.array({})
  initial.error_count = 0
  initial.iteration_count = 0
  initial.input = record.input
  initial.context = {}
  initial.outputs = {}
  initial.phases_completed = json.array({})
  initial.phases_skipped = json.array({})
  self.state = state.new(initial)
end

function apply.start(self, record)
  local id, kind = record.action, "action"
  if not id then
    id, kind = record.phase, "phase"
  end
  self.last_step = record.step
  local books = self.state
  if self.status ~= "executing" then
    self.status = "executing"
    books:set("status", "running")
  end
  if self.retrying == id then
    self.retrying = nil
  end
  self.answer, self.answers = nil, nil -- they were for this choice
  books:set("iteration_count", record.n)
  self.chosen[id] = books.progress
  if self.handlers[1] then
    failed.took_over(self, id)
  end
  if record.same then
    spent.same(self, id, record)
  end
  books:set(kind == "phase" and "current_phase" or "current_action", id)
  under_way.add(self, setmetatable({
    number = record.step,
    id = id,
    kind = kind,
    attempt = 1,
    started_at = record.at,
    root = books:hold(),
    after = self.finished,
    edge = record.edge,
    before = nil, -- named with the next, so that there is room
    behind = nil,
  }, Step))
end

-- The step is over: nobody looks at its state any more.
local function close_step(self, step, at)
  spent.closed(self, step, at)
  local books, newest = self.state, under_way.remove(self, step)
  self.finished = self.finished + 1
  books:release(step.root)
  local field = step.kind == "phase" and "current_phase" or "current_action"
  if books.root[field] == step.id then
    books:set(field, newest and newest.id)
  end
end

-- Times, random numbers and ids that came with a record: a list of those drawn before the first call.
local function keep_values(step, rec)
  if rec[1] ~= nil then
    rec = { ["0"] = rec }
  end
  local values = own(step, "values")
  for place, drawn in pairs(rec) do
    local list = values[place] or {}
    values[place] = table.move(drawn, 1, #drawn, #list + 1, list)
  end
end

function apply.fail(self, record)
  local step = self.steps[record.step]
  table.insert(own(step, "failures"), record)
  if record.retry then
    self.retries = (self.retries or 0) + 1
    step.attempt = record.attempt + 1
    step.retry_at = record.at + record.retry
    if record.blame then
      calls.drop(step, record.blame)
    else
      calls.forget(step)
    end
    return
  end
  close_step(self, step, record.at)
  spent.add(self, step.id, "max_errors", 1)
  failed.note(self, step, record, record.message, M.iso(record.at))
  if record.over or record.again then
    failed.follow(self, step, record, M.iso(record.at))
  end
end

local function complete_phase(self, step, record)
  self.state:append("phases_completed", {
    id = step.id,
    completed_at = M.iso(record.at),
    output = record.file,
  })
end

function apply.done(self, record)
  local step = self.steps[record.step]
  local id, books = step.id, self.state
  close_step(self, step, record.at)
  if record.set then
    books:patch(record.set)
  end
  if record.context then
    for key, value in pairs(record.context) do
      books:replace("context", key, value)
    end
  end
  self.runs[id] = (self.runs[id] or 0) + 1
  self.returned[id] = record.set or EMPTY
  if record.partial then
    if step.kind == "phase" then
      local text = "only partly done" .. (record.summary and ": " .. record.summary or "")
      failed.note(self, step, record, text, M.iso(record.at))
    end
    return
  end
  self.failed[id], self.skipped[id] = nil, nil
  if self.last_failed and self.last_failed.id == id then
    self.last_failed = nil
  end
  if record.out ~= nil then
    books:replace("outputs", id, record.out)
  end
  if record.file then
    self.outputs[record.file] = id
  end
  if not self.completed[id] then
    self.completed[id] = true
    if step.kind == "phase" then
      complete_phase(self, step, record)
    else
      books:append("completed_actions", id)
    end
  end
end

function apply.skip(self, record)
  local step = self.steps[record.step]
  local id = step and step.id or record.phase
  self.skipped[id] = record.why
  failed.took_over(self, id)
  if step then
    close_step(self, step, record.at)
    self.runs[id] = (self.runs[id] or 0) + 1 -- it is given up, not chosen once more
    if step.kind == "action" then
      return
    end
  end
  self.state:append("phases_skipped", { id = id, reason = record.why, skipped_at = M.iso(record.at) })
end

function apply.stop(self, record)
  self.status, self.reason, self.message, self.limit = record.status, record.reason, record.message, record.limit
  self.programs = nil -- they ended with it
  if self.answer == false then -- the person gave up, and may be asked again later
    self.answer = nil
  end
  self.state:set("status", record.status)
  if record.status == "completed" then
    self.state:set("completed_at", M.iso(record.at))
  elseif record.status == "failed" or record.status == "aborted" then
    self.state:set("failed_at", M.iso(record.at))
  end
end

function apply.resume(self, record)
  calls.cut(self, record)
  spent.reopened(self, record)
  self.status = self.last_step > 0 and "executing" or "pending"
  self.reason, self.message = nil, nil
  self.state:set("status", self.last_step > 0 and "running" or "pending")
  self.state:set("completed_at", nil)
  self.state:set("failed_at", nil)
end

function apply.loop(self, record)
  self.loop_end = { status = record.status, reason = record.reason, message = record.message }
end

function apply.edit(self, record)
  self.state:patch(record.set)
end

function apply.accept(self, record)
  self.pins = record.pins
end

function apply.pin(self, record)
  self.pins = state.merge(self.pins, record.pins)
end

function apply.note(self, record)
  local step = record.step and self.steps[record.step]
  if step then
    local place = record.c or "0"
    local notes = own(step, "notes")
    notes[place] = (notes[place] or 0) + 1
  end
end

-- What the function of a step said it used.
function apply.used(self, record, whole)
  apply.note(self, record) -- it is said once, as lines are
  spent.used(whole, self.steps[record.step], record.used)
end

function apply.books() end -- what it says is known; snapshot.lua may begin with it

-- What is told of the calls of a step, each by the function of that name in books/calls.lua.
local OF_CALLS <const> = { call = 1, attempt = 1, result = 1, doubt = 1, round = 1, drop = 1, tool = 1 }

-- What a part of the books has the function of that name for.
local ELSEWHERE <const> = { ask = asked, answer = asked, event = arrived, retry = back, rewind = back, program = calls }

---Applies one record. Raises where the records do not fit each other (a journal of another
---program, or a bug): the caller reports it with the record's place.
---@param self skillrt.Books
---@param record table
---@param seq integer|nil  its number in the journal, where it is read back
function M.apply(self, record, seq)
  local kind = record.t
  local change = apply[kind]
  local scope, ended = self, nil
  if self.subs or record.sub then
    scope, ended = subs.enter(self, record, M.new)
  end
  if record.rec and kind ~= "done" then
    keep_values(self.steps[record.step], record.rec)
  end
  if change then
    change(scope, record, self)
  elseif OF_CALLS[kind] then
    local step = self.steps[record.step]
    calls[kind](step, record, seq)
    if kind == "call" and calls.ACTS[record.kind] and not record.pure then
      spent.of_call(self, step, "calls", 1)
    end
    self.retries = kind == "attempt" and (self.retries or 0) + 1 or self.retries
    if record.q or record.w then
      asked.of_call(self, record)
    end
  elseif ELSEWHERE[kind] then
    ELSEWHERE[kind][kind](self, record, close_step)
  elseif old[kind] then
    old[kind](self, record)
  else
    error(("record of unknown type %q: written by a newer skillrt?"):format(tostring(kind)), 0)
  end
  if record.move then
    machine.moved(scope, record, M.iso(record.at))
  end
  if record.arrival then
    arrived.seen(self, record.arrival)
  end
  if self.subs then
    subs.after(self, scope, record, ended)
  end
  self.at = record.at or self.at
end

return M
