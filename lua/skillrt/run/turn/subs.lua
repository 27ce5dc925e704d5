-- run/turn/subs.lua: skills that a step of another skill runs (ctx.run): scopes of one run, each with a mode, steps
-- and ends of its own over the same journal, engine and calls (docs/write/steps.md, "Sub-runs").
--
-- Opens a scope when its call starts, asks the scopes in which something ended what is next, and finishes their
-- calls. Knows calls, steps and modes; skill.open, which is set from outside, loads a path. Called by turn.lua.

local choices = require("skillrt.skill.choices")
local drawn = require("skillrt.base.drawn")
local files = require("skillrt.base.files")
local needs = require("skillrt.run.runner.needs")
local prepare = require("skillrt.run.runner.prepare")
local questions = require("skillrt.run.questions")
local resume = require("skillrt.run.resume")
local run_kind = require("skillrt.run.call.kind.run")
local scheduler = require("skillrt.run.turn.scheduler")
local skill_of = require("skillrt.skill")
local steps_of = require("skillrt.run.step.steps")

-- How deep scopes may nest.
local DEPTH <const> = 8

-- The state of a sub-run:
--
--   from             when                                                          to
--   going, paused    it is asked what is next, and cannot continue alone          paused
--   paused           it is asked again, as something ended in it                   going
--   going, paused    its step gave it up: nothing begins in it                     canceling
--   any but over     its call is over                                              over
---@class skillrt.Sub
---@field state "going"|"paused"|"canceling"|"over"
---@field id string
---@field subs skillrt.Subs
---@field call skillrt.Call   the call that waits for it
---@field depth integer
---@field run skillrt.Run
---@field steps skillrt.Steps
---@field scheduler skillrt.Scheduler
---@field reason string|nil   paused: why
---@field message string|nil
---@field is_touched boolean  something ended in it since it was last asked
---@field left integer        canceling: steps with unfinished calls
local Sub = {}
Sub.__index = Sub

---@class skillrt.Subs
---@field turn skillrt.Turn
---@field by_id table<string, skillrt.Sub>  those under way: calls.scopes
---@field touched skillrt.Sub[]
local Subs = {}
Subs.__index = Subs

---@param turn skillrt.Turn
---@return skillrt.Subs
function Subs.new(turn)
  return setmetatable({ turn = turn, by_id = turn.calls.scopes, touched = {} }, Subs)
end

-- ---- opening ----

local function depth_of(step)
  return step.live.home.sub and step.live.home.sub.depth or 0
end

-- The skill that a call names: given, or loaded from its path as it was when the scope started.
local function skill_for(turn, call, known)
  local given = call.request.skill
  if type(given) ~= "string" then
    return given
  elseif not skill_of.open then
    return nil, given .. ": this program cannot load skills from paths; give ctx.run a skill"
  end
  local own = call.step.live.home.run.skill
  local problem = own.guest and files.is_confined(given) and own.guest:refused(own.dir, given)
  if problem then
    return nil, problem
  end
  local before = drawn.loading
  local _ <close> = setmetatable({}, { __close = function() drawn.loading = before end })
  return skill_of.open(files.join(own.dir, given), { agent = turn.session.agent, drawn = known and known.drawn,
    is_stranger = own.guest ~= nil })
end

-- Prepares the skill for the run, like a run's own; or nil and why not.
local function prepared_for(turn, call, known)
  if depth_of(call.step) >= DEPTH then
    return nil, ("%s: sub-runs are nested %d deep already"):format(call.to, DEPTH)
  end
  local skill, message = skill_for(turn, call, known)
  if not skill then
    return nil, message
  end
  local own = turn.run.skill
  local prepared, pins, prompts = prepare.skill(skill, { durability = own.durability, context = own.context,
    sandbox = own.sandbox_override })
  if not prepared then
    return nil, pins
  elseif turn.run.world then
    turn.run.world:dress(prepared)
  end
  local _, missing = needs.check(prepared, turn.run.functions)
  if missing then
    return nil, missing
  end
  if prepared.inputs and not known then
    local input
    input, message = require("skillrt.skill.inputs").take(prepared, call.request.input)
    if not input then
      return nil, message
    end
    call.request.input = input
  end
  return prepared, pins, prompts
end

-- A journal whose records belong to a scope unless their step says otherwise.
local function journal_for(journal, id)
  return setmetatable({
    begin = function(_, step, said)
      journal:begin(step, said, id)
    end,
    emit = function(_, entry, ours)
      entry.sub = not entry.step and id or nil
      return journal:emit(entry, ours)
    end,
    now = function()
      return journal:now()
    end,
  }, { __index = journal })
end

-- The name of a call's scope.
local function id_of(call)
  local step = call.step
  local generation = step.generations[call.place]
  return ("%d.%s%s"):format(step.number, call.place, generation and ("-%d"):format(generation + 1) or "")
end

-- A scope starts: its first records.
local function begin(turn, call, id, skill, pins)
  local input = call.request.input
  turn.calls:emit(call, { t = "call", kind = "run", to = call.to, digest = call.digest, idem = true, sub = id })
  assert(turn:emit({
    t = "run",
    sub = id,
    step = call.step.number,
    run = turn.books.run_id,
    skill = skill.name,
    version = skill.version,
    mode = skill.mode,
    move = skill.machine and skill.machine.begins,
    input = input,
    state = skill.state,
    pins = pins,
    choices = choices.of(skill),
    drawn = skill.loaded and skill.loaded.drawn,
    context = skill.context,
  }))
  if skill.contexts or input.references then
    require("skillrt.run.contexts").load(turn, skill, id, { references = input.references,
      context = call.step.live.home.run.books.state.root.context })
  end
end

-- A scope whose books exist.
local function made(self, call, id, skill, prompts)
  local turn = self.turn
  local run = turn.run:sub(id, skill, prompts, call)
  if not run.keeps_nothing then
    local ok, why, cause = run.store:make()
    if not ok then -- like any record that finds no room: the run pauses
      error({ message = why, code = cause == "system" and "store" or cause }, 0)
    end
  end
  local sub = setmetatable({ state = "going", id = id, subs = self, call = call, depth = depth_of(call.step) + 1,
    run = run, is_touched = false, left = 0 }, Sub)
  local journal, mode = journal_for(turn.journal, id), turn.make_mode(run)
  sub.steps = steps_of.new(run, journal, turn.calls, mode, sub, turn.steps)
  sub.scheduler = scheduler.new(run, journal, sub.steps, mode)
  self.by_id[id] = sub
  return sub
end

-- A call whose scope exists, or starts now.
local function open(self, call)
  local turn, recorded = self.turn, call:open()
  local id = recorded and recorded.sub or id_of(call)
  local books = recorded and turn.books.subs[id]
  local skill, pins, prompts = prepared_for(turn, call, books)
  if not skill and recorded then
    error({ message = ("%s: of its sub-run %s: %s"):format(turn.run.store.place, id, pins), code = "changed" }, 0)
  elseif not skill then
    turn.calls:settle(call, { unsent = true, failed = { class = "permanent", message = pins } })
    call.execution:go_on()
    return
  elseif recorded then
    resume.check_pins(turn, books, pins, skill)
  else
    begin(turn, call, id, skill, pins)
  end
  local sub = made(self, call, id, skill, prompts)
  if recorded then
    resume.reopen(turn, sub)
    sub.steps:take_up()
  end
  if call.branch.state == "ended" then
    sub:cancel()
  end
  sub:touch()
end

---Opens the scopes of calls that have started; continues those that were under way.
function Subs:open()
  local calls = self.turn.calls
  while calls.opening[1] do
    for _, call in ipairs(calls:take_opening()) do
      if call:is_awaited() then
        open(self, call)
      end
    end
  end
end

---Whether its steps may continue.
function Sub:is_awaited()
  return self.state == "going" or self.state == "paused"
end

---Something ended in it: asks what is next.
function Sub:touch()
  if not self.is_touched then
    self.is_touched = true
    table.insert(self.subs.touched, self)
  end
end

-- ---- ending ----

---Its step gave it up: nothing more starts in it, and calls that may be given up are.
function Sub:cancel()
  if not self:is_awaited() then
    return
  end
  self.state = "canceling"
  for _, step in pairs(self.subs.turn.books.steps) do
    local execution = step.sub == self.id and step.live.execution
    if execution and execution.state ~= "closed" then
      self.left = self.left + 1
      execution:drain(function() return true end, function()
        execution:close()
        self.left = self.left - 1
        self:touch()
      end)
    end
  end
  self:touch()
end

-- The scope has finished, and so has its call.
local function finish(self, sub, entry)
  local call = sub.call
  sub.state, self.by_id[sub.id] = "over", nil
  sub.run.limits:close()
  self.turn.calls:settle(call, entry)
  call.execution:go_on()
end

-- The last record of a scope, and the result of its call.
local function stop(self, sub, status, reason, message)
  local turn, skill = self.turn, sub.run.skill
  local unkept = turn.books.session and skill.contexts and require("skillrt.run.contexts").keep(turn, sub.run)
  if unkept then
    turn.journal:note("the session is not kept: " .. unkept)
  end
  assert(turn:emit({ t = "stop", sub = sub.id, status = status, reason = reason, message = message }))
  local entry = { reply = run_kind.result(sub.run, status, reason, message) }
  if status ~= "completed" then
    entry.failed = { class = "permanent",
      message = ("%s: %s (%s)%s"):format(skill.name, status, reason, message and ": " .. message or "") }
  end
  finish(self, sub, entry)
end

-- ---- choosing ----

local function ask(self, sub)
  if sub.state == "canceling" then
    if sub.left == 0 then
      finish(self, sub, { failed = { class = "canceled", message = "not waited for any more" } })
    end
    return
  end
  local kind, what, why, message = sub.scheduler:choose()
  if not sub:is_awaited() then
    return
  end
  sub.state = kind == "stop" and what == "paused" and "paused" or "going"
  if kind == "ask" then
    questions.ask_for_mode(self.turn, what, sub)
  elseif sub.state == "paused" then
    sub.reason, sub.message = why, message
  elseif kind == "stop" then
    stop(self, sub, what, why, message)
  end
end

---Asks each scope in which something ended what is next. True: that changed something elsewhere.
---@return boolean
function Subs:choose()
  local any = self.turn.calls.opening[1] ~= nil or self.touched[1] ~= nil
  self:open()
  while self.touched[1] do
    local touched = self.touched
    self.touched = {}
    for _, sub in ipairs(touched) do
      sub.is_touched = false
      if sub.state ~= "over" then
        ask(self, sub)
      end
    end
    self:open()
  end
  return any
end

---Why the run cannot continue when nothing else is under way: a scope that is stuck; nil: none.
---@return string|nil reason
---@return string? message
function Subs:stuck()
  local first
  for id, sub in pairs(self.by_id) do
    if sub.state == "paused" and not (first and first.id <= id) then
      first = sub
    end
  end
  if first then
    self.turn.run.limits:ended_by(first.run.limits) -- its own, by which it can be raised
    return first.reason, ("%s (sub-run %s): %s"):format(first.run.skill.name, first.id, first.message or "paused")
  end
end

return Subs
