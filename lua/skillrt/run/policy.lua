-- run/policy.lua: the five questions of the engine, answered for one run of a skill.
--
-- Everything that happens becomes a record: encoded for the journal, applied to the ledger,
-- shown to whoever watches. Knows the skill's mode, its agents and its functions; no files of
-- the run, no terminal. Called by C (csrc/lua/script.c) under pcall; made by runner.lua.

local core = require("skillrt.core")
local exchange = require("skillrt.run.exchange")
local fatal = require("skillrt.base.fatal")
local files = require("skillrt.base.files")
local history = require("skillrt.run.history")
local apply = require("skillrt.run.ledger").apply
local notices = require("skillrt.run.notices")
local record = require("skillrt.base.record")
local state = require("skillrt.skill.state")
local verdict = require("skillrt.run.verdict")
local views = require("skillrt.run.views")

-- Loaded when a run goes on: one that begins starts without them.
local doubt = setmetatable({}, { __index = function(_, key) return require("skillrt.run.doubt")[key] end })
local resume = setmetatable({}, { __index = function(_, key) return require("skillrt.run.resume")[key] end })

local M = {}

local wall_ms, encode = core.wall_ms, record.encode

-- Messages may hold what a program wrote, and that may be any bytes.
local printable = record.printable

---@class skillrt.Policy
---@field skill table
---@field ledger skillrt.Ledger
---@field mode table
---@field beginning table[]  `start` records that whoever watches has not heard of
---@field repeatable boolean|nil  see csrc/engine/policy.h
---@field newest string|nil  how a record ends before which nothing has to be read back
---@field out string[]      record payloads the engine has not taken yet
---@field blobs table[]     { digest, text } to keep before them
---@field watcher table|nil { observe = fun(record, ledger), flush = fun(), progress = fun(step, text), tick = fun(),
---                          forget = fun(): what was observed since the last flush is lost,
---                          dull = types of records that it need not observe }
local Policy = {}

---@param run table { skill, ledger, work_dir, input_dir, args, core, environment, watcher,
---                   first = first record of a new run, make_mode = fun(policy) }
---@return skillrt.Policy
function M.new(run)
  local self = run
  for name, method in pairs(Policy) do -- own fields are found without a call of __index
    self[name] = method
  end
  self.core = core
  self.keeps_nothing = self.skill.context == "memory"
  self.out, self.blobs, self.beginning, self.single = {}, {}, {}, {}
  self.known_views = {}
  self.stopped, self.waiting, self.going_on = false, false, false -- asked at every choice
  self.dull = setmetatable({ books = true }, { __index = self.watcher and self.watcher.dull })
  self.history = history.new(self.ledger, self.books_bytes)
  self.newest = not self.edited and history.ENDING or nil
  if self.watcher and self.watcher.tick then
    function self.tick()
      self.watcher.tick()
    end
  end
  function self.interpret(step, request, reply)
    return exchange.interpret(self, step, request, reply)
  end
  function self.prepare(step, request)
    return exchange.prepare(self, step, request)
  end
  function self.is_same(step, number)
    return exchange.is_same(self, step, number)
  end
  return self
end

-- One record on its way to the journal, with the next batch.
local function write(self, entry, simple)
  entry.at = entry.at or wall_ms()
  local out = self.out
  if simple and self.keeps_nothing then
    out[#out + 1] = "{}" -- it counts, and nobody will read it
  else
    local payload, blobs, code = encode(entry)
    if not payload then
      fatal.pass_on({ message = blobs, code = code })
      return nil, blobs --[[@as string]]
    elseif blobs then
      table.move(blobs --[[@as table]], 1, #blobs, #self.blobs + 1, self.blobs)
    end
    out[#out + 1] = payload
    local past = self.history
    if not past.due or blobs or entry.t == "books" then
      past:passed(#payload, entry.t == "books", blobs)
    else
      past.since = past.since + #payload
    end
  end
  return true
end

---Writes one record: into the books and, with the next batch, into the journal.
---@param entry table
---@param simple boolean?  it can be encoded for certain
---@return boolean|nil ok
---@return string? message  why it cannot be encoded; nothing was changed
function Policy:emit(entry, simple)
  local ok, message = write(self, entry, simple)
  if not ok then
    return nil, message
  end
  apply(self.ledger, entry)
  if self.watcher and not self.dull[entry.t] then
    if self.beginning[1] then
      self:tell_beginning()
    end
    self.watcher.observe(entry, self.ledger)
  end
  return true
end

---One record read back from the journal.
---@param payload string
---@param seq integer
function Policy:record(payload, seq)
  if not self.edited then
    return self.history:add(payload, seq, self.read_blob)
  end
  -- what state.json showed when it was edited may lie before the newest books
  self.history:passed(#payload, history.is_books(payload))
  local entry, message, code = record.decode(payload, self.read_blob)
  if not entry then
    error({ message = ("record %d: %s"):format(seq, message), code = code }, 0)
  end
  if self.edited and not self.edit_base and seq > self.edited.seq then
    self.edit_base = state.copy(views.state(self.ledger))
  end
  apply(self.ledger, entry)
end

---All records were read; `fresh`: there were none.
---@param fresh boolean
function Policy:load(fresh)
  if fresh then
    assert(self:emit(self.first))
  else
    self.history:apply()
    resume.begin(self)
  end
  local books = self.ledger
  local here = files.current()
  self.args = books.args or self.args or {}
  self.elsewhere = books.cwd ~= nil and books.cwd ~= here
  self.input_dir = files.join(books.cwd or here, books.input.dir or ".")
  self.mode = self.make_mode(self)
  self.repeatable = self.mode.repeatable
  self.durable_steps = books.finished
  local limit = self.skill.limits.run_timeout -- of this session: a pause of days is no work
  self.deadline = limit and wall_ms() + math.ceil(limit * 1000)
  if not fresh then
    doubt.take_up(self)
    resume.restore_outputs(self)
  end
end

-- Now and then, between steps, all that the books say becomes a record.
local function keep_books(self)
  local whole = not self.keeps_nothing and history.whole(self.ledger)
  if whole and not self:emit(whole) then
    self.history.due = math.huge -- they hold what cannot be kept: the records alone must do
  end
end

---A line for the log.
---@param step skillrt.Step|nil
---@param text string
function Policy:note(step, text)
  assert(self:emit({ t = "note", step = step and step.number, text = record.printable(text) }))
end

local function stop_with(self, status, reason, message)
  self.stopped = { status = status, reason = reason }
  assert(self:emit({ t = "stop", status = status, reason = reason, message = message and printable(message) }))
  return "stop", status, reason
end

local function ask_person(self, question, reason)
  assert(self:emit({ t = "ask", question = question }))
  return stop_with(self, "paused", reason, question.question)
end

-- Its number, and the function that performs it, if that is the script's own. Whoever watches hears
-- of it when the step begins, see `durable`.
local function start_step(self, id)
  local ledger = self.ledger
  local definition, kind = self.mode:find(id)
  local number = ledger.last_step + 1
  local entry = {
    t = "start",
    at = wall_ms(),
    step = number,
    [kind] = id,
    n = ledger.state.root.iteration_count + 1,
  }
  local ok, message = write(self, entry, true)
  if not ok then
    error(message, 0)
  end
  if self.watcher and not self.dull.start then
    local beginning = self.beginning
    beginning[#beginning + 1] = entry
  end
  apply(ledger, entry)
  ledger.steps[number].definition = definition
  return number, definition.run
end

-- Functions of the script only: there is nothing to ask for, and nothing more to start meanwhile.
local function start_steps(self, ids)
  local number, own = start_step(self, ids[1])
  local count, numbers = #ids, self.single
  if count > 1 then
    numbers = {}
  end
  numbers[1] = number
  for i = 2, count do
    local its_own
    numbers[i], its_own = start_step(self, ids[i])
    own = own and its_own
  end
  return own and "perform" or "start", numbers
end

-- A phase that cannot run: an error of its own, without an attempt (F21).
local function refuse_phase(self, id, why)
  local number = start_step(self, id)
  assert(self:emit({
    t = "fail",
    step = number,
    attempt = 1,
    class = "permanent",
    message = ("%s: %s"):format(id, why),
  }))
end

---What now?
---@return "perform"|"start"|"wait"|"stop" kind
---@return integer[]|string|nil steps_or_status
---@return string? reason
function Policy:choose()
  if self.stopped then
    return "stop", self.stopped.status, self.stopped.reason
  elseif self.stopping then
    return stop_with(self, "paused", self.stopping)
  elseif self.deadline and wall_ms() >= self.deadline then
    local text = ("the run took longer than run_timeout, %g seconds"):format(self.skill.limits.run_timeout)
    return stop_with(self, "paused", "run_timeout", text)
  end
  local question = self.waiting and doubt.undecided(self)
  if question then
    return ask_person(self, question, "needs_decision")
  end
  local going_on = self.going_on and doubt.interrupted(self)
  if going_on then
    return "start", going_on
  end
  local past = self.history
  if past.since >= past.due then
    keep_books(self)
  end
  while true do
    local kind, what, why, message = self.mode:choose()
    if kind == "start" then
      return start_steps(self, what)
    elseif kind == "stop" then
      return stop_with(self, what, why, message)
    elseif kind == "ask" then
      return ask_person(self, what, "waiting_for_person")
    elseif kind == "skip" then
      assert(self:emit({ t = "skip", phase = what, why = why }))
    elseif kind == "loop" then
      assert(self:emit({ t = "loop", status = what, reason = why, message = message }))
    elseif kind == "refuse" then
      refuse_phase(self, what, why)
    else
      return "wait"
    end
  end
end

---A step's action or phase.
---@param step skillrt.Step
---@return table
function Policy:definition_of(step)
  local definition = step.definition
  if not definition then -- of a step taken up from the journal
    definition = self.mode:find(step.id)
    step.definition = definition
  end
  return definition
end

---The task of the next exchange of a step.
---@param number integer
---@return table task
function Policy:request(number)
  local step = self.ledger.steps[number]
  local definition = self:definition_of(step)
  local wait = step.retry_at and step.retry_at - wall_ms() or 0
  local left = self.deadline and self.deadline - wall_ms()
  if wait > 0 or (left and left <= 0) then -- nothing has left yet: nothing is in doubt if the run stops meanwhile
    wait = math.max(0, left and math.min(wait, left) or wait)
    step.resting = true
    return { kind = "lua", delay = wait }
  elseif not step.asking and exchange.performer(self, step, definition) then
    return { kind = "lua" }
  end
  local task, message = exchange.send(self, step, definition)
  if not task then
    step.broken = { class = "permanent", message = ("%s: %s"):format(step.id, message) }
    return { kind = "lua" }
  end
  if left then
    task.timeout = math.min(task.timeout or math.huge, left / 1000)
  end
  return task
end

---What does this reply mean? No reply: perform the script's own function.
---
---An interruption from outside may come between any two instructions, and then the same reply
---comes again: it is judged anew only where nothing of the first verdict was written yet.
---@param number integer
---@param reply table|nil
---@return "done"|"exchange"|"keep" verdict
function Policy:accept(number, reply)
  local step = self.ledger.steps[number]
  if not step then
    return "done" -- interrupted behind its last record
  elseif step.written and step.written ~= #self.out then
    return "done" -- interrupted behind one of its records: it stays open, and is taken up on resume
  end
  step.written = #self.out
  local answer = verdict.on(self, step, reply)
  step.written = nil
  return answer
end

---The views people read, as name and content; only those that changed.
---@param seq integer
---@return table[] list  { name, content }
function Policy:save(seq)
  return views.list(self, seq)
end

notices.give(Policy)

return M
