-- test/replay/observer.lua: records of a run that is replayed, as they come: a step is the recorded one at its
-- place, and is given what that one drew; what it gave is compared with what that one gave.
--
-- Knows recordings and requests. Part of test/replay/world.lua.

local clock = require("skillrt.base.fake_clock")
local recording_of = require("skillrt.test.replay.recording")
local request = require("skillrt.test.replay.request")

local M = {}

---What a step gave: fields of its `done`.
M.GIVEN = { "set", "out", "context" }

---By type of record: what is made of one, function(world, entry, books).
M.of = {}
local of = M.of

-- What a step draws, and what its own functions gave, is as it was.
local function attach(self, step, number)
  local known = self.of[step.number]
  local attempt = known and (known.attempts[number] or known.attempts[#known.attempts])
  if attempt then
    step.values = setmetatable(rawget(step, "values") or {}, { __index = attempt.values })
    step.known = setmetatable(rawget(step, "known") or {}, { __index = attempt.known })
  end
end

---A step that waits for nothing more ends when it ended.
---@param self skillrt.replay.World
---@param known table|nil  of the recording
function M.hurry(self, known)
  for _, list in pairs(known and known.results or {}) do
    if not self.taken[list[#list]] then
      return
    end
  end
  if known and known.over then
    clock.pass(math.max(0, known.over.at - clock.now) / 1000)
  end
end

-- What a step gave against what it gave when it was recorded.
local function compare(self, known, entry)
  local function differs(what, how)
    self.differences[#self.differences + 1] = ("step %d (%s): %s, %s"):format(known.number, known.id, what, how)
  end
  local over = known.over
  if not over then
    return
  elseif over.t ~= entry.t then
    return differs("its end", ("%s -> %s"):format(over.t == "done" and "done" or over.message or over.t,
      entry.t == "done" and "done" or entry.message or entry.t))
  end
  for _, field in ipairs(entry.t == "done" and M.GIVEN or {}) do
    local line = request.line(self:placeless(request.lines_of(over[field])), self:placeless(self.gave[field]))
    if line then
      differs(field == "set" and "updates" or field == "out" and "output" or field, line)
    end
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
    M.hurry(self, known)
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

return M
