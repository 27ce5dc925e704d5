-- run/ending.lua: how a run comes to its stop: nothing new leaves, what is under way ends and is recorded, and then
-- the last record is written.
--
-- Knows the policy's lists of what leaves and is performed; why a run ends decide others. Part of policy.lua.

local programs = require("skillrt.run.call.programs")
local steady = require("skillrt.run.steady")

local M = {}

-- Ends that a run comes to when nothing is left to run: without a step they say nothing of its work.
local NOTHING_LEFT <const> = { task_completed = true, all_phases_completed = true }

---The last record.
---@param self skillrt.Policy
---@param status string
---@param reason string
---@param message string|nil
---@param due integer|nil  UTC ms: when it goes on by itself
function M.stop(self, status, reason, message, due)
  self.over, self.stopped = true, { status, reason }
  if NOTHING_LEFT[reason] and self.books.finished == 0 then
    reason, message = "nothing_ran", "no step ran: no condition of any held"
    self.stopped[2] = reason
  end
  message = message and self.steps.printable(message)
  local limit = self.run.limits:named(reason)
  if reason == "rolled_back" then
    assert(self:emit(require("skillrt.run.sound").record(self)))
  end
  local left, kept
  if self.books.session and self.run.skill.contexts then
    left, kept = require("skillrt.run.contexts").keep(self, self.run)
  end
  if left then
    assert(self:emit({ t = "note", text = self.steps.printable("the session is not kept: " .. left) }))
  end
  assert(self:emit({ t = "stop", status = status, reason = reason, message = message, limit = limit, due = due,
    kept = kept, idle = self.run.limits.idle_ms }))
  return "stop", status, reason
end

-- Forgets what was about to leave or to be performed: in the books it is open, and taken up on resume.
local function keep_back(self)
  local steps, calls = self.steps, self.calls
  for _, list in ipairs({ steps.performing, calls.queue.starting, calls.queue.acting }) do
    for i = #list, 1, -1 do
      self.numbers:forget(list[i])
      list[i] = nil
    end
  end
end

local function cancel_all(self)
  self.draining.canceled = true
  for number, what in pairs(self.numbers.under_way) do
    self.calls.queue.cancels[#self.calls.queue.cancels + 1] = what.place and number or nil
  end
end

-- Nothing new is sent; when nothing is under way any more the run stops. Of what is due only programs are noted: the
-- rest is open in the books, and a resume waits for it.
local function drain(self)
  keep_back(self)
  if next(self.numbers.under_way) == nil then
    return M.stop(self, table.unpack(self.draining, 1, 3))
  end
  local now, due, limits = steady.now(), self.calls.due, self.run.limits
  while due[1] and due[1].at <= now do
    local what = due:take()
    if what.program then
      programs.rang(self.calls, what)
    end
  end
  if limits:out_of_time() and not self.draining.canceled then
    cancel_all(self)
  end
  local at, time = due[1] and due[1].at, limits:due()
  at = time and math.min(time, at or time) or at
  local kind, performing, starting, cancels = self:go()
  return kind, performing, starting, cancels, at and at - now, self:listens()
end

---The run is to end. `at_once`: calls under way are canceled; they stay open in the books, and count as no attempt.
---@param self skillrt.Policy
---@param status string
---@param reason string
---@param message string|nil
---@param at_once boolean|nil
function M.decide(self, status, reason, message, at_once)
  self.over, self.draining = true, { status, reason, message }
  keep_back(self)
  if at_once then
    cancel_all(self)
  end
  return drain(self)
end

---What now, where the run is to end or has ended?
---@param self skillrt.Policy
function M.go_on(self)
  if self.stopped then
    return "stop", self.stopped[1], self.stopped[2]
  elseif self.stopping then
    return M.stop(self, "paused", self.stopping, self.run.limits:interrupted(self.stopping, self.stopped_at))
  end
  return drain(self)
end

return M
