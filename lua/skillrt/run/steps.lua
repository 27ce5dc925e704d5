-- run/steps.lua: steps from their start to their end: who performs them, what a failure means, when the
-- next attempt begins.
--
-- A step's function runs in a worker coroutine; it has an execution (branches.lua) from its first wait on.
-- Knows actions, agents and outcomes; which step is next knows the mode. Called by policy.lua.

local attempts = require("skillrt.run.attempts")
local branches = require("skillrt.run.branches")
local context = require("skillrt.run.ctx")
local core = require("skillrt.core")
local drawn = require("skillrt.base.drawn")
local kept = require("skillrt.run.kept")
local outcome = require("skillrt.run.outcome")
local output_files = require("skillrt.run.output_files")
local record = require("skillrt.base.record")
local returned = require("skillrt.agent.returned")
local single = require("skillrt.base.single")
local task_of = require("skillrt.run.task")

local printable, wall_ms = record.printable, core.wall_ms
local STEP, WAIT, OVER = context.STEP, branches.WAIT, branches.OVER
local resume = coroutine.resume -- the one that can be interrupted (limits.c): core is loaded

---@class skillrt.Steps
---@field run table
---@field journal skillrt.Journal
---@field calls skillrt.Calls
---@field sub skillrt.Sub|nil  of which scope (subs.lua); nil: of the run itself
---@field performing integer[]  engine's numbers of functions to be performed once their start is durable
local Steps = {}
Steps.printable = printable

---@param run table
---@param journal skillrt.Journal
---@param calls skillrt.Calls
---@param numbers table
---@param mode table
---@return skillrt.Steps
function Steps.new(run, journal, calls, numbers, mode)
  local self = single.of(Steps, {
    run = run,
    books = run.books,
    journal = journal,
    calls = calls,
    numbers = numbers,
    mode = mode,
    performing = {},
    idle = {},
  })
  self.world = {
    idle = self.idle,
    leave = function(call)
      calls:leave(call)
    end,
    give = function(call, known)
      calls:give(call, known)
    end,
    give_up = function(call, live)
      return calls:give_up(call, live)
    end,
    reread = function(held)
      return journal:reread(held)
    end,
    round = function(execution, place, number, value, last)
      kept.round(journal, execution, place, number, value, last)
    end,
  }
  self.face = context.face(run, self)
  run.next_key = function(step)
    local execution = self:execution_of(step)
    local branch = execution:current() or execution.main
    return calls:key_of(step, branch.prefix .. (branch.position + 1))
  end
  return self
end

-- ---- starting ----

---A step's action or phase.
---@param step skillrt.Step
---@return skillrt.Action
function Steps:definition_of(step)
  local definition = step.definition
  if not definition then -- of a step taken up from the journal
    definition = self.mode:find(step.id)
    step.definition = definition
  end
  return definition
end

---Records that an action or phase was chosen.
---@param definition skillrt.Action
---@param mark table|nil  { times, print, edge }: it was chosen in this very state before; the row of a machine
---@return skillrt.Step
function Steps:start(definition, mark)
  local books, kind = self.books, definition.kind
  local number = (self.top or self).books.last_step + 1
  local ok, message = self.journal:emit({
    t = "start",
    step = number,
    [kind] = definition.id,
    n = books.state.root.iteration_count + self.mode.iterations[kind],
    same = mark and mark[1], print = mark and mark[2], edge = mark and mark[3],
    at = wall_ms(),
  }, true)
  if not ok then
    error(message, 0)
  end
  local step = books.steps[number]
  step.definition, step.home = definition, self.sub and self or nil
  if definition.limits then
    self.run.limits:began(step)
  end
  return step
end

---Lets a step be performed: a function of the script once what was recorded before is durable, an agent
---at once, as it does nothing but call.
---@param step skillrt.Step
function Steps:go(step)
  local definition = step.definition or self:definition_of(step)
  if definition.run or definition.each or self:is_script(definition.agent) then
    local performing = (self.top or self).performing
    performing[#performing + 1] = self.numbers:next(step)
  else
    self:perform(step)
  end
end

---Whether a function of the script performs what this agent is asked.
---@param name string|nil
---@return boolean|nil
function Steps:is_script(name)
  return name and self.run.skill.agents[name].is_script
end

-- An agent's step, or one that only ends the run.
local function by_agent(self, step, definition)
  if not definition.agent then
    return function() end
  end
  local agent = self.run.skill.agents[definition.agent]
  return function(_, ctx, item, index)
    return agent:perform(ctx, task_of.new(self.run, step, definition, { item = item, index = index }))
  end
end

-- The function that performs a step which is no function alone: an agent's, or for each item of a list.
local function performer(self, step, definition)
  local perform = definition.run or by_agent(self, step, definition)
  if definition.each then
    return require("skillrt.run.each").over(step, definition, perform)
  end
  return perform
end

---Performs a step from its beginning: what is recorded of it is given back to it.
---@param step skillrt.Step
function Steps:perform(step)
  if self.sub and self.sub.canceled then
    return -- nobody waits for it any more
  end
  local definition = step.definition or self:definition_of(step)
  local perform = definition.run
  if not perform or definition.each then
    perform = performer(self, step, definition)
  end
  local thread = branches.worker(self.idle)
  if step.thread then -- nothing is left of the attempt before, or of the replay
    step.execution, step.said, step.context = nil, nil, nil
    kept.begin(step)
  end
  local drawing = drawn.step
  step.thread, drawn.step = thread, step
  self.run.limits:allow(definition)
  local ok, first, a, b, c = resume(thread, perform, step.root, setmetatable({ [STEP] = step }, self.face))
  drawn.step = drawing
  self:after(step, ok, first, a, b, c)
end

---The branches of a step, from its first wait on.
---@param step skillrt.Step
---@return skillrt.Execution
function Steps:execution_of(step)
  local execution = step.execution
  if not execution then
    execution = branches.new(step, self.world)
    step.execution = execution
    execution.main = execution:branch(step.thread, "", nil, function(_, ok, a, b, c)
      self:over(step, ok, a, b, c)
    end)
    execution.now = execution.main
  end
  return execution
end

-- The function's first stretch is over: it ended, or it waits.
function Steps:after(step, ok, first, a, b, c)
  local execution = step.execution
  if ok and first == WAIT then
    execution:replay()
    return self:look(step)
  elseif ok and first == OVER then
    local idle = self.idle
    idle[#idle + 1] = step.thread
    if not execution and not step.told then
      return self:finish(step, true, a, b, c)
    end
  elseif ok then
    ok, a = false, { message = step.id .. ": run yielded; to wait, call ctx.await(request)", class = "permanent" }
  else
    a = first
  end
  if execution then
    execution.by_thread[step.thread] = nil
  end
  self:over(step, ok, a, b, c)
  execution = step.execution -- it may have come into being only now, for what is recorded and not asked for
  if execution and not execution.ended then
    execution:replay() -- of what it began and did not wait for, calls may be out
  end
  self:look(step)
end

---Whether a step asked for something else than before; then the run cannot go on.
---@param step skillrt.Step
function Steps:look(step)
  if step.execution and step.execution.diverged then
    require("skillrt.run.diverged").met(self, step)
  end
end

-- A step is over: of a scope's own, the scope is asked what is next.
function Steps:ended(definition)
  self.mode:finished(definition)
  if definition.limits then
    self.run.limits:ended(definition.id)
  end
  if self.touch then
    self.touch()
  end
end

---Goes on with a step after one of its calls was over.
---@param step skillrt.Step
function Steps:go_on(step)
  self.run.limits:allow(self:definition_of(step))
  step.execution:advance()
  self:look(step)
end

-- ---- ending ----

---The step's function has ended; so does the step when no call of it is out.
function Steps:over(step, ok, a, b, c)
  local execution = step.execution
  if not execution then
    if next(step.known) == nil and next(step.calls) == nil then
      return self:finish(step, ok, a, b, c)
    end
    execution = self:execution_of(step) -- it awaits nothing now
  end
  execution:drain(execution.main, function()
    execution.drained = nil
    execution:close()
    if execution:is_used_up() then
      self:finish(step, ok, a, b, c)
    end
  end)
end

-- What a function raised, as a failure.
local function raised(step, problem)
  local _, message, class, call, is_meant = returned.raised(step.id, problem)
  local failure = { message = message, class = class, blame = type(call) == "string" and call or nil }
  if not is_meant then
    failure.traceback = debug.traceback(step.thread, failure.message)
  end
  coroutine.close(step.thread) -- its to-be-closed variables are closed now
  return failure
end

---What the step's function gave becomes its end, or a failure.
function Steps:finish(step, ok, a, b, c)
  local definition, words = step.definition
  if not ok then
    return self:fail(step, definition, raised(step, a))
  elseif definition.agent or definition.each then -- an outcome already
    words = a
  elseif b ~= nil or c ~= nil or step.kind == "phase" or (a ~= nil and type(a) ~= "table") then
    words, b, c = returned.outcome(step.kind, step.id .. ": run", a, b, c)
  else
    return self:complete(step, definition, a) -- updates or nothing, as most do
  end
  if words == nil and b ~= nil then
    return self:fail(step, definition, { message = b, class = c or "permanent" })
  end
  self:complete(step, definition, words and words.updates, words)
end

-- The end of a step becomes its record, where nothing is wrong with what it gave.
function Steps:complete(step, definition, updates, words)
  local entry, failure, simple = outcome.record(self.run, step, definition, updates, words)
  if not entry and failure.here then
    (self.top or self).trouble = failure.message -- the step stays open: a resume writes again what it gave
    return nil
  elseif not entry then
    return self:fail(step, definition, failure)
  end
  if step.fresh or step.read then
    kept.with_fresh(self.journal, step, entry)
    simple = simple and not entry.rec
  end
  local ok, message = self.journal:emit(entry, simple)
  if not ok then
    return self:fail(step, definition, {
      class = outcome.unusable(step),
      message = ("%s: the result cannot be kept: %s"):format(step.id, message),
    })
  end
  self:ended(definition)
end

---An attempt of a step failed.
---@param step skillrt.Step
---@param definition skillrt.Action
---@param failure table  { class, message, traceback, blame, retry_after_ms }
function Steps:fail(step, definition, failure)
  if failure.class == "skipped" then
    assert(self.journal:emit({ t = "skip", step = step.number, why = printable(failure.message) }))
    return self:ended(definition)
  end
  local execution = step.execution
  local blame = failure.blame or (execution and execution.main.last)
  if execution and blame == execution.main.last then
    failure.retry_after_ms = failure.retry_after_ms or execution.main.retry_after_ms
  end
  local delay, why = attempts.next(self.run, step, definition, failure, blame)
  local message = why and ("%s (%s)"):format(failure.message, why) or failure.message
  local top = self.top or self
  top.trouble = top.trouble or output_files.put_aside(self.run, definition)
  local entry = kept.with_fresh(self.journal, step, {
    t = "fail",
    step = step.number,
    attempt = step.attempt,
    class = failure.class,
    message = printable(message),
    traceback = failure.traceback and printable(failure.traceback),
    retry = delay and math.ceil(delay) or nil,
    blame = delay and blame or nil,
  })
  assert(self.journal:emit(delay and entry or attempts.follow(self.run, definition, entry)))
  if delay then
    self.calls.due:put(step.retry_at, step)
  else
    self:ended(definition)
  end
end

---The wait before an attempt is over.
---@param step skillrt.Step
function Steps:rang(step)
  if self.books.steps[step.number] == step then
    self:go(step)
  end
end

-- ---- taking up ----

---Takes up the steps that were under way when the run stopped.
function Steps:take_up()
  local numbers = {}
  for number, step in pairs(self.books.steps) do
    if step.sub == self.books.sub then
      numbers[#numbers + 1], step.home = number, self.sub and self or nil
    end
  end
  table.sort(numbers)
  for _, number in ipairs(numbers) do
    local step = self.books.steps[number]
    if not self:definition_of(step) then
      assert(self.journal:emit({ t = "skip", step = number, why = "its definition is no longer part of the skill" }))
    elseif step.retry_at then -- never longer than it was to be, though the clock was put back
      self.calls.due:put(math.min(step.retry_at, wall_ms() + step.failures[#step.failures].retry), step)
    elseif next(step.known) or next(step.calls) or next(step.rounds) then
      if self.run.accept_changes and not step.loose then
        require("skillrt.run.diverged").loosen(self, step)
      end
      repeat -- gives back what is recorded; what may leave leaves with the first batch
        step.replays = nil
        self:perform(step)
      until not step.replays
    else
      self:go(step)
    end
  end
end

return Steps
