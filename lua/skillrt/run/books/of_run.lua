-- run/books/of_run.lua: what the records of a run as a whole change: its begin, stops and resumes, the end of its
-- loop, edits, pins.
--
-- Part of books.lua, which alone calls it. Knows no steps but their number.

local json = require("skillrt.base.json")
local spent = require("skillrt.run.books.spent")
local state = require("skillrt.skill.state")

-- Loaded when a run goes on.
local calls = setmetatable({}, { __index = function(_, key) return require("skillrt.run.books.calls")[key] end })

local M = {}

---ISO 8601 in UTC, with milliseconds.
---@param ms integer
---@return string
local function iso(ms)
  return os.date("!%Y-%m-%dT%H:%M:%S", ms // 1000) .. (".%03dZ"):format(ms % 1000)
end
M.iso = iso

function M.run(self, record)
  self.run_id, self.skill, self.version = record.run, record.skill, record.version
  self.mode, self.input, self.pins = record.mode, record.input, record.pins
  self.context_strategy, self.started_at = record.context, record.at
  self.args, self.cwd = record.args, record.cwd
  self.opened_at, self.bounds, self.session = record.at, record.bounds, record.session
  local initial = state.copy(record.state)
  initial.skill_name = record.skill
  initial.run_id = record.run
  initial.status = "pending"
  initial.started_at = iso(record.at)
  initial.completed_actions = json.array({})
  initial.errors = json.array({})
  initial.error_count = 0
  initial.iteration_count = 0
  initial.input = record.input
  initial.context = {}
  initial.outputs = {}
  initial.phases_completed = json.array({})
  initial.phases_skipped = json.array({})
  self.state = state.new(initial)
end

function M.stop(self, record)
  self.status, self.reason, self.message, self.limit = record.status, record.reason, record.message, record.limit
  self.due = record.due
  if record.idle then
    self.active = (self.active or 0) - record.idle
  end
  for _, row in ipairs(record.kept and self.contexts or {}) do
    if record.kept[row.name] ~= nil then
      row.digest = record.kept[row.name] or nil -- it is what the session holds now
    end
  end
  self.programs = nil -- they ended with it
  if self.answer == false then -- the person gave up, and may be asked again later
    self.answer = nil
  end
  self.state:set("status", record.status)
  if record.status == "completed" then
    self.state:set("completed_at", iso(record.at))
  elseif record.status == "failed" or record.status == "aborted" then
    self.state:set("failed_at", iso(record.at))
  end
end

-- What paused it does not pause it again; what failed before it began does.
local function anew(books)
  books.signatures = nil
  if books.halt and books.halt[1] == "paused" then
    books.halt = nil
  end
end

function M.resume(self, record)
  calls.cut(self, record)
  spent.reopened(self, record)
  self.status = self.last_step > 0 and "executing" or "pending"
  self.reason, self.message, self.rolled = nil, nil, nil
  anew(self)
  for _, scope in pairs(self.subs or {}) do
    anew(scope)
  end
  self.state:set("status", self.last_step > 0 and "running" or "pending")
  self.state:set("completed_at", nil)
  self.state:set("failed_at", nil)
end

function M.loop(self, record)
  self.loop_end = { status = record.status, reason = record.reason, message = record.message }
end

function M.edit(self, record)
  self.state:patch(record.set)
end

function M.accept(self, record)
  self.pins = record.pins
end

function M.pin(self, record)
  self.pins = state.merge(self.pins, record.pins)
end

return M
