-- run/branches/room.lua: which calls of a step may leave: each counts in every combinator above it, and waits for
-- its turn where one of them is full; a combinator with a limit begins its branches while it has room.
--
-- `max_parallel` counts calls, never branches, so that nesting cannot block itself; a call whose result follows from
-- others (`pure`) and the deadline of `within` take no place. Part of branches.lua, which alone uses it.

local places = require("skillrt.run.places")

local M = {}

-- Calls under a scope that take a place in it, or wait for one.
local function counted(scope)
  return scope.open - (scope.free or 0)
end

---A scope with a limit begins its branches one by one, when all others wait and there is room.
---@param self skillrt.Execution
---@param scope skillrt.Scope
function M.feed(self, scope)
  if scope.feed and not scope.is_fed and counted(scope) < scope.limit then
    scope.is_fed = true
    self.feeding[#self.feeding + 1] = scope
  end
end

---Begins one branch where there is room; false: nowhere.
---@param self skillrt.Execution
---@return boolean
function M.begin_one(self)
  local feeding = self.feeding
  while self.fed <= #feeding do
    local scope = feeding[self.fed]
    if counted(scope) < scope.limit and scope.feed() then
      return true
    end
    scope.is_fed = false
    self.fed = self.fed + 1
  end
  self.feeding, self.fed = {}, 1
  return false
end

---Begins the next branch of the outermost combinator that a recorded place lies below and whose branch has not
---begun: it had room when it was recorded, though a loop whose rounds are forgotten takes other places than its calls
---did.
---@param self skillrt.Execution
---@param place string
---@return boolean
function M.begin_recorded(self, place)
  for above, part in places.ways_to(place) do
    local scope = self.limited[above]
    if scope and not scope.begun[part] then
      return scope.feed()
    end
  end
  return false
end

local function has_room(scope)
  while scope do
    if scope.limit and scope.out >= scope.limit then
      return false, scope
    end
    scope = scope.above
  end
  return true
end

local function takes_place(call)
  return not (call.request.pure or call.branch.is_deadline)
end

local function admit(self, call)
  local counts = takes_place(call)
  local ok, full = not counts, nil
  if counts then
    ok, full = has_room(call.branch.scope)
  end
  if not ok then
    call.held_by = full
    full.waiting[#full.waiting + 1] = call
    return
  end
  call.held_by, call.admitted = nil, counts and "counted" or "free"
  local scope = counts and call.branch.scope or nil
  while scope do
    scope.out = scope.out + 1
    scope = scope.above
  end
  if self.live then
    self.world.leave(call)
  end
end

-- A slot is free: who waited first for it gets it.
local function fill(self, scope)
  local waiting = scope.waiting
  while scope.first <= #waiting and (not scope.limit or scope.out < scope.limit) do
    local call = waiting[scope.first]
    waiting[scope.first] = false
    scope.first = scope.first + 1
    if call and call.held_by == scope then
      admit(self, call)
    end
  end
  if scope.first > #waiting then
    scope.waiting, scope.first = {}, 1
  end
end

---A call of a branch: counted in each combinator above it; it leaves when there is room.
---@param self skillrt.Execution
---@param call skillrt.Call  { place, branch }
function M.declare(self, call)
  self.calls[call.place] = call
  local scope, is_free = call.branch.scope, not takes_place(call)
  while scope do
    scope.open = scope.open + 1
    scope.free = is_free and (scope.free or 0) + 1 or scope.free
    scope = scope.above
  end
  admit(self, call)
end

---A call is over or dropped: its slots are free.
---@param self skillrt.Execution
---@param call skillrt.Call
function M.release(self, call)
  self.calls[call.place] = nil
  local scope, admitted = call.branch.scope, call.admitted
  call.held_by, call.admitted = nil, nil
  local at = scope
  while at do
    at.open = at.open - 1
    at.out = admitted == "counted" and at.out - 1 or at.out
    at.free = admitted == "free" and at.free - 1 or at.free
    at = at.above
  end
  at = scope
  while at do
    fill(self, at)
    M.feed(self, at)
    if at.open == 0 and at.quiet then
      at.quiet()
    end
    at = at.above
  end
  if self.drained and next(self.calls) == nil then
    self.drained()
  end
end

---Nobody waits for a call any more. Where its end is recorded and comes later, no branch begins in its place before
---that, as none did.
---@param self skillrt.Execution
---@param call skillrt.Call
---@param is_over boolean
function M.give_up(self, call, is_over)
  local at = call.branch.scope
  if is_over then
    return M.release(self, call)
  elseif call.admitted == "free" then
    call.admitted = nil
    while at do
      at.free = at.free - 1
      at = at.above
    end
  end
end

return M
