-- mode/hybrid.lua: selects the next steps in hybrid mode: leading phases, the loop, trailing phases.
--
-- Combines the other two modes; its only own rules are the order, and whether the trailing phases still run when the
-- loop failed. Called by the scheduler.

local autonomous = require("skillrt.mode.autonomous")
local sequential = require("skillrt.mode.sequential")

local M = {}

---@class skillrt.Hybrid
local Hybrid = {}
Hybrid.__index = Hybrid

---@param skill table  normal form; phases with trailing = true run after the loop
---@param books skillrt.Books
---@param files table
---@param ctx table
---@return skillrt.Hybrid
function M.new(skill, books, files, ctx)
  local before, after = {}, {}
  for _, phase in ipairs(skill.phases) do
    local part = phase.trailing and after or before
    part[#part + 1] = phase
  end
  return setmetatable({
    skill = skill,
    trails = #after > 0,
    books = books,
    before = sequential.new(skill, books, files, before),
    loop = autonomous.new(skill, books, ctx),
    concurrent = skill.strategy.concurrent == true,
    after = sequential.new(skill, books, files, after),
  }, Hybrid)
end

-- Whether some phases are finished: all of them, or all but those that may fail.
local function is_through(self, decision, what, why)
  return decision == "stop" and (what == "completed" or (why == "phase_failed" and self.before:may_begin()))
end

---@return string decision
---@return any what
---@return string? why
---@return string? message
function Hybrid:choose()
  local decision, what, why, message = self.before:choose()
  if not is_through(self, decision, what, why) then
    return decision, what, why, message
  end
  local failed, failure = what ~= "completed", message
  local over = self.books.loop_end
  if not over then
    decision, what, why, message = self.loop:choose()
    if decision == "stop" then
      return self:over(what, why, message)
    end
    return decision, what, why, message
  end
  decision, what, why, message = self.after:choose()
  if decision ~= "stop" or (what ~= "completed" and over.status == "completed") then
    return decision, what, why, message
  elseif failed and over.status == "completed" then
    return "stop", "failed", "phase_failed", failure
  end
  return "stop", over.status, over.reason, over.message
end

-- A leading phase that failed without stopping the loop.
local function failed_before(self)
  local decision, what, why, message = self.before:choose()
  if decision == "stop" and what ~= "completed" then
    return what, why, message
  end
end

---The loop has finished: recorded, so that changes by trailing phases do not start it again.
function Hybrid:over(status, reason, message)
  local stops = status ~= "completed" and self.skill.on_loop_failed ~= "run_finalize"
  if not self:is_looping() or status == "paused" or stops or not self.trails then
    if status == "completed" and failed_before(self) then
      return "stop", failed_before(self)
    end
    return "stop", status, reason, message
  end
  return "loop", status, reason, message
end

---Conditions of `terminate` end the loop, not the phases around it.
function Hybrid:is_looping()
  return not self.books.loop_end and self.before:is_through()
end

---Whether more is chosen while steps run: in the loop, if its strategy does.
function Hybrid:is_concurrent()
  return self:is_looping()
end

function Hybrid:began(one)
  if one.kind == "action" then
    self.loop:began(one)
  end
end

---How many iterations a step counts, by its kind: phases do not count against the loop.
Hybrid.iterations = { action = 1, phase = 0 }

function Hybrid:take_plan()
  return self.loop:take_plan()
end

function Hybrid:could_choose()
  return self.loop:could_choose()
end

function Hybrid:may_begin(one)
  if one.kind == "action" then
    return self.loop:may_begin(one)
  end
  return (one.trailing and self.after or self.before):may_begin()
end

function Hybrid:finished(one)
  if one.kind == "action" then
    self.loop:finished(one)
  else
    (one.trailing and self.after or self.before):finished(one)
  end
end

---@param id string
---@return skillrt.Action|nil
function Hybrid:find(id)
  return self.before:find(id) or self.after:find(id) or self.loop:find(id)
end

return M
