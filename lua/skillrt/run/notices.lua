-- run/notices.lua: what the engine tells a policy without a question, handed on to whoever watches.
--
-- A watcher hears of a record when it is made and may tell it when it is durable: what a failed
-- batch held is forgotten. Knows no modes and no agents. Called by policy.lua.

local M = {}

local Notices = {}

-- Stops that come with a batch that may not have reached the journal.
local FAILED <const> = { store_failed = true, out_of_memory = true }

---Whoever watches hears of the steps that were started.
function Notices:tell_beginning()
  local beginning = self.beginning
  for i = 1, #beginning do
    local entry = beginning[i]
    beginning[i] = nil
    self.watcher.observe(entry, self.ledger)
  end
end

---Everything up to a record is durable: tell whoever watches.
---@param _ integer  the number of its record
---@param begun "begun"|nil  what was chosen last is written, too, and begins
function Notices:durable(_, begun)
  self.durable_steps = self.ledger.finished
  if not begun then
    self.beginning = {}
  end
  if self.watcher then
    if self.beginning[1] then
      self:tell_beginning()
    end
    self.watcher.flush()
  end
end

---What came since the last `durable` is lost with the batch that failed: nobody is told of it.
function Notices:forget()
  self.lost, self.beginning = true, {}
  if self.watcher and self.watcher.forget then
    self.watcher.forget()
  end
end

---@param number integer
---@param text string
function Notices:progress(number, text)
  if self.watcher and self.watcher.progress then
    local step = self.ledger.steps[number]
    self.watcher.progress(step and step.id or "?", text)
  end
end

---Somebody asked the run to stop, or it has to.
---@param why string
function Notices:stop(why)
  self.stopping = why
  if FAILED[why] then
    self:forget()
  end
end

---Gives a policy these methods.
---@param policy table
function M.give(policy)
  for name, method in pairs(Notices) do
    policy[name] = method
  end
end

return M
