-- run/ledger.lua: the books of a run: what a sequence of journal records amounts to.
--
-- The only place where a record changes anything: a live run applies each record as it is
-- written, a resumed run applies the same records as they are read back, so both arrive at
-- the same books. Knows the record shapes below, no agents, no journal file, no mode.
-- Called by policy.lua, and by status and log, which only read.
--
-- Records (JSON objects; `at` is UTC milliseconds, `step` counts from 1):
--   run     run skill version mode input args state pins context    a run begins, in the folder cwd;
--           script strategy durability cwd skillrt                  strategy: one given in place of the skill's
--   start   step action|phase n                                     a step is chosen; n: iteration
--   send    step x attempt kind to key digest idem rec              an exchange is about to leave
--   reply   step x reply ms                                         an exchange came back, the step goes on
--   fail    step class message attempt retry link                   an attempt failed; retry: ms until the next,
--                                                                   absent: the step has failed; link: the
--                                                                   next agent of the fallback chain
--   done    step set out file context summary ms partial refused missed why rec
--                                                                   the step is over; partial: not all of it,
--                                                                   for a phase that is a failure; refused:
--                                                                   reserved fields left out; missed: effects
--   skip    phase why | step why                                    a phase was left out, or a step given up
--   note    step text                                               a line for the log
--   ask     question                                                a person has to answer
--   answer  value [step]                                            ... and did
--   stop    status reason message                                   the run stopped
--   resume  by                                                      ... and goes on
--   retry   action|phase forget                                     the last failed step is tried again; forget:
--                                                                   terminal actions that had run
--   rewind  phases loop                                             these phases run again; loop: a hybrid's too
--   loop    status reason message                                   a hybrid's loop is over, trailing phases begin
--   books   books state                                             all that the books say, now and then
--   edit    set ignored                                             a person's edit of state.json was taken over
--   accept  pins changed                                            changed files were accepted

local json = require("skillrt.base.json")
local state = require("skillrt.skill.state")

-- Loaded when a run first goes back.
local back = setmetatable({}, { __index = function(_, key) return require("skillrt.run.ledger.back")[key] end })

local M = {}

---@class skillrt.Step
---@field number integer
---@field id string             of the action or phase
---@field kind "action"|"phase"
---@field attempt integer       from 1
---@field sent table|nil        the `send` record whose reply is not there yet
---@field sends integer         exchanges sent in this attempt
---@field replies table<integer, table>   recorded replies of this attempt, by exchange
---@field digests table<integer, string>  of what was sent in this attempt, by exchange
---@field recorded any[]        times, random numbers and ids the step was given, in order
---@field root table            the state as it was when the step started
---@field started_at integer    UTC ms
---@field retry_at integer|nil  UTC ms: not before
---@field failures table[]      failed attempts: their `fail` records
---@field link integer|nil      which member of a fallback chain is asked
---@field decision string|nil   what a person said about a request in doubt

---@class skillrt.Ledger
---@field state skillrt.State
---@field steps table<integer, skillrt.Step>  steps under way
---@field open integer                         how many
---@field last_step integer
---@field finished integer                     steps that are over
---@field runs table<string, integer>          how often each action or phase completed
---@field status string   pending executing completed failed aborted paused
---@field reason string|nil

---@return skillrt.Ledger
function M.new()
  local self = { steps = {}, open = 0, last_step = 0, finished = 0, status = "pending", at = 0 }
  for _, field in ipairs({ "runs", "outputs", "completed", "skipped", "failed", "pins" }) do
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
    error("ledger: the shared empty list was written to")
  end,
})

local function own(step, field)
  if step[field] == EMPTY then
    step[field] = {}
  end
  return step[field]
end

function apply.run(self, record)
  self.run_id, self.skill, self.version = record.run, record.skill, record.version
  self.mode, self.input, self.pins = record.mode, record.input, record.pins
  self.context_strategy, self.started_at = record.context, record.at
  self.args, self.cwd = record.args, record.cwd
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
  local kind = record.phase and "phase" or "action"
  local id = record.phase or record.action
  self.last_step = record.step
  local books = self.state
  if self.status ~= "executing" then
    self.status = "executing"
    books:set("status", "running")
  end
  if self.retrying == id then
    self.retrying = nil
  end
  self.answer = nil -- it was for this choice
  books:set("iteration_count", record.n)
  books:set(kind == "phase" and "current_phase" or "current_action", id)
  self.steps[record.step] = {
    number = record.step,
    id = id,
    kind = kind,
    attempt = 1,
    sends = 0,
    replies = EMPTY,
    digests = EMPTY,
    recorded = EMPTY,
    failures = EMPTY,
    started_at = record.at,
    root = books:hold(),
  }
  self.open = self.open + 1
end

local function latest(steps, kind)
  local found
  for _, one in pairs(steps) do
    if one.kind == kind and (not found or one.number > found.number) then
      found = one
    end
  end
  return found
end

-- The step is over: nobody looks at its state any more.
local function close_step(self, step)
  self.steps[step.number] = nil
  self.open = self.open - 1
  self.finished = self.finished + 1
  self.state:release(step.root)
  local field = step.kind == "phase" and "current_phase" or "current_action"
  if self.state.root[field] == step.id then
    local other
    if self.open > 0 then
      other = latest(self.steps, step.kind)
    end
    self.state:set(field, other and other.id)
  end
end

local function keep_recorded(step, record)
  if record.rec then
    local list = own(step, "recorded")
    table.move(record.rec, 1, #record.rec, #list + 1, list)
  end
end

function apply.send(self, record)
  local step = self.steps[record.step]
  step.sent = record
  step.sends = record.x
  step.retry_at, step.decision = nil, nil
  own(step, "digests")[record.x] = record.digest
  keep_recorded(step, record)
end

function apply.reply(self, record)
  local step = self.steps[record.step]
  step.sent = nil
  own(step, "replies")[record.x] = record.reply
end

-- The step has failed for good.
local function record_error(self, step, record, message)
  self.state:append("errors", {
    [step.kind] = step.id,
    message = message,
    class = record.class,
    timestamp = M.iso(record.at),
  })
  self.state:set("error_count", self.state.root.error_count + 1)
  self.last_failed = { id = step.id, kind = step.kind }
  self.failed[step.id] = true
end

function apply.fail(self, record)
  local step = self.steps[record.step]
  step.sent = nil
  table.insert(own(step, "failures"), record)
  if record.retry then
    step.attempt = record.link and 1 or record.attempt + 1
    step.link = record.link or step.link
    step.sends, step.replies, step.digests, step.recorded = 0, EMPTY, EMPTY, EMPTY
    step.retry_at = record.at + record.retry
    return
  end
  close_step(self, step)
  record_error(self, step, record, record.message)
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
  close_step(self, step)
  if record.set then
    books:patch(record.set)
  end
  if record.context then
    for key, value in pairs(record.context) do
      books:replace("context", key, value)
    end
  end
  self.runs[id] = (self.runs[id] or 0) + 1
  if record.partial then
    if step.kind == "phase" then
      record_error(self, step, record, "only partly done" .. (record.summary and ": " .. record.summary or ""))
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
  if step then
    close_step(self, step)
    self.runs[id] = (self.runs[id] or 0) + 1 -- it is given up, not chosen once more
    if step.kind == "action" then
      return
    end
  end
  self.state:append("phases_skipped", { id = id, reason = record.why, skipped_at = M.iso(record.at) })
end

function apply.ask(self, record)
  self.question, self.answer = record.question, nil
end

function apply.answer(self, record)
  self.question = nil
  if record.step then
    self.steps[record.step].decision = record.value
  else
    self.answer = record.value
  end
end

function apply.stop(self, record)
  self.status, self.reason, self.message = record.status, record.reason, record.message
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

function apply.resume(self)
  self.status = self.last_step > 0 and "executing" or "pending"
  self.reason, self.message = nil, nil
  self.state:set("status", self.last_step > 0 and "running" or "pending")
  self.state:set("completed_at", nil)
  self.state:set("failed_at", nil)
end

function apply.retry(self, record)
  back.retry(self, record)
end

function apply.rewind(self, record)
  back.rewind(self, record, close_step)
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

function apply.note() end

function apply.books() end -- what it says is known; history.lua may begin with it

---Applies one record. Raises where the records do not fit each other (a journal of another
---program, or a bug): the caller reports it with the record's place.
---@param self skillrt.Ledger
---@param record table
function M.apply(self, record)
  local change = apply[record.t]
  if not change then
    error(("record of unknown type %q: written by a newer skillrt?"):format(tostring(record.t)), 0)
  end
  change(self, record)
  self.at = record.at or self.at
end

return M
