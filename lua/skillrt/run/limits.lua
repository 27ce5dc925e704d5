-- run/limits.lua: what holds a run whatever its mode: time, steps, errors, calls and what these use.
--
-- The books say what is spent; what is reserved for calls that are under way stands in limits/room.lua. Names and
-- units are those of skill/limits.lua; nothing is stopped here. Used by policy.lua, scheduler.lua, ends.lua, calls.lua.

local clocks_of = require("skillrt.run.limits.clocks")
local core = require("skillrt.core")
local names = require("skillrt.base.names")
local on_error = require("skillrt.skill.on_error")
local room = require("skillrt.run.limits.room")
local single = require("skillrt.base.single")
local spent_of = require("skillrt.run.books.spent")
local steady = require("skillrt.run.steady")
local table_of = require("skillrt.skill.limits")

---@class skillrt.Bound  one thing that is limited, of the run, of a sub-run, or of one action of these
---@field limit skillrt.Limit
---@field key string          "calls", "usage.tokens": how the books count it
---@field what string|nil     of `usage`: what it counts
---@field id string|nil       of which action or phase; nil: of all
---@field full string         how --add names it: "calls", "fetch.usage.tokens", "sub/2.1/fetch.calls"
---@field most number
---@field books skillrt.Books  of the run, or of the sub-run: they count it
---@field reserved number     for calls that have not left, or not said yet what they used

---@class skillrt.Limits
---@field hit table|nil  { bound, call }: a call that may not leave any more
---@field root skillrt.Limits  the run's
---@field nearest skillrt.Limits|false     whose run_timeout ends first: its own, or of a scope around it
---@field ends_first skillrt.Bound|false  of the root: what of these ends first for the function that went on last
---@field holding skillrt.Limits|false  of the root: whose limits hold for Lua as they are, whatever its action
---@field around skillrt.Limits|nil  of a sub-run: those that hold the step that waits for it
---@field within string|nil  of a sub-run: the id of that step
---@field prefix string  of the names of its bounds: "" or "sub/2.1/"
---@field clocks skillrt.Clocks|false  of the run's: where an action or a sub-run has a run_timeout of its own
local Limits = {}
for name, method in pairs(room) do
  Limits[name] = method
end

-- A number as people write it.
local function shown(number)
  return (math.tointeger(number) and "%d" or "%.14g"):format(math.tointeger(number) or number)
end

local function bound(self, name, most, what, id)
  local key = what and name .. "." .. what or name
  local full = self.prefix .. (id and id .. "." .. key or key)
  local all = self.root.books.added
  return { limit = table_of.of[name], key = key, what = what, id = id, full = full, books = self.books,
    most = most + (all and all[full] or 0), reserved = 0 }
end

-- What bounds calls, of the run or of one action.
local function of_calls(self, limits, id, list)
  if limits.calls then
    list[#list + 1] = bound(self, "calls", limits.calls, nil, id)
  end
  for _, what in ipairs(names.sorted(limits.usage or {})) do
    list[#list + 1] = bound(self, "usage", limits.usage[what], what, id)
  end
  return list
end

-- Bounds of the calls of actions and phases that have limits of their own.
local function by_id(self, skill)
  local found = {}
  for _, list in ipairs({ skill.actions, skill.phases }) do
    for _, one in ipairs(list) do
      if one.limits then
        found[one.id] = of_calls(self, one.limits, one.id, table.move(self.of_run, 1, #self.of_run, 1, {}))
      end
    end
  end
  return found
end

-- The limits of time of a whole run.
local function clock_of(self)
  self.root.clocks, self.root.holding = self.root.clocks or clocks_of.new(self.root.books), false
  return self.root.clocks
end

-- What bounds the time of the steps of actions and phases that have such a limit of their own.
local function timed(self, skill)
  local found = {}
  for _, list in ipairs({ skill.actions, skill.phases }) do
    for _, one in ipairs(list) do
      local seconds = one.limits and one.limits.run_timeout
      found[one.id] = seconds and bound(self, "run_timeout", seconds, nil, one.id)
    end
  end
  return found
end

local function has_timeouts(skill)
  for _, list in ipairs({ skill.actions, skill.phases }) do
    for _, one in ipairs(list) do
      if one.timeout then
        return true
      end
    end
  end
  return false
end

-- Limits of time go on for what is under way already.
local function take_up_times(self)
  if self.root ~= self and self.deadline then
    self.run_timeout.deadline = self.deadline
    clock_of(self):set(self.run_timeout)
  end
  if next(self.timed) then
    clock_of(self)
    for _, step in pairs(self.books.newest) do
      while step do
        self:began(step)
        step = step.before
      end
    end
  end
end

---Made when the books are read and what is added is known.
---@param run skillrt.Run
---@param above skillrt.Limits|nil  of a sub-run: the run's
---@param call skillrt.Call|nil      that waits for it
---@return skillrt.Limits
function Limits.new(run, above, call)
  local self = single.of(Limits, { run = run, books = run.books, releasing = {}, clocks = false, hit = false })
  self.ends_first, self.allowed, self.bounds_lua, self.holding = false, false, false, false
  -- of the root: what holds now for Lua that runs on, if anything ever
  local limits, outer = run.skill.limits, above and above:bounds_for(call.step) or {}
  self.root, self.prefix = above or self, above and ("sub/%s/"):format(run.books.sub) or ""
  self.of_run = of_calls(self, limits, nil, table.move(outer, 1, #outer, 1, {}))
  self.of_run = #self.of_run > #outer and self.of_run or outer -- held.lua knows bounds by their list
  self.by_id = by_id(self, run.skill)
  self.timed = timed(self, run.skill)
  self.root.bounds_lua = self.root.bounds_lua or next(self.timed) ~= nil
  for _, name in ipairs({ "max_iterations", "max_errors", "no_progress", "run_timeout", "step_timeout" }) do
    self[name] = limits[name] and bound(self, name, limits[name])
  end
  self.allowance = self.step_timeout and self.step_timeout.most or above and above.allowance or false
  self.root.bounds_lua = self.root.bounds_lua or self.allowance or has_timeouts(run.skill) or false
  if self.run_timeout then
    self.deadline = steady.now() + math.max(0, math.ceil(self.run_timeout.most * 1000 - spent_of.active(self.books)))
  end
  take_up_times(self)
  local around = call and call.step.home and call.step.home.run.limits or above
  self.around, self.within = around, call and call.step.id
  local nearest = around and around.nearest
  self.nearest = self.deadline and not (nearest and nearest.deadline <= self.deadline) and self or nearest or false
  if above and self.deadline then
    self.root.bounds_lua = true
  end
  return self
end

local function hit(self)
  local one, call = self.hit.bound, self.hit.call
  local asks = one.what and room.asked(one, call) or 0
  local more = asks > 0 and (", and call %s of %s may use %s"):format(call.place, call.step.id, shown(asks)) or ""
  local text = ("%s: %s of %s are used up%s"):format(one.full, shown(Limits.spent(one)), shown(one.most), more)
  return one.limit.status, one.limit.reason, text
end

---A step has begun: of an action or phase with a limit of time it is watched.
---@param step skillrt.Step
function Limits:began(step)
  local one = self.timed[step.id]
  if one then
    self.root.clocks:began(one, step)
  end
end

-- What holds from now on for Lua that runs on.
local function ends_with(root, seconds, by, at)
  root.allowed, root.ends_first = seconds, by
  core.allow(math.ceil((seconds or 0) * 1000), at and math.max(0, at - steady.now()) or nil)
end

---A step of an action or phase is over: less time is left to the others.
---@param id string
function Limits:ended(id)
  local one, root = self.timed[id], self.root
  if one then
    root.clocks:set(one)
    if root.ends_first == one then -- what goes on now is not held by it
      ends_with(root, root.allowed, root.run_timeout or false, root.deadline)
    end
  end
end

---When the time of the run, of a sub-run, or of a step under way may be over.
---@return integer|nil at  UTC ms
function Limits:due()
  local deadline, soonest = self.deadline, self.clocks and self.clocks.due:earliest()
  return deadline and soonest and math.min(deadline, soonest) or deadline or soonest
end

-- Nobody but people was waited for since `rests_from` (rest.lua): that time does not count for the run (R179).
local function rested(self, now)
  local idle = now - self.rests_from
  self.rests_from, self.idle_ms = nil, (self.idle_ms or 0) + idle
  self.deadline = self.deadline + idle
  local stretch = self.allowed or self.step_timeout and self.step_timeout.most or 0
  core.allow(math.ceil(stretch * 1000), math.max(0, self.deadline - now))
  self.ends_first = self.run_timeout
  return self.deadline
end

-- What took too long, in words.
local function too_long(late)
  local sub, who = late.books.sub, "the run"
  if late.id then
    who = ("the steps of %s%s"):format(late.id, sub and " in sub-run " .. sub or "")
  elseif sub then
    who = "sub-run " .. sub
  end
  return ("%s took longer than run_timeout, %g seconds"):format(who, late.most)
end

---Whether the run has reached a limit, whatever it does.
---@return string? status
---@return string? reason
---@return string? message
function Limits:reached()
  if self.hit then
    return hit(self)
  end
  local deadline, clocks = self.deadline, self.clocks
  if not deadline and not clocks then
    return nil
  end
  local now = steady.now()
  if self.rests_from then
    deadline = rested(self, now)
  end
  local late = deadline and now >= deadline and self.run_timeout or clocks and clocks:late(now)
  if late then
    self.late = late
    return "paused", "run_timeout", too_long(late)
  end
end

---How long Lua may run on without a wait, and how long the run may be open from now on.
---@return integer|nil ms
---@return integer|nil ms
function Limits:times()
  local stretch = self.step_timeout and math.ceil(self.step_timeout.most * 1000)
  return stretch, self.deadline and math.max(0, self.deadline - steady.now())
end

---How long one exchange of a step may take, and its Lua between two waits.
---@param one skillrt.Action
---@return number|nil seconds
function Limits:seconds_of(one)
  return one.timeout or self.step_timeout and self.step_timeout.most
end

-- Which run_timeout ends first for a function: that of a run around it, or of an action.
local function first_end(self, id)
  local nearest = self.nearest
  local by, at = nearest and nearest.run_timeout, nearest and nearest.deadline
  local clocks = self.root.clocks
  local limits = clocks and self
  while limits do
    local one = limits.timed[id]
    local over = one and clocks:over_at(one)
    if over and not (at and at <= over) then
      by, at = one, over
    end
    id, limits = limits.within, limits.around
  end
  return by, at
end

---The function of an action goes on now: its own `timeout` and `run_timeout` hold for its Lua, too. Whoever finds
---these limits in `holding` need not ask, but for an action with a timeout.
---@param one skillrt.Action
function Limits:allow(one)
  local root, seconds = self.root, one.timeout or self.allowance
  root.holding = not root.clocks and not one.timeout and self
  local by, at = first_end(self, one.id)
  if seconds ~= root.allowed or by ~= root.ends_first or by and by.id then -- of whatever function went on last
    ends_with(root, seconds, by, at)
  end
end

---What stopped Lua that ran on for too long, in words.
---@param reason string
---@param where string|nil  file and line
---@return string|nil message
function Limits:told(reason, where)
  local late = reason == "run_timeout" and (self.ends_first or self.run_timeout)
  if reason == "step_timeout" then
    return ("%s: Lua ran on without a wait for longer than %s"):format(where or "a function", self.step_timeout
      and ("step_timeout, %g seconds"):format(self.step_timeout.most) or "the timeout of its action")
  elseif late then
    self.late = late
    return ("%s: %s"):format(where or "a function", too_long(late))
  end
end

---The full name of the limit that a run ends at for a reason; nil: it is none.
---@param reason string
---@return string|nil
function Limits:named(reason)
  local machine = self.run.skill.machine
  if machine and (reason == "edge_limit" or reason == "unrecoverable") then
    return require("skillrt.skill.machine_edges").used_up(machine, self.books.state.root, self.books.added)
  end
  local row = table_of.ended_by(reason)
  local one = self.hit and self.hit.bound.limit == row and self.hit.bound or self.late
  if reason == "error_limit" and self.books.fatal then
    return self.books.fatal .. ".max_errors"
  end
  if reason == "step_timeout" and not self.step_timeout then
    return nil -- it was its action's timeout
  end
  return row and (one and one.limit == row and one.full or row.name)
end

---Whether one more step may begin.
---@param one skillrt.Action
---@param iterations integer  how many it is: phases of a hybrid run do not use up those of its loop
---@return string? status
---@return string? reason
---@return string? message
function Limits:before_step(one, iterations)
  local most = self.max_iterations.most
  if self.books.state.root.iteration_count >= most and iterations > 0 and one.id ~= "action-abort" then
    return "failed", "max_iterations", ("the limit of %d iterations is reached"):format(most)
  end
end

---Whether too many steps have failed, of those that count.
---@return boolean
function Limits:too_many_errors()
  local books = self.books
  return books.state.root.error_count - (books.free_errors or 0) >= self.max_errors.most
end

---How often an action or phase may fail before its `on_error` counts.
---@param one skillrt.Action
---@return integer
function Limits:errors_of(one, class)
  local added = self.books.added and self.books.added[one.id .. ".max_errors"] or 0
  return on_error.most(one, self.max_errors.most, class) + added
end

return Limits
