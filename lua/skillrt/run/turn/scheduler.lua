-- run/turn/scheduler.lua: lets steps begin: those a mode has named, up to max_parallel at once, each as soon as
-- there is room; and asks, before the mode names more, whether the run is over.
--
-- The same for all modes: limits, ends, errors and a person's retry are decided here. Which step is next
-- knows the mode, what ends a run ends.lua. Called by policy.lua.

local ends_of = require("skillrt.run.ends")
local single = require("skillrt.base.single")

-- Loaded when a run is being aborted.
local undo = setmetatable({}, { __index = function(_, key) return require("skillrt.run.step.undo")[key] end })

---@class skillrt.Scheduler
---@field queue skillrt.Action[]  those that were named; from `head` on they have not begun
local Scheduler = {}

local NONE <const> = {} -- no step is named; never written to

---@param run skillrt.Run
---@param journal skillrt.Journal
---@param steps skillrt.Steps
---@param mode table  { choose, find, finished, is_looping, may_begin }
---@return skillrt.Scheduler
function Scheduler.new(run, journal, steps, mode)
  return single.of(Scheduler, {
    run = run,
    books = run.books,
    journal = journal,
    steps = steps,
    mode = mode,
    ends = ends_of.new(run, mode),
    limits = run.limits,
    max_parallel = run.skill.limits.max_parallel,
    has_edges = mode.edge_of ~= nil,
    queue = NONE,
    head = 1,
  })
end

-- Begins named steps while there is room, and keeps the others; what ends the run instead, if anything does.
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
      said.plan, mode.made = mode.made, nil
    end
    if head == 1 or mode:may_begin(one) then -- the others may have changed what it stands on
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

-- What a mode's answer is, where it is no step: "again" if the mode is to be asked once more.
local function carry_out(self, decision, what, why, message)
  if decision == "skip" then
    assert(self.journal:emit({ t = "skip", phase = what.id, why = why }))
  elseif decision == "refuse" then
    local failure = { class = "permanent", message = ("%s: %s"):format(what.id, why) }
    self.steps:fail(self.steps:start(what), what, failure) -- it cannot run: an error of its own (F21)
  elseif decision == "round" then
    assert(self.journal:emit(what))
  elseif decision == "loop" then
    assert(self.journal:emit({ t = "loop", status = what, reason = why, message = message }))
  else
    return false
  end
  return true
end

-- Whether a mode that may name more while steps run does not now: there is no room, or it was asked since one
-- of them ended.
local function must_wait(self)
  local books = self.books
  return self.queue[self.head] or books.open >= self.max_parallel or self.asked_at == books.finished
    or not self.mode:is_concurrent()
end

---A step that is performed again begins while the run is opened: where a changed script asks for something else, it is
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
      decision, what, why, message = self.ends:reached()
      if decision == "stop" then
        if busy then
          return "wait" -- what has begun is ended first
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
      decision, what, why, message = mode:over(self.ends:nothing_left(what))
    end
    local is_end = decision and not carry_out(self, decision, what, why, message)
    if is_end and not (what == "aborted" and undo.begins(self, decision, what, why, message)) then
      return decision, what, why, message
    end
  end
end

return Scheduler
