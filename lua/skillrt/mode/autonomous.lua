-- mode/autonomous.lua: what choose() does in autonomous mode: any action whose conditions hold.
--
-- Order of a decision (R59): a step under way, a retry a person asked for, termination
-- conditions, too many errors, the strategy's choice among the available actions, and at the
-- end "done" told apart from "blocked". Reads the ledger, changes nothing in it. Called by
-- policy.lua and hybrid.lua.

local when = require("skillrt.skill.when")
local available = require("skillrt.mode.available")
local fatal = require("skillrt.base.fatal")
local names = require("skillrt.base.names")
local state = require("skillrt.skill.state")
local strategy = require("skillrt.skill.strategy")

local M = {}

local COMPLETE, ABORT = "action-complete", "action-abort"
local REMEMBERED = 128 -- distinct states kept per action in the search for progress
local EACH_STEP = { "iteration_count", "current_action" } -- what the runtime sets with every step
local BUILT_IN = { [COMPLETE] = true, [ABORT] = true }

---@class skillrt.Autonomous
local Autonomous = {}
Autonomous.__index = Autonomous

local function is_spent(ledger, one)
  return (ledger.runs[one.id] or 0) >= one.max_runs
end

-- The termination conditions, to be asked before each choice: those that cannot fail without ado.
local function ends_of(skill)
  local ends = {}
  for i, row in ipairs(skill.terminate) do
    local condition = row.condition
    local test = type(condition) == "table" and condition.is_quiet and condition.test or condition
    ends[i] = { builtin = row.builtin, status = row.status, reason = row.reason, text = row.text, test = test }
  end
  return ends
end

-- Whether a choice follows from the records alone, and starts nothing but the script's functions.
local function is_repeatable(skill)
  for _, row in ipairs(skill.terminate) do
    if type(row.condition) == "function" then
      return false
    end
  end
  for _, one in ipairs(skill.actions) do
    for _, condition in ipairs(one.when) do
      if type(condition) == "function" then
        return false
      end
    end
    if one.agent then
      return false
    end
  end
  return skill.strategy.repeatable == true
end

---@param skill table   normal form
---@param ledger skillrt.Ledger
---@param ctx table     what strategies see
---@return skillrt.Autonomous
function M.new(skill, ledger, ctx)
  local self = setmetatable({
    skill = skill,
    ledger = ledger,
    ctx = ctx,
    seen = {},
    one = {}, -- the list of a single choice
    ends = ends_of(skill),
    max_iterations = skill.limits.max_iterations,
    max_errors = skill.limits.max_errors,
    select = skill.strategy.select,
    repeatable = is_repeatable(skill),
  }, Autonomous)
  self.by_id, self.terminals = {}, {}
  local choosable, built_in = {}, { [COMPLETE] = true, [ABORT] = true }
  for _, one in ipairs(skill.actions) do
    self.by_id[one.id] = one
    built_in[one.id] = nil
    if one.terminal or one.id == COMPLETE or one.id == ABORT then
      self.terminals[#self.terminals + 1] = one
    end
    if one.id ~= ABORT then
      choosable[#choosable + 1] = one
    end
  end
  self.available = available.new(choosable, {
    spent = function(one)
      return is_spent(ledger, one)
    end,
    holds = function(one)
      return when.holds(one, ledger.state.root)
    end,
    quick = when.quick,
  }, skill.strategy.order, built_in)
  ledger.state:ignore(self.available:unread(EACH_STEP))
  return self
end

-- status and reason of the first termination condition that holds.
local function terminated(self)
  local root = self.ledger.state.root
  local rows = self.ends
  for i = 1, #rows do
    local row = rows[i]
    if row.builtin then
      if row.builtin == "user_exit" and root.status == "user_exit" then
        return "aborted", "user_exit"
      end
    elseif row.test(root) then
      return row.status or "completed", row.reason or row.text
    end
  end
  if root.iteration_count >= self.max_iterations then
    return "failed", "max_iterations", ("the limit of %d iterations is reached"):format(self.max_iterations)
  end
end

-- A declared action-abort is an optional hook before the run fails (F27).
local function abort(self)
  local hook = self.by_id[ABORT]
  if hook and not self.ledger.runs[ABORT] and not self.ledger.failed[ABORT] then
    return "start", { ABORT }
  end
  local errors = self.ledger.state.root.errors
  local last = errors[#errors]
  return "stop", "failed", "error_limit", last and ("last error: %s"):format(last.message)
end

-- What tells the values of some keys from others: a single plain value is told by itself.
local function print_of(books, keys)
  if #keys == 1 then
    local value = books.root[keys[1]]
    if value == value and value ~= nil and type(value) ~= "table" then
      return value
    end
  end
  return books:fingerprint(keys)
end

-- The same action with the same relevant state too often: nothing moves (F33).
local function stuck(self, one)
  local limit = self.skill.limits.no_progress
  if limit == 0 or one.max_runs == 1 then
    return false
  end
  local books = self.ledger.state
  local print = one.reads and print_of(books, one.reads) or 0
  local seen = self.seen[one.id]
  if not seen or seen.size >= REMEMBERED then
    seen = { size = 0, by_print = {} }
    self.seen[one.id] = seen
  end
  local entry = seen.by_print[print]
  if not entry then
    seen.by_print[print] = books.progress -- most are met once
    seen.size = seen.size + 1
    return false
  elseif type(entry) == "number" then
    entry = { times = 1, progress = entry }
    seen.by_print[print] = entry
  end
  -- What its conditions read is as before. Has anything else moved since? Only then the whole
  -- state counts: it may go round in a circle.
  if books.progress == entry.progress then
    entry.times = entry.times + 1
    return entry.times > limit
  end
  local whole = books:whole_fingerprint()
  entry.whole = entry.whole or {}
  if not entry.whole[whole] then
    seen.size = seen.size + 1
  end
  entry.whole[whole] = (entry.whole[whole] or 0) + 1
  return entry.whole[whole] > limit
end

local function unmet_list(self)
  local lines = {}
  for _, one in ipairs(self.skill.actions) do
    local over = self.ledger.completed[one.id] or self.ledger.skipped[one.id]
    if not over and not one.terminal and not one.optional and not BUILT_IN[one.id] then
      local unmet = when.unmet(one, self.ledger.state.root)
      if is_spent(self.ledger, one) then
        unmet = { ("ran %d times without completing"):format(one.max_runs) }
      end
      lines[#lines + 1] = ("%s: %s"):format(one.id, table.concat(unmet, "; "))
    end
  end
  return lines
end

-- Nothing can be chosen: done, or blocked with the conditions nobody met (F28); or, where
-- something could be, the strategy's reason not to choose it.
local function finish(self, why)
  local hook = self.by_id[COMPLETE]
  local lines = unmet_list(self)
  if hook and not self.ledger.completed[COMPLETE] then
    table.insert(lines, 1, COMPLETE .. ": " .. table.concat(when.unmet(hook, self.ledger.state.root), "; "))
  end
  if #lines == 0 then
    return "stop", "completed", "task_completed"
  end
  local shown = names.lines(lines, 10)
  if #self.available > 0 then
    local who = "strategy " .. self.skill.strategy.name
    return "stop", "paused", "no_action_selected", ("%s: %s\n%s"):format(who, why or "chose nothing", shown)
  end
  return "stop", "paused", "blocked", shown
end

-- A terminal action that completed ends the run with its status.
local function after_terminal(self)
  local terminals = self.terminals
  for i = 1, #terminals do
    local one = terminals[i]
    if self.ledger.completed[one.id] or (one.id == ABORT and self.ledger.failed[ABORT]) then
      if one.id == ABORT then
        return "stop", one.terminal or "failed", "error_limit"
      end
      local status = one.terminal or "completed"
      return "stop", status, status == "completed" and "task_completed" or one.id
    end
  end
end

local function start_chosen(self, ids)
  local limit = self.skill.limits.max_parallel
  if #ids == 1 and not self.by_id[ids[1]] then -- a terminal step that needs no declaration (F27)
    if ids[1] == COMPLETE then
      return "stop", "completed", "task_completed"
    end
    return "stop", "failed", ABORT, "the strategy chose action-abort"
  end
  local starting = #ids > limit and table.move(ids, 1, limit, 1, {}) or ids
  for i = 1, #starting do
    local one = self.by_id[starting[i]]
    if stuck(self, one) then
      return "stop",
        "failed",
        "no_progress",
        ("%s was chosen %d times and nothing that it depends on changed"):format(
          one.id,
          self.skill.limits.no_progress
        )
    end
  end
  return "start", starting
end

-- The strategy is at fault: the run waits until its file is repaired.
local function strategy_failed(self, problem)
  fatal.pass_on(problem)
  if type(problem) == "table" then
    problem = problem.message
  end
  return "stop", "paused", "strategy_error", ("strategy %s: %s"):format(self.skill.strategy.name, tostring(problem))
end

local function ask_strategy(self)
  local list = self.available
  self.ctx.answer = self.ledger.answer
  local ok, result, why = pcall(self.select, state.view(self.ledger.state.root), list, self.ctx)
  if not ok then
    return strategy_failed(self, result)
  elseif result == nil then
    if type(why) == "table" and why.ask then
      return "ask", why.ask
    end
    if why == "user_exit" then
      return "stop", "paused", "user_exit"
    end
    return finish(self, type(why) == "string" and why or nil)
  end
  if list:has(result) then
    local one = self.one
    one[1] = result
    return start_chosen(self, one)
  end
  local ids, message = strategy.check(result, list)
  if not ids then
    return strategy_failed(self, message)
  end
  return start_chosen(self, ids)
end

---@return "start"|"wait"|"stop"|"ask" kind
---@return string[]|string|table what  ids; or status; or the question
---@return string? reason
---@return string? message
function Autonomous:choose()
  local ledger = self.ledger
  if ledger.open > 0 then
    return "wait"
  end
  local kind, status, reason = after_terminal(self)
  if kind then
    return kind, status, reason
  end
  if ledger.retrying then
    return "start", { ledger.retrying }
  end
  local message
  status, reason, message = terminated(self)
  if status then
    return "stop", status, reason, message
  end
  if ledger.state.root.error_count >= self.max_errors then
    return abort(self)
  end
  self.available:update(ledger.state:take_dirty(), ledger.state.root)
  if self.available.count > 0 or self.skill.strategy.decides_end then
    return ask_strategy(self)
  end
  return finish(self)
end

---A step of this action is over: it may have used up its runs.
---@param id string
function Autonomous:finished(id)
  local one = self.by_id[id]
  if one and is_spent(self.ledger, one) then
    self.available:recheck(id)
  end
end

---@param id string
---@return table|nil definition
---@return "action" kind
function Autonomous:find(id)
  return self.by_id[id], "action"
end

return M
