-- run/step/step.lua: a step under way: its recorded part, its part in this process, and the list of steps of each
-- kind in the order they started; the newest is "the current action" or phase.
--
-- A step starts in the books before its function runs; its start is written with its first record. Called by the
-- record types, which alone change what is recorded, and by journal.lua.

local failures = require("skillrt.run.books.failures")
local phases = require("skillrt.run.books.phases")
local places = require("skillrt.run.places")
local repeats = require("skillrt.mode.repeats")
local consumption = require("skillrt.run.books.consumption")

local M = {}

-- What a step may ask for at places where its calls are recorded; changed only by `become`.
--
--   from             when                                                             to
--   first            an attempt failed, and another one follows; or it failed for     further
--                      good, and is resumed
--   first, further   its code failed: it stays open until a person has fixed that     broken
--   any              its script was changed, or what is asked anew changes the rest   loose
--
-- first: exactly the recorded call, in that order. further, broken: something else, where nothing may have acted.
-- loose: anything, in any order; it keeps the answer to what it asks for as before.
---@alias skillrt.StepState "first"|"further"|"broken"|"loose"

---@type table<skillrt.StepState, table<skillrt.StepState, true>>
local NEXT <const> = {
  first = { further = true, broken = true, loose = true },
  further = { broken = true, loose = true },
  broken = { loose = true },
  loose = {},
}

---@class skillrt.Step
---@field state skillrt.StepState
---@field number integer
---@field id string             of the action or phase
---@field kind "action"|"phase"
---@field sub string|nil        the sub-run that it belongs to
---@field attempt integer       from 1
---@field since integer         attempts before it was resumed: `max_retries` counts from there
---@field root table            the state as it was when the step started
---@field started_at integer    UTC ms
---@field after integer|nil     how many steps had finished when it started
---@field edge integer|nil      in machine mode: the row of the table that it was chosen by
---@field undoes integer|nil    the step that it undoes
---@field file string|nil       the output file that it must give
---@field retry_at integer|nil  UTC ms: not before
---@field failures table[]      failed attempts: their `fail` records
---@field calls table<string, table>    by place: the `call` record of an open call
---@field known table<string, table>    by place: { digest, seq | result } of a finished call
---@field order string[]        the places of `known`, in the order in which they finished; dropped ones are still in it
---@field values table<string, any[]>   by place: times, random numbers and ids drawn there
---@field notes table<string, integer>  by place: log lines that were written there
---@field rounds table<string, table>   by place: the newest round of a loop: { n, seq | value, from }
---@field generations table<string, integer>  by place: answered results that were dropped
---@field tools table<string, table>    by place: the unfinished use of a tool: { digest, name, after }
---@field talks table<string, integer>  by session: the number of the program that it conversed with last
---@field blamed table<string, true>    places where the caller got no result
---@field told table<string, string>    by place: what a person tells an agent after its reply there
---@field acted_in string|nil   the place of a loop in whose finished rounds something may have acted
---@field cut table|nil         the journal was truncated: by prefix of a branch, its first call since
---@field stage string|nil      of the execution protocol: preparing, executing, validating
---@field late true|nil         it took longer than its skill's soft deadline
---@field ms integer|nil        how long it was open before the run was opened last
---@field people_ms integer|nil how long it waited for people
---@field live skillrt.Live     its part in this process

---@class skillrt.Live  not recorded; each attempt and each replay starts with a new one
---@field home skillrt.Steps    the object that performs it
---@field definition skillrt.Action|nil
---@field thread thread|false|nil  its function
---@field execution skillrt.Execution|nil  after its first wait
---@field context table<string, any>|nil   what it set in the shared context (run/ctx/context.lua)
---@field context_log table[]|nil          ... in which branch
---@field cursors table<string, integer>|nil  by place: how many values were drawn there (run/branch/draws.lua)
---@field lines table<string, integer>|nil    ... and lines said
---@field chances table|nil     the generators of its random numbers
---@field fresh table|nil       what it drew that is in no record yet
---@field read table|nil        ... and read

-- Most steps never fill their lists: they share this one until then.
local EMPTY = setmetatable({}, {
  __newindex = function()
    error("books: the shared empty list was written to")
  end,
})
M.EMPTY = EMPTY

-- The runtime's field that names the newest step of a kind.
local FIELD <const> = { action = "current_action", phase = "current_phase" }

local Step = { attempt = 1, since = 0, state = "first", live = EMPTY }
for field in ("failures calls known order values notes rounds tools generations talks blamed told"):gmatch("%a+") do
  Step[field] = EMPTY
end
Step.__index = Step

---Changes its state, as the table above allows; it never returns to an earlier one.
---@param step skillrt.Step
---@param state skillrt.StepState
function Step.become(step, state)
  step.state = NEXT[step.state][state] and state or step.state
end

---A list of a step that may be written to.
---@param step skillrt.Step
---@param field string
---@return table
function Step.own(step, field)
  if step[field] == EMPTY then
    step[field] = {}
  end
  return step[field]
end

---A step of a snapshot is under way again: the newest of its scope.
---@param books skillrt.Books  of its scope
---@param step table  `undo`: how its state differs from the present one
function M.restore(books, step)
  step.root, step.undo = books.state:hold_undone(step.undo), nil
  M.add(books, setmetatable(step, Step))
end

---@param books skillrt.Books
---@param step skillrt.Step  the newest of all
function M.add(books, step)
  local newest, kind = books.newest, step.kind
  local before = newest[kind]
  if before then
    before.behind, step.before = step, before
  end
  newest[kind], books.steps[step.number], books.open = step, step, books.open + 1
end

---@param books skillrt.Books
---@param step skillrt.Step
---@return skillrt.Step|nil newest  of its kind, among the remaining ones
function M.remove(books, step)
  local newest, kind, before, behind = books.newest, step.kind, step.before, step.behind
  books.steps[step.number], books.open = nil, books.open - 1
  if before then
    before.behind, step.before = behind, nil
  end
  if behind then
    behind.before, step.behind = before, nil
  else
    newest[kind] = before
  end
  return newest[kind]
end

-- Rare further fields of its start.
local function take_said(books, step, said)
  step.edge, step.undoes, step.file = said.edge, said.undo, said.file
  step.tool_set = said.tool_set
  if said.same then
    consumption.same(books, step.id, said)
  end
  if said.plan then
    books.plan = said.plan
  end
  if said.keeps then
    books.state:patch(said.keeps)
  end
end

-- A failed step is resumed with all its results but those that are asked for again. If a person retries it, or the
-- whole run is performed again, that includes calls without a result: what is made of the new answers may then
-- differ.
local function resume(books, step, from, whole, is_again, is_allowed)
  local held = books.held[step.id]
  for _, field in ipairs(repeats.HELD) do
    step[field] = held[field]
  end
  step.attempt, step.since = held.attempt + 1, held.attempt
  books.held[step.id] = nil
  step:become("further")
  step:drop(from, whole.subs, is_allowed)
  if is_again then
    step:drop_unanswered(held.is_steered)
  end
end

---A step begins.
---@param books skillrt.Books  of its scope
---@param step table  { number, id, kind, n = iterations with this one, started_at }: it becomes a skillrt.Step
---@param said table  its `start`
---@param whole skillrt.Books  the run's
function M.begin(books, step, said, whole)
  local id, state = step.id, books.state
  whole.last_step = math.max(whole.last_step, step.number)
  if books ~= whole then
    books.last_step = math.max(books.last_step, step.number)
  end
  step.sub = books.sub
  step.cut = whole.doubtful and { ["."] = true } or nil
  if books.status ~= "executing" then
    books.status = "executing"
    state:set("status", "running")
  end
  local is_again, is_allowed = books.retrying == id, books.permission ~= "harmless"
  if is_again then
    books.retrying, books.permission = nil, nil
  end
  if books.answer ~= nil or books.answers then
    books.answer, books.answers = nil, nil -- they were for this choice
  end
  books.chosen[id] = state.progress
  if books.handlers[1] then
    failures.took_over(books, id)
  end
  take_said(books, step, said)
  step.root, step.after = state:begin(step.n, FIELD[step.kind], id), books.finished
  M.add(books, setmetatable(step, Step))
  if said.from then
    resume(books, step, said.from, whole, is_again, is_allowed)
  end
  if said.tool_set then
    step.phases = phases.start(books, step)
  end
end

---A step has finished, or counts as not started: its state is not read any more.
---@param books skillrt.Books  of its scope
---@param step skillrt.Step
---@param record table  the record that ends it
function M.close(books, step, record)
  local newest = M.remove(books, step)
  if books.sub or books.bounds and books.bounds[step.id] then -- there is a limit that its time may count for
    consumption.closed(books, step, record.at)
  end
  if step.undoes and record.step == step.number then
    failures.undone(books, step, record)
  end
  books.finished = books.finished + 1
  if books.doubtful then
    books.doubtful = nil
  end
  books.state:over(step.root, FIELD[step.kind], step.id, newest and newest.id)
end

---A log line was written at a place of a step; or it reached a stage, or a call there had no result.
---@param record table
function Step:said(record)
  local place, notes = record.c or "0", self:own("notes")
  notes[place] = (notes[place] or 0) + 1
  self.stage = record.stage or self.stage
  if record.failed then
    self:own("blamed")[place] = true
  end
end

---It takes longer than its skill's soft deadline.
function Step:pass_deadline()
  self.late = true
end

---The run was closed, or its clock was set: how long it had been open until then.
---@param ms integer
function Step:was_open(ms)
  self.ms = ms
end

---It has waited this long for people: that time does not count as its own.
---@param ms integer
function Step:wait_for_people(ms)
  self.people_ms = (self.people_ms or 0) + ms
end

---More about a call that is under way: `failed`, `doubt`, `asked`, `decision`, `program`.
---@param place string
---@param field string
---@param value any
function Step:note(place, field, value)
  self.calls[place][field] = value
end

---The journal was truncated: the next call may have been sent already.
function Step:cut_off()
  self.cut = { ["."] = true } -- and by prefix where branches have first called since
end

---An attempt failed, and the step has not ended: another attempt follows, or a person fixes its code.
---@param record table  `fail`
---@param scopes table<string, skillrt.Books>|nil  of sub-runs
function Step:failed(record, scopes)
  table.insert(self:own("failures"), record)
  self.attempt, self.retry_at = record.attempt + 1, record.retry and record.at + record.retry
  if record.retry then
    self:become("further")
    if record.blame then
      self:drop({ record.blame }, scopes)
    elseif next(self.known) == nil then
      self:forget()
    end
  else
    self.since = record.attempt
    self:become("broken")
    self:drop_unanswered()
  end
end

---A call is about to be sent.
---@param record table  `call`
function Step:called(record)
  local cut, place = self.cut, record.c
  self:own("calls")[place], self.retry_at = record, nil
  if cut then
    local prefix = places.prefix_of(place)
    cut[prefix] = cut[prefix] or math.tointeger(place:match("%d+$")) or true
  end
end

-- Forgets what is known below a place, from the newest back to the result `after`, or to the previous round of a loop
-- there. Returns whether something of it may have acted.
local function forget_below(step, place, after)
  local order, known, kept, acted = step.order, step:own("known"), {}, nil
  for i = #order, 1, -1 do
    local at = order[i]
    local one = known[at] -- none: where a round was over
    if at == after then
      break
    end
    order[i] = nil
    if at == place and not one then
      break
    elseif places.is_below(at, place) then
      acted = acted or one and one.acted
      known[at] = nil
    else
      kept[#kept + 1] = at
    end
  end
  for i = #kept, 1, -1 do
    order[#order + 1] = kept[i]
  end
  return acted
end

---A call or the use of a tool has finished: calls since then are not asked for again.
---@param place string
---@param known table  what is known of it from now on
function Step:answered(place, known)
  local order, use = self:own("order"), self.tools[place]
  self:own("known")[place] = known
  if self.calls[place] then
    self.calls[place] = nil
  end
  order[#order + 1] = place
  if use then
    self.tools[place] = nil
    known.acted = forget_below(self, place, use.after) or known.acted
  end
end

-- ---- what is recorded of its calls, and what is forgotten ----

---Times, random numbers and ids of a record: a list of those drawn before the first call, or by place.
---@param step skillrt.Step
---@param rec table
function Step.keep_values(step, rec)
  if rec[1] ~= nil then
    rec = { ["0"] = rec }
  end
  local values = step:own("values")
  for place, drawn in pairs(rec) do
    local list = values[place] or {}
    values[place] = table.move(drawn, 1, #drawn, #list + 1, list)
  end
end

-- Removes everything kept by place for which `is_gone` is true.
local function without(step, is_gone)
  local order, kept = step.order, {}
  for i = 1, #order do
    local place = order[i]
    if not is_gone(place) then
      kept[#kept + 1] = place
    end
  end
  for _, field in ipairs({ "known", "calls", "values", "notes", "rounds", "tools", "blamed" }) do
    for place in pairs(step[field]) do
      if is_gone(place) then
        step[field][place] = nil
      end
    end
  end
  step.order = kept
end

-- What is waited for again in any case: what was given up before anything of it acted, and what is computed from the
-- rest.
local function is_open_again(step, place)
  local known = step.known[place] or step.calls[place]
  return known and (known.canceled and not known.acted or known.pure)
end

---A further attempt keeps all results but those of blamed calls; a step in the state `loose` asks again for everything
---that it awaits, in any order. A sub-run that failed is under way again, with all the results of its own steps.
---@param step skillrt.Step
---@param from string[]  their places
---@param scopes table<string, skillrt.Books>|nil  of sub-runs; nil: each starts again
---@param is_allowed boolean|nil  a person allows to repeat what failed in a sub-run
---@param is_asking boolean|nil  its function runs, and has asked for what is under way: that stays
function Step.drop(step, from, scopes, is_allowed, is_asking)
  local function is_asked_anew(at)
    return is_open_again(step, at) and not (is_asking and step.calls[at])
  end
  for _, place in ipairs(from) do
    local resumed = {}
    for at, known in pairs(step.known) do
      local is_meant = at == place or places.is_below(at, place)
      if is_meant and known.scope and scopes and scopes[known.scope.sub] then
        resumed[at] = known.scope
      elseif is_meant and known.answered then
        local generations = step:own("generations")
        generations[at] = (generations[at] or 0) + 1
      end
    end
    without(step, function(at)
      local open = step.calls[at] -- a later wait is asked for when its turn comes
      return at == place or places.is_below(at, place) or is_asked_anew(at)
        or open and not repeats.ACTS[open.kind] and open.kind ~= "run" and places.is_behind(at, place)
    end)
    for at, call in pairs(resumed) do
      local scope = scopes[call.sub]
      scope.permission, scope.retrying = is_allowed and "allowed" or "harmless", nil
      step:own("calls")[at] = call
    end
  end
  if step.state == "loose" then
    without(step, is_asked_anew)
  end
end

---Forgets the calls whose caller got no result: they are asked for again, and so is all that is computed from their
---answers.
---@param step skillrt.Step
---@param is_steered boolean|nil  a person changed the result of some of them
function Step.drop_unanswered(step, is_steered)
  local from = repeats.without_result(step)
  if from[1] or is_steered then
    step:become("loose")
    step:drop(from)
  end
end

---Forgets everything of an attempt: it had no call.
---@param step skillrt.Step
function Step.forget(step)
  step.talks = nil
  without(step, function()
    return true
  end)
end

---A round of a loop has finished: its calls are not asked for again.
---@param step skillrt.Step
---@param record table
---@param seq integer|nil
function Step.round(step, record, seq)
  local place, rounds, order = record.c, step:own("rounds"), step:own("order")
  local acted = forget_below(step, place)
  step.acted_in = step.acted_in or acted and place or nil
  order[#order + 1] = place -- others see what follows from here on
  for _, field in ipairs({ "values", "notes", "rounds" }) do
    for at in pairs(step[field]) do
      if places.is_below(at, place) then
        step[field][at] = nil
      end
    end
  end
  rounds[place] = { n = record.n, seq = seq, result = not seq and record or nil }
end

return M
