-- test/replay/recording.lua: a journal as the recording of its run: the requests and results of each step, its draws,
-- in the order in which they came; and what people did to the run in between.
--
-- A step is identified by its scope, its id and how many with that id came before, so that a changed skill finds its
-- own. Takes no lock, changes nothing. Knows record shapes, no runs.

local books_of = require("skillrt.run.books")
local look = require("skillrt.run.look")
local record_of = require("skillrt.run.record")

local M = {}

---@class skillrt.recording.Step
---@field number integer
---@field id string
---@field scope string
---@field results table<string, table[]>  by place: { entry, seq, digest, call }, in order
---@field calls table[]       records of calls that were sent, in order
---@field open table<string, table>  the unfinished ones, by place
---@field attempts table[]    what each attempt drew and kept: { values, known }
---@field fails table<integer, table>  records of failed attempts
---@field over table|nil      the record that ended it

---@class skillrt.Recording
---@field first table
---@field steps skillrt.recording.Step[]
---@field by_number table<integer, skillrt.recording.Step>
---@field starts table<string, skillrt.recording.Step[]>  by scope, in the order they started
---@field scopes table<string, string>  by the id of a sub-run
---@field adds table<string, number>
---@field operator table[]    what people did when it had stopped: { retry = true } or { from = phase }
---@field answers table[]     to a strategy's questions: { question, value }
---@field sessions integer    how often it was opened
---@field stop table|nil      how it ended; nil: it is under way, or was stopped from outside
---@field cut table|nil       where every replay must stop: { seq, what }
---@field books skillrt.Books as they were at the end, or at the cut
---@field last integer        of its records

---The scope of a sub-run of a call.
---@param step { scope: string, id: string, nth: integer }
---@param place string
---@return string
function M.scope_of(step, place)
  return ("%s%s#%d:%s/"):format(step.scope, step.id, step.nth, place)
end

-- The record types that finish a call of a step, and those that a step keeps.
local take = {}

function take.start(self, entry, seq)
  local scope = self.scopes[entry.sub or ""] or "?"
  local id = entry.action or entry.phase
  local nth = (self.counts[scope .. id] or 0) + 1
  self.counts[scope .. id] = nth
  local step = { number = entry.step, id = id, scope = scope, nth = nth, results = {}, calls = {}, open = {},
    fails = {}, attempts = { { values = {}, known = {} } }, seq = seq }
  self.starts[scope] = self.starts[scope] or {}
  table.insert(self.starts[scope], step)
  table.insert(self.steps, step)
  self.by_number[entry.step] = step
end

function take.call(self, entry, _, step)
  if entry.kind == "run" then
    self.scopes[entry.sub] = M.scope_of(step, entry.c)
  end
  if not step.open[entry.c] then
    step.calls[#step.calls + 1] = entry
  end
  step.open[entry.c] = entry
end

function take.result(self, entry, seq, step)
  local call = step.open[entry.c]
  if not call then -- of a function of its own, or a tool
    step.attempts[#step.attempts].known[entry.c] = { digest = entry.digest, result = entry }
  elseif call.kind ~= "run" then
    step.results[entry.c] = step.results[entry.c] or {}
    table.insert(step.results[entry.c], { entry = entry, seq = seq, digest = call.digest, call = call })
    self.count = self.count + 1
  end
  step.open[entry.c] = nil
end

function take.done(_, entry, _, step)
  step.over = entry
end

function take.skip(_, entry, _, step)
  if step then
    step.over = entry
  end
end

function take.fail(_, entry, _, step)
  step.fails[entry.attempt] = entry
  if not entry.retry then
    step.over = entry
  end
end

function take.ask(self, entry)
  self.asked[entry.q] = not entry.c and entry.question or nil
end

function take.answer(self, entry)
  if self.asked[entry.q] then
    table.insert(self.answers, { question = self.asked[entry.q], value = entry.value })
  end
end

function take.resume(self, entry)
  self.sessions, self.stop = self.sessions + 1, nil
  self.added = entry.add
  for name, amount in pairs(entry.add or {}) do
    self.adds[name] = (self.adds[name] or 0) + amount
  end
end

function take.stop(self, entry)
  if not entry.sub then
    self.stop = entry
  end
end

function take.retry(self)
  table.insert(self.operator, { retry = true })
end

function take.rewind(self, entry)
  if not self.added then
    table.insert(self.operator, { from = entry.phases[1] })
  end
end

-- A step's draws, with the texts that are stored separately.
local function keep_values(step, rec, blob)
  local values = step.attempts[#step.attempts].values
  for place, list in pairs(rec[1] ~= nil and { ["0"] = rec } or rec) do
    local kept = values[place] or {}
    values[place] = kept
    for _, value in ipairs(list) do
      if type(value) == "table" and value.sha256 then
        value = { text = assert(blob(value.sha256)) }
      end
      kept[#kept + 1] = value
    end
  end
end

-- A further attempt starts with what the books still have of the previous one.
local function next_attempt(self, step)
  local before, now = step.attempts[#step.attempts], self.books.steps[step.number]
  local attempt = { values = {}, known = {} }
  for _, field in ipairs({ "values", "known" }) do
    for place, value in pairs(before[field]) do
      local is_kept = now and now[field][place]
      attempt[field][place] = is_kept and (field == "known" and value or { table.unpack(value) }) or nil
    end
  end
  step.attempts[#step.attempts + 1] = attempt
end

local function add(self, entry, seq, blob)
  local step = entry.step and self.by_number[entry.step]
  if entry.t == "run" and not entry.sub then
    self.first = entry
  elseif entry.rec and step then
    keep_values(step, entry.rec, blob)
  end
  if take[entry.t] then
    take[entry.t](self, entry, seq, step)
  end
  books_of.apply(self.books, entry, seq)
  if entry.t == "fail" and entry.retry and step then
    next_attempt(self, step)
  end
end

---@param dir string
---@return skillrt.Recording|nil recording
---@return string? message
---@return string? code
function M.read(dir)
  local self = { steps = {}, by_number = {}, starts = {}, scopes = { [""] = "/" }, adds = {}, operator = {},
    answers = {}, counts = {}, asked = {}, sessions = 1, count = 0, last = 0, books = books_of.new() }
  local report, message, code = look.records(dir, function(entry, seq, blob)
    local kind = record_of.types[entry.t]
    if kind and kind.beyond then
      self.cut = { seq = seq, what = kind.beyond }
      return false
    end
    self.last = seq
    record_of.each(entry, function(one)
      add(self, one, seq, blob)
    end)
  end)
  return report and self, message, code
end

return M
