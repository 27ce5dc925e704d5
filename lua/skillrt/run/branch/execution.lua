-- run/branch/execution.lua: the branches of one step: coroutines that run until each of them waits, and results that
-- are given back one at a time (docs/steps.md).
--
-- Knows coroutines and what the books keep of the step; what a call is and when it is sent knows run/call/. A step
-- whose function awaits nothing has no execution at all. Called by steps.lua, run/call/ and run/branch/combine.lua.

local drawn = require("skillrt.base.drawn")
local fatal = require("skillrt.base.fatal")
local places = require("skillrt.run.places")

local M = {}

---What a branch yields while it waits; nothing else that a function yields is taken for a wait.
M.WAIT = {}
local WAIT = M.WAIT

-- A coroutine performs one function after the other, so that most branches need none of their own; one
-- that raised, or was ended while it waited, does not come back.
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

---@class skillrt.Branch
---@field execution skillrt.Execution
---@field thread thread
---@field prefix string      of the places in it
---@field position integer   the last one that it took
---@field scope skillrt.Scope|nil  the combinator it runs under
---@field over fun(branch: skillrt.Branch, ok: boolean, a: any, b: any, c: any)  it has ended
---@field failed table|nil   the failure that it was given last: { message, class, blame = a place, is_slip }
---@field retry_after_ms integer|nil  how long who answered wants to be left alone, said with that failure
---@field last string|nil    the place that a failure of it is put down to
---@field dead boolean|nil   it was ended from outside

---@class skillrt.Scope  a combinator that is under way
---@field branch skillrt.Branch  who waits for it
---@field place string
---@field above skillrt.Scope|nil
---@field limit integer|nil   calls under way under it at once
---@field out integer         calls under it that have a place in it
---@field open integer        calls that are not over
---@field free integer        ... of these, those that take no place
---@field waiting skillrt.Call[]  for room
---@field feed fun(): boolean  begins its next branch; false: there is none
---@field quiet fun()|nil     no call under it is open any more

-- The state of an execution, which `become` alone changes. No branch of it runs in the last two.
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
---@field run_calls skillrt.Calls  all of the run
---@field idle thread[]    coroutines that perform nothing now
---@field calls table<string, skillrt.Call>  by place: declared and not over
---@field now skillrt.Branch  the branch that runs, or ran last
---@field divergence table|nil  { place, before, now }
---@field ending fun()|nil  what follows when no call of it is open any more
local Execution = {}
Execution.__index = Execution

---@param step skillrt.Step
---@param run_calls skillrt.Calls
---@param idle thread[]
---@return skillrt.Execution
function M.new(step, run_calls, idle)
  return setmetatable({
    step = step,
    run_calls = run_calls,
    idle = idle,
    calls = {},
    by_thread = setmetatable({}, { __mode = "k" }),
    runnable = {},
    first = 1,
    last = 0,
    limited = {}, -- scopes with a limit, by their places
    feeding = {}, -- scopes that may begin a branch when no other can run
    fed = 1,
    taken = {}, -- places of what was given back, or without a wait (ctx.once)
    state = "replaying",
    running = false,
  }, Execution)
end

---@param self skillrt.Execution
---@param state skillrt.ExecutionState
local function become(self, state)
  if not NEXT[self.state][state] then
    error(("step %d: its execution is %s, and cannot become %s"):format(self.step.number, self.state, state))
  end
  self.state = state
end

---Whether branches of it run, or will.
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
  local branch = { execution = self, thread = thread, prefix = prefix, position = 0, scope = scope, over = over }
  self.by_thread[thread] = branch
  return branch
end

---The branch that calls; nil: a coroutine of the script's own does.
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

---Begins a branch: it runs when those before it wait.
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

---Makes a branch runnable; what its wait gives are the values.
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
    fatal.pass_on(first) -- at once: no call of it may be waited for first
  end
  self.by_thread[branch.thread] = nil
  coroutine.close(branch.thread) -- its to-be-closed variables are closed now, before anybody goes on
  return branch:over(false, first)
end

-- ---- branches of scopes with a limit ----

-- Whether there is room for one more call under a scope.
local function has_room(scope)
  return scope.open - scope.free < scope.limit
end

---A scope with a limit begins its branches one by one, when all others wait and there is room.
---@param scope skillrt.Scope
function Execution:feed(scope)
  if not scope.is_fed and has_room(scope) then
    scope.is_fed = true
    self.limited[scope.place] = scope
    self.feeding[#self.feeding + 1] = scope
  end
end

-- Begins one branch where there is room; false: nowhere.
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

-- Begins the next branch of the outermost combinator that a recorded place lies below and whose branch has not begun:
-- it had room when it was recorded, though a loop whose rounds are forgotten takes other places than its calls did.
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
    return -- a branch that is running ended others: the loop below goes on with them
  end
  self.running = true
  local drawing = drawn.step
  drawn.step = self.step
  local resume = coroutine.resume -- the one that can be interrupted (limits.c)
  while self:is_open() and (self.first <= self.last or begin_one(self)) do
    local branch = self.runnable[self.first]
    self.runnable[self.first] = nil
    self.first = self.first + 1
    if not branch.dead then
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

---Goes on with the step after one of its calls was over.
function Execution:go_on()
  if self.state ~= "closed" then
    self.step.live.home:go_on(self.step)
  end
end

---What a call waited for is there: its branch goes on with the values, if there still is one.
---@param call skillrt.Call
function Execution:deliver(call, a, b, c, d)
  local branch = call.branch
  if not branch.dead then
    branch.last = call.place
    self:wake(branch, a, b, c, d)
  end
  self.run_calls.queue:leave(call)
end

---The same for a failure, which a failure of the branch may pass on.
---@param call skillrt.Call
---@param failure table  { message, class, retry_after_ms }
---@param reply table    what the script is given of it
function Execution:fail(call, failure, reply)
  local branch = call.branch
  branch.retry_after_ms = failure.retry_after_ms
  branch.failed = { message = failure.message, class = failure.class, blame = call.place }
  self:deliver(call, nil, failure.message, failure.class, reply)
end

---@param branch skillrt.Branch
---@param limit integer|nil
---@return skillrt.Scope
function Execution.scope(_, branch, place, limit)
  return {
    branch = branch,
    place = place,
    above = branch.scope,
    limit = limit,
    out = 0,
    open = 0,
    free = 0,
    waiting = {},
    first = 1,
  }
end

---Ends what runs under a combinator: calls that have not left are dropped, those that may be given up
---are canceled, the others end by themselves.
---@param scope skillrt.Scope
function Execution:stop_under(scope)
  self:stop_branches(function(branch)
    local at = branch.scope
    while at and at ~= scope do
      at = at.above
    end
    return at ~= nil
  end)
end

local function finish(branch)
  branch.dead = true
  if coroutine.status(branch.thread) == "suspended" then
    coroutine.close(branch.thread)
  end
end

---@param is_meant fun(branch: skillrt.Branch): boolean
function Execution:stop_branches(is_meant)
  local ending = {}
  for _, branch in pairs(self.by_thread) do
    if not branch.dead and is_meant(branch) then
      ending[#ending + 1] = branch
    end
  end
  table.sort(ending, function(a, b) -- what they close is closed in one order, whoever runs again
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
    if call.branch.dead and is_meant(call.branch) then
      calls[#calls + 1] = call
    end
  end
  table.sort(calls, function(a, b)
    return a.place < b.place
  end)
  for _, call in ipairs(calls) do
    if call.state ~= "finished" then
      if self.run_calls:give_up(call, self.state ~= "replaying") then
        self.run_calls.queue:leave(call)
      else
        self.run_calls.queue.keep_place(call)
      end
    end
  end
end

-- ---- replay ----

---Something else is asked for than was before, at this place.
---@param place string
---@param before string
---@param now string
function Execution:diverge(place, before, now)
  if not self.divergence then
    become(self, "diverged")
    self.divergence = { place = place, before = before, now = now }
  end
end

---Whether the function is to ask for what it asked for before: a further attempt goes another way, and so does
---one whose changes were accepted.
---@return boolean
function Execution:is_exact()
  return self.step.state == "first"
end

-- Delivers the recorded results in the journal's order. A place without one is that of a loop, whose newest round
-- was over then: what follows it goes on.
local function redeliver(self)
  local step = self.step
  for _, place in ipairs(table.move(step.order, 1, #step.order, 1, {})) do -- rounds that end now change it
    local known, call = step.known[place], self.calls[place]
    while known and not call and not self.taken[place] and begin_recorded(self, place) do
      self:advance()
      call = self.calls[place]
    end
    if not self:is_open() then
      return
    elseif not known then
      self.taken[place] = true
      if call and call.kind == "round" then
        self.run_calls:begin(call)
        self:advance()
      end
    elseif call and not self.taken[place] then
      self.taken[place] = true
      self.run_calls:give(call, known)
      self:advance()
    elseif not self.taken[place] and self:is_exact() then
      return self:diverge(place, known.to or "a call", "nothing")
    end -- of a further attempt: a slot that a failed call gave free is taken again; it comes when it leaves
  end
end

-- The first place where a call had left that nobody asks for now: it may have acted, as a sleep never does.
local function left_alone(self)
  local found
  for place, call in pairs(self.step.calls) do
    if call.kind ~= "sleep" and not self.calls[place] and (not found or place < found) then
      found = place
    end
  end
  return found
end

---Whether all that was recorded has been given back, and all that had left been asked for; else the step
---has diverged.
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

---Runs what can run, gives back what is recorded, and lets leave what has not left.
function Execution:replay()
  self:advance()
  redeliver(self)
  if not self:is_open() then
    return
  end
  become(self, "live")
  local calls = {}
  for _, call in pairs(self.calls) do
    if call.state == "declared" then
      calls[#calls + 1] = call
    end
  end
  table.sort(calls, function(a, b)
    return a.order < b.order
  end)
  for _, call in ipairs(calls) do
    if call.branch.dead and not self.step.known[call.place] and self.run_calls:give_up(call, true) then
      self.run_calls.queue:leave(call)
    else
      self.run_calls:begin(call)
    end
  end
  self:advance() -- a call in doubt may have been decided
end

---Branches are ended; when no call is open any more `ending` is called.
---@param is_meant fun(branch: skillrt.Branch): boolean
---@param ending fun()
function Execution:drain(is_meant, ending)
  self:stop_branches(is_meant)
  self.ending = ending
  self:settle()
end

---A call is over: it may have been the last.
function Execution:settle()
  local ending = self.ending
  if ending and next(self.calls) == nil then
    self.ending = nil
    ending()
  end
end

---Ends all that still runs.
function Execution:close()
  become(self, "closed")
  for _, branch in pairs(self.by_thread) do
    finish(branch)
  end
  self.by_thread = {}
end

return M
