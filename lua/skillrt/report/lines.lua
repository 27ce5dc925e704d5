-- report/lines.lua: a record of a run as lines for people.
--
-- One formatter for the live run and for `skillrt log`: it reads the records in order and keeps only what later lines
-- need. Each record type has its own words (run/record/<type>.lua); all text is escaped here. Knows no terminal.
-- Called by plain.lua, live.lua and cli/command/log.lua.

local instant = require("skillrt.base.instant")
local names = require("skillrt.base.names")
local record_of = require("skillrt.run.record")
local subs = require("skillrt.run.books.subs")
local text_of = require("skillrt.base.terminal_text")
local trace = require("skillrt.report.trace")

local M = {}

-- ---- what a resume continues with ----

local STEPS <const> = 10
local CALLS <const> = 3

-- The keys of a table by number, the oldest first.
local function numbers(steps)
  local list = {}
  for number in pairs(steps) do
    list[#list + 1] = number
  end
  table.sort(list)
  return list
end

-- What happens to a call that has not finished.
local function fate(call)
  local target = call.to and ("%s %s"):format(call.kind, call.to) or tostring(call.kind)
  if call.q then
    return ("question %d is open"):format(call.q)
  elseif call.event then
    return "waits for the " .. names.awaited(call.event)
  elseif call.kind == "run" then
    return ("its sub-run %s is resumed"):format(call.to or "")
  elseif call.decision and call.decision ~= "retry" then
    return ("%s is not repeated: %s"):format(target, tostring(call.decision))
  elseif call.decision or call.failed or call.idem then
    return target .. " is repeated"
  elseif call.due then
    return "sleeps until " .. instant.iso(call.due)
  end
  return target .. ": outcome unknown, needs a decision"
end

local function words_of(step)
  local words = {}
  for i, place in ipairs(names.sorted(step.calls or {})) do
    words[i] = fate(step.calls[place])
  end
  if words[1] then
    return names.listed(words, CALLS)
  elseif step.retry_at then
    return ("attempt %d at %s"):format(step.attempt, instant.iso(step.retry_at))
  end
  return next(step.known or {}) and "from its last recorded reply" or "from its beginning"
end

---@param books skillrt.Ledger
---@return string|nil line  escaped; nil: no step was under way
local function resumed(books)
  local list = {}
  for i, number in ipairs(numbers(books.steps)) do
    local step = books.steps[number]
    list[i] = i <= STEPS and ("%s (%s)"):format(text_of.escape(step.id), text_of.escape(words_of(step))) or ""
  end
  return list[1] and "Resuming: " .. names.listed(list, STEPS) or nil
end

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
---@field lifted boolean?       it was reported that programs run without a sandbox
local Lines = {}
Lines.__index = Lines

---@param options { detail: boolean?, continuing: boolean? }?  continuing: earlier lines were shown
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

-- "[Iteration 3] " of an action, "[Orchestrator] " of a phase (R29, R67); a sub-run's are below its step.
local function prefix(step)
  local indent = ("  "):rep(step and step.depth or 0)
  if step and step.kind == "action" then
    return ("%s[Iteration %d] "):format(indent, step.n)
  end
  return indent .. "[Orchestrator] "
end

-- A format filled in, with every text in it escaped.
local function filled(format, ...)
  local list = { ... }
  for i = 1, select("#", ...) do
    list[i] = type(list[i]) == "string" and escape(list[i]) or list[i]
  end
  return format:format(table.unpack(list, 1, select("#", ...)))
end

---How deep below the run's own steps a scope's are: "5.2" belongs to a call of step 5.
---@param sub string|nil
---@return integer
function Lines:depth_of(sub)
  return sub and select(2, subs.path(setmetatable({ [0] = { sub = sub } }, { __index = self.steps }), 0)) or 0
end

---@param sub string
---@return string
function Lines:indent(sub)
  return ("  "):rep(self:depth_of(sub))
end

---A line.
---@param step table|false|nil  the step it belongs to; false: none, so there is no prefix
---@param kind string
---@param format string
---@param ... string|number
function Lines:say(step, kind, format, ...)
  self.out[#self.out + 1] = { kind = kind, text = (step == false and "" or prefix(step)) .. filled(format, ...) }
end

---A line in the words of document 000's orchestrator (R67): only for a skill that is such a document.
---@param pins table<string, string>|nil  the run's pins; nil: those of an earlier line
---@param kind string
---@param format string
---@param ... string|number
function Lines:banner(pins, kind, format, ...)
  self.pins = pins or self.pins
  if self.pins and self.pins["skill-config.json"] then
    self:say(false, kind, format, ...)
  end
end

---A text of many lines: the first after a head, the others below it.
---@param step table|false|nil
---@param kind string
---@param text string
---@param format string  of the head
---@param ... string|number
function Lines:block(step, kind, text, format, ...)
  local head = (step == false and "" or prefix(step)) .. filled(format, ...)
  for i, line in ipairs(text_of.lines(text)) do
    self.out[#self.out + 1] = { kind = kind, text = (i == 1 and head or "    ") .. line }
  end
end

---@param traceback string|nil
function Lines:traceback(traceback)
  for _, line in ipairs(self.detail and traceback and trace.lines(traceback) or {}) do
    self:say(false, "detail", "    %s", line)
  end
end

Lines.duration, Lines.sorted = text_of.duration, names.sorted

Lines.joined = names.listed

---What is under way and what is completed when a run resumes: from the books, where earlier records are not shown.
---@param books skillrt.Books|nil
---@return string[] under_way
---@return string[] completed
function Lines:seed(books)
  if books then
    self.over, self.completed = {}, 0
    for id in pairs(books.completed) do
      self.over[id] = true
      self.completed = self.completed + 1
    end
    for number, step in pairs(books.steps) do
      self.steps[number] = { id = step.id, kind = step.kind, n = books.state.root.iteration_count,
        attempt = step.attempt, at = books.at, sub = step.sub, depth = select(2, subs.path(books.steps, number)) }
    end
  end
  local ids = {}
  for i, number in ipairs(numbers(self.steps)) do
    ids[i] = self.steps[number].id
  end
  return ids, names.sorted(self.over)
end

---What happens to the calls that had not finished.
---@param books skillrt.Books|nil
function Lines:open_calls(books)
  local line = books and resumed(books)
  if line then
    self:say(false, "info", "%s", line)
  end
end

---The lines of one record, in the order of the journal.
---@param record table
---@param books skillrt.Ledger|nil  where earlier records were not shown
---@return skillrt.report.Line[]
function Lines:of(record, books)
  self.out = {}
  local kind, step, move = record_of.types[record.t], record.step and self.steps[record.step], record.move
  if kind and kind.line then
    kind.line(self, record, step or nil, books)
  end
  if move and move.from and move.to then -- R150
    self:say(step or nil, "info", "State transition: %s -> %s (%s)", move.from, move.to, tostring(move.action))
  end
  return self.out
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
