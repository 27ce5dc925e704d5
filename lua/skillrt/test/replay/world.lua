-- test/replay/world.lua: the world of a replayed run: each call gets the recorded result of its place, in the
-- recorded order; nothing is sent. A request that differs from the recorded one is the divergence.
--
-- The run is a normal one with the engine's places, digests and recorded draws (docs/write/steps.md). Called by turn,
-- calls and rest as run.world (skillrt.World), and as the run's watcher.

local asked_of = require("skillrt.run.books.questions")
local changes = require("skillrt.report.changes")
local clock = require("skillrt.base.fake_clock")
local core = require("skillrt.core")
local cut = require("skillrt.base.text").cut
local json = require("skillrt.base.json")
local output_files = require("skillrt.run.output_files")
local pause = require("skillrt.run.turn.pause")
local questions = require("skillrt.run.questions")
local recording_of = require("skillrt.test.replay.recording")
local state = require("skillrt.skill.state")
local steady = require("skillrt.run.steady")
local tables = require("skillrt.base.tables")
local views = require("skillrt.run.views")

-- ---- records of the replay as they come: each step belongs to the recorded one at its place ----

-- The result of a step, from its `done`, as text; nil: it cannot be recorded, and the step fails.
local function given(entry)
  return (json.encode({ updates = entry.set, output = entry.out, context = entry.context }, { sorted = true }))
end

---By record type: function(world, entry, books).
local of = {}

-- A step's draws, and the results of its own functions, are the recorded ones.
local function attach(self, step, number)
  local known = self.of[step.number]
  local attempt = known and (known.attempts[number] or known.attempts[#known.attempts])
  if attempt then
    step.values = setmetatable(rawget(step, "values") or {}, { __index = attempt.values })
    step.known = setmetatable(rawget(step, "known") or {}, { __index = attempt.known })
  end
end

---A step that waits for nothing more ends when it ended in the recording.
---@param self skillrt.replay.World
---@param known table|nil  of the recording
local function hurry(self, known)
  for _, list in pairs(known and known.results or {}) do
    if not self.taken[list[#list]] then
      return
    end
  end
  if known and known.over then
    clock.pass(math.max(0, known.over.at - clock.now) / 1000)
  end
end

-- Compares a step's result with the recorded one.
local function compare(self, known, entry)
  local function differs(how)
    self.differences[#self.differences + 1] = ("step %d (%s): %s"):format(known.number, known.id, how)
  end
  local over = known.over
  if not over then
    return
  elseif over.t ~= entry.t then
    return differs(("its end, %s -> %s"):format(over.t == "done" and "done" or over.message or over.t,
      entry.t == "done" and "done" or entry.message or entry.t))
  end
  local was = entry.t == "done" and json.decode(self:placeless(given(over))) or {}
  local is = entry.t == "done" and json.decode(self:placeless(self.gave)) or {}
  for _, change in ipairs(changes.between(was, is)) do
    differs(changes.line(change))
  end
end

function of.start(self, entry, books)
  local scope, id = self.scopes[entry.sub or ""] or "?", entry.action or entry.phase
  local count = (self.counts[scope] or 0) + 1
  local nth = (self.begun[scope .. id] or 0) + 1
  self.counts[scope], self.begun[scope .. id] = count, nth
  local known = (self.recording.starts[scope] or {})[count]
  self.steps = self.steps + 1
  if known and known.id == id then
    self.of[entry.step] = known
    attach(self, books.steps[entry.step], 1)
    hurry(self, known)
  elseif known or self.recording.stop and not self.recording.cut then
    self:diverge({ step = entry.step, id = id, recorded = known and "step " .. known.id or "no further step",
      now = "step " .. id, why = known and "another step is chosen"
        or ("the recorded run had ended: %s (%s)"):format(self.recording.stop.status, self.recording.stop.reason) })
  else
    self.ended = self.ended or { step = entry.step, id = id }
    self:halt()
  end
end

function of.call(self, entry)
  local known = self.of[entry.step]
  if entry.kind == "run" and known then
    self.scopes[entry.sub] = recording_of.scope_of(known, entry.c)
  end
end

function of.fail(self, entry, books)
  local known = self.of[entry.step]
  if known and entry.retry and books.steps[entry.step] then
    attach(self, books.steps[entry.step], entry.attempt + 1)
  elseif known then
    compare(self, known, entry)
  end
end

function of.done(self, entry)
  if self.of[entry.step] then
    compare(self, self.of[entry.step], entry)
  end
end

-- ---- what differs, and which recorded call is nearest ----

local LONGEST <const> = 1 << 24 -- bytes of a prompt

-- A value in few words.
local function shown(value)
  return cut(json.encode(value, { sorted = true }) or tostring(value), 200)
end

-- The first difference of two texts: "line 3: a -> b"; nil: none.
local function line_of(was, is)
  local a, b = was:gmatch("([^\n]*)\n?"), is:gmatch("([^\n]*)\n?")
  for number = 1, math.huge do
    local one, other = a(), b()
    if one ~= other then
      return ("line %d: %s -> %s"):format(number, shown(one), shown(other))
    elseif not one then
      return nil
    end
  end
end

-- A call of the replay: a program with its arguments, of which the journal has only a digest.
local function named(call)
  local argv = (call.request.declared or {}).argv or call.request.argv
  return ("%s %s"):format(call.kind, argv and cut(table.concat(argv, " "), 500) or call.to)
end

-- What differs, in words: the journal has digests of what was sent, and separately the prompts to agents.
local function difference(world, recorded, known, call)
  local to = recorded.to or recorded.kind
  if recorded.kind ~= call.kind then
    return ("its kind: %s -> %s"):format(recorded.kind, call.kind)
  elseif recorded.question and call.request.question then
    return ("the question: %s -> %s"):format(shown(recorded.question), shown(call.request.question))
  elseif recorded.to and to ~= call.to then
    return ("where it goes: %s -> %s"):format(to, call.to)
  end
  local was = call.request.prompt and world.store:kept(views.prompt(known.number, recorded.c), LONGEST)
  local line = was and line_of(world:placeless(was), world:placeless(call.request.prompt))
  return line and "its prompt, " .. line
    or call.kind == "http" and "its method, headers or body" or "its arguments, input, environment or folder"
end

-- The recorded call most similar to one: the same one elsewhere, else one to the same address in its step.
local function nearest(world, known, call)
  for _, step in ipairs(world.recording.steps) do
    for _, one in ipairs(step.calls) do
      if one.digest == call.digest then
        return one, step, true
      end
    end
  end
  for _, one in ipairs(known.calls) do
    if (one.to or one.kind) == call.to and one.kind == call.kind then
      return one, known
    end
  end
end

---@param world skillrt.replay.World
---@param known skillrt.recording.Step
---@param recorded table|nil  the record of the call at its place
---@param call skillrt.Call
---@return table
local function divergence_of(world, known, recorded, call)
  local near, where, equal = nearest(world, known, call)
  if recorded and not equal then
    near, where = recorded, known
  end
  local why = equal and "the very call is recorded elsewhere: it is made in another order, or another place"
    or near and difference(world, near, where, call) or "the recording has no call like it"
  return {
    step = known.number,
    id = known.id,
    call = call.place,
    recorded = recorded and ("%s %s"):format(recorded.kind, recorded.to or "") or "no call at this place",
    now = named(call),
    why = why,
    nearest = near and ("step %d (%s), call %s"):format(where.number, where.id, near.c),
  }
end

-- ---- skill ----

-- The recorded limits; those of time are not counted.
local function limits_of(skill, adds)
  local limits = tables.fill({}, skill.limits)
  limits.run_timeout = nil
  for full, amount in pairs(adds) do
    local name, inner = full:match("^([%w_]+)%.?(.*)$")
    if inner == "" and type(limits[name]) == "number" then
      limits[name] = limits[name] + amount
    elseif type(limits[name]) == "table" and limits[name][inner] then
      limits[name] = setmetatable({ [inner] = limits[name][inner] + amount }, { __index = limits[name] })
    end
  end
  return limits
end

local function no()
  return false
end

---@param skill table  changed
---@param adds table<string, number>  by which limits were raised
local function prepare(skill, adds)
  local agents = {}
  for name, agent in pairs(skill.agents) do
    agents[name] = setmetatable({ needs_http = no }, { __index = agent, __metatable = getmetatable(agent) })
  end
  skill.agents, skill.limits, skill.durability = agents, limits_of(skill, adds), "process"
end

---@class skillrt.replay.World
---@field divergence table|nil  { step, id, call, recorded, now, why }
---@field differences string[]  results of steps that differ
---@field ended table|nil       the recording ends here: { step, id, call }
---@field answered integer      calls
local World = {}
World.__index = World

---@param recording skillrt.Recording
---@param store skillrt.Store  the recording's
---@return skillrt.replay.World
function World.new(recording, store)
  local self = setmetatable({ recording = recording, store = store, of = {}, counts = {}, begun = {},
    scopes = { [""] = "/" }, checked = {}, taken = {}, loose = {}, differences = {}, notes = {}, answered = 0,
    steps = 0 }, World)
  self.watcher = { observe = function(...) self:observe(...) end, flush = function() end }
  return self
end

-- A message may contain the script's earlier name: that makes no difference.
local function renamed(self, entry)
  local known = self.of[entry.step]
  local was = known and known.fails[entry.attempt]
  local before = was and type(was.message) == "string" and was.message:match("^([^%s:]+):%d+: ")
  local own = type(entry.message) == "string" and entry.message:match("^([^%s:]+):%d+: ")
  if before and own == self.path then
    entry.message = before .. entry.message:sub(#own + 1)
  end
end

function World:opened(run, turn)
  local journal = turn.journal
  local emit = journal.emit
  self.open = run
  turn.run:replay_of(self.store)
  function journal.emit(own, entry, simple)
    if entry.t == "fail" then
      renamed(self, entry)
    elseif entry.t == "done" then -- before the books have it: it may be a view of the state
      self.gave = given(entry)
    end
    return emit(own, entry, simple)
  end
end

function World:halt()
  if self.open then
    self.open:stop()
  end
end

---@param found table
function World:diverge(found)
  self.divergence = self.divergence or found
  self:halt()
end

-- ---- the skill ----

---@param skill table
function World:dress(skill)
  prepare(skill, self.recording.adds)
end

---A record of the run as it goes.
function World:observe(entry, books)
  local take = of[entry.t]
  if take and not self.divergence then
    take(self, entry, books)
  end
end

-- ---- calls ----

-- The recorded result of a call that is not answered yet.
local function item_of(self, call)
  local known = self.of[call.step.number]
  for _, item in ipairs(known and known.results[call.place] or {}) do
    if not self.taken[item] then
      return item, known
    end
  end
  return nil, known
end

-- The script of a workflow depends only on its inputs: a changed one is really run, without a network.
function World:takes(call)
  local number = call.step.number
  if call.request.pure and not self.loose[number] then
    local item = item_of(self, call)
    self.loose[number] = not (item and item.digest == call.digest) or nil
    if self.loose[number] then
      local text = "step %d (%s): its script is another one, or has gone on: it is asked anew"
      self.notes[#self.notes + 1] = text:format(number, call.step.id)
    end
  end
  return not (call.request.pure and self.loose[number])
end

---Texts without the paths of this run and of the recorded one, and of their scripts.
---@param text string
---@return string
function World:placeless(text)
  for _, own in ipairs(self.places) do
    if #own > 1 and text:find(own, 1, true) then
      text = text:gsub(own:gsub("%p", "%%%0"), "")
    end
  end
  return text
end

-- Checks whether a call is requested as it was recorded.
local function check(self, call)
  local item, known = item_of(self, call)
  local recorded = item and item.call or known and known.open[call.place]
  if not known or recorded and recorded.digest == call.digest or self.loose[call.step.number] and not recorded then
    return
  end
  local found = divergence_of(self, known, recorded, call)
  if recorded or known.over then
    self:diverge(found)
  elseif not self.beyond then -- the recording may end before it
    self.beyond = { found = found, known = known }
  end
end

-- A request that is never answered: after the end of the recording, unless there is more of the step.
local function stuck(self, open)
  local beyond = self.beyond
  for _, list in pairs(beyond and beyond.known.results or {}) do
    for _, item in ipairs(list) do
      local failed = item.entry.failed
      if not self.taken[item] and not (failed and failed.class == "canceled") then
        return self:diverge(beyond.found)
      end
    end
  end
  self.ended = { step = open.step.number, id = open.step.id, call = open.place }
  self:halt()
end

---@param call skillrt.Call
function World:perform(call)
  self.checked[call] = true
  if not self.divergence then
    check(self, call)
  end
end

---Whether the recording decides when a wait ends.
---@param call skillrt.Call
---@return boolean
function World:holds(call)
  return item_of(self, call) ~= nil
end

-- Of all awaited recorded results, the one that came first.
local function first_item(self, turn)
  local best, chosen, open
  for _, step in pairs(turn.books.steps) do
    for place in pairs(step.calls) do
      local call = step.live.execution and step.live.execution.calls[place]
      if call and call.kind ~= "run" then
        if not self.checked[call] then
          self:perform(call)
        end
        local item = item_of(self, call)
        if item and (not best or item.seq < best.seq) then
          best, chosen = item, call
        end
        open = open or call
      end
    end
  end
  return best, chosen, open
end

-- The output that its agent wrote is there before the step looks for it.
local function put_output(self, call)
  local known = self.of[call.step.number]
  local over = known and known.over
  if not over or over.t ~= "done" or not over.file then
    return
  end
  local store = call.step.live.home.run.store
  if over.out ~= nil and over.out ~= json.null then
    output_files.write(store, over.file, over.out)
  else
    local text = self.store:kept(over.file, 1 << 26)
    if text then
      store:keep(over.file, text)
    end
  end
end

local LEFT_OUT <const> = { t = true, step = true, c = true, at = true, rec = true, arrival = true, took = true,
  q = true, w = true, own = true }

local function deliver(self, turn, item, call)
  self.taken[item] = true
  self.answered = self.answered + (call.request.pure and 0 or 1)
  put_output(self, call)
  local open = call:open()
  local entry = { q = open.q, w = open.w }
  for name, value in pairs(item.entry) do
    entry[name] = not LEFT_OUT[name] and value or entry[name]
  end
  turn.calls:settle(call, entry)
  hurry(self, self.of[call.step.number])
  call.execution:go_on()
end

-- A strategy's question gets the recorded answer.
local function answers(self, turn)
  for _, one in ipairs(asked_of.list(turn.books)) do
    for i, answer in ipairs(not one.step and self.recording.answers or {}) do
      if state.equal(answer.question, one.question) then
        table.remove(self.recording.answers, i)
        return questions.take(turn, { question = one.q, value = answer.value, nonce = one.nonce })
      end
    end
  end
end

---@param turn skillrt.Turn
---@return boolean moved
function World:idle(turn)
  if self.divergence or self.ended then
    return false
  end
  local item, call, open = first_item(self, turn)
  if self.divergence or self.ended then
    return false
  end
  local due = pause.due_at(turn, function(what)
    return what.place and self:holds(what)
  end)
  if due and (not item or steady.utc(due) < item.entry.at) then
    clock.pass(math.max(0, due - core.mono_ms()) / 1000)
    return true
  elseif item then
    clock.pass(math.max(0, item.entry.at - clock.now) / 1000)
    deliver(self, turn, item, call)
    return true
  elseif answers(self, turn) then
    return true
  elseif open then
    stuck(self, open)
  end
  return false
end

return World
