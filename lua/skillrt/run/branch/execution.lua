-- run/branch/execution.lua: the branches of one step: coroutines that run until each of them waits, and results that
-- are delivered one at a time (docs/write/steps.md).
--
-- Knows coroutines and the step's results in the books; run/call/ knows what a call is and when it is sent. A step
-- whose function awaits nothing has no execution. Called by steps.lua, run/call/ and run/branch/combine.lua.

local drawn = require("skillrt.base.drawn")
local draws = require("skillrt.run.branch.draws")
local fatal = require("skillrt.base.fatal")
local places = require("skillrt.run.places")

local M = {}

---What a branch yields while it waits; a function's other yields are no waits.
M.WAIT = {}
local WAIT = M.WAIT

-- A coroutine performs one function after the other, so that most branches need no new one; one that raised, or was
-- cancelled while it waited, is not reused.
local OVER = {}
M.OVER = OVER

local yield = coroutine.yield

local function work(perform, a, b, c, d)
  while true do
    perform, a, b, c, d = yield(OVER, perform(a, b, c, d))
  end
end

---A coroutine to be resumed with a function and up to four arguments.
---@param idle thread[]
---@return thread
function M.worker(idle)
  local count = #idle
  local thread = idle[count]
  if thread then
    idle[count] = nil
    return thread
  end
  return coroutine.create(work)
end

-- The state of a branch:
--
--   from           when                                                     to
--   free           a function is performed that does not run again          once
--   free           a tool is used                                           using
--   using          a person approved just this use                          approved
--   once, using,   that is over                                             as before
--     approved
--   any            it is ended from outside                                 ended
---@alias skillrt.BranchState "free"|"once"|"using"|"approved"|"ended"

---@class skillrt.Branch
---@field state skillrt.BranchState
---@field once string|nil    in state once: the name of the function
---@field execution skillrt.Execution
---@field thread thread
---@field prefix string      of its places
---@field position integer   the last position that it took
---@field scope skillrt.Scope|nil  the combinator it runs under
---@field over fun(branch: skillrt.Branch, ok: boolean, a: any, b: any, c: any)  called when it has ended
---@field failed table|nil   the last failure delivered to it: { message, class, blame = a place, is_slip }
---@field retry_after_ms integer|nil  how long the server wants no further request, reported with that failure
---@field last string|nil    the place that its failure is blamed on
local Branch = {}
Branch.__index = Branch

-- Changes the state of a branch until the returned value is closed.
local function until_closed(branch, changes)
  local before = {}
  for field, value in pairs(changes) do
    before[field], branch[field] = branch[field] or false, value
  end
  return setmetatable({}, { __close = function()
    for field, value in pairs(before) do
      if field ~= "state" or branch.state ~= "ended" then
        branch[field] = value or nil
      end
    end
  end })
end

---Performs a function that does not run again, until the value is closed: its draws are not recorded, and it must not
---wait.
---@param name string
---@return table closable
function Branch:performs_once(name)
  return until_closed(self, { state = "once", once = name })
end

---Uses a tool, until the value is closed: its places are below the tool's.
---@param place string
---@return table closable
function Branch:uses(place)
  return until_closed(self, { state = self.state == "approved" and "approved" or "using", prefix = place .. ".1.",
    position = 0 })
end

---A person approved the present use of the tool: its calls are those that were shown.
function Branch:approve()
  self.state = self.state == "using" and "approved" or self.state
end

---Performs rounds of a loop, until the value is closed.
---@return table closable
function Branch:loops()
  return until_closed(self, { prefix = self.prefix, position = self.position, scope = self.scope or false })
end

---A round of its loop starts, in its own scope.
---@param scope skillrt.Scope
---@param number integer
function Branch:begin_round(scope, number)
  self.prefix, self.position, self.scope = ("%s.%d."):format(scope.place, number), 0, scope
end

---Failures below a place are blamed on that place.
---@param place string
function Branch:put_down_to(place)
  local failed = self.failed
  if failed and failed.blame and places.is_below(failed.blame, place) then
    failed.blame = place
  end
  if self.last and places.is_below(self.last, place) then
    self.last = place
  end
end

---@class skillrt.Scope  a combinator that is under way
---@field execution skillrt.Execution
---@field branch skillrt.Branch  the branch that waits for it
---@field place string
---@field above skillrt.Scope|nil
---@field limit integer|nil   maximal calls under way at once
---@field out integer         calls with a slot
---@field open integer        unfinished calls
---@field free integer        ... of these, calls that take no slot
---@field waiting skillrt.Call[]  calls that wait for a slot: from `first` on
---@field feed fun(): boolean  starts its next branch; false: there is none
---@field is_over boolean     its result is decided
---@field is_awaited boolean  its branch waits until it has finished and no call under it is open
local Scope = {}
Scope.__index = Scope

local function is_full(scope)
  return scope.limit and scope.out >= scope.limit
end

---Whether branches may begin in it: its result is not decided, and somebody still waits for that.
---@return boolean
function Scope:goes_on()
  return not self.is_over and self.branch.state ~= "ended"
end

---Counts calls in this scope and all above it.
---@param scope skillrt.Scope|nil
---@param open integer  by how many the open calls change
---@param free integer  ... those without a slot
---@param out integer   ... those with one
function Scope.count(scope, open, free, out)
  while scope do
    scope.open, scope.free, scope.out = scope.open + open, scope.free + free, scope.out + out
    scope = scope.above
  end
end

---The first of this scope and those above it that has no free slot; nil: there is one.
---@param scope skillrt.Scope|nil
---@return skillrt.Scope|nil
function Scope.full(scope)
  while scope and not is_full(scope) do
    scope = scope.above
  end
  return scope
end

---A call waits for a slot.
---@param call skillrt.Call
function Scope:put(call)
  self.waiting[#self.waiting + 1] = call
end

---The call that has waited longest, if there is a slot for it.
---@return skillrt.Call|nil
function Scope:take()
  local call = not is_full(self) and self.waiting[self.first]
  if call then
    self.waiting[self.first], self.first = false, self.first + 1
  elseif self.first > #self.waiting then
    self.waiting, self.first = {}, 1
  end
  return call or nil
end

---Something in it ended: its branch continues when everything has finished.
---@param is_over boolean|nil  its result is now decided
function Scope:settle(is_over)
  self.is_over = self.is_over or is_over or false
  if self.is_awaited and self.is_over and self.open == 0 then
    self.is_awaited = false
    self.execution:wake(self.branch)
  end
end

---A branch waits until the scope has finished: the caller then yields.
---@param branch skillrt.Branch
function Scope:await(branch)
  self.branch, self.is_awaited = branch, true
  self:settle()
end

-- The state of an execution, changed only by `become`. In the last two states none of its branches runs.
--
--   from               when                                                      to
--   replaying          what is recorded was given back                           live
--   replaying, live    something else is asked for than is recorded              diverged
--   any                no call of it is open behind its end, or it is given up   closed
---@alias skillrt.ExecutionState "replaying"|"live"|"diverged"|"closed"

---@type table<skillrt.ExecutionState, table<skillrt.ExecutionState, true>>
local NEXT <const> = {
  replaying = { live = true, diverged = true, closed = true },
  live = { diverged = true, closed = true },
  diverged = { closed = true },
  closed = { closed = true },
}

---@class skillrt.Execution
---@field state skillrt.ExecutionState
---@field step skillrt.Step
---@field run_calls skillrt.Calls  all calls of the run
---@field idle thread[]    unused coroutines
---@field calls table<string, skillrt.Call>  by place: declared and unfinished
---@field rooms table<string, "place"|"free">  ... what they take in the combinators above: a slot, or none
---@field main skillrt.Branch  of the step's function itself
---@field now skillrt.Branch  the branch that runs, or ran last
---@field taken table<string, true>  places whose results were given back, or that needed no wait (ctx.once)
---@field divergence table|nil  { place, before, now }
---@field ending fun()|nil  called when none of its calls is open
local Execution = {}
Execution.__index = Execution

---@param step skillrt.Step
---@param run_calls skillrt.Calls
---@param idle thread[]
---@param over fun(branch: skillrt.Branch, ok: boolean, a: any, b: any, c: any)  the step's function has ended
---@return skillrt.Execution
function M.new(step, run_calls, idle, over)
  local self = setmetatable({
    step = step,
    run_calls = run_calls,
    idle = idle,
    calls = {},
    rooms = {},
    by_thread = setmetatable({}, { __mode = "k" }),
    runnable = {},
    first = 1,
    last = 0,
    limited = {}, -- scopes with a limit, by place
    feeding = {}, -- scopes that may start a branch when no other can run
    fed = 1,
    taken = {},
    state = "replaying",
    running = false,
  }, Execution)
  self.main = self:branch(step.live.thread, "", nil, over)
  self.now = self.main
  return self
end

---@param self skillrt.Execution
---@param state skillrt.ExecutionState
local function become(self, state)
  if not NEXT[self.state][state] then
    error(("step %d: its execution is %s, and cannot become %s"):format(self.step.number, self.state, state))
  end
  self.state = state
end

---Whether any of its branches runs or will run.
---@return boolean
function Execution:is_open()
  return self.state == "replaying" or self.state == "live"
end

---@param thread thread
---@param prefix string
---@param scope skillrt.Scope|nil
---@param over function
---@return skillrt.Branch
function Execution:branch(thread, prefix, scope, over)
  local branch = setmetatable({ state = "free", execution = self, thread = thread, prefix = prefix, position = 0,
    scope = scope, over = over }, Branch)
  self.by_thread[thread] = branch
  return branch
end

---The calling branch; nil: a coroutine of the script's own called.
---@return skillrt.Branch|nil
function Execution:current()
  return self.by_thread[coroutine.running()]
end

---The next place of a branch.
---@param branch skillrt.Branch
---@return string
function Execution.place(_, branch)
  branch.position = branch.position + 1
  return branch.prefix .. branch.position
end

---Starts a branch: it runs when those before it wait.
---@param prefix string
---@param scope skillrt.Scope|nil
---@param over function
---@param perform function
---@return skillrt.Branch
function Execution:begin(prefix, scope, over, perform, a, b, c, d)
  local branch = self:branch(M.worker(self.idle), prefix, scope, over)
  branch.start = { perform, a, b, c, d }
  self:wake(branch)
  return branch
end

---Makes a branch runnable; its wait returns the values.
function Execution:wake(branch, a, b, c, d)
  branch.a, branch.b, branch.c, branch.d = a, b, c, d
  self.last = self.last + 1
  self.runnable[self.last] = branch
end

local function after(self, branch, ok, first, a, b, c)
  if ok and first == WAIT then
    return
  elseif ok and first == OVER then
    self.idle[#self.idle + 1] = branch.thread
    self.by_thread[branch.thread] = nil
    return branch:over(true, a, b, c)
  elseif ok then
    first = "run yielded; to wait, call ctx.await(request)"
  else
    fatal.pass_on(first) -- at once: none of its calls may be waited for first
  end
  self.by_thread[branch.thread] = nil
  coroutine.close(branch.thread) -- its to-be-closed variables are closed now, before another branch runs
  return branch:over(false, first)
end

-- ---- slots in combinators ----

-- `max_parallel` counts calls, never branches, so that nesting cannot block itself. A call whose result follows from
-- others (`pure`) and the deadline of `within` take no slot.
local function is_free(call)
  return call.request.pure or call.branch.is_deadline
end

local function admit(self, call)
  local free, scope = is_free(call), call.branch.scope
  local full = scope and not free and scope:full()
  if full then
    call:become("waiting")
    full:put(call)
    return
  elseif call.state == "waiting" then
    call:become("declared")
  end
  self.rooms[call.place] = free and "free" or "place"
  if scope and not free then
    scope:count(0, 0, 1)
  end
  if self.state == "live" then
    self.run_calls:begin(call)
  end
end

---Counts a call of a branch in each combinator above it; the call starts when there is a slot.
---@param call skillrt.Call
function Execution:enter(call)
  local step, place = self.step, call.place
  self.calls[place] = call
  if call.branch.scope then
    call.branch.scope:count(1, is_free(call) and 1 or 0, 0)
  end
  if self.state == "replaying" and not is_free(call) and not (step.known[place] or step.calls[place]) then
    call:become("waiting") -- until the replay has finished: recorded calls had their slots before
  else
    admit(self, call)
  end
end

-- A slot is free: the call that has waited longest gets it, unless it is about to be given up.
local function fill(scope)
  local call = scope:take()
  while call do
    if call.state == "waiting" and call.branch.state ~= "ended" then
      admit(call.execution, call)
    end
    call = scope:take()
  end
end

---A call has finished or was dropped: frees its slots.
---@param call skillrt.Call
function Execution:leave(call)
  local scope, room = call.branch.scope, self.rooms[call.place]
  self.calls[call.place], self.rooms[call.place] = nil, nil
  call:become("finished")
  if scope then
    scope:count(-1, room == "free" and -1 or 0, room == "place" and -1 or 0)
  end
  while scope do
    fill(scope)
    if scope.feed then
      self:feed(scope)
    end
    scope:settle()
    scope = scope.above
  end
  self:settle()
end

-- A call was given up but ends later: until then no branch starts in its slot, as none did when it was recorded.
local function keep_place(self, call)
  if self.rooms[call.place] == "free" then
    if call.branch.scope then
      call.branch.scope:count(0, -1, 0)
    end
    self.rooms[call.place] = nil
  end
end

-- ---- branches of scopes with a limit ----

-- Whether there is a slot for one more call under a scope.
local function has_room(scope)
  return scope.open - scope.free < scope.limit
end

---A scope with a limit starts its branches one by one, when all others wait and there is a slot.
---@param scope skillrt.Scope
function Execution:feed(scope)
  if not scope.is_fed and has_room(scope) then
    scope.is_fed = true
    self.limited[scope.place] = scope
    self.feeding[#self.feeding + 1] = scope
  end
end

-- Starts one branch where there is a slot; false: there is none.
local function begin_one(self)
  local feeding = self.feeding
  while self.fed <= #feeding do
    local scope = feeding[self.fed]
    if has_room(scope) and scope.feed() then
      return true
    end
    scope.is_fed = false
    self.fed = self.fed + 1
  end
  self.feeding, self.fed = {}, 1
  return false
end

-- Starts the next branch of the outermost combinator above a recorded place whose branch has not started. It had a
-- slot when it was recorded, even if a loop with forgotten rounds uses its slots differently now.
local function begin_recorded(self, place)
  for above, part in places.ways_to(place) do
    local scope = self.limited[above]
    if scope and not scope.begun[part] then
      return scope.feed()
    end
  end
  return false
end

---Runs every runnable branch until all of them wait.
function Execution:advance()
  if self.running then
    return -- a running branch cancelled others: the loop below handles them
  end
  self.running = true
  local drawing = drawn.step
  drawn.step = self.step
  local resume = coroutine.resume -- the one that limits.c can interrupt
  while self:is_open() and (self.first <= self.last or begin_one(self)) do
    local branch = self.runnable[self.first]
    self.runnable[self.first] = nil
    self.first = self.first + 1
    if branch.state ~= "ended" then
      self.now = branch
      local start = branch.start
      if start then
        branch.start = nil
        after(self, branch, resume(branch.thread, start[1], start[2], start[3], start[4], start[5]))
      else
        after(self, branch, resume(branch.thread, branch.a, branch.b, branch.c, branch.d))
      end
    end
  end
  self.running, drawn.step = false, drawing
end

---Continues the step after one of its calls has finished.
function Execution:go_on()
  local step = self.step
  local home = step.live.home
  if self.state ~= "closed" then
    home.limits:allow(step.live.definition or home:definition_of(step))
    self:advance()
  end
  if self.divergence then -- its last call may have ended after its function, which did not wait for all of them
    home:look(step)
  end
end

---The result that a call waited for is there: its branch continues with the values, if it still exists.
---@param call skillrt.Call
function Execution:deliver(call, a, b, c, d)
  local branch = call.branch
  self.taken[call.place] = true
  if branch.state ~= "ended" then
    branch.last = call.place
    self:wake(branch, a, b, c, d)
  end
  self:leave(call)
end

---The same for a failure, which the branch may pass on as its own.
---@param call skillrt.Call
---@param failure table  { message, class, retry_after_ms }
---@param reply table    the part of it that the script gets
function Execution:fail(call, failure, reply)
  local branch = call.branch
  branch.retry_after_ms = failure.retry_after_ms
  branch.failed = { message = failure.message, class = failure.class, blame = call.place }
  self:deliver(call, nil, failure.message, failure.class, reply)
end

---@param branch skillrt.Branch
---@param limit integer|nil
---@return skillrt.Scope
function Execution:scope(branch, place, limit)
  return setmetatable({ execution = self, branch = branch, place = place, above = branch.scope or nil, limit = limit,
    out = 0, open = 0, free = 0, waiting = {}, first = 1, is_over = false, is_awaited = false }, Scope)
end

---Cancels what runs under a combinator: unsent calls are dropped, those that may be given up are cancelled, the
---others finish.
---@param scope skillrt.Scope
function Execution:stop_under(scope)
  scope.is_over = true
  self:stop_branches(function(branch)
    local at = branch.scope
    while at and at ~= scope do
      at = at.above
    end
    return at ~= nil
  end)
end

local function finish(branch)
  branch.state = "ended"
  if coroutine.status(branch.thread) == "suspended" then
    coroutine.close(branch.thread)
  end
end

---@param is_meant fun(branch: skillrt.Branch): boolean
function Execution:stop_branches(is_meant)
  local ending = {}
  for _, branch in pairs(self.by_thread) do
    if branch.state ~= "ended" and is_meant(branch) then
      ending[#ending + 1] = branch
    end
  end
  table.sort(ending, function(a, b) -- their close handlers run in a fixed order, also in a replay
    return a.prefix < b.prefix
  end)
  local drawing = drawn.step
  drawn.step = self.step
  for _, branch in ipairs(ending) do
    finish(branch)
    self.by_thread[branch.thread] = nil
  end
  drawn.step = drawing
  local calls = {}
  for _, call in pairs(self.calls) do
    if call.branch.state == "ended" and is_meant(call.branch) then
      calls[#calls + 1] = call
    end
  end
  table.sort(calls, function(a, b)
    return a.place < b.place
  end)
  for _, call in ipairs(calls) do
    if call.state ~= "finished" then
      if self.run_calls:give_up(call, self.state ~= "replaying") then
        self:leave(call)
      else
        keep_place(self, call)
      end
    end
  end
end

-- ---- replay ----

---The script asks for something else than is recorded at this place.
---@param place string
---@param before string
---@param now string
function Execution:diverge(place, before, now)
  if not self.divergence then
    become(self, "diverged")
    self.divergence = { place = place, before = before, now = now }
  end
end

---Whether the function must ask for what it asked for before: not in a further attempt, nor if its changes were
---accepted.
---@return boolean
function Execution:is_exact()
  return self.step.state == "first"
end

-- Starts branches until one asks for what is recorded at this place.
local function reach(self, place)
  while not self.calls[place] and begin_recorded(self, place) do
    self:advance()
  end
end

-- Delivers the recorded results in the journal's order. A place without a result is a loop's, whose newest round had
-- finished then: its branch continues.
local function redeliver(self)
  local step = self.step
  for _, place in ipairs(table.move(step.order, 1, #step.order, 1, {})) do -- rounds that end now change it
    local known = step.known[place]
    if known and not self.taken[place] then
      reach(self, place)
    end
    local call = self.calls[place]
    local is_dropped = known and step.known[place] ~= known -- something else is asked for there now
    if not self:is_open() then
      return
    elseif not known then
      self.taken[place] = true
      if call and call.kind == "round" then
        self.run_calls:begin(call)
        self:advance()
      end
    elseif call and not is_dropped and not self.taken[place] then
      self.taken[place] = true
      self.run_calls:give(call, known)
      self:advance()
    elseif not self.taken[place] and self:is_exact() then
      return self:diverge(place, known.to or "a call", "nothing")
    end -- of a further attempt: it reuses the slot of a failed call, and is delivered when it is sent
  end
end

-- What was under way keeps its slot: its branch starts before any new call is sent.
local function reach_open(self)
  local open = {}
  for place in pairs(self.step.calls) do
    open[#open + 1] = place
  end
  table.sort(open)
  for _, place in ipairs(open) do
    reach(self, place)
  end
end

-- The first place where a call was sent that is not asked for now: it may have acted, which a sleep never does.
local function left_alone(self)
  local found
  for place, call in pairs(self.step.calls) do
    if call.kind ~= "sleep" and not self.calls[place] and (not found or place < found) then
      found = place
    end
  end
  return found
end

---Whether all recorded results were delivered and all sent calls asked for; else the step has diverged.
---@return boolean
function Execution:is_used_up()
  local step = self.step
  if not self:is_open() then
    return false
  elseif self.state == "replaying" and self:is_exact() then
    for _, place in ipairs(step.order) do
      local known = step.known[place]
      if known and not self.taken[place] then
        self:diverge(place, known.to or "a call", "nothing")
        return false
      end
    end
  end
  local place = step.state ~= "loose" and left_alone(self)
  if place then
    self:diverge(place, step.calls[place].to or "a call", "nothing")
  end
  return not place
end

---Runs what can run, delivers recorded results, and releases calls that were not sent yet.
function Execution:replay()
  self:advance()
  redeliver(self)
  reach_open(self)
  if not self:is_open() then
    return
  end
  become(self, "live")
  local calls = {}
  for _, call in pairs(self.calls) do
    if call.state == "declared" or call.state == "waiting" then
      calls[#calls + 1] = call
    end
  end
  table.sort(calls, function(a, b)
    return a.order < b.order
  end)
  for _, call in ipairs(calls) do
    if call.branch.state == "ended" and not self.step.known[call.place] and self.run_calls:give_up(call, true) then
      self:leave(call)
    elseif call.state == "waiting" then
      admit(self, call)
    else
      self.run_calls:begin(call)
    end
  end
  self:advance() -- somebody may have decided about a call with an unknown outcome
end

---Recorded results that were not delivered may be asked for later: they are read now.
function Execution:read_ahead()
  local step, journal = self.step, self.run_calls.journal
  for place, known in pairs(self:is_open() and step.known or {}) do
    if not self.taken[place] then
      journal:read_ahead(known)
    end
  end
  for _, list in ipairs({ step.rounds, draws.texts_left(step) }) do
    for _, held in pairs(self:is_open() and list or {}) do
      journal:read_ahead(held)
    end
  end
end

---Cancels branches; when no call is open any more `ending` is called.
---@param is_meant fun(branch: skillrt.Branch): boolean
---@param ending fun()
function Execution:drain(is_meant, ending)
  self:stop_branches(is_meant)
  self.ending = ending
  self:settle()
end

---The recorded result of a place has been delivered, or is being recorded now.
---@param place string
function Execution:take(place)
  self.taken[place] = true
end

---The step's function ended without a wait: its coroutine is free.
function Execution:free_main()
  self.by_thread[self.main.thread] = nil
end

---Performs a function that does not run again in this branch: its draws are not recorded.
---@param branch skillrt.Branch
---@param name string
---@param fn fun(): any
---@return boolean ok
---@return any ...
function Execution:perform_once(branch, name, fn)
  local now, drawing = self.now, drawn.step
  local _ <close> = branch:performs_once(name)
  self.now, drawn.step = branch, self.step
  local ok, value, message, class = pcall(fn)
  self.now, drawn.step = now, drawing
  return ok, value, message, class
end

---A call has finished: it may have been the last one.
function Execution:settle()
  local ending = self.ending
  if ending and next(self.calls) == nil then
    self.ending = nil
    ending()
  end
end

---The step has diverged: closes the execution.
---@return table divergence  what it asked for that is not what was recorded
function Execution:give_divergence()
  local found = self.divergence
  self.divergence = nil
  self:close()
  return found
end

---Cancels everything that still runs.
function Execution:close()
  become(self, "closed")
  for _, branch in pairs(self.by_thread) do
    finish(branch)
  end
  self.by_thread = {}
end

return M
