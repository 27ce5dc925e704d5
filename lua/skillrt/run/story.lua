-- run/story.lua: what happened in a run, step by step and call by call, collected from its records: reports, metrics,
-- records and traces are views of it.
--
-- Takes the records in order, live or read back; changes nothing. Each record type says what it adds
-- (record/<type>.lua).

local look = require("skillrt.run.look")
local record_of = require("skillrt.run.record")
local state_of = require("skillrt.skill.state")
local store = require("skillrt.run.store")

local M = {}

---How many steps of a run are listed individually: the newest.
M.MOST = 10000

---@class skillrt.story.Call
---@field step integer
---@field c string            its place
---@field kind string         http command session host sleep ask wait once run
---@field to string?          where it went
---@field label string?
---@field title string?       the heading that it is shown under
---@field at integer          UTC ms: when it was first sent
---@field ended integer?
---@field ok boolean?         nil: unfinished
---@field message string?     why it failed
---@field attempts table[]    failed ones before: { at, class, message, retry }
---@field reply string?       what came back
---@field used table<string, number>?
---@field q integer?          of a question: its number; question, value
---@field pure boolean?       it only reports what other calls returned

---@class skillrt.story.Step
---@field number integer
---@field id string
---@field kind "action"|"phase"
---@field n integer           iteration
---@field sub string?         the sub-run that it belongs to
---@field at integer
---@field ended integer?
---@field status "open"|"completed"|"partial"|"failed"|"skipped"
---@field attempts table[]    failed ones: { at, class, message, traceback, retry }
---@field calls skillrt.story.Call[]
---@field notes table[]       { at, text | title }
---@field stages table[]?     of the protocol: { at, name }, in the order it reached them
---@field set table?          what it changed in the state
---@field why string?         why it was skipped, or its concerns
---@field reason string?      the strategy's, for choosing it
---@field place integer       the number of the record before it, to which a run can be rolled back
---@field used table<string, number>?

---@class skillrt.story.LeftOut
---@field steps integer
---@field own integer         of these, how many belong to no sub-run
---@field failed integer
---@field calls integer
---@field completed string[]  the ids of own steps, each once
---@field files string[]      files that they wrote, each once
---@field last_failed skillrt.story.Step?
---@field state skillrt.State?  the state at the start of the run, with their changes

---@class skillrt.Story
---@field run table|nil       the first record
---@field steps skillrt.story.Step[]  in the order they began; of a long run the newest
---@field left_out skillrt.story.LeftOut  what is known of earlier ones
---@field by_number table<integer, skillrt.story.Step>
---@field loaded table?       when the contexts were loaded: { at, failed }
---@field sessions table[]    { from, to, status, reason, message }: the times that the run was open
---@field questions table[]   calls that ask, and questions of strategies
---@field moves table[]       transitions (R150): of a machine, else of the run's status: { at, from, to, action, step }
---@field edits table[]       { at, set, after = finished steps }: accepted state.json edits
---@field used table<string, number>
---@field retries integer
---@field records integer
---@field at integer          of the last record
local Story = {}
Story.__index = Story

---@return skillrt.Story
function M.new()
  return setmetatable({ steps = {}, by_number = {}, sessions = {}, questions = {}, edits = {}, moves = {}, used = {},
    retries = 0, records = 0, at = 0, status = "pending",
    left_out = { steps = 0, own = 0, failed = 0, calls = 0, completed = {}, files = {} } }, Story)
end

local function add_once(list, text)
  if text and not list[text] then
    list[#list + 1], list[text] = text, true
  end
end

---The calls of a step that were sent to somebody.
---@param step skillrt.story.Step
---@return integer
function M.calls_of(step)
  local count = 0
  for _, call in ipairs(step.calls) do
    count = count + (not call.pure and call.kind ~= "once" and 1 or 0)
  end
  return count
end

local function leave_out(out, step)
  out.steps, out.calls = out.steps + 1, out.calls + M.calls_of(step)
  if step.status == "failed" then
    out.failed, out.last_failed = out.failed + 1, step
  end
  if not step.sub then
    out.own = out.own + 1
    add_once(out.completed, step.status == "completed" and step.id)
    add_once(out.files, step.file)
  end
  out.state:patch(step.set or {})
end

-- Drops the oldest steps above a number: those that had finished before the others started.
local function shorten(self, most)
  local count, kept = #self.steps, {}
  local from = self.steps[count - most + 1].at
  self.left_out.state = self.left_out.state or state_of.new(state_of.copy(self.run.state or {}))
  for i, step in ipairs(self.steps) do
    if i <= count - most and step.ended and step.ended <= from then
      leave_out(self.left_out, step)
      self.by_number[step.number or 0] = nil
    else
      kept[#kept + 1] = step
    end
  end
  self.steps = kept
  local first = #self.moves
  while first > 1 and self.moves[first].at > from do
    first = first - 1
  end
  self.moves = table.move(self.moves, first, #self.moves, 1, {})
end

-- Without a machine the states of a run are its status words.
local function note_status(self, before, record)
  local status = self.status
  if status ~= before and not self.is_machine and record.t ~= "run" then
    local id = record.action or record.phase or record.reason
    self.moves[#self.moves + 1] = { at = record.at, from = before, to = status, action = id, step = record.step }
  end
end

---Starts in the middle: what is known of a resumed run, from its books.
---@param books skillrt.Books
function Story:take_over(books)
  self.run = { run = books.run_id, skill = books.skill, version = books.version, mode = books.mode,
    at = books.started_at, state = {}, input = books.input }
  self.is_machine, self.status = books.mode == "machine", "paused"
  for number, open in pairs(books.steps) do
    local step = { number = number, id = open.id, kind = open.kind, n = open.n, sub = open.sub, at = open.started_at,
      status = "open", attempts = {}, calls = {}, by_place = {}, notes = {} }
    self.steps[#self.steps + 1], self.by_number[number] = step, step
    for place, call in pairs(open.calls) do
      local one = { step = number, c = place, kind = call.kind, to = call.to, label = call.label, at = call.at,
        attempts = {}, q = call.q, question = call.question, pure = call.pure, key = call.key }
      step.calls[#step.calls + 1], step.by_place[place] = one, one
    end
  end
end

---Drops finished steps and replies: live watchers have already shown them.
function Story:forget_over()
  local last = self.steps[#self.steps]
  if last and last.status ~= "open" or #self.steps > 64 then
    local open = {}
    for _, step in ipairs(self.steps) do
      if step.status == "open" then
        open[#open + 1] = step
      else
        self.by_number[step.number or 0] = nil
      end
    end
    self.steps = open
  end
  if #self.questions > 256 then
    self.questions = {}
  end
  if #self.moves > 256 then
    self.moves = {}
  end
end

---Takes one record, after the ones before it.
---@param record table
function Story:add(record)
  local status = self.status
  self.records = self.records + 1
  self.before, self.at = self.at, record.at or self.at
  local kind = record_of.types[record.t]
  local step = record.step and self.by_number[record.step]
  if record.move and record.move.to and not record.sub and not (step and step.sub) then
    local move = record.move
    self.moves[#self.moves + 1] = { at = record.at, from = move.from, to = move.to, action = move.action,
      step = record.step }
  end
  if kind and kind.story and (step or not kind.of_step) then
    kind.story(self, record, step)
    note_status(self, status, record)
  end
end

---How long a step or call took; for an open one, until the last record.
---@param one table
---@return integer ms
function Story:ms_of(one)
  return math.max(0, (one.ended or self.at) - one.at)
end

---How long the run was open, without pauses.
---@return integer ms
function Story:active_ms()
  local ms = 0
  for i, session in ipairs(self.sessions) do
    local to = session.to or (i == #self.sessions and self.at or session.from)
    ms = ms + math.max(0, to - session.from)
  end
  return ms
end

---The story of a run, read without its lock.
---@param dir string
---@param each fun(record: table, books: skillrt.Books)|nil  gets every record after it was applied to the books
---@param most integer?  how many steps are listed individually
---@return skillrt.Story|nil story
---@return skillrt.Books|string books_or_message
---@return string? code
function M.read(dir, each, most)
  local story = M.new()
  local books, report, code = look.read(dir, function(record, books)
    story:add(record)
    if most and #story.steps >= 2 * most and #story.steps % most == 0 then
      shorten(story, most)
    end
    if each then
      each(record, books)
    end
  end)
  if not books then
    return nil, report --[[@as string]], code
  end
  if most and #story.steps > most then
    shorten(story, most)
  end
  story.status = look.standing(books.status, store.at(dir):holder())
  return story, books
end

return M
