-- mode/autonomous.lua: selects the next step in autonomous mode: what the strategy chooses among the actions whose
-- conditions are true.
--
-- Reads the books, changes nothing in them; limits and ends belong to others. Called by the scheduler.

local available = require("skillrt.mode.available")
local cut = require("skillrt.base.text").cut
local fatal = require("skillrt.base.fatal")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local record = require("skillrt.base.record")
local repeats = require("skillrt.mode.repeats")
local question_of = require("skillrt.skill.question")
local state = require("skillrt.skill.state")
local strategy = require("skillrt.skill.strategy")
local when = require("skillrt.skill.when")

local M = {}

local COMPLETE <const>, ABORT <const> = "action-complete", "action-abort"
local EACH_STEP = { "iteration_count", "current_action" } -- what the runtime sets with every step

---@class skillrt.Autonomous
local Autonomous = {}
Autonomous.__index = Autonomous

local function is_spent(books, one)
  return (books.runs[one.id] or 0) >= one.max_runs or books.given_up[one.id] ~= nil
    or repeats.barred(books, one) ~= nil
end

-- ctx.ask of a strategy: returns the answer if there is one; else the choice is broken off, the question asked, and
-- the strategy called again with the answer.
local Asks = { __name = "a question of the strategy" }

local function may_ask(books)
  return function(given)
    local question, message = question_of.check(type(given) == "table" and given or { question = given })
    if not question then
      error("ctx.ask: " .. message, 2)
    end
    local answer = (books.answers or {})[json.encode(question, { sorted = true })]
    if answer == nil then
      error(setmetatable({ question = question }, Asks), 0)
    end
    return answer
  end
end

---@param skill table   normal form
---@param books skillrt.Books
---@param ctx table     what strategies see
---@return skillrt.Autonomous
function M.new(skill, books, ctx)
  local self = setmetatable({
    skill = skill,
    books = books,
    ctx = ctx,
    one = {}, -- the list for a single choice
    select = skill.strategy.select,
    concurrent = skill.strategy.concurrent == true,
    by_id = {},
    state = books.state,
    root = books.state.root, -- always the same table
    seen = state.view(books.state.root), -- what the strategy sees of it
  }, Autonomous)
  ctx.ask = may_ask(books)
  if skill.goal then
    ctx.plan = require("skillrt.mode.plan").of(self)
  end
  local choosable, built_in = {}, { [COMPLETE] = true, [ABORT] = true }
  for _, one in ipairs(skill.actions) do
    self.by_id[one.id] = one
    built_in[one.id] = nil
    if one.id ~= ABORT and not one.handles then
      choosable[#choosable + 1] = one
    end
  end
  self.available = available.new(choosable, {
    spent = function(one)
      return is_spent(books, one)
    end,
    holds = function(one)
      return when.holds(one, books.state.root)
    end,
    test_of = when.test_of,
    refill = when.refill,
  }, skill.strategy.order, built_in)
  books.state:ignore(self.available:unread(EACH_STEP))
  for _, step in pairs(books.steps) do -- of a resumed run
    if self.concurrent and step.sub == books.sub and self.by_id[step.id] then
      self:began(self.by_id[step.id])
    end
  end
  return self
end

-- The strategy is faulty: the run waits until its file is fixed.
local function strategy_failed(self, problem)
  fatal.pass_on(problem)
  local text = type(problem) == "table" and rawget(problem, "message") or problem
  text = type(text) == "string" and text or names.show(text)
  return "stop", "paused", "strategy_error", ("strategy %s: %s"):format(self.skill.strategy.name, text)
end

-- A terminal step that needs no declaration (F27).
local function built_in_end(id)
  if id == COMPLETE then
    return "stop", "completed", "task_completed"
  end
  return "stop", "failed", ABORT, "the strategy chose action-abort"
end

-- A question must be text that can be recorded.
local function asked(self, question)
  local text = type(question) == "table" and (question.question or question.header)
  if type(text) ~= "string" or not json.encode(question) then
    return strategy_failed(self, "its question must be a table of texts, with a field question")
  end
  return "ask", question
end

-- The strategy's reason for a choice, in the form that is recorded.
local function told(why)
  return type(why) == "string" and record.printable(cut(why, 2000)) or nil
end

local function ask_strategy(self)
  local list = self.available
  local books, ctx = self.books, self.ctx
  ctx.answer = books.answer
  if self.counted ~= books.runs then
    self.counted, ctx.runs = books.runs, state.view(books.runs)
  end
  if next(self.seen) ~= nil then -- a script wrote into it with rawset
    self.seen = state.view(self.root)
  end
  local ok, result, why = pcall(self.select, self.seen, list, ctx)
  if not ok then
    if getmetatable(result) == Asks then
      return "ask", result.question
    end
    return strategy_failed(self, result)
  elseif result == nil then
    if type(why) == "table" and why.ask then
      return asked(self, why.ask)
    elseif why == "user_exit" then
      return "stop", "paused", "user_exit"
    elseif type(why) == "table" and type(why.stop) == "string" then
      return "stop", "paused", why.stop, type(why.message) == "string" and why.message or nil
    end
    return "none", type(why) == "string" and why or nil
  end
  local one = list:get(result)
  if one then
    local only = self.one
    only[1] = one
    return "start", only, why and told(why)
  elseif list.built_in[result] then
    return built_in_end(result)
  end
  local checked, ids, message = pcall(strategy.check, result, list) -- its metatable may raise
  if not checked or not ids then
    return strategy_failed(self, checked and message or ids)
  end
  local chosen = {}
  for i, id in ipairs(ids) do
    chosen[i] = self.by_id[id]
    if not chosen[i] then
      if #ids == 1 then
        return built_in_end(id)
      end
      return strategy_failed(self, ("chose %s together with others; it ends the run"):format(id))
    end
  end
  return "start", chosen, why and told(why)
end

-- Whether an action may not be chosen at once, as it has just failed for good.
local function ask_without(self, id)
  self.available:hold_back(id)
  local decision, what, why, message = ask_strategy(self)
  self.available:give_back(id)
  return decision, what, why, message
end

---@return "start"|"none"|"stop"|"ask" decision
---@return skillrt.Action[]|string|table|nil what  those; why; status; the question
---@return string? reason  if it starts something: the strategy's reason
---@return string? message
function Autonomous:choose()
  local list = self.available
  list:update(self.state:take_dirty(), self.root)
  local failed = self.books.last_failed
  if failed and failed.finished == self.books.finished and list.count > 1 and list:has(failed.id) then
    return ask_without(self, failed.id) -- another step comes between (F39)
  end
  if list.count > 0 or self.skill.strategy.decides_end then
    return ask_strategy(self)
  end
  return "none"
end

---Whether an action that was chosen before may still start.
---@param one skillrt.Action
---@return boolean
function Autonomous:may_begin(one)
  return not is_spent(self.books, one) and when.holds(one, self.books.state.root)
end

---Whether more is chosen while steps run.
---@return boolean
function Autonomous.is_concurrent()
  return true
end

---A step of this action started: it is not offered again while more is chosen.
---@param one skillrt.Action
function Autonomous:began(one)
  self.available:hold_back(one.id)
end

---The plan that begins with the chosen action, once.
---@return table|nil
function Autonomous:take_plan()
  local plan = self.made
  self.made = nil
  return plan
end

---Whether there is anything that a strategy could choose.
---@return boolean
function Autonomous:could_choose()
  return self.available.count > 0
end

---Whether the conditions of `terminate` are evaluated now: always.
Autonomous.loops = true

---How many iterations a step counts, by its kind.
Autonomous.iterations = { action = 1 }

---What follows when nothing more is chosen: the run ends.
function Autonomous.over(_, status, reason, message)
  return "stop", status, reason, message
end

---A step of this action has finished: the action may have reached its max_runs.
---@param one skillrt.Action
function Autonomous:finished(one)
  if self.concurrent then
    self.available:give_back(one.id)
  end
  if is_spent(self.books, one) then
    self.available:recheck(one.id)
  end
end

---@param id string
---@return skillrt.Action|nil
function Autonomous:find(id)
  return self.by_id[id]
end

return M
