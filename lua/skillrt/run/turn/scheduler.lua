-- run/turn/scheduler.lua: starts steps: those a mode has named, up to max_parallel at once, each as soon as there is
-- room; and checks, before the mode names more, whether the run has ended.
--
-- The same for all modes: limits, ends (a completed terminal action, a condition of `terminate`, too many errors,
-- nothing left to do: R59, F27-F29), errors and a person's retry are decided here. The mode knows which step is next.
-- Called by turn.lua.

local names = require("skillrt.base.names")
local repeats = require("skillrt.mode.repeats")
local undo = require("skillrt.run.step.undo")
local when = require("skillrt.skill.when")

---@class skillrt.Scheduler
---@field queue skillrt.Action[]  those that were named; from `head` on they have not started
local Scheduler = {}
Scheduler.__index = Scheduler

local NONE <const> = {} -- no step is named; never written to
local COMPLETE <const>, ABORT <const> = "action-complete", "action-abort"

local function has_left(root)
  return root.status == "user_exit"
end

-- The termination conditions that are checked before each choice. The other built-in ones are no conditions, but
-- always checked.
local function rows_of(skill)
  local rows = {}
  for _, row in ipairs(skill.terminate) do
    local condition = row.condition
    if row.builtin == "user_exit" then
      rows[#rows + 1] = { test = has_left, status = "aborted", reason = "user_exit" }
    elseif not row.builtin then
      local test = type(condition) == "table" and condition.is_quiet and condition.test or condition
      rows[#rows + 1] = { test = test, status = row.status or "completed", reason = row.reason or row.text }
    end
  end
  return rows
end

---@param run skillrt.Run
---@param journal skillrt.Journal
---@param steps skillrt.Steps
---@param mode table  { choose, find, finished, is_looping, may_begin }
---@return skillrt.Scheduler
function Scheduler.new(run, journal, steps, mode)
  local self = setmetatable({
    run = run,
    books = run.books,
    journal = journal,
    steps = steps,
    mode = mode,
    root = run.books.state.root, -- always the same table
    rows = rows_of(run.skill),
    terminals = {},
    limits = run.limits,
    max_parallel = run.skill.limits.max_parallel,
    has_edges = mode.edge_of ~= nil,
    queue = NONE,
    head = 1,
  }, Scheduler)
  for _, one in ipairs(run.skill.actions) do
    self.hook = one.id == ABORT and one or self.hook
    if one.terminal or one.id == COMPLETE or one.id == ABORT then
      self.terminals[#self.terminals + 1] = one
    end
  end
  return self
end

-- ---- ends of a run besides limits ----

-- A terminal action that completed ends the run with its status.
local function after_terminal(self)
  local completed, failed, terminals = self.books.completed, self.books.failed, self.terminals
  for i = 1, #terminals do
    local one = terminals[i]
    if one.id == ABORT and (completed[ABORT] or failed[ABORT]) then
      return "stop", one.terminal or "failed", "error_limit"
    elseif completed[one.id] then
      local status = one.terminal or "completed"
      return "stop", status, status == "completed" and "task_completed" or one.id
    end
  end
end

-- A declared action-abort is an optional hook before the run fails (F27).
local function abort(self, status, reason, message)
  local books = self.books
  if status == "failed" and self.hook and not books.runs[ABORT] and not books.failed[ABORT] then
    return "start", { self.hook }
  end
  return "stop", status, reason, message
end

-- What starts before anything is chosen: a step that a person retries, or one that takes over from a failed one.
local function first_of(self, books)
  local one = books.retrying and self.mode:find(books.retrying)
  if not one and books.handlers[1] then
    one = self.mode:find(books.handlers[1])
    one = one and one.kind == "action" and one
  end
  local barred = one and repeats.barred(books, one)
  if barred then
    return "stop", "failed", "action_failed", barred
  end
  return one and "start", { one }
end

-- Whether the run ends before anything is chosen: "stop", status, reason, message; or "start" and what runs first: a
-- step that a person retries, action-abort.
---@return "stop"|"start"|nil kind
---@return any what
---@return string? reason
---@return string? message
local function reached(self)
  local books, rows, root = self.books, self.rows, self.root
  local in_loop = not books.loop_end -- what ended the loop does not end the trailing phases
  if books.halt then
    return "stop", table.unpack(books.halt)
  end
  if in_loop and self.terminals[1] then
    local kind, status, reason = after_terminal(self)
    if kind then
      return kind, status, reason
    end
  end
  if books.retrying or books.handlers[1] then
    local kind, what, reason, message = first_of(self, books)
    if kind then
      return kind, what, reason, message
    end
  end
  if rows[1] and (self.mode.loops or self.mode:is_looping()) then
    for i = 1, #rows do
      local row = rows[i]
      local holds, _, why = row.test(root)
      if holds then
        return "stop", row.status, row.reason, why
      end
    end
  end
  if in_loop then
    local status, reason, message = self.limits:before_choice()
    if status then
      return abort(self, status, reason, message)
    end
  end
end

-- Whether a run may end without this action having run.
local function is_needed(self, one, ended_well)
  local books = self.books
  if books.completed[one.id] or books.skipped[one.id] or books.given_up[one.id] then
    return false
  elseif one.optional or one.handles or one.id == ABORT then
    return false
  elseif one.terminal or one.id == COMPLETE then
    return (one.terminal or "completed") == "completed" and not ended_well
  end
  return true
end

local function unmet(self, one)
  if (self.books.runs[one.id] or 0) >= one.max_runs then
    return ("%s: ran %d times without completing"):format(one.id, one.max_runs)
  end
  local needs = when.unmet(one, self.books.state.root)
  return ("%s: %s"):format(one.id, needs[1] and table.concat(needs, "; ") or "it could run")
end

-- Nothing is left to do: a success, unless the others only continued after a failure.
local function all_done(self)
  for _, one in ipairs(self.run.skill.actions) do
    if self.books.given_up[one.id] == "continue" then
      local errors = self.books.state.root.errors
      for i = #errors, 1, -1 do
        if errors[i].action == one.id then
          return "failed", "action_failed", ("%s: %s"):format(one.id, errors[i].message)
        end
      end
    end
  end
  return "completed", "task_completed"
end

-- Nothing can be chosen: completed, or blocked with the conditions that are false; or, if something could be chosen,
-- the strategy's reason not to.
---@return string status
---@return string reason
---@return string? message
local function nothing_left(self, why)
  local lines, ended_well, barred = {}, false, nil
  for _, one in ipairs(self.terminals) do
    ended_well = ended_well or self.books.completed[one.id] ~= nil
  end
  for _, one in ipairs(self.run.skill.actions) do
    if is_needed(self, one, ended_well) then
      barred = barred or repeats.barred(self.books, one)
      lines[#lines + 1] = unmet(self, one)
    end
  end
  if #lines == 0 then
    return all_done(self)
  end
  local shown = names.lines(lines, 10)
  if barred then
    return "failed", "action_failed", barred
  end
  if self.mode:could_choose() then
    local who = "strategy " .. self.run.skill.strategy.name
    return "paused", "no_action_selected", ("%s: %s\n%s"):format(who, why or "chose nothing", shown)
  end
  return "paused", "blocked", shown
end

-- ---- starting steps ----

-- Starts named steps while there is room, and keeps the others; returns what ends the run instead, if anything does.
local function fill(self, queue, head, why)
  local steps, mode, books, one = self.steps, self.mode, self.books, queue[head]
  while one and books.open < self.max_parallel do
    local status, reason, message, said = self.limits:before_step(one, mode.iterations[one.kind])
    if status then
      self.queue = NONE
      return status, reason, message
    end
    if self.has_edges then
      said = said or {}
      said.edge = mode:edge_of(one)
    end
    if why then
      said = said or {}
      said.why = why
      said.plan = mode.take_plan and mode:take_plan()
    end
    if head == 1 or mode:may_begin(one) then -- the others may have changed what its condition reads
      steps:go(steps:start(one, said))
      if mode.concurrent then
        mode:began(one)
      end
    end
    head = head + 1
    one = queue[head]
  end
  if one then
    self.queue, self.head, self.why = queue, head, why
  elseif self.queue[1] then
    self.queue = NONE
  end
end

-- A mode's answer that is no step: "again" if the mode is to be asked once more.
local function carry_out(self, decision, what, why, message)
  if decision == "skip" then
    assert(self.journal:emit({ t = "skip", phase = what.id, why = why }))
  elseif decision == "refuse" then
    -- it cannot run: an error of its own (F21)
    self.steps:fail(self.steps:start(what), what, { class = "permanent", message = why })
  elseif decision == "round" then
    assert(self.journal:emit(what))
  elseif decision == "loop" then
    assert(self.journal:emit({ t = "loop", status = what, reason = why, message = message }))
  else
    return false
  end
  return true
end

-- Whether a mode that may name more steps meanwhile does not now: there is no room, or it was asked since a step
-- ended.
local function must_wait(self)
  local books = self.books
  return self.queue[self.head] or books.open >= self.max_parallel or self.asked_at == books.finished
    or not self.mode:is_concurrent()
end

---A step that is performed again starts while the run is opened: if a changed script asks for something else, it is
---refused before anything is sent.
function Scheduler:reopen()
  local books = self.books
  local one = books.retrying and self.mode:find(books.retrying)
  if one and books.held and books.held[one.id] then
    fill(self, { one }, 1)
  end
end

---@return "wait"|"stop"|"ask" decision
---@return any what
---@return string? why
---@return string? message
function Scheduler:choose()
  local books, mode = self.books, self.mode
  while true do
    local decision, what, why, message
    if self.queue[1] and not books.abort then
      decision, what, why = fill(self, self.queue, self.head, self.why)
      if decision then
        decision, what, why, message = mode:over(decision, what, why)
      end
    end
    local busy = books.open > 0
    if not decision then
      if busy and (not mode.concurrent or must_wait(self)) then
        return "wait"
      end
      if books.abort then
        if not busy then
          return undo.choose(self)
        end
        return "wait"
      end
      decision, what, why, message = reached(self)
      if decision == "stop" then
        if busy then
          return "wait" -- steps that have started are finished first
        end
        decision, what, why, message = mode:over(what, why, message)
      elseif not decision then
        decision, what, why, message = mode:choose()
        if busy and decision ~= "start" then
          self.asked_at = books.finished
        end
      end
    end
    if decision == "start" then
      decision, what, why = fill(self, what, 1, why)
      if decision then
        decision, what, why, message = mode:over(decision, what, why)
      elseif not mode.concurrent and books.open > 0 then
        return "wait"
      end
    elseif decision == "none" then
      if busy then
        return "wait"
      end
      decision, what, why, message = mode:over(nothing_left(self, what))
    end
    local is_end = decision and not carry_out(self, decision, what, why, message)
    if is_end and not (what == "aborted" and undo.begins(self, decision, what, why, message)) then
      return decision, what, why, message
    end
  end
end

return Scheduler
