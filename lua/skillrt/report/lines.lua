-- report/lines.lua: a record of a run as lines for people.
--
-- One formatter for the live run and for `skillrt log`: it goes through the records in order
-- and keeps only what later lines need. All text is escaped here. Knows the record shapes of
-- books.lua, no terminal. Called by plain.lua, live.lua and cli/command/log.lua.

local moved = require("skillrt.report.moved")
local resumed = require("skillrt.report.resumed")
local subs = require("skillrt.run.books.subs")
local text_of = require("skillrt.report.text")
local told = require("skillrt.report.told")
local trace = require("skillrt.report.trace")

local M = {}

local escape = text_of.escape

---@class skillrt.report.Line
---@field text string   escaped, one line
---@field kind "info"|"good"|"warning"|"error"|"detail"

---@class skillrt.report.Lines
---@field detail boolean        exchanges and tracebacks too
---@field steps table<integer, table>  { id, kind, n, attempt }
---@field completed integer     actions and phases that completed at least once
---@field done integer          steps that went well
---@field failed integer        steps that failed
---@field retries integer
local Lines = {}
Lines.__index = Lines

---@param options { detail: boolean?, continuing: boolean? }?  continuing: its lines before were shown
---@return skillrt.report.Lines
function M.new(options)
  return setmetatable({
    detail = options and options.detail or false,
    continuing = options and options.continuing or false,
    steps = {},
    over = {},
    completed = 0,
    done = 0,
    failed = 0,
    retries = 0,
    status = "pending",
  }, Lines)
end

-- "[Iteration 3] " of an action, "[Orchestrator] " of a phase (R29, R67); of a sub-run's below its step.
local function prefix(step)
  local indent = ("  "):rep(step and step.depth or 0)
  if step and step.kind == "action" then
    return ("%s[Iteration %d] "):format(indent, step.n)
  end
  return indent .. "[Orchestrator] "
end

-- How deep below the run's own steps a scope's stand: "5.2" belongs to a call of step 5.
local function depth_of(self, sub)
  return sub and select(2, subs.path(setmetatable({ [0] = { sub = sub } }, { __index = self.steps }), 0)) or 0
end

local function add(out, kind, format, ...)
  out[#out + 1] = { kind = kind, text = select("#", ...) > 0 and format:format(...) or format }
end

-- A text of many lines: the first behind `head`, the others below it.
local function add_block(out, kind, head, text)
  for i, line in ipairs(text_of.lines(text)) do
    add(out, kind, "%s%s", i == 1 and head or "    ", line)
  end
end

local function joined(list, limit)
  local shown = {}
  for i = 1, math.min(#list, limit) do
    shown[i] = escape(tostring(list[i]))
  end
  local more = #list > limit and (", and %d more"):format(#list - limit) or ""
  return table.concat(shown, ", ") .. more
end

local format = {}

function format.run(self, record, out)
  if record.sub then
    add(out, "info", "%s[Sub-run %s] %s %s (%s)", ("  "):rep(depth_of(self, record.sub)), escape(record.sub),
      escape(record.skill), escape(record.version or "?"), escape(record.mode or "?"))
    return
  end
  self.status = "pending"
  add(out, "info", "=== Orchestrator Started ===")
  add(out, "info", "Skill: %s %s (%s), run %s", escape(record.skill), escape(record.version or "?"),
    escape(record.mode or "?"), escape(record.run))
  add(out, "info", "Context Strategy: %s", escape(record.context or "file"))
end

function format.start(self, record, out)
  local kind = record.phase and "phase" or "action"
  local step = { id = record.phase or record.action, kind = kind, n = record.n, attempt = 1, at = record.at }
  step.sub, step.depth = record.sub, depth_of(self, record.sub)
  self.steps[record.step] = step
  self.status = "running"
  if kind == "action" and not record.sub then
    add(out, "detail", "[Iteration %d] Status: %s, Completed: %d", step.n, self.status, self.completed)
  end
  add(out, "info", "%sExecuting: %s%s", prefix(step), escape(step.id), record.tool_set
    and (" (tools: %s)"):format(escape(record.tool_set)) or "")
end

function format.call(self, record, out)
  local step = self.steps[record.step]
  if record.q then
    local question = record.question
    if step then
      step.asking = ("question %d"):format(record.q)
    end
    local header = question.header and escape(question.header) .. ": " or ""
    add_block(out, "warning", ("%sQuestion %d: %s"):format(prefix(step), record.q, header), question.question)
    return
  end
  local target = record.to and ("%s %s"):format(record.kind, record.to) or tostring(record.kind)
  if step then
    step.asking = target
  end
  if record.label then
    local heading = record.phase and record.phase .. ": " or ""
    add(out, "info", "%sAgent: %s", prefix(step), escape(heading .. record.label))
  end
  if self.detail and not record.pure then
    local attempt = record.a and (", attempt %d"):format(record.a) or ""
    add(out, "detail", "%sAsking: %s (call %s%s)", prefix(step), escape(target), escape(tostring(record.c)),
      attempt)
  end
end

function format.result(self, record, out)
  if record.q and not record.failed then
    local by = record.unanswered and "nobody answered, taken is" or "Answer"
    add(out, "info", "%s%s: %s", prefix(self.steps[record.step]), by, escape(tostring(record.value)))
    return
  elseif record.took then
    add(out, "info", "%sEvent: %s", prefix(self.steps[record.step]), escape(record.event))
    return
  end
  if self.detail then
    local reply = record.reply or record.failed or {}
    add(out, "detail", "%sReply: %s, %d bytes (call %s)", prefix(self.steps[record.step]),
      escape(tostring(reply.status or reply.class or "kept")), type(reply.body) == "string" and #reply.body or 0,
      escape(tostring(record.c)))
  end
end

function format.attempt(self, record, out)
  local step = self.steps[record.step]
  self.retries = self.retries + 1
  add_block(out, "warning", ("%sRetry: %s: call %s failed (%s), again in %s: "):format(prefix(step),
    escape(step and step.id or "?"), escape(record.c), escape(record.class or "?"), text_of.duration(record.retry)),
    tostring(record.message))
end

function format.doubt(self, record, out)
  local step = self.steps[record.step]
  add_block(out, "warning", ("%sIn doubt: %s: call %s may have been executed: "):format(prefix(step),
    escape(step and step.id or "?"), escape(record.c)), tostring(record.message))
end

local function fail_text(record)
  return tostring(record.message or record.class or "failed without saying why")
end

local function add_retry(self, step, record, out)
  self.retries = self.retries + 1
  step.attempt = record.link and 1 or record.attempt + 1
  step.retry_at = record.at and record.at + record.retry
  local wait = record.retry > 0 and ("again in %s"):format(text_of.duration(record.retry)) or "again now"
  if record.link then
    wait = ("now its agent %d"):format(record.link)
  end
  add_block(out, "warning", ("%sRetry: %s: attempt %d failed (%s), %s: "):format(prefix(step), escape(step.id),
    record.attempt, escape(record.class or "?"), wait), fail_text(record))
end

function format.fail(self, record, out)
  local step = self.steps[record.step] or { id = "?", kind = "phase" }
  step.asking = nil
  if record.retry then
    add_retry(self, step, record, out)
    return
  end
  self.steps[record.step] = nil
  self.failed = self.failed + 1
  self.last_error = fail_text(record)
  if step.kind == "action" then
    add_block(out, "error", ("%sError: "):format(prefix(step)), fail_text(record))
  else
    add_block(out, "error", ("%sFailed at %s: "):format(prefix(step), escape(step.id)), fail_text(record))
  end
  if self.detail and record.traceback then
    for _, line in ipairs(trace.lines(record.traceback)) do
      add(out, "detail", "    %s", line)
    end
  end
  moved(out, prefix(step), record.move)
end

function format.done(self, record, out)
  local step = self.steps[record.step] or { id = "?", kind = "phase" }
  self.steps[record.step] = nil
  self.done = self.done + 1
  if not record.partial and not self.over[step.id] and (step.depth or 0) == 0 then
    self.over[step.id] = true
    self.completed = self.completed + 1
  end
  local what = escape(tostring(record.summary or step.id))
  if record.file then
    what = ("%s -> %s"):format(what, escape(record.file))
  end
  add(out, "good", "%s%s: %s", prefix(step), record.partial and "Partly done" or "Completed", what)
  if record.why then
    add_block(out, "warning", ("%sConcerns: "):format(prefix(step)), tostring(record.why))
  end
  for _, line in ipairs(told.behind_done(record, prefix(step), escape(step.id))) do
    add(out, line[1], "%s", line[2])
  end
  moved(out, prefix(step), record.move)
end

function format.skip(self, record, out)
  local step = record.step and self.steps[record.step]
  local id = record.phase or step and step.id or "?"
  if record.step then
    self.steps[record.step] = nil
  end
  local why = record.why or "condition not met"
  local short, more = why:match("^(condition not met)(: .*)$")
  add(out, "info", "%sSkipping %s (%s)%s", prefix(step), escape(id), escape(short or why), escape(more or ""))
end

function format.rounds(_, record, out)
  if record.over then
    add(out, "info", "[Rounds] %s: over after %d (%s)", escape(record.key), record.n, escape(record.why))
  else
    add(out, "info", "[Rounds] %s: round %d", escape(record.key), record.n)
  end
end

function format.note(self, record, out)
  local step = self.steps[record.step]
  if record.title then
    add_block(out, "info", ("%s%s == "):format(prefix(step), escape(step and step.id or "?")), tostring(record.title))
    return
  end
  add_block(out, "info", ("%s%s: "):format(prefix(step), escape(step and step.id or "?")), tostring(record.text))
end

-- Whoever watches the run is shown the whole question when it has paused.
function format.ask(self, record, out)
  if not self.detail then
    return
  end
  add_block(out, "warning", "Question: ", tostring(record.question.question or record.question.header or "?"))
end

function format.answer(_, record, out)
  add(out, "info", "Answer: %s", escape(tostring(record.value)))
end

-- What a status that ends a run is called in its last line.
local ENDS = { completed = true, failed = true, aborted = true }

function format.stop(self, record, out)
  local status, reason = record.status, record.reason
  if record.sub then
    add(out, status == "completed" and "good" or "warning", "%s[Sub-run %s] %s (%s)",
      ("  "):rep(depth_of(self, record.sub)), escape(record.sub), escape(status), escape(tostring(reason)))
    return
  end
  self.status = status
  if status == "completed" and reason ~= "nothing_ran" then
    add(out, "good", "=== All actions completed ===")
  elseif reason == "blocked" or reason == "no_action_selected" then
    add(out, "warning", "No action selected, terminating.")
  end
  local asks = reason == "needs_decision" or reason == "waiting_for_person"
  local said = self.last_error and record.message and record.message:sub(-#self.last_error) == self.last_error
  if record.message and not asks and not said then
    local kind = status == "completed" and "info" or status == "paused" and "warning" or "error"
    add_block(out, kind, "  ", tostring(record.message))
  end
  if ENDS[status] then
    add(out, "info", "=== Orchestrator Finished ===")
  else
    add(out, "info", "=== Orchestrator Paused (%s) ===", escape(tostring(reason)))
  end
end

-- What the books know already, where the records before are not shown.
local function seed(self, record, books)
  self.over, self.completed = {}, 0
  for id in pairs(books.completed) do
    self.over[id] = true
    self.completed = self.completed + 1
  end
  for number, step in pairs(books.steps) do
    self.steps[number] = {
      id = step.id,
      kind = step.kind,
      n = books.state.root.iteration_count,
      attempt = step.attempt,
      at = record.at,
      sub = step.sub,
      depth = select(2, subs.path(books.steps, number)),
    }
  end
end

local function ids_of(steps)
  local ids = {}
  for i, number in ipairs(resumed.numbers(steps)) do
    ids[i] = steps[number].id
  end
  return ids
end

-- R69: what was under way, what is completed.
function format.resume(self, record, out, books)
  if books then
    seed(self, record, books)
  end
  local current, completed = ids_of(self.steps), {}
  for id in pairs(self.over) do
    completed[#completed + 1] = id
  end
  table.sort(completed)
  self.status = #current > 0 and "running" or "pending"
  if self.continuing then
    return
  end
  local from = #current > 0 and joined(current, 10) or #completed > 0 and "the next step" or "start"
  add(out, "info", "Resuming from: %s", from)
  add(out, "info", "Already completed: %s", #completed > 0 and joined(completed, 20) or "nothing")
  local line = books and resumed.line(books)
  return line and add(out, "info", "%s", line)
end

function format.retry(_, record, out)
  add(out, "info", "Retrying: %s", escape(record.action or record.phase or "?"))
  moved(out, prefix(nil), record.move)
end

function format.rewind(self, record, out)
  for _, id in ipairs(record.phases) do
    if self.over[id] then
      self.over[id] = nil
      self.completed = self.completed - 1
    end
  end
  return record.phases[1] and add(out, "info", "Running again: %s", joined(record.phases, 20))
end

for name, write in pairs(require("skillrt.report.protocol_lines")) do
  format[name] = write
end

---The lines of one record, in the order of the journal.
---@param record table
---@param books skillrt.Ledger|nil  where the records before were not shown
---@return skillrt.report.Line[]
function Lines:of(record, books)
  local out = {}
  local write = format[record.t]
  if write then
    write(self, record, out, books)
  elseif told[record.t] then
    add(out, told[record.t](record, prefix(self.steps[record.step])))
  end
  return out
end

---The open steps, oldest first.
---@return table[] steps  { number, id, kind, attempt, at, asking, retry_at }
function Lines:open()
  local list = {}
  for number, step in pairs(self.steps) do
    step.number, step.path = number, subs.path(self.steps, number)
    list[#list + 1] = step
  end
  table.sort(list, function(a, b)
    return a.path < b.path
  end)
  return list
end

return M
