-- run/books.lua: the books of a run: what a sequence of journal records amounts to.
--
-- The only place where a record changes anything: a live run applies each record as it is written, a
-- resumed run applies the same records as they are read back, so both arrive at the same books. The
-- records stand in docs/steps.md and docs/architecture.md. Knows no agents, no journal file, no mode.

local under_way = require("skillrt.run.books.under_way")
local failed = require("skillrt.run.books.failed")
local fields = require("skillrt.run.books.fields")
local of_run = require("skillrt.run.books.of_run")
local spent = require("skillrt.run.books.spent")
local step_of = require("skillrt.run.books.step")

-- Loaded when a run first goes back, or a step first calls.
local function later(name)
  return setmetatable({}, { __index = function(_, key) return require(name)[key] end })
end
local arrived = later("skillrt.run.books.arrived")
local asked = later("skillrt.run.books.asked")
local back = later("skillrt.run.books.back")
local calls = later("skillrt.run.books.calls")
local repeats = later("skillrt.mode.repeats")
local lifecycle = later("skillrt.run.books.lifecycle")
local same_failures = require("skillrt.skill.limit.same_failures")
local machine = later("skillrt.run.books.machine")
local moments = later("skillrt.run.books.moments")
local phased = later("skillrt.run.books.phased")
local subs = later("skillrt.run.books.subs")

local begin, own, EMPTY, FIELD = step_of.begin, step_of.own, step_of.EMPTY, step_of.FIELD

local M = { own = own, step = step_of.new, begin = begin, each = step_of.each,
  start_in = step_of.start_in }

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
---@field tool_set string|nil  the active one
---@field phases table[]|nil   what came of those that were entered: books/phased.lua
---@field status string   pending executing completed failed aborted paused
---@field reason string|nil

---@return skillrt.Books
function M.new()
  local self = { steps = {}, open = 0, last_step = 0, finished = 0, status = "pending", at = 0, newest = {} }
  for field in pairs(fields.TABLES) do
    self[field] = {}
  end
  return self
end

---ISO 8601 in UTC, with milliseconds.
M.iso = of_run.iso

local apply = {}

function apply.start(self, record)
  local kind = record.action and "action" or "phase"
  begin(self, { number = record.step, id = record[kind], kind = kind, n = record.n, started_at = record.at }, record)
end

-- The step of a `done` that stands for its start, too.
local function begun_with(self, record)
  apply.start(self, step_of.start_in(record))
  return self.steps[record.step]
end

-- The step is over: nobody looks at its state any more.
local function close_step(self, step, at, record)
  local newest = under_way.remove(self, step)
  if self.sub or self.bounds and self.bounds[step.id] then -- there is a limit that its time may count in
    spent.closed(self, step, at)
  end
  if step.told and step.undoes and record then
    lifecycle.undone(self, step, record)
  end
  self.finished = self.finished + 1
  self.state:over(step.root, FIELD[step.kind], step.id, newest and newest.id)
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
  if record.rec then
    keep_values(step, record.rec)
  end
  table.insert(own(step, "failures"), record)
  same_failures.count(self, step.id, record)
  if record.retry then
    self.retries = (self.retries or 0) + 1
    step.attempt = record.attempt + 1
    step.retry_at = record.at + record.retry
    if record.blame then
      calls.drop(step, record.blame)
    elseif next(step.known) == nil then
      calls.forget(step)
    end
    return
  elseif record.over == "script" then -- it stays open until its code is fixed, with all that it has got
    step.since, step.attempt, step.retry_at = record.attempt, record.attempt + 1, nil
    return
  end
  repeats.hold(self, step, record)
  close_step(self, step, record.at, record)
  if step.tool_set then
    phased.over(self, step, record)
  end
  spent.add(self, step.id, "max_errors", 1)
  failed.note(self, step, record, record.message, M.iso(record.at))
  if record.over or record.again then
    failed.follow(self, step, record, M.iso(record.at))
  end
end

-- A step that completed for the first time.
local function first_done(self, step, record)
  self.completed[step.id] = true
  if step.kind == "phase" then
    self.state:append("phases_completed", {
      id = step.id,
      completed_at = M.iso(record.at),
      output = record.file,
    })
  else
    self.state:append("completed_actions", step.id)
  end
end

-- What the end of a step says besides updates; whether it counts as completed.
local function done_more(self, step, record, whole)
  local id, state, large = step.id, self.state, record.is_large
  if large then
    self.returned[id] = EMPTY -- nobody holds it longer than he must
  end
  if step.tool_set then
    phased.over(self, step, record)
  end
  if record.context then
    for key, value in pairs(record.context) do
      state:replace("context", key, value)
    end
  end
  if record.checkpoint then
    moments.checkpoint(whole, record)
  elseif record.damaged then
    moments.damaged(self, whole, step, record, M.iso(record.at))
  end
  if record.partial then
    if step.kind == "phase" then
      local text = "only partly done" .. (record.summary and ": " .. record.summary or "")
      failed.note(self, step, record, text, M.iso(record.at))
    end
    return false
  end
  if record.out ~= nil then
    state:replace("outputs", id, record.out, large)
  end
  if record.file then
    self.outputs[record.file] = id
  end
  return true
end

function apply.done(self, record, whole, simple)
  local step = self.steps[record.step] or begun_with(self, record)
  local id = step.id
  close_step(self, step, record.at, record)
  if record.set then
    self.state:patch(record.set, not simple and record.is_large, simple)
  end
  self.runs[id] = (self.runs[id] or 0) + 1
  if self.held then
    repeats.release(self, id, record)
  end
  if record.keep then
    repeats.hold(self, step, record)
  end
  self.returned[id] = record.set or EMPTY
  if not simple and not done_more(self, step, record, whole) then
    return
  end
  if not self.completed[id] then
    first_done(self, step, record)
  end
  if self.failed[id] or self.skipped[id] then
    self.failed[id], self.skipped[id] = nil, nil
  end
  if self.signatures then
    self.signatures[id] = nil
  end
  if self.last_failed and self.last_failed.id == id then
    self.last_failed = nil
  end
end

function apply.skip(self, record)
  local step = self.steps[record.step]
  local id = step and step.id or record.phase
  self.skipped[id] = record.why
  failed.took_over(self, id)
  if step then
    repeats.hold(self, step, record)
    close_step(self, step, record.at, record)
    self.runs[id] = (self.runs[id] or 0) + 1 -- it is given up, not chosen once more
    if step.kind == "action" then
      return
    end
  end
  self.state:append("phases_skipped", { id = id, reason = record.why, skipped_at = M.iso(record.at) })
end

function apply.note(self, record)
  local step = record.step and self.steps[record.step]
  if step then
    local place = record.c or "0"
    local notes = own(step, "notes")
    notes[place] = (notes[place] or 0) + 1
    if record.failed then
      own(step, "blamed")[place] = true
    end
  end
end

-- What the function of a step said it used.
function apply.used(self, record, whole)
  apply.note(self, record) -- it is said once, as lines are
  spent.used(whole, self.steps[record.step], record.used)
end

function apply.checkpoint(self, record, whole)
  apply.note(self, record)
  moments.checkpoint(whole, record)
end

function apply.switch(self, record)
  apply.note(self, record)
  phased.switch(self, self.steps[record.step], record)
end

apply.compact = apply.note

function apply.books() end -- what it says is known; snapshot.lua may begin with it

function apply.rounds(self, record)
  require("skillrt.run.books.rounds").rounds(self, record, M.iso(record.at))
end

for _, kind in ipairs({ "run", "stop", "resume", "loop", "edit", "accept", "pin" }) do
  apply[kind] = of_run[kind]
end

-- What is told of the calls of a step, each by the function of that name in books/calls.lua.
local OF_CALLS <const> = { call = 1, attempt = 1, result = 1, doubt = 1, round = 1, drop = 1, tool = 1 }

-- What a part of the books has the function of that name for.
local ELSEWHERE <const> = { ask = asked, answer = asked, event = arrived, retry = back, rewind = back, program = calls,
  contexts = lifecycle, stage = lifecycle, late = lifecycle, undoable = lifecycle, abort = lifecycle,
  rollback = moments, clock = spent }

-- What is told of the calls of a step.
local function of_calls(self, record, seq)
  local kind, step = record.t, self.steps[record.step]
  if record.rec then
    keep_values(step, record.rec)
  end
  calls[kind](step, record, seq)
  if record.decided then
    repeats.decide(step.sub and self.subs[step.sub] or self, step, record)
  end
  if record.wrote then
    phased.wrote(self, step, record.wrote)
  end
  if record.epoch then
    arrived.talked(self, step, record)
  end
  if kind == "call" and repeats.ACTS[record.kind] and not record.pure then
    spent.of_call(self, step, "calls", 1)
  end
  self.retries = kind == "attempt" and (self.retries or 0) + 1 or self.retries
  if record.q or record.w then
    asked.of_call(self, record)
  end
end

-- What is neither of a run nor of the begin and end of its steps.
local function of_the_rest(self, record, seq)
  local kind = record.t
  if OF_CALLS[kind] then
    of_calls(self, record, seq)
  elseif ELSEWHERE[kind] then
    ELSEWHERE[kind][kind](self, record, close_step)
  else
    error(("record of unknown type %q: written by a newer skillrt?"):format(tostring(kind)), 0)
  end
  if record.arrival then
    arrived.seen(self, record.arrival)
  end
end

-- A record of a run with sub-runs, or that moves a machine.
local function apply_further(self, record, change, seq)
  local scope, ended = self, nil
  if self.subs or record.sub then
    scope, ended = subs.enter(self, record, M.new)
  end
  if change then
    change(scope, record, self)
  else
    of_the_rest(self, record, seq)
  end
  if record.move then
    machine.moved(scope, record, M.iso(record.at))
  end
  if self.subs then
    subs.after(self, scope, record, ended)
  end
end

---Applies one record. Raises where the records do not fit each other (a journal of another
---program, or a bug): the caller reports it with the record's place.
---@param self skillrt.Books
---@param record table
---@param seq integer|nil   its number in the journal, where it is read back
---@param simple boolean|nil  it is known to be a `start`, or a `done` with nothing but updates, numbers and flags
function M.apply(self, record, seq, simple)
  local change = apply[record.t]
  if self.subs or not simple and (record.sub or record.move) then
    apply_further(self, record, change, seq)
  elseif change then
    change(self, record, self, simple)
  else
    of_the_rest(self, record, seq)
  end
  self.at = record.at or self.at
end

return M
