-- run/limits.lua: the limits of a run: a bound for each limit of the run and of its actions; when each is checked,
-- and what is reserved for calls under way.
--
-- Knows no limit by its meaning: each limit's file in skill/limit/ says how it is counted, when it is reached and
-- what is then reported. Stops nothing. Asked by the turn before a choice, by calls before they are sent, and by
-- steps.

local core = require("skillrt.core")
local heap = require("skillrt.base.heap")
local names = require("skillrt.base.names")
local repeats = require("skillrt.mode.repeats")
local rows = require("skillrt.skill.limits")
local steady = require("skillrt.run.steady")

-- An interruption amid a question waits until none of these chunks runs (csrc/lua/limits.c).
core.own(debug.getinfo(1, "S").source:match("^(.*)run/limits%.lua$") or "@skillrt/")

---@class skillrt.Bound  one limited thing, of the run, of a sub-run, or of one of their actions
---@field limit skillrt.Limit
---@field key string          "calls", "usage.tokens": its counter in the books
---@field what string|nil     of `usage`: what it counts
---@field id string|nil       the action or phase; nil: all
---@field full string         its name for --add: "calls", "fetch.usage.tokens", "sub/2.1/fetch.calls"
---@field most number
---@field books skillrt.Books  of the run, or of the sub-run: they count it
---@field reserved number     for calls that were not sent, or have not reported their usage yet
---@field ends integer|nil    of a run's or sub-run's time: its end, by steady.lua
---@field open skillrt.Heap|nil  of an action's time: its open steps
---@field alarm integer|nil   of a limit of time: when it is checked
---@field seen table          no_progress.lua: the states in which its actions were chosen

---@class skillrt.Limits
---@field run skillrt.Run
---@field books skillrt.Books
---@field root skillrt.Limits  the run's
---@field around skillrt.Limits|nil  of a sub-run: those of the step that waits for it
---@field within string|nil  of a sub-run: the id of that step
---@field prefix string      of the names of its bounds: "" or "sub/2.1/"
---@field by_name table<string, skillrt.Bound>  of all its steps
---@field at_step skillrt.Bound[]     checked before a step starts
---@field at_choice skillrt.Bound[]   checked before anything is chosen
---@field at_failure skillrt.Bound[]  checked when an attempt failed
---@field times skillrt.Bound[]       reached at a certain time
---@field of_run skillrt.Bound[]      the bounds of a call: these, those of the runs around, or
---@field by_id table<string, skillrt.Bound[]>  those of an action, and all above
---@field timed table<string, skillrt.Bound[]>  by action or phase: reached when its steps took that long
---@field alarms skillrt.Heap  of the root: limits of time, each once, by times that are never later than their ends;
---  however many steps are open, a choice looks only at the earliest
---@field hit table|false     of the root: { bound, call }: a call that may not be sent any more
---@field ended skillrt.Bound|nil     the one that was reached
---@field releasing skillrt.Reservation[]  of the root: of finished calls
---@field allowance number|false      the seconds that Lua may run without a wait
---@field allowed number|false        of the root: the seconds for the function that was resumed last
---@field ends_first skillrt.Bound|false  of the root: what ends first for it
---@field rests_from integer|nil      since when the run waits for people alone
---@field idle_ms integer|nil         how long that lasted
local Limits = {}
Limits.__index = Limits

local NONE <const> = {} -- never written to

-- A number as people write it.
local function shown(number)
  return (math.tointeger(number) and "%d" or "%.14g"):format(math.tointeger(number) or number)
end

-- ---- bounds ----

local function bound(self, row, most, what, id)
  local key = what and row.name .. "." .. what or row.name
  local full = self.prefix .. (id and id .. "." .. key or key)
  local all = self.root.books.added
  return { limit = row, key = key, what = what, id = id, full = full, books = self.books,
    most = most + (all and all[full] or 0), reserved = 0, seen = {} }
end

-- Adds bounds of calls, of the run or of one action, after those that apply in any case.
local function of_calls(self, limits, id, outer)
  local list = table.move(outer, 1, #outer, 1, {})
  for _, row in ipairs(rows.TABLE) do
    local value = row.asked and limits[row.name]
    for _, what in ipairs(value and row.map and names.sorted(value) or NONE) do
      list[#list + 1] = bound(self, row, value[what], what, id)
    end
    list[#list + 1] = value and not row.map and bound(self, row, value, nil, id) or nil
  end
  return #list > #outer and list or outer -- held.lua knows bounds by their list
end

-- Where a limit is checked, and the list of those that are.
local LISTS <const> = { before_step = "at_step", before_choice = "at_choice", at_failure = "at_failure",
  is_timed = "times" }

-- The limits of all steps, each in the list where it is checked.
local function take_own(self, limits)
  for _, row in ipairs(rows.TABLE) do
    local most = not row.map and limits[row.name]
    if most then
      local one = bound(self, row, most)
      self.by_name[row.name] = one
      for point, name in next, LISTS do
        if row[point] then
          table.insert(self[name], one)
        end
      end
    end
  end
end

-- The limits of actions and phases.
local function take_actions(self, skill)
  for _, list in ipairs({ skill.actions, skill.phases }) do
    for _, one in ipairs(list) do
      local limits = one.limits or NONE
      local has_any = next(limits) ~= nil
      self.by_id[one.id] = has_any and of_calls(self, limits, one.id, self.of_run) or self.of_run
      for _, row in ipairs(has_any and rows.TABLE or NONE) do
        if row.is_timed and limits[row.name] then
          local timed = self.timed[one.id] or {}
          self.timed[one.id], timed[#timed + 1] = timed, bound(self, row, limits[row.name], nil, one.id)
          timed[#timed].open = heap.new()
        end
      end
    end
  end
end

-- When a limit of time is reached, by steady.lua; nil: nothing under way counts against it.
local function over_at(root, one)
  local books, all = one.books, root.books
  if not one.open then
    return (books == all or all.subs and all.subs[books.sub] == books) and one.ends or nil
  end
  local open = one.open
  while open[1] and all.steps[open[1].what.number] ~= open[1].what do
    open:take() -- it is over
  end
  return open[1] and open[1].at + one.limit.left_ms(one)
end

-- A limit of a run starts, or what counts against it has changed.
local function watch(root, one)
  local at = over_at(root, one)
  if at and not (one.alarm and one.alarm <= at) then -- one that is set too early is set again at its time
    one.alarm = at
    root.alarms:put(at, one)
  end
end

-- The first limit that is reached.
local function first_over(root)
  local due = root.alarms
  local now = due[1] and core.mono_ms()
  while due[1] and due[1].at <= now do
    local at = due[1].at
    local one = due:take()
    if one.alarm == at then
      one.alarm = nil
      watch(root, one)
      if one.alarm and one.alarm <= now then
        return one
      end
    end
  end
end

-- Limits of time still apply to what is under way.
local function begin_times(self)
  local root = self.root
  for _, one in ipairs(self.times) do
    one.ends = core.mono_ms() + one.limit.left_ms(one)
    watch(root, one)
  end
  for _, step in pairs(next(self.timed) and self.books.newest or NONE) do
    while step do
      self:began(step)
      step = step.before
    end
  end
end

-- The bounds of a step's calls: its action's limits, those of its run or sub-run, and all above.
local function bounds_for(step)
  local limits = step.live.home.run.limits
  return limits.by_id[step.id] or limits.of_run
end

---Made when the books are read and raised limits are known.
---@param run skillrt.Run
---@param call skillrt.Call|nil  of a sub-run: the call that waits for it
---@return skillrt.Limits
function Limits.new(run, call)
  local around = call and call.step.live.home.run.limits
  local self = setmetatable({ run = run, books = run.books, by_name = {}, at_step = {}, at_choice = {}, at_failure = {},
    times = {}, by_id = {}, timed = {}, releasing = {}, hit = false, allowed = false, ends_first = false, prefix = "" },
    Limits)
  self.root = around and around.root or self
  self.alarms = self.root == self and heap.new() or nil
  if call then
    self.prefix, self.within, self.around = ("sub/%s/"):format(run.books.sub), call.step.id, around
  end
  take_own(self, run.skill.limits)
  self.of_run = of_calls(self, run.skill.limits, nil, call and bounds_for(call.step) or NONE)
  take_actions(self, run.skill)
  local own = self.by_name.step_timeout
  self.allowance = own and own.most or around and self.root.allowance or false
  begin_times(self)
  return self
end

-- ---- what ends a run ----

-- A limit is reached: how the run ends.
local function reach(self, one, message)
  self.ended = one
  return one.limit.status, one.limit.reason, message ~= "" and message or nil
end

-- No room for a call is left: the reason in words.
local function no_room(one, call)
  local asked = one.what and one.limit.asked(one, call) or 0
  local more = asked > 0 and ("; call %s of %s may use %s"):format(call.place, call.step.id, shown(asked)) or ""
  return ("%s limit reached (%s of %s)%s"):format(one.full, shown(Limits.spent(one)), shown(one.most), more)
end

---How much of a limit is used, in its unit.
---@param one skillrt.Bound
---@return number
function Limits.spent(one)
  return rows.spent(one.limit, one.books, one.id, one.key)
end

---Whether the run has reached a limit, whatever it does.
---@return string? status
---@return string? reason
---@return string? message
---@return boolean? at_once  calls under way are not waited for
function Limits:reached()
  local hit = self.hit
  if hit then
    return reach(self, hit.bound, no_room(hit.bound, hit.call))
  end
  local one = first_over(self.root)
  if one then
    local status, reason, words = reach(self, one, one.limit.message(one))
    return status, reason, words, true
  end
end

---Whether its time is up, or that of a sub-run or of the steps of an action. A limit that a run is already ending at
---stays.
---@return boolean
function Limits:out_of_time()
  return first_over(self.root) ~= nil
end

---When a time limit may be reached.
---@return integer|nil at  of steady.lua
function Limits:due()
  local first = self.root.alarms[1]
  return first and first.at
end

---Whether one more step may start.
---@param one skillrt.Action
---@param iterations integer  how many iterations the step counts: phases of a hybrid run do not count against its loop
---@return string? status
---@return string? reason
---@return string? message
---@return table? said  for the record of its start
function Limits:before_step(one, iterations)
  local list, said = self.at_step, nil
  for i = 1, #list do
    local message, more = list[i].limit.before_step(list[i], one, iterations)
    if message then
      return reach(self, list[i], message)
    end
    said = said or more
  end
  return nil, nil, nil, said
end

---Whether nothing more is to be chosen.
---@return string? status
---@return string? reason
---@return string? message
function Limits:before_choice()
  local list = self.at_choice
  for i = 1, #list do
    local message = list[i].limit.before_choice(list[i])
    if message then
      return reach(self, list[i], message)
    end
  end
end

---Whether an action that fails now reaches a limit: no further attempt, and the run pauses.
---@param id string
---@param failure table  { class, message }
---@return boolean
function Limits:reached_by(id, failure)
  for _, one in ipairs(self.at_failure) do
    if one.limit.at_failure(one, id, failure) then
      return true
    end
  end
  return false
end

---Whether an action or phase that fails now may fail once more before its `on_error` applies.
---@param one skillrt.Action
---@param class skillrt.FailureClass
---@return boolean
function Limits:may_fail_again(one, class)
  local errors = self.by_name.max_errors
  return errors.limit.may_fail_again(errors, one, class)
end

---The run cannot continue as a sub-run reached a limit.
---@param sub skillrt.Limits
function Limits:ended_by(sub)
  self.ended = sub.ended
end

---The full name of the limit that gave a reason; nil: no limit did.
---@param reason string
---@return string|nil
function Limits:named(reason)
  local row, one = rows.ended_by(reason), self.ended
  if not row then
    return nil
  end
  one = one and one.limit == row and one or self.by_name[row.name]
  if one then
    return row.full and row.full(one) or one.full
  end
  return row.named and row.named(self.run)
end

-- ---- time ----

---A step has started: watches it if its action or phase has a limit of time.
---@param step skillrt.Step
function Limits:began(step)
  for _, one in ipairs(self.timed[step.id] or NONE) do
    one.open:put(steady.at(self.root, math.max(step.started_at, one.books.opened_at or 0)) - (step.ms or 0), step)
    watch(self.root, one)
  end
end

-- What applies from now on to Lua that does not yield.
local function ends_with(root, seconds, by, at)
  root.allowed, root.ends_first = seconds, by
  core.allow(math.ceil((seconds or 0) * 1000), at and math.max(0, at - core.mono_ms()) or nil)
end

---A step of an action or phase has finished: less time is left for the others.
---@param id string
function Limits:closed(id)
  local root = self.root
  for _, one in ipairs(self.timed[id] or NONE) do
    watch(root, one)
    if root.ends_first == one then -- it does not apply to what continues now
      local first = root.times[1] or false
      ends_with(root, root.allowed, first, first and first.ends)
    end
  end
end

---The run waits for people alone from now on, or no longer: that time does not count for the run (R179).
---@param rests boolean
function Limits:rest(rests)
  local first, now = self.times[1], core.mono_ms()
  if first and self.rests_from then
    local idle = now - self.rests_from
    self.idle_ms = idle > 0 and (self.idle_ms or 0) + idle or self.idle_ms
    for _, one in ipairs(self.times) do
      one.ends = one.ends + idle
    end
    ends_with(self, self.allowed or self.allowance, first, first.ends)
  end
  self.rests_from = first and rests and now or nil
end

---Its sub-run has finished: its time is not watched any more.
function Limits:close()
  for _, one in ipairs(self.times) do
    one.ends = nil
  end
end

---How long Lua may run without yielding, and how long the run may be open from now on.
---@return integer|nil ms
---@return integer|nil ms
function Limits:stretch()
  local step, first = self.by_name.step_timeout, self.times[1]
  return step and math.ceil(step.most * 1000), first and math.max(0, first.ends - core.mono_ms())
end

---How long one exchange of a step may take, and its Lua between two waits.
---@param one skillrt.Action
---@return number|nil seconds
function Limits:seconds_of(one)
  local step = self.by_name.step_timeout
  return one.timeout or step and step.most
end

-- Which limit of time ends first for a function: that of its run, of a run around it, or of an action.
local function first_end(self, id)
  local by, at, limits = nil, nil, self
  while limits do
    for _, one in ipairs(limits.times) do
      if not at or one.ends <= at then
        by, at = one, one.ends
      end
    end
    for _, one in ipairs(limits.timed[id] or NONE) do
      local over = over_at(self.root, one)
      if over and not (at and at <= over) then
        by, at = one, over
      end
    end
    id, limits = limits.within, limits.around
  end
  return by or false, at
end

---The function of an action runs now: its own `timeout` and `run_timeout` apply to its Lua, too.
---@param one skillrt.Action
function Limits:allow(one)
  local root, seconds = self.root, one.timeout or self.allowance
  local by, at = first_end(self, one.id)
  if seconds ~= root.allowed or by ~= root.ends_first or by and by.id then -- of the function that was resumed last
    ends_with(root, seconds, by, at)
  end
end

---A message about what stopped Lua that did not yield in time.
---@param reason string
---@param where string|nil  file and line
---@return string|nil message
function Limits:interrupted(reason, where)
  local row = rows.ended_by(reason)
  if row and row.interrupted then
    self.ended = row.is_timed and (self.ends_first or self.times[1]) or self.by_name[row.name]
    return row.interrupted(self.ended, where)
  end
end

-- ---- room for calls ----

-- Whether there is room for a call; if there never will be, the bound.
local function room(bounds, call)
  local free = true
  for i = 1, #bounds do
    local one = bounds[i]
    local spent, asked = Limits.spent(one), one.limit.asked(one, call)
    local reserved = spent + one.reserved
    if spent >= one.most or spent + asked > one.most then
      return false, one
    elseif reserved >= one.most or reserved + asked > one.most then
      free = false -- there may be room when others use less than they reserved
    end
  end
  return free
end

---@class skillrt.Reservation  what is reserved for a call that is under way
---@field call skillrt.Call
---@field bounds skillrt.Bound[]
---@field is_counted boolean  it was sent: the books count it

-- Reserves what a call may use of its bounds (1), or returns it (-1): only for bounds that reserve `till` then.
local function reserve(reservation, sign, till)
  local bounds = reservation.bounds
  for i = 1, #bounds do
    local one = bounds[i]
    if not till or one.limit.reserved_until == till then
      one.reserved = one.reserved + sign * one.limit.asked(one, reservation.call)
    end
  end
end

---The bounds of a call; nil: it has none.
---@param call skillrt.Call
---@return skillrt.Bound[]|nil
function Limits.bounds_of(call)
  local bounds = bounds_for(call.step)
  if bounds[1] and repeats.ACTS[call.kind] and not call.request.pure then
    return bounds
  end
end

---Whether a call may be sent now; then what it may use is reserved. If it may never be sent, `hit` names the bound.
---@param call skillrt.Call
---@return boolean
---@return skillrt.Reservation|nil
function Limits:admit(call)
  local bounds = Limits.bounds_of(call)
  if not bounds then
    return true
  end
  local free, one = room(bounds, call)
  if one then
    self.hit = self.hit or { bound = one, call = call }
  elseif free then
    local reservation = { call = call, bounds = bounds, is_counted = false }
    reserve(reservation, 1)
    return true, reservation
  end
  return free
end

---A call was sent: the books count it.
---@param reservation skillrt.Reservation
function Limits.sent(reservation)
  reserve(reservation, -1, "sent")
  reservation.is_counted = true
end

---A call has finished: its reservation ends once whoever awaited it has reported the usage.
---@param reservation skillrt.Reservation
function Limits:over(reservation)
  self.releasing[#self.releasing + 1] = reservation
end

---All usage has been reported: ends the reservations of finished calls.
function Limits:release()
  for i, reservation in ipairs(self.releasing) do
    reserve(reservation, -1, reservation.is_counted and "over" or nil)
    self.releasing[i] = nil
  end
end

return Limits
