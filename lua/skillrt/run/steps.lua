-- run/steps.lua: steps from their start to their end: who performs them, and what they gave.
--
-- A step's function runs in a worker coroutine; it has an execution (run/branch/execution.lua) from its first wait on.
-- Knows actions, agents and outcomes; which step is next knows the mode. Called by policy.lua.

local context = require("skillrt.run.ctx")
local core = require("skillrt.core")
local drawn = require("skillrt.base.drawn")
local draws = require("skillrt.run.branch.draws")
local execution_of = require("skillrt.run.branch.execution")
local fatal = require("skillrt.base.fatal")
local failed = require("skillrt.run.steps.failed")
local outcome = require("skillrt.run.outcome")
local json = require("skillrt.base.json")
local record = require("skillrt.base.record")
local repeats = require("skillrt.mode.repeats")
local returned = require("skillrt.agent.returned")
local single = require("skillrt.base.single")
local task_of = require("skillrt.run.task")

local printable, wall_ms = record.printable, core.wall_ms
local WAIT, OVER = execution_of.WAIT, execution_of.OVER
local resume = coroutine.resume -- the one that can be interrupted (limits.c): core is loaded

---@class skillrt.Steps
---@field run table
---@field journal skillrt.Journal
---@field calls skillrt.Calls
---@field sub skillrt.Sub|nil  of which scope (subs.lua); nil: of the run itself
---@field top skillrt.Steps    the run's own
---@field trouble string|false  of the run's own: an output cannot be written
---@field halt table|false  of the run's own: { status, reason, message } of a step whose code failed
---@field performing integer[]  engine's numbers of functions to be performed once their start is durable
local Steps = {}
Steps.printable = printable
Steps.fail, Steps.take_up, Steps.perform_again = failed.fail, failed.take_up, failed.perform_again

---@param run table
---@param journal skillrt.Journal
---@param calls skillrt.Calls
---@param numbers table
---@param mode table
---@param sub skillrt.Sub|nil   the sub-run whose steps they are
---@param top skillrt.Steps|nil  of it: the run's own
---@return skillrt.Steps
function Steps.new(run, journal, calls, numbers, mode, sub, top)
  local self = single.of(Steps, {
    run = run,
    books = run.books,
    journal = journal,
    calls = calls,
    numbers = numbers,
    mode = mode,
    iterations = mode.iterations,
    root = run.books.state.root, -- the same table all the time
    limits = run.limits,
    performing = top and top.performing or {},
    idle = {},
    sub = sub or false, -- what is asked with each step is there, also where the answer is no
    is_phased = run.skill.tool_sets or run.skill.kept or false,
    trouble = false,
    halt = false,
  })
  for _, one in ipairs(run.skill.actions) do
    one.is_bare = outcome.is_bare(run.skill, one)
  end
  self.top = top or self
  self.numbered = self.top.books -- steps of all scopes are numbered through
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
    definition = self.mode:find(step.id) or step.undoes and require("skillrt.run.steps.undo").definition(self, step.id)
    step.definition = definition
  end
  return definition
end

---An action or phase was chosen. Its start is recorded with what comes next of it.
---@param definition skillrt.Action
---@param said table|nil  what its `start` says besides: same, print, edge, why, undo, plan
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
  local step = { number = number, id = id, kind = kind, started_at = wall_ms(), definition = definition,
    n = self.root.iteration_count + (self.iterations[kind] or 0), home = self,
    thread = false, told = false, place = false, root = false, after = 0 } -- there is room, and no search for them
  if self.is_phased then
    said = said or {}
    require("skillrt.run.phased").start(self.run, definition, said)
  end
  self.journal:begin(step, said)
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
  if self.loading and next(step.known) then
    return self:perform_again(step)
  elseif definition.run or definition.each or definition.protocol or self:is_script(definition.agent) then
    local performing = self.performing
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

-- The function that performs a step which is no function alone: an agent's, or for each item of a list.
local function performer(self, step, definition)
  local perform = definition.run or self:by_agent(step, definition, definition.agent)
  local gives_outcome = definition.agent ~= nil
  if definition.each then
    perform, gives_outcome = require("skillrt.run.steps.each").over(step, definition, perform), true
  end
  if definition.protocol then
    return require("skillrt.run.steps.lifecycle").over(self, step, definition, perform, gives_outcome)
  end
  return perform
end

---Performs a step from its beginning: what is recorded of it is given back to it.
---@param step skillrt.Step
function Steps:perform(step)
  if self.sub and self.sub.canceled then
    return -- nobody waits for it any more
  end
  local definition, idle = step.definition or self:definition_of(step), self.idle
  local perform, thread, ctx = definition.run, execution_of.worker(idle), nil
  if not definition.is_bare and (not perform or definition.each or definition.protocol) then
    perform, ctx = performer(self, step, definition), context.new(self.face, step)
  elseif definition.takes_ctx then
    ctx = context.new(self.face, step)
  end
  if step.thread then -- nothing is left of the attempt before, or of the replay
    step.execution, step.said, step.context, step.context_log = nil, nil, nil, nil
    draws.begin(step)
  end
  self.limits:allow(definition)
  self.journal:show()
  local drawing = drawn.step
  step.thread, drawn.step = thread, step
  local ok, first, a, b, c = resume(thread, perform, step.root, ctx)
  drawn.step = drawing
  if first == OVER and not step.told then -- it awaited nothing, as most do
    idle[#idle + 1] = thread
    return self:finish(step, true, a, b, c)
  end
  self:after(step, ok, first, a, b, c)
end

---The branches of a step, from its first wait on.
---@param step skillrt.Step
---@return skillrt.Execution
function Steps:execution_of(step)
  local execution = step.execution
  if not execution then
    execution = execution_of.new(step, self.calls, self.idle)
    step.execution, step.told = execution, true
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
    self.idle[#self.idle + 1] = step.thread
  elseif ok then
    ok, a = false, step.id .. ": run yielded; to wait, call ctx.await(request)"
  else
    fatal.pass_on(first) -- at once: no call of it may be waited for first
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
    require("skillrt.run.steps.diverged").met(self, step)
  end
end

-- A step is over: of a scope's own, the scope is asked what is next.
function Steps:ended(definition)
  self.mode:finished(definition)
  if definition.limits then
    self.run.limits:closed(definition.id)
  end
  if self.sub then
    self.sub:touch()
  end
end

---Goes on with a step after one of its calls was over.
---@param step skillrt.Step
function Steps:go_on(step)
  self.limits:allow(self:definition_of(step))
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

-- What a step's function gave: updates, and words besides; or a failure. A function of the script's gives updates or
-- nothing, as most do; an agent gives an outcome.
---@return table|nil updates
---@return table|nil words
---@return table|nil failure
local function meaning(step, definition, a, b, c)
  local words
  if definition.agent or definition.each or definition.protocol then
    words = a
  elseif b ~= nil or c ~= nil or (a ~= nil and type(a) ~= "table") or step.kind == "phase" then
    words, b, c = returned.outcome(step.kind, step.id .. ": run", a, b, c)
  else
    return a
  end
  if b ~= nil and words == nil then
    return nil, nil, type(b) == "table" and b or { message = b, class = c or "permanent" }
  end
  return words and words.updates, words
end

---What the step's function gave becomes its end, or a failure.
function Steps:finish(step, ok, a, b, c)
  local definition, words, failure = step.definition, nil, nil
  if not ok then
    failure = failed.raised(step, a)
  elseif b ~= nil or not definition.is_bare or type(a) ~= "table" then
    a, words, failure = meaning(step, definition, a, b, c)
  end
  if failure then
    return self:fail(step, definition, failure)
  end
  local entry, unfit = outcome.record(self.run, step, definition, a, words)
  if not entry then
    return self:refused(step, definition, unfit)
  elseif step.told and (step.fresh or step.read) then
    draws.with_fresh(self.journal, step, entry)
  end
  entry.keep = definition.resumable and true or nil
  local written, message = self.journal:emit(entry, words and not definition.undo and words.ours)
  if not written then
    return self:fail(step, definition, {
      class = outcome.unusable(step),
      message = ("%s: the result cannot be kept: %s"):format(step.id, message),
    })
  end
  if definition.undo and not entry.partial then
    assert(self.journal:emit({ t = "undoable", sub = self.books.sub, step = step.number, id = step.id,
      set = entry.set }))
  end
  self:ended(definition)
end

-- What a step gave cannot be its end.
function Steps:refused(step, definition, failure)
  if failure.here then
    self.top.trouble = failure.message -- the step stays open: a resume writes again what it gave
  else
    self:fail(step, definition, failure)
  end
end

---The wait before an attempt is over.
---@param step skillrt.Step
function Steps:rang(step)
  if self.books.steps[step.number] == step then
    self:go(step)
  end
end

return Steps
