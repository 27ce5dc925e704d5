-- mode/sequential.lua: selects the next steps in sequential mode: phases in order.
--
-- Adjacent phases marked parallel form a group that starts together; when one fails, the others still finish. A
-- phase's condition is evaluated when its turn comes; a skipped phase is recorded; one whose condition cannot be
-- evaluated fails. Reads the books, changes nothing in them. Called by the scheduler and hybrid.lua.

local phase_of = require("skillrt.skill.phase")
local repeats = require("skillrt.mode.repeats")
local when = require("skillrt.skill.when")

local M = {}

---@class skillrt.Sequential
local Sequential = {}
Sequential.__index = Sequential

---@param skill table   normal form
---@param books skillrt.Books
---@param files { exists: fun(path: string): boolean }  looks below the work directory
---@param phases table[]|nil  the phases to run; default: all of the skill
---@return skillrt.Sequential
function M.new(skill, books, files, phases)
  local self = setmetatable({ skill = skill, books = books, files = files, at = 1, looked = 0 }, Sequential)
  self.phases = phases or skill.phases
  self.groups = phase_of.groups(self.phases)
  self.rounds = skill.rounds and require("skillrt.mode.rounds").of(skill, self.groups) -- nil: none among them
  self.by_id, self.makers, self.starting = {}, {}, {}
  for _, phase in ipairs(self.phases) do
    self.by_id[phase.id] = phase
    self.makers[phase.output or phase.id] = phase
  end
  return self
end

local function is_over(books, phase)
  local id = phase.id
  return books.completed[id] or books.skipped[id] or books.failed[id] or books.given_up[id]
end

-- The files that a phase requires and that do not exist (F21).
local function missing_input(self, phase)
  if not phase.input_declared then
    return nil -- only read from the previous phase, which may have been skipped
  end
  for _, name in ipairs(phase.input) do
    if not self.books.outputs[name] and not self.files.exists(name) then
      local maker = self.makers[name]
      if maker and self.books.skipped[maker.id] then
        return ("its input %s was to come from phase %s, which was skipped"):format(name, maker.id)
      end
      return ("its input %s does not exist"):format(name)
    end
  end
end

-- What a failed phase means for later phases and for the end: "fail", "continue" or less.
local function word_of(self, phase)
  return phase.on_error or (self.skill.on_error == "continue" and "continue") or "fail"
end

-- Whether a phase has failed, and its failure is one of these.
local function failed_any(self, words)
  for id in pairs(self.books.failed) do
    local phase = self.by_id[id]
    if phase and words[word_of(self, phase)] then
      return true
    end
  end
  return false
end

local STOPS <const>, SPOILS <const> = { fail = true }, { fail = true, continue = true }

local function stop_failed(self)
  local errors = self.books.state.root.errors
  local last = errors[#errors]
  local id = last and (last.phase or last.action)
  return "stop", "failed", "phase_failed", last and ("%s: %s"):format(id, last.message)
end

-- Why a phase does not run now: "skip" or "refuse" and the reason; nil: it runs.
local function obstacle(self, phase)
  local other = self.by_id[self.books.handlers[1]]
  if other and other ~= phase then
    return "skip", "an earlier phase failed and continues with " .. other.id
  end
  local decision = repeats.decision(self.books, phase.id)
  if decision then
    return "skip", decision
  end
  for _, condition in ipairs(phase.when) do
    local holds, problem = when.test(condition, self.books.state.root)
    if problem then
      return "refuse", "its condition cannot be evaluated: " .. when.problem(condition, problem)
    elseif not holds then
      return "skip", "condition not met: " .. when.text(condition)
    end
  end
  local missing = missing_input(self, phase)
  if missing then
    return "refuse", missing
  end
end

-- One group: first what is skipped, one after the other, then all that start; nil: it has finished.
local function consider(self, group)
  while self.looked < #group do
    self.looked = self.looked + 1
    local phase = group[self.looked]
    if not is_over(self.books, phase) then
      local decision, why = obstacle(self, phase)
      if decision then
        return decision, phase, why
      end
      self.starting[#self.starting + 1] = phase
    end
  end
  if self.starting[1] then
    local phases = self.starting
    self.starting = {}
    return "start", phases
  end
end

-- What rounds decide before and after a group: the record goes into the journal, then the mode is asked again.
local function round_before(self)
  if self.looked == 0 and not self.starting[1] then
    return require("skillrt.mode.rounds").choose(self, false)
  end
end

local function round_behind(self)
  local decision, what, at, message = require("skillrt.mode.rounds").choose(self, true)
  if decision == "round" then
    self.at, self.looked = at, 0
  end
  return decision, what, at, message
end

---@return "start"|"stop"|"skip"|"refuse"|"round" decision
---@return skillrt.Action[]|skillrt.Action|string|table|nil what  those; status; the phase; or the record
---@return string? why
---@return string? message
function Sequential:choose()
  if failed_any(self, STOPS) then
    return stop_failed(self)
  end
  while self.at <= #self.groups do
    local decision, what, why, message
    if self.rounds then
      decision, what, why, message = round_before(self)
    end
    if not decision then
      decision, what, why = consider(self, self.groups[self.at])
    end
    if not decision and self.rounds then
      decision, what, why, message = round_behind(self)
    end
    if decision then
      return decision, what, why, message
    end
    self.at, self.looked = self.at + 1, 0
  end
  if failed_any(self, SPOILS) then
    return stop_failed(self)
  end
  local first = self.phases[1]
  if self.phases == self.skill.phases and self.books.finished == 0 then
    return "stop", "failed", "nothing_ran", ("no phase ran; %s: %s"):format(first.id, self.books.skipped[first.id])
  end
  return "stop", "completed", "all_phases_completed"
end

---Whether all phases are over, well or badly.
---@return boolean
function Sequential:is_through()
  while self.at <= #self.groups do
    for _, phase in ipairs(self.groups[self.at]) do
      if not is_over(self.books, phase) then
        return false
      end
    end
    if self.rounds and require("skillrt.mode.rounds").is_open(self) then
      return false
    end
    self.at, self.looked = self.at + 1, 0
  end
  return true
end

---Whether a phase that was chosen before may still start.
---@return boolean
function Sequential:may_begin()
  return not failed_any(self, STOPS)
end

function Sequential.could_choose()
  return false
end

function Sequential.is_looping()
  return true
end

---Nothing is chosen while steps run: parallel phases start together.
Sequential.concurrent = false

---How many iterations a step counts, by its kind.
Sequential.iterations = { phase = 1 }

function Sequential.over(_, status, reason, message)
  return "stop", status, reason, message
end

---A step of a phase has finished: where it may be retried, its group is considered again.
---@param phase skillrt.Action
function Sequential:finished(phase)
  if not is_over(self.books, phase) then
    self.looked = 0
  end
end

---@param id string
---@return skillrt.Action|nil
function Sequential:find(id)
  return self.by_id[id]
end

return M
