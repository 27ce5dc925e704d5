-- run/ends.lua: what ends a run besides a limit: a terminal action that completed, a condition of
-- `terminate`, too many errors, nothing left to do; and whether that is done or blocked (R59, F27-F29).
--
-- Reads the books, changes nothing in them; the same for all modes. Called by scheduler.lua.

local names = require("skillrt.base.names")
local repeats = require("skillrt.mode.repeats")
local single = require("skillrt.base.single")
local when = require("skillrt.skill.when")

local COMPLETE <const>, ABORT <const> = "action-complete", "action-abort"

---@class skillrt.Ends
local Ends = {}

local function has_left(root)
  return root.status == "user_exit"
end

-- The termination conditions, to be asked before each choice: those that cannot fail without ado. Of the
-- built-in ones the others are no conditions, but always looked at.
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
---@param mode table
---@return skillrt.Ends
function Ends.new(run, mode)
  local self = single.of(Ends, {
    books = run.books,
    root = run.books.state.root, -- the same table all the time
    run = run,
    skill = run.skill,
    mode = mode,
    rows = rows_of(run.skill),
    terminals = {},
  })
  for _, one in ipairs(run.skill.actions) do
    self.hook = one.id == ABORT and one or self.hook
    if one.terminal or one.id == COMPLETE or one.id == ABORT then
      self.terminals[#self.terminals + 1] = one
    end
  end
  return self
end

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

-- What is begun before anything is chosen: a step that a person tries again, who takes over where one failed.
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

---Whether the run is over before anything is chosen: "stop", status, reason, message; or "start" and what
---runs first: a step that a person tries again, action-abort.
---@return "stop"|"start"|nil kind
---@return any what
---@return string? reason
---@return string? message
function Ends:reached()
  local books, rows, root = self.books, self.rows, self.root
  local in_loop = not books.loop_end -- what ended the loop does not end what trails
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
    local status, reason, message = self.run.limits:before_choice()
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
  return ("%s: %s"):format(one.id, table.concat(when.unmet(one, self.books.state.root), "; "))
end

-- Nothing is left to do: well, or not where the others only went on behind a failure.
local function all_done(self)
  for _, one in ipairs(self.skill.actions) do
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

---Nothing can be chosen: done, or blocked with the conditions that nobody met; or, where something could
---be, the strategy's reason not to choose it.
---@param why string|nil  the strategy's
---@return string status
---@return string reason
---@return string? message
function Ends:nothing_left(why)
  local lines, ended_well, barred = {}, false, nil
  for _, one in ipairs(self.terminals) do
    ended_well = ended_well or self.books.completed[one.id] ~= nil
  end
  for _, one in ipairs(self.skill.actions) do
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
    local who = "strategy " .. self.skill.strategy.name
    return "paused", "no_action_selected", ("%s: %s\n%s"):format(who, why or "chose nothing", shown)
  end
  return "paused", "blocked", shown
end

return Ends
