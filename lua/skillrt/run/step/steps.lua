-- run/step/steps.lua: steps from their start to their end: what performs them, their result, and what follows a
-- failure.
--
-- A step's function runs in a worker coroutine; it has an execution (run/branch/execution.lua) after its first wait.
-- A further attempt makes the blamed call again, if repeats.lua allows it. Knows actions, agents and outcomes; the
-- mode knows which step is next. Called by turn.lua and the scheduler, one for each scope of a run.

local context = require("skillrt.run.ctx")
local child = require("skillrt.run.call.kind.child")
local claimed = require("skillrt.agent.failure").claimed
local core = require("skillrt.core")
local drawn = require("skillrt.base.drawn")
local execution_of = require("skillrt.run.branch.execution")
local fatal = require("skillrt.base.fatal")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local on_error = require("skillrt.skill.on_error")
local outcome = require("skillrt.run.outcome")
local output_files = require("skillrt.run.output_files")
local places = require("skillrt.run.places")
local record = require("skillrt.base.record")
local repeats = require("skillrt.mode.repeats")
local retry = require("skillrt.skill.retry")
local function_result = require("skillrt.agent.function_result")
local steady = require("skillrt.run.steady")
local task_of = require("skillrt.run.task")

local printable = record.printable
local WAIT, OVER = execution_of.WAIT, execution_of.OVER
local resume = coroutine.resume -- the one that limits.c can interrupt: core is loaded

---@class skillrt.Steps
---@field run table
---@field journal skillrt.Journal
---@field calls skillrt.Calls
---@field sub skillrt.Sub|nil  the scope it belongs to (subs.lua); nil: the run itself
---@field top skillrt.Steps    the run's own
---@field verdict table|false  of the run's own: { status, reason, message }: a step ends the run, whatever would be
---  next
---@field dropped string[]|nil  of the run's own: what was discarded when changes were accepted
---@field performing integer[]  engine's numbers of functions to perform once their start is durable
local Steps = {}
Steps.__index = Steps

---@param run table
---@param journal skillrt.Journal
---@param calls skillrt.Calls
---@param mode table
---@param sub skillrt.Sub|nil   the sub-run whose steps they are
---@param top skillrt.Steps|nil  of it: the run's own
---@return skillrt.Steps
function Steps.new(run, journal, calls, mode, sub, top)
  local self = setmetatable({
    run = run,
    books = run.books,
    journal = journal,
    calls = calls,
    mode = mode,
    iterations = mode.iterations,
    root = run.books.state.root, -- always the same table
    limits = run.limits,
    performing = top and top.performing or {},
    idle = {},
    sub = sub or false, -- checked for each step, so it exists even if it is empty
    is_phased = run.skill.tool_sets or run.skill.kept or false,
    verdict = false,
  }, Steps)
  self.top = top or self
  self.numbered = self.top.books -- steps of all scopes share one numbering
  self.face = context.face(run, self)
  return self
end

---The idempotency key of the call that a step makes next.
---@param step skillrt.Step
---@return string
function Steps:next_key(step)
  local execution = self:execution_of(step)
  local branch = execution:current() or execution.main
  return self.calls:beginning_of_key(step, branch.prefix .. (branch.position + 1))
end

-- ---- starting ----

---A step's action or phase.
---@param step skillrt.Step
---@return skillrt.Action
function Steps:definition_of(step)
  local live = step.live
  if not live.definition then -- of a step resumed from the journal
    live.definition = self.mode:find(step.id)
      or step.undoes and require("skillrt.run.step.undo").definition(self, step.id)
  end
  return live.definition
end

---An action or phase was chosen. Its start is recorded with its next record.
---@param definition skillrt.Action
---@param said table|nil  further fields of its `start`: same, print, edge, why, undo, plan
---@return skillrt.Step
function Steps:start(definition, said)
  local kind, id, number = definition.kind, definition.id, self.numbered.last_step + 1
  if self.books.held then
    local resumed, asked_anew = repeats.resumed(self.books, definition)
    if resumed then
      said, number = said or {}, resumed
      said.from = json.array(asked_anew)
    end
  end
  local step = { number = number, id = id, kind = kind, started_at = self.journal:now(), root = false, after = 0,
    n = self.root.iteration_count + (self.iterations[kind] or 0),
    live = { home = self, definition = definition, thread = false } }
  if self.is_phased then
    said = said or {}
    require("skillrt.run.phases").start(self.run, definition, said)
  end
  if definition.output then
    said = said or {}
    said.file = definition.output
  end
  self.journal:begin(step, said)
  if definition.limits then
    self.run.limits:began(step)
  end
  return step
end

---Lets a step be performed: a function of the script once all earlier records are durable; an agent at once, as it
---only makes calls; a step with recorded results when those are read.
---@param step skillrt.Step
function Steps:go(step)
  local definition = self:definition_of(step)
  if self.top.run.phase == "opening" and next(step.known) then
    return self:resume(step)
  elseif step.state ~= "first" then
    self.calls.queue:perform_again(step)
  elseif definition.run or definition.each or definition.protocol or self:is_script(definition.agent) then
    local performing = self.performing
    performing[#performing + 1] = self.calls.queue:number(step)
  else
    self:perform(step)
  end
end

---Whether a function of the script performs this agent's work.
---@param name string|nil
---@return boolean|nil
function Steps:is_script(name)
  return name and self.run.skill.agents[name].is_script
end

-- An agent's step, or one that only ends the run.
function Steps:by_agent(step, definition, name)
  local agent = self.run.skill.agents[name]
  if not agent then
    return function() end
  end
  return function(_, ctx, item, index)
    local request = { item = item, index = index, repair = rawget(ctx, "repair") }
    local given, message, class = agent:perform(ctx, task_of.new(self.run, step, definition, request))
    if given and given.concerns then
      return require("skillrt.run.people").concerned(ctx, step, definition, given)
    end
    return given, message, class
  end
end

-- The function that performs a step which is more than one function: an agent's, or one for each item of a list.
local function performer(self, step, definition)
  local perform = definition.run or self:by_agent(step, definition, definition.agent)
  local gives_outcome = definition.agent ~= nil
  if definition.each then
    local each = require("skillrt.run.step.each")
    perform, gives_outcome = each.over(step, definition, perform, self.run.skill.merge), true
  end
  if definition.protocol then
    return require("skillrt.run.step.lifecycle").over(self, step, definition, perform, gives_outcome)
  end
  return perform
end

---Performs a step from its start: its recorded results are given back to it.
---@param step skillrt.Step
function Steps:perform(step)
  if self.sub and not self.sub:is_awaited() then
    return
  end
  local live = step.live
  local definition = self:definition_of(step)
  local perform, thread, ctx = definition.run, execution_of.worker(self.idle), nil
  if not perform or definition.each or definition.protocol then
    perform, ctx = performer(self, step, definition), context.new(self.face, step)
  elseif definition.takes_ctx then
    ctx = context.new(self.face, step)
  end
  if live.thread then -- nothing is left of the previous attempt, or of the replay
    live = { home = self, definition = definition }
    step.live = live
  end
  self.limits:allow(definition)
  if self.journal.has_news then
    self.journal:show()
  end
  local drawing = drawn.step
  live.thread, drawn.step = thread, step
  local ok, first, a, b, c = resume(thread, perform, step.root, ctx)
  drawn.step = drawing
  return self:after(step, ok, first, a, b, c)
end

---The branches of a step, from its first wait on.
---@param step skillrt.Step
---@return skillrt.Execution
function Steps:execution_of(step)
  local live = step.live
  local execution = live.execution
  if not execution then
    execution = execution_of.new(step, self.calls, self.idle, function(_, ok, a, b, c)
      self:over(step, ok, a, b, c)
    end)
    live.execution = execution
  end
  return execution
end

-- The function's first stretch has finished: it ended, or it waits.
function Steps:after(step, ok, first, a, b, c)
  local live = step.live
  local execution = live.execution
  if ok and first == WAIT then
    execution:replay()
    return self:look(step)
  elseif ok and first == OVER then
    self.idle[#self.idle + 1] = live.thread
  elseif ok then
    ok, a = false, step.id .. ": run yielded; to wait, call ctx.await(request)"
  else
    fatal.pass_on(first) -- at once: none of its calls may be waited for first
    a = first
  end
  if not execution then
    if next(step.known) == nil and next(step.calls) == nil then
      return self:finish(step, ok, a, b, c)
    end
    execution = self:execution_of(step) -- it awaits nothing now
  end
  execution:free_main()
  self:over(step, ok, a, b, c)
  if execution.state ~= "closed" then
    execution:replay() -- it may have started calls without waiting for them
  end
  return self:look(step)
end

-- Changes are accepted: discards what was recorded from a place on, and performs the step again.
local function drop(self, step, diverged)
  local top = self.top
  top.dropped = top.dropped or {}
  local text = "step %d (%s), call %s: it was %s, and is %s now; discarded: %s"
  table.insert(top.dropped, text:format(step.number, step.id, diverged.place, diverged.before, diverged.now,
    table.concat(repeats.forgotten(step, diverged.place), ", ")))
  assert(self.journal:emit({ t = "drop", step = step.number, from = { diverged.place } }))
  return self:perform(step)
end

-- Calls that a diverged step no longer asks for: that they may have acted is kept with their results.
local function leave_calls(self, step)
  for _, place in ipairs(names.sorted(step.calls)) do
    local call = step.calls[place]
    if repeats.acted(call) or call.sub then
      assert(self.journal:emit({ t = "result", step = step.number, c = place, unknown = true,
        decided = call.decision ~= "retry" and call.decision or nil,
        failed = { class = "permanent", message = "not asked for any more" } }))
    end
  end
end

-- Whether something of these has a place below this one.
local function is_below(list, place)
  for at in pairs(list) do
    if places.is_below(at, place) then
      return true
    end
  end
  return false
end

---Whether a step asked for something else than before: then it is refused; or, if changes are accepted, it discards
---what it was given, and continues from there.
---@param step skillrt.Step
function Steps:look(step)
  local execution = step.live.execution
  if not (execution and execution.divergence) then
    return
  end
  local diverged = execution:give_divergence()
  if diverged.before == diverged.now then -- its arguments, input, headers or method have changed
    diverged.now = "another " .. diverged.now:gsub("^an? ", "")
  end
  if self.top.run.phase == "opening" and self.run.accept_changes then
    return drop(self, step, diverged)
  end
  local text = ("%s: step %d (%s) has diverged at call %s: it was %s, and is %s now"):format(self.run.store.place,
    step.number, step.id, diverged.place, diverged.before, diverged.now)
  if self.top.run.phase == "opening" then
    error({ message = text, code = "changed", diverged = diverged, step = step.number }, 0)
  end
  leave_calls(self, step)
  local place = diverged.place
  local has_more = is_below(step.known, place) or is_below(step.rounds, place) -- a combinator of the changed script
  local blame = step.known[place] and not has_more and place or nil -- to blame one would repeat all of it
  self:fail(step, self:definition_of(step), { class = "permanent", message = text, blame = blame })
end

-- A step has finished: the scope is asked what is next.
function Steps:ended(definition)
  self.mode:finished(definition)
  if definition.limits then
    self.run.limits:closed(definition.id)
  end
  if self.sub then
    self.sub:touch()
  end
end

-- ---- ending ----

---The step's function has ended; the step ends when none of its calls is open.
function Steps:over(step, ok, a, b, c)
  local execution = step.live.execution
  execution:drain(function(branch) return branch ~= execution.main end, function()
    local is_used_up = execution:is_used_up()
    execution:close()
    if is_used_up then
      self:finish(step, ok, a, b, c)
    end
  end)
end

-- An error that a function raised, as a failure.
local function raised(step, problem)
  local failure = function_result.failure(step.id, problem)
  if failure.raised then
    failure.traceback = debug.traceback(step.live.thread, failure.message)
  end
  coroutine.close(step.live.thread) -- its to-be-closed variables are closed now
  return failure
end

-- The result of a step's function: updates and words; or a failure. A function of the script returns updates or
-- nothing; an agent returns an outcome.
---@return table|nil updates
---@return table|nil words
---@return table|nil failure
local function meaning(step, definition, ok, a, b, c)
  local words
  if not ok then
    return nil, nil, raised(step, a)
  end
  if definition.agent or definition.each or definition.protocol then
    words = a
  elseif b ~= nil or c ~= nil or (a ~= nil and type(a) ~= "table") or step.kind == "phase" then
    words, b, c = function_result.outcome(step.kind, step.id .. ": run", a, b, c)
  else
    return a
  end
  if b ~= nil and words == nil then
    return nil, nil, type(b) == "table" and b or { message = b, class = c or "permanent" }
  end
  return words and words.updates, words
end

---Turns the result of a step's function into its end, or a failure.
function Steps:finish(step, ok, a, b, c)
  local definition = step.live.definition
  local updates, words, failure = meaning(step, definition, ok, a, b, c)
  if failure then
    return self:fail(step, definition, failure)
  end
  local entry, unfit = outcome.record(self.run, step, definition, updates, words)
  if not entry and unfit.here then
    self:ends_run("paused", "output_failed", unfit.message) -- the step stays open: a resume writes its output again
    return
  elseif not entry then
    return self:fail(step, definition, unfit)
  end
  entry.keep = definition.resumable and true or nil
  local written, message = self.journal:emit(entry, words and not definition.undo and words.ours)
  if not written then
    return self:fail(step, definition, {
      class = outcome.unusable(step),
      message = "the result cannot be recorded: " .. message,
    })
  end
  if definition.undo and not entry.partial then
    assert(self.journal:emit({ t = "undoable", sub = self.books.sub, step = step.number, id = step.id,
      set = entry.set }))
  end
  self:ended(definition)
end

---A step ends the run, whatever would be next; the first one counts.
---@param status string
---@param reason string
---@param message string|nil
function Steps:ends_run(status, reason, message)
  local top = self.top
  top.verdict = top.verdict or { status, reason, message }
end

-- ---- failing ----

-- The place of the call that a failure blames: the one it names; the one whose failure it passes on; for an agent,
-- where another attempt may help, the last one. A raised error that blames none is a bug in the code.
local function put_down(execution, definition, failure)
  local main = failure.seen or execution and execution.main
  local of_call = main and main.failed
  local passed_on = of_call and (of_call.message == failure.message
    or failure.raised and of_call.message ~= "" and failure.message:find(of_call.message, 1, true) ~= nil)
  local is_slip = failure.raised and not failure.blame and not (passed_on and not of_call.is_slip)
    or passed_on and of_call.is_slip
  local blame = failure.blame or passed_on and of_call.blame or nil
  if not blame and main and not is_slip and (definition.agent or retry.CLASSES[failure.class]
    or of_call and of_call.blame == main.last) then
    blame = main.last
  end
  if passed_on and failure.raised and not is_slip then
    failure.class, failure.message = claimed(of_call.class, failure.message)
  end
  return blame, is_slip or nil
end

-- When the next attempt starts; nil: there is none. The second value says why not.
local function next_attempt(run, step, definition, failure, blame)
  local settings = setmetatable({
    max_retries = definition.max_retries or run.skill.limits.max_retries,
  }, { __index = run.skill.retry })
  if failure.is_slip or run.limits:reached_by(definition.id, failure) then
    return nil
  end
  local attempt = step.attempt - step.since
  local delay = retry.delay(settings, attempt, failure.class, failure.retry_after_ms, core.random)
  local may, why = repeats.may_attempt(step, blame)
  return may and delay or nil, delay and why
end

-- What follows a final failure, for its record: nothing yet (`again`), or what `on_error` says (`over`); and whether
-- it counts for the run's max_errors (`free`: it does not). If the code itself failed, and nothing says what follows,
-- the step stays open until a person has fixed it (`over` is "script").
local function follow(run, definition, entry, step, is_slip)
  local class = entry.class
  local word = on_error.word(definition, class)
  if not is_slip and run.limits:reached_by(definition.id, entry) then
    entry.over, entry.circuit = "circuit", true
    return entry
  end
  if run.skill.machine and require("skillrt.run.moves").failed(run, definition, entry) then
    return entry -- its class says where that leads
  end
  local goes_on = word and word ~= "fail" or step.kind == "phase" and run.skill.on_error == "continue"
  if is_slip and not goes_on then
    entry.over, entry.move = "script", nil
    return entry
  end
  if word then
    entry.free = on_error.is_free(definition, class) or nil
    if run.limits:may_fail_again(definition, class) and not is_slip
      and not repeats.barred_by(definition, step) then
      entry.again = true
    else
      entry.over = word
      entry.degraded = definition.optional and word == definition.alternative or nil
    end
  end
  return entry
end

---An attempt of a step failed.
---@param step skillrt.Step
---@param definition skillrt.Action
---@param failure table  { class, message, traceback, blame, retry_after_ms }
function Steps:fail(step, definition, failure)
  local execution = step.live.execution
  local blame
  blame, failure.is_slip = put_down(execution, definition, failure)
  if failure.class == "skipped" then
    assert(self.journal:emit({ t = "skip", step = step.number, why = printable(failure.message) }))
    return self:ended(definition)
  end
  if execution and blame == execution.main.last then
    failure.retry_after_ms = failure.retry_after_ms or execution.main.retry_after_ms
  end
  local delay, why = next_attempt(self.run, step, definition, failure, blame)
  local message = why and ("%s (%s)"):format(failure.message, why) or failure.message
  local unwritten = output_files.put_aside(self.run, definition)
  if unwritten then
    self:ends_run("paused", "output_failed", unwritten)
  end
  local entry = {
    t = "fail",
    step = step.number,
    attempt = step.attempt,
    class = failure.class,
    message = printable(message),
    traceback = failure.traceback and printable(failure.traceback),
    retry = delay and math.ceil(delay) or nil,
    blame = blame,
  }
  if not delay then
    follow(self.run, definition, entry, step, failure.is_slip)
  end
  assert(self.journal:emit(entry))
  if delay then
    self.calls:ring(steady.at(self.run, step.retry_at), step)
  elseif entry.over == "script" then
    self:ends_run("paused", "script_error", entry.message)
  else
    self:ended(definition)
  end
end

-- Changes are accepted: what was computed from recorded results alone is computed again by the changed script. What
-- it then asks for is compared with what was recorded.
local function loosen(self, step)
  for _, known in pairs(step.known) do
    if known.pure then
      assert(self.journal:emit({ t = "drop", step = step.number, from = json.array({}), loose = true }))
      return
    end
  end
end

---Performs a step with its recorded results; calls that may be sent are sent with the next batch. Called while the
---store is read: in `load`.
---@param step skillrt.Step
function Steps:perform_again(step)
  self:perform(step)
  if step.live.execution then
    step.live.execution:read_ahead()
  end
end

---Resumes a step that an earlier process started; its script may have changed since.
---@param step skillrt.Step
function Steps:resume(step)
  if step.state == "broken" or self.run.accept_changes and step.state ~= "loose" then
    loosen(self, step)
  end
  if self.top.run.phase == "opening" then
    self:perform_again(step)
  else
    self.calls.queue:perform_again(step)
  end
end

---Continues the steps that were under way when the run stopped.
function Steps:take_up()
  local numbers = {}
  for number, step in pairs(self.books.steps) do
    if step.sub == self.books.sub then
      numbers[#numbers + 1], step.live = number, { home = self }
    end
  end
  table.sort(numbers)
  for _, number in ipairs(numbers) do
    local step = self.books.steps[number]
    if not self:definition_of(step) then
      assert(self.journal:emit({ t = "skip", step = number, why = "its definition is no longer part of the skill" }))
    elseif self.books.abort and not step.undoes then
      child.give_up_step(self.calls, step)
      local entry = { t = "undoable", sub = self.books.sub, step = number, id = step.id, cleanup = true }
      assert(self.journal:emit({ t = "skip", step = number, why = "the run is being aborted" }))
      assert(not self:definition_of(step).cleanup or self.journal:emit(entry)) -- a step of its own does it
    elseif step.retry_at then -- never longer than intended, even if the clock was set back
      self.calls:ring(steady.at(self.run, step.retry_at, step.failures[#step.failures].retry), step)
    elseif next(step.known) or next(step.calls) or next(step.rounds) or next(step.values) then
      self:resume(step)
    else
      self:go(step)
    end
  end
end

---The wait before an attempt has passed.
---@param step skillrt.Step
function Steps:rang(step)
  if self.books.steps[step.number] == step then
    self:go(step)
  end
end

return Steps
