-- report/metrics.lua: runs as metrics in Prometheus' text format (R149), from their journals alone.
--
-- The names are those of a machine's state (run/books/machine.lua): state_transitions, action_duration, error_count,
-- with Prometheus' suffixes; completion_rate = completed / started runs (F63). Knows stories. Called by
-- cli/command/metrics.lua.

local names = require("skillrt.base.names")

local M = {}

-- Upper bounds of action_duration, in seconds.
local BUCKETS <const> = { 0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 3600 }

local HELP <const> = {
  { "completion_rate", "gauge", "Runs that completed, of all that were started." },
  { "runs", "gauge", "Runs by the status they have." },
  { "state_transitions_total", "counter", "Transitions of a machine's state, else of a run's status." },
  { "steps_total", "counter", "Steps by how they ended." },
  { "action_duration_seconds", "histogram", "How long steps of an action took, in seconds." },
  { "calls_total", "counter", "Exchanges, programs and other calls that left a run." },
  { "retries_total", "counter", "Attempts after the first, of steps and calls." },
  { "error_count_total", "counter", "Steps that failed for good." },
  { "usage_total", "counter", "What agents said they used: tokens, input_tokens, output_tokens, dollars." },
  { "open_questions", "gauge", "Questions that wait for a person." },
  { "run_seconds_total", "counter", "How long runs were open, pauses left out." },
}

local ACTS <const> = { http = true, command = true, session = true, host = true }

local function quoted(value)
  return '"' .. tostring(value):gsub("\\", "\\\\"):gsub('"', '\\"'):gsub("\n", "\\n") .. '"'
end

-- {skill="a",action="b"}, in the order given.
local function labels(...)
  local parts, given = {}, { ... }
  for i = 1, #given, 2 do
    parts[#parts + 1] = ("%s=%s"):format(given[i], quoted(given[i + 1]))
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

local function number(value)
  return math.tointeger(value) and ("%d"):format(math.tointeger(value)) or ("%.9g"):format(value)
end

---@class skillrt.Metrics
---@field samples table<string, table<string, number>>  by name and labels
---@field durations table<string, table>  by labels: { skill, action, sum, count, [i] = within BUCKETS[i] }
---@field runs table<string, { started: integer, completed: integer }>  by skill
local Metrics = {}
Metrics.__index = Metrics

---@return skillrt.Metrics
function M.new()
  return setmetatable({ samples = {}, durations = {}, runs = {} }, Metrics)
end

local function add(self, name, label, amount)
  local rows = self.samples[name] or {}
  self.samples[name] = rows
  rows[label] = (rows[label] or 0) + amount
end

local function took(self, skill, action, seconds)
  local label = labels("skill", skill, "action", action)
  local one = self.durations[label] or { skill = skill, action = action, sum = 0, count = 0 }
  self.durations[label] = one
  one.sum, one.count = one.sum + seconds, one.count + 1
  for i, most in ipairs(BUCKETS) do
    one[i] = (one[i] or 0) + (seconds <= most and 1 or 0)
  end
end

local function add_step(self, story, skill, step)
  add(self, "steps_total", labels("skill", skill, "action", step.id, "status", step.status), 1)
  add(self, "error_count_total", labels("skill", skill), step.status == "failed" and 1 or 0)
  if step.ended then
    took(self, skill, step.id, story:ms_of(step) / 1000)
  end
  for _, call in ipairs(step.calls) do
    if ACTS[call.kind] and not call.pure then
      add(self, "calls_total", labels("skill", skill, "kind", call.kind), 1)
    end
  end
end

---Adds a run.
---@param story skillrt.Story
function Metrics:add(story)
  local skill = tostring(story.run.skill)
  local own = labels("skill", skill)
  local count = self.runs[skill] or { started = 0, completed = 0 }
  self.runs[skill] = count
  count.started = count.started + 1
  count.completed = count.completed + (story.status == "completed" and 1 or 0)
  add(self, "runs", labels("skill", skill, "status", story.status), 1)
  add(self, "state_transitions_total", own, 0)
  for _, move in ipairs(story.moves) do
    add(self, "state_transitions_total", own, move.from and 1 or 0)
  end
  add(self, "error_count_total", own, 0)
  for _, step in ipairs(story.steps) do
    if step.number then
      add_step(self, story, skill, step)
    end
  end
  add(self, "retries_total", own, story.retries)
  for what, amount in pairs(story.used) do
    add(self, "usage_total", labels("skill", skill, "of", what), amount)
  end
  local open = 0
  for _, one in ipairs(story.questions) do
    open = open + (one.ended and 0 or 1)
  end
  add(self, "open_questions", own, open)
  add(self, "run_seconds_total", own, story:active_ms() / 1000)
end

local function histogram(self, out)
  for _, label in ipairs(names.sorted(self.durations)) do
    local one = self.durations[label]
    local function bucket(most, number_of)
      out[#out + 1] = ("skillrt_action_duration_seconds_bucket%s %d"):format(labels("skill", one.skill,
        "action", one.action, "le", most), number_of)
    end
    for i, most in ipairs(BUCKETS) do
      bucket(("%g"):format(most), one[i])
    end
    bucket("+Inf", one.count)
    out[#out + 1] = ("skillrt_action_duration_seconds_sum%s %s"):format(label, number(one.sum))
    out[#out + 1] = ("skillrt_action_duration_seconds_count%s %d"):format(label, one.count)
  end
end

---All runs that were added, in Prometheus' text format.
---@return string text
function Metrics:text()
  local samples = self.samples
  for skill, count in pairs(self.runs) do
    samples.completion_rate = samples.completion_rate or {}
    samples.completion_rate[labels("skill", skill)] = count.completed / count.started
  end
  local out = {}
  for _, row in ipairs(HELP) do
    local name, kind, help = row[1], row[2], row[3]
    if samples[name] or kind == "histogram" and next(self.durations) then
      out[#out + 1] = ("# HELP skillrt_%s %s"):format(name, help)
      out[#out + 1] = ("# TYPE skillrt_%s %s"):format(name, kind)
      for _, label in ipairs(names.sorted(samples[name] or {})) do
        out[#out + 1] = ("skillrt_%s%s %s"):format(name, label, number(samples[name][label]))
      end
      if kind == "histogram" then
        histogram(self, out)
      end
    end
  end
  return table.concat(out, "\n") .. "\n"
end

return M
