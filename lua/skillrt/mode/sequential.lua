-- mode/sequential.lua: what choose() does in sequential mode: phases in their order.
--
-- Adjacent phases marked parallel form a group that runs at once, bounded by max_parallel; a
-- failing branch lets the others end. Conditions are asked when a phase's turn comes; a phase
-- left out is recorded. Reads the ledger, changes nothing in it. Called by policy.lua and
-- hybrid.lua.

local when = require("skillrt.skill.when")

local M = {}

---@class skillrt.Sequential
local Sequential = {}
Sequential.__index = Sequential

local function groups_of(phases)
  local groups = {}
  for _, phase in ipairs(phases) do
    local last = groups[#groups]
    if phase.parallel and last and last[1].parallel then
      last[#last + 1] = phase
    else
      groups[#groups + 1] = { phase }
    end
  end
  return groups
end

---@param skill table   normal form
---@param ledger skillrt.Ledger
---@param files { exists: fun(path: string): boolean }  looks below the work directory
---@param phases table[]|nil  the phases to run; default: all of the skill
---@return skillrt.Sequential
function M.new(skill, ledger, files, phases)
  local self = setmetatable({ skill = skill, ledger = ledger, files = files, at = 1 }, Sequential)
  self.phases = phases or skill.phases
  self.groups = groups_of(self.phases)
  self.by_id = {}
  for _, phase in ipairs(self.phases) do
    self.by_id[phase.id] = phase
  end
  return self
end

local function is_over(ledger, phase)
  return ledger.completed[phase.id] or ledger.skipped[phase.id] or ledger.failed[phase.id]
end

local function is_open(ledger, phase)
  for _, step in pairs(ledger.steps) do
    if step.id == phase.id then
      return true
    end
  end
  return false
end

-- What the phase cannot run without, and is not there (F21).
local function missing_input(self, phase)
  if not phase.input_declared then
    return nil -- only taken from the phase before, which may have been skipped
  end
  for _, name in ipairs(phase.input) do
    if not self.ledger.outputs[name] and not self.files.exists(name) then
      for _, maker in ipairs(self.phases) do
        if maker.output == name and self.ledger.skipped[maker.id] then
          return ("its input %s was to come from phase %s, which was skipped"):format(name, maker.id)
        end
      end
      return ("its input %s does not exist"):format(name)
    end
  end
end

local function failed_any(self)
  for id in pairs(self.ledger.failed) do
    if self.by_id[id] then
      return true
    end
  end
  return false
end

local function stop_failed(self)
  local errors = self.ledger.state.root.errors
  local last = errors[#errors]
  return "stop", "failed", "phase_failed", last and ("%s: %s"):format(last.phase or last.action, last.message)
end

-- Decides for one phase whose turn has come: nil (it is over or under way), or a verdict.
local function consider(self, phase)
  local ledger = self.ledger
  if is_over(ledger, phase) or is_open(ledger, phase) then
    return nil
  elseif ledger.retrying == phase.id then
    return "start", phase.id
  end
  local holds, why = when.holds(phase, ledger.state.root)
  if not holds then
    return "skip", phase.id, why and ("condition not met: " .. why) or "condition not met"
  end
  local missing = missing_input(self, phase)
  if missing then
    return "refuse", phase.id, missing
  end
  return "start", phase.id
end

-- The verdict on one group: what to start now, or that it is still busy, or nil: it is over.
local function consider_group(self, group)
  local ledger, starting, unfinished = self.ledger, {}, false
  for _, phase in ipairs(group) do
    if not is_over(ledger, phase) then
      unfinished = true
      local kind, id, why = consider(self, phase)
      if kind == "skip" or kind == "refuse" then
        return kind, id, why
      elseif kind == "start" and ledger.open + #starting < self.skill.limits.max_parallel then
        starting[#starting + 1] = id
      end
    end
  end
  if #starting > 0 then
    return "start", starting
  end
  return unfinished and "wait" or nil
end

---@return "start"|"wait"|"stop"|"skip"|"refuse" kind
---@return string[]|string|nil what   ids; status; or the phase
---@return string? why
---@return string? message
function Sequential:choose()
  local failed = failed_any(self)
  if failed and self.skill.on_error ~= "continue" then
    if self.ledger.open > 0 then
      return "wait"
    end
    return stop_failed(self)
  end
  while self.at <= #self.groups do
    local kind, what, why = consider_group(self, self.groups[self.at])
    if kind then
      return kind, what, why
    end
    self.at = self.at + 1
  end
  if failed then
    return stop_failed(self)
  end
  return "stop", "completed", "all_phases_completed"
end

---A phase is over. Nothing to keep up to date: the groups are asked in order.
Sequential.finished = function() end

---@param id string
---@return table|nil definition
---@return "phase" kind
function Sequential:find(id)
  return self.by_id[id], "phase"
end

return M
