-- run/branch/execution.lua: the branches of one step: coroutines that run until each of them waits, and results that
-- are given back one at a time (docs/write/steps.md).
--
-- Knows coroutines and what the books keep of the step; what a call is and when it is sent knows run/call/. A step
-- whose function awaits nothing has no execution at all. Called by steps.lua, run/call/ and run/branch/combine.lua.

local drawn = require("skillrt.base.drawn")
local draws = require("skillrt.run.branch.draws")
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
---@field once string|nil    once: the name of the function
---@field execution skillrt.Execution
---@field thread thread
---@field prefix string      of the places in it
---@field position integer   the last one that it took
---@field scope skillrt.Scope|nil  the combinator it runs under
---@field over fun(branch: skillrt.Branch, ok: boolean, a: any, b: any, c: any)  it has ended
---@field failed table|nil   the failure that it was given last: { message, class, blame = a place, is_slip }
---@field retry_after_ms integer|nil  how long who answered wants to be left alone, said with that failure
---@field last string|nil    the place that a failure of it is put down to
local Branch = {}
Branch.__index = Branch

-- What is true of a branch until the value that this gives is closed.
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

---It performs a function that does not run again, until the value is closed: what that draws is not recorded, and it
---must not wait.
---@param name string
---@return table closable
function Branch:performs_once(name)
  return until_closed(self, { state = "once", once = name })
end

---It uses a tool, until the value is closed: its places lie below the tool's.
---@param place string
---@return table closable
function Branch:uses(place)
  return until_closed(self, { state = self.state == "approved" and "approved" or "using", prefix = place .. ".1.",
    position = 0 })
end

---A person approved what is used now: its calls are what was shown.
function Branch:approve()
  self.state = self.state == "using" and "approved" or self.state
end

---It performs rounds of a loop, until the value is closed.
---@return table closable
function Branch:loops()
  return until_closed(self, { prefix = self.prefix, position = self.position, scope = self.scope or false })
end

---A round of its loop begins, in a scope of its own.
---@param scope skillrt.Scope
---@param number integer
function Branch:begin_round(scope, number)
  self.prefix, self.position, self.scope = ("%s.%d."):format(scope.place, number), 0, scope
end

---A failure of what lies below a place is that of the place.
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
---@field branch skillrt.Branch  who waits for it
---@field place string
---@field above skillrt.Scope|nil
---@field limit integer|nil   calls under way under it at once
---@field out integer         calls under it that have a place in it
---@field open integer        calls that are not over
---@field free integer        ... of these, those that take no place
---@field waiting skillrt.Call[]  for room: from `first` on
---@field feed fun(): boolean  begins its next branch; false: there is none
---@field is_over boolean     what it gives is decided
---@field is_awaited boolean  its branch waits until it is over and no call under it is open
local Scope = {}
Scope.__index = Scope

local function is_full(scope)
  return scope.limit and scope.out >= scope.limit
end

---Counts calls in this scope and all above it.
---@param scope skillrt.Scope|nil
---@param open integer  so many more are open
---@param free integer  ... that take no place
---@param out integer   ... that have one
function Scope.count(scope, open, free, out)
  while scope do
    scope.open, scope.free, scope.out = scope.open + open, scope.free + free, scope.out + out
    scope = scope.above
  end
end

---The first of this scope and those above it that has no room; nil: there is room.
---@param scope skillrt.Scope|nil
---@return skillrt.Scope|nil
function Scope.full(scope)
  while scope and not is_full(scope) do
    scope = scope.above
  end
  return scope
end

---A call waits for room.
---@param call skillrt.Call
function Scope:put(call)
  self.waiting[#self.waiting + 1] = call
end

---The call that waits longest, where there is room for it.
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

---Something in it ended: its branch continues when all is over.
---@param is_over boolean|nil  what it gives is decided now
function Scope:settle(is_over)
  self.is_over = self.is_over or is_over or false
  if self.is_awaited and self.is_over and self.open == 0 then
    self.is_awaited = false
    self.execution:wake(self.branch)
  end
end

---A branch waits until it is over: whoever calls this yields then.
---@param branch skillrt.Branch
function Scope:await(branch)
  self.branch, self.is_awaited = branch, true
  self:settle()
end

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
---@field rooms table<string, "place"|"free">  ... what they take in the combinators above them; free: counted in none
---@field main skillrt.Branch  of the step's function itself
---@field now skillrt.Branch  the branch that runs, or ran last
---@field taken table<string, true>  places of what was given back, or came without a wait (ctx.once)
---@field divergence table|nil  { place, before, now }
---@field ending fun()|nil  what follows when no call of it is open any more
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
    limited = {}, -- scopes with a limit, by their places
    feeding = {}, -- scopes that may begin a branch when no other can run
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
  local branch = setmetatable({ state = "free", execution = self, thread = thread, prefix = prefix, position = 0,
    scope = scope, over = over }, Branch)
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
  coroutine.close(branch.thread) -- its to-be-closed variables are closed now, before another branch runs
  return branch:over(false, first)
end

-- ---- room in combinators ----

-- `max_parallel` counts calls, never branches, so that nesting cannot block itself. A call whose result follows from
-- others (`pure`) and the deadline of `within` take no place.
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

---A call of a branch: counted in each combinator above it; it begins when there is room.
---@param call skillrt.Call
function Execution:enter(call)
  local step, place = self.step, call.place
  self.calls[place] = call
  if call.branch.scope then
    call.branch.scope:count(1, is_free(call) and 1 or 0, 0)
  end
  if self.state == "replaying" and not is_free(call) and not (step.known[place] or step.calls[place]) then
    call:become("waiting") -- until the replay is over: what is recorded had its place before
  else
    admit(self, call)
  end
end

-- A place is free: who waited first for it gets it.
local function fill(scope)
  local call = scope:take()
  while call do
    if call.state == "waiting" then
      admit(call.execution, call)
    end
    call = scope:take()
  end
end

---A call is over or dropped: its places are free.
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

-- A call was given up, and its end comes later: no branch begins in its place before that, as none did
-- when it was recorded.
local function keep_place(self, call)
  if self.rooms[call.place] == "free" then
    if call.branch.scope then
      call.branch.scope:count(0, -1, 0)
    end
    self.rooms[call.place] = nil
  end
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
    return -- a running branch ended others: the loop below takes them
  end
  self.running = true
  local drawing = drawn.step
  drawn.step = self.step
  local resume = coroutine.resume -- the one that can be interrupted (limits.c)
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

---Goes on with the step after one of its calls was over.
function Execution:go_on()
  local step = self.step
  local home = step.live.home
  if self.state ~= "closed" then
    home.limits:allow(step.live.definition or home:definition_of(step))
    self:advance()
  end
  if self.divergence then -- its last call may have ended behind its function, which did not ask for all of them
    home:look(step)
  end
end

---What a call waited for is there: its branch continues with the values, if there still is one.
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
function Execution:scope(branch, place, limit)
  return setmetatable({ execution = self, branch = branch, place = place, above = branch.scope or nil, limit = limit,
    out = 0, open = 0, free = 0, waiting = {}, first = 1, is_over = false, is_awaited = false }, Scope)
end

---Ends what runs under a combinator: calls that have not left are dropped, those that may be given up
---are canceled, the others end by themselves.
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

-- Lets branches begin until one asks for what is recorded at this place.
local function reach(self, place)
  while not self.calls[place] and begin_recorded(self, place) do
    self:advance()
  end
end

-- Delivers the recorded results in the journal's order. A place without one is that of a loop, whose newest round
-- was over then: what follows it continues.
local function redeliver(self)
  local step = self.step
  for _, place in ipairs(table.move(step.order, 1, #step.order, 1, {})) do -- rounds that end now change it
    local known = step.known[place]
    if known and not self.taken[place] then
      reach(self, place)
    end
    local call = self.calls[place]
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

-- What was under way keeps its place: its branch begins before a call that was not is sent.
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

-- The first place where a call had left that is not asked for now: it may have acted, as a sleep never does.
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
  self:advance() -- a call with an unknown outcome may have been decided
end

---What is recorded and was not given back may be asked for later: it is read now.
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

---Branches are ended; when no call is open any more `ending` is called.
---@param is_meant fun(branch: skillrt.Branch): boolean
---@param ending fun()
function Execution:drain(is_meant, ending)
  self:stop_branches(is_meant)
  self.ending = ending
  self:settle()
end

---What is recorded for a place has been given back, or is recorded now.
---@param place string
function Execution:take(place)
  self.taken[place] = true
end

---The step's function has ended without a wait: its coroutine performs nothing of it any more.
function Execution:free_main()
  self.by_thread[self.main.thread] = nil
end

---Performs a function that does not run again, as this branch: what it draws is not recorded.
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

---A call is over: it may have been the last.
function Execution:settle()
  local ending = self.ending
  if ending and next(self.calls) == nil then
    self.ending = nil
    ending()
  end
end

---It has diverged: it is closed.
---@return table divergence  what it asked for that is not what was recorded
function Execution:give_divergence()
  local found = self.divergence
  self.divergence = nil
  self:close()
  return found
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
