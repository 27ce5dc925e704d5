-- run/story.lua: what happened in a run, step by step and call by call, gathered from its records: what reports,
-- metrics, records and traces are views of.
--
-- Takes the records in their order, live or read back; changes nothing. Knows the record shapes of books.lua.

local core = require("skillrt.core")
local expect = require("skillrt.agent.expect")
local json = require("skillrt.base.json")

local M = {}

---@class skillrt.story.Call
---@field step integer
---@field c string            its place
---@field kind string         http command session host sleep ask wait once run
---@field to string?          where it went
---@field label string?
---@field at integer          UTC ms: when it left first
---@field ended integer?
---@field ok boolean?         nil: not over
---@field message string?     why it failed
---@field attempts table[]    failed ones before: { at, class, message, retry }
---@field reply string?       what came back
---@field used table<string, number>?
---@field q integer?          of a question: its number; question, value
---@field pure boolean?       it only says what other calls gave

---@class skillrt.story.Step
---@field number integer
---@field id string
---@field kind "action"|"phase"
---@field n integer           iteration
---@field sub string?         of which sub-run
---@field at integer
---@field ended integer?
---@field status "open"|"completed"|"partial"|"failed"|"skipped"
---@field attempts table[]    failed ones: { at, class, message, traceback, retry }
---@field calls skillrt.story.Call[]
---@field notes table[]       { at, text | title }
---@field set table?          what it changed in the state
---@field why string?         why it was skipped, or the concerns it was done with
---@field reason string?      the strategy's, for choosing it
---@field used table<string, number>?

---@class skillrt.Story
---@field run table|nil       the first record
---@field steps skillrt.story.Step[]  in the order they began
---@field by_number table<integer, skillrt.story.Step>
---@field sessions table[]    { from, to, status, reason, message }: the times that the run was open
---@field questions table[]   calls that ask, and questions of strategies
---@field moves table[]       transitions (R150): of a machine, else of the run's status: { at, from, to, action, step }
---@field edits table[]       { at, set, after = steps over }: state.json taken over
---@field used table<string, number>
---@field retries integer
---@field records integer
---@field at integer          of the last record
local Story = {}
Story.__index = Story

---@return skillrt.Story
function M.new()
  return setmetatable({ steps = {}, by_number = {}, sessions = {}, questions = {}, edits = {}, moves = {}, used = {},
    retries = 0, records = 0, at = 0, status = "pending" }, Story)
end

local apply = {}

function apply.run(self, record)
  if record.sub then
    local step = self.by_number[record.step]
    local call = step and step.by_place[record.c]
    if call then
      call.skill = record.skill
    end
    return
  end
  self.run, self.is_machine = record, record.mode == "machine"
  self.sessions[1] = { from = record.at }
end

function apply.resume(self, record)
  local last = self.sessions[#self.sessions]
  if last and not last.to then -- it was ended from outside
    last.to, last.status = self.before, "interrupted"
  end
  self.sessions[#self.sessions + 1] = { from = record.at }
  self.status, self.reason, self.message = "executing", nil, nil
end

function apply.stop(self, record)
  if record.sub then
    return
  end
  local session = self.sessions[#self.sessions] or {}
  session.to, session.status, session.reason, session.message = record.at, record.status, record.reason, record.message
  self.status, self.reason, self.message, self.limit = record.status, record.reason, record.message, record.limit
end

function apply.start(self, record)
  local step = {
    number = record.step,
    id = record.phase or record.action,
    kind = record.phase and "phase" or "action",
    n = record.n,
    sub = record.sub,
    at = record.at,
    status = "open",
    attempts = {},
    calls = {},
    by_place = {},
    notes = {},
    reason = record.why,
    tool_set = record.tool_set,
  }
  self.status = "executing"
  self.steps[#self.steps + 1] = step
  self.by_number[step.number] = step
end

function apply.call(self, record, step)
  local call = step.by_place[record.c]
  if call and not call.ended then -- a further attempt, or taken up again
    call.a = record.a or call.a
    return
  end
  call = { step = step.number, c = record.c, kind = record.kind, to = record.to, label = record.label,
    phase = record.phase, at = record.at, attempts = {}, q = record.q, question = record.question,
    event = record.event, due = record.due, pure = record.pure, key = record.key }
  step.calls[#step.calls + 1] = call
  step.by_place[record.c] = call
  if record.q then
    self.questions[#self.questions + 1] = call
  end
end

function apply.attempt(self, record, step)
  local call = step.by_place[record.c]
  self.retries = self.retries + 1
  if call then
    table.insert(call.attempts, { at = record.at, class = record.class, message = record.message,
      retry = record.retry })
  end
end

function apply.doubt(_, record, step)
  local call = step.by_place[record.c]
  if call then
    call.doubt = record.message
  end
end

function apply.result(self, record, step)
  local call = step.by_place[record.c]
  if not call then -- a local function whose value is kept
    call = { step = step.number, c = record.c, kind = "once", at = record.at, attempts = {},
      to = type(record.digest) == "string" and record.digest:match("^once (.*)$") or nil }
    step.calls[#step.calls + 1] = call
    step.by_place[record.c] = call
  end
  call.ended = record.at
  local reply, failed = record.reply, record.failed
  call.value, call.unanswered = record.value, record.unanswered
  if failed then
    call.ok, call.class, call.message = false, failed.class, failed.message
  elseif reply then
    local ok, failure = call.kind == "run", nil -- a failed run has `failed`
    if not ok then
      ok, failure = expect.judge("raw", call.kind, reply, { argv = call.kind == "command" and { call.to } or nil })
    end
    call.ok, call.code, call.message = ok == true, reply.code, failure and failure.message
    call.took = reply.elapsed_ms
    call.reply = type(reply.body) == "string" and reply.body or reply.body ~= nil and json.encode(reply.body) or nil
    call.said = type(reply.extra) == "string" and reply.extra ~= "" and reply.extra or nil
  else
    call.ok = true
  end
  self.newest_call = call
end

function apply.note(_, record, step)
  step.notes[#step.notes + 1] = { at = record.at, text = record.text, title = record.title }
end

function apply.switch(_, record, step)
  local what = record.refused and (": refused: " .. record.refused) or record.advised and ": advised" or ""
  step.notes[#step.notes + 1] = { at = record.at, text = ("phase: %s -> %s (%s)%s"):format(record.from, record.to,
    record.by, what) }
end

function apply.compact(_, record, step)
  step.notes[#step.notes + 1] = { at = record.at, text = ("%s: its talk was made shorter (%s): %d to %d bytes"):format(
    record.agent, record.how, record.before, record.after) }
end

local function add(to, used)
  for name, amount in pairs(used) do
    to[name] = (to[name] or 0) + amount
  end
end

function apply.used(self, record, step)
  step.used = step.used or {}
  add(step.used, record.used)
  add(self.used, record.used)
  local call = record.c and step.by_place[record.c]
  if call then
    call.used = call.used or {}
    add(call.used, record.used)
  end
end

function apply.fail(self, record, step)
  table.insert(step.attempts, { at = record.at, class = record.class, message = record.message, retry = record.retry,
    traceback = record.traceback })
  if record.retry then
    self.retries = self.retries + 1
  else
    step.status, step.ended, step.class, step.message = "failed", record.at, record.class, record.message
  end
end

function apply.done(_, record, step)
  step.status, step.ended = record.partial and "partial" or "completed", record.at
  step.set, step.file, step.summary, step.why = record.set, record.file, record.summary, record.why
  step.out, step.context = record.out, record.context
end

function apply.skip(self, record, step)
  if step then
    step.status, step.ended, step.why = "skipped", record.at, record.why
    return
  end
  self.steps[#self.steps + 1] = { id = record.phase, kind = "phase", at = record.at, ended = record.at, n = 0,
    status = "skipped", why = record.why, attempts = {}, calls = {}, notes = {}, by_place = {} }
end

function apply.ask(self, record)
  self.questions[#self.questions + 1] = { q = record.q, question = record.question, at = record.at,
    step = record.step, c = record.c }
end

function apply.answer(self, record)
  for i = #self.questions, 1, -1 do
    local one = self.questions[i]
    if not one.ended and (record.q == nil or one.q == record.q) then
      one.value, one.ended = record.value, record.at
      return
    end
  end
end

function apply.edit(self, record)
  self.edits[#self.edits + 1] = { at = record.at, set = record.set, after = #self.steps }
end

-- What they tell stands in a step that has to be there.
local OF_STEP <const> = { call = true, attempt = true, doubt = true, result = true, note = true, used = true,
  fail = true, done = true }

-- Without a machine the states of a run are the words of its status.
local function note_status(self, before, record)
  local status = self.status
  if status ~= before and not self.is_machine and record.t ~= "run" then
    local id = record.action or record.phase or record.reason
    self.moves[#self.moves + 1] = { at = record.at, from = before, to = status, action = id, step = record.step }
  end
end

---Begins in the middle: what is known of a run that goes on, from its books.
---@param books skillrt.Books
function Story:take_over(books)
  self.run = { run = books.run_id, skill = books.skill, version = books.version, mode = books.mode,
    at = books.started_at, state = {}, input = books.input }
  self.is_machine, self.status = books.mode == "machine", "paused"
  for number, open in pairs(books.steps) do
    local step = { number = number, id = open.id, kind = open.kind, n = 0, sub = open.sub, at = open.started_at,
      status = "open", attempts = {}, calls = {}, by_place = {}, notes = {} }
    self.steps[#self.steps + 1], self.by_number[number] = step, step
    for place, call in pairs(open.calls) do
      local one = { step = number, c = place, kind = call.kind, to = call.to, label = call.label, at = call.at,
        attempts = {}, q = call.q, question = call.question, pure = call.pure, key = call.key }
      step.calls[#step.calls + 1], step.by_place[place] = one, one
    end
  end
end

---Lets go of steps that are over and of replies: whoever follows a run live has told of them.
function Story:forget_over()
  local last = self.steps[#self.steps]
  if last and last.status ~= "open" or #self.steps > 64 then
    local open = {}
    for _, step in ipairs(self.steps) do
      if step.status == "open" then
        open[#open + 1] = step
      else
        self.by_number[step.number or 0] = nil
      end
    end
    self.steps = open
  end
  if #self.questions > 256 then
    self.questions = {}
  end
  if #self.moves > 256 then
    self.moves = {}
  end
end

---Takes one record, after the ones before it.
---@param record table
function Story:add(record)
  local status = self.status
  self.records = self.records + 1
  self.before, self.at = self.at, record.at or self.at
  local change = apply[record.t]
  local step = record.step and self.by_number[record.step]
  if record.move and record.move.to and not record.sub and not (step and step.sub) then
    local move = record.move
    self.moves[#self.moves + 1] = { at = record.at, from = move.from, to = move.to, action = move.action,
      step = record.step }
  end
  if change and (step or not OF_STEP[record.t]) then
    change(self, record, step)
    note_status(self, status, record)
  end
end

---How long a step or call took; of an open one, until the last record.
---@param one table
---@return integer ms
function Story:ms_of(one)
  return math.max(0, (one.ended or self.at) - one.at)
end

---How long the run was open, pauses left out.
---@return integer ms
function Story:active_ms()
  local ms = 0
  for i, session in ipairs(self.sessions) do
    local to = session.to or (i == #self.sessions and self.at or session.from)
    ms = ms + math.max(0, to - session.from)
  end
  return ms
end

---The story of a run, read without its lock.
---@param dir string
---@param each fun(record: table, books: skillrt.Books)|nil  sees every record after it was applied to the books
---@return skillrt.Story|nil story
---@return skillrt.Books|string books_or_message
---@return string? code
function M.read(dir, each)
  local story = M.new()
  local books, report, code = require("skillrt.run.runner").read(dir, function(record, books)
    story:add(record)
    if each then
      each(record, books)
    end
  end)
  if not books then
    return nil, report --[[@as string]], code
  elseif not story.run then
    return nil, ("%s: holds no run: one was begun here, and ended before its first record"):format(dir), "missing"
  end
  story.interrupted = (books.status == "executing" or books.status == "pending") and not core.holder(dir)
  return story, books
end

return M
