-- run/branch/draws.lua: what a step draws and reads: recorded with its next call, and given back when it runs again.
--
-- Knows the journal and the books of a step. Called by run/ctx.lua, its parts, and run/journal.lua.

local drawn = require("skillrt.base.drawn")
local record = require("skillrt.base.record")

local M = {}

---The error for using the ctx of a step that does not run.
M.OTHERS = "ctx: its step has finished, or is not running: use the ctx that the function was given"

-- Where a step is now: the place of the last call of the running branch, and that branch. Another step must not draw
-- or log through it, as that could not be given back.
local function place_of(step)
  if drawn.step ~= step then
    error(M.OTHERS, 4)
  end
  local execution = step.live.execution
  local branch = execution and execution.now
  if branch then
    return branch.prefix .. branch.position, branch
  end
  return "0"
end
M.place_of = place_of

-- The recorded value of the step's next draw, by kind; else where a fresh value is to be kept.
local function next_known(step, kind, place)
  local at, live = place .. kind, step.live
  local cursors = live.cursors or {}
  live.cursors = cursors
  local cursor = (cursors[at] or 0) + 1
  cursors[at] = cursor
  local known = step.values[at]
  return known and known[cursor], at
end

local function add(live, field, at, value)
  local all = live[field] or {}
  live[field] = all
  local list = all[at] or {}
  all[at] = list
  list[#list + 1] = value
end

---Draws for a step: a recorded value, or a fresh one that the next record will carry. Inside ctx.once nothing is
---recorded, as that does not run again.
---@param step skillrt.Step
---@param kind string  "" of ctx, else one letter
---@param make fun(): any
---@return any
function M.drawn(step, kind, make)
  local place, branch = place_of(step)
  if branch and branch.state == "once" then
    return make()
  end
  local value, at = next_known(step, kind, place)
  if value == nil then
    value = make()
    add(step.live, "fresh", at, value)
  end
  return value
end
drawn.recorded = M.drawn

---The generators of a step's random numbers, and its place: each branch and each round has its own.
function drawn.chances(step)
  local _, branch = place_of(step)
  local prefix = branch and branch.prefix or ""
  if branch and branch.state == "once" then
    prefix = prefix .. branch.position .. "once"
  end
  local live = step.live
  live.chances = live.chances or {}
  return live.chances, prefix
end

---A log line is written once, even if the function runs again.
---@param journal skillrt.Journal
---@param step skillrt.Step
---@param entry table  a record; without a type it is a note
function M.say(journal, step, entry)
  local place, live = place_of(step), step.live
  local lines = live.lines or {}
  live.lines = lines
  lines[place] = (lines[place] or 0) + 1
  if lines[place] > (step.notes[place] or 0) then
    entry.t, entry.step, entry.c = entry.t or "note", step.number, place ~= "0" and place or nil
    assert(journal:emit(entry))
  end
end

-- ---- what was read ----

local INLINE <const> = 1024 -- bytes of a text that stands in the record itself

local function stored(journal, held)
  local text = held.text
  if not text or (#text <= INLINE and utf8.len(text)) then
    return held
  end
  return { sha256 = journal:keep(text), bytes = #text }
end

---The long texts that a step has read and not yet been given back.
---@param step skillrt.Step
---@return table[] list  of the books
function M.texts_left(step)
  local list, cursors = {}, step.live.cursors or {}
  for at, values in pairs(step.values) do
    for i = at:sub(-1) == "r" and (cursors[at] or 0) + 1 or math.huge, #values do
      list[#list + 1] = values[i].sha256 and values[i] or nil
    end
  end
  return list
end

---A text from outside, recorded like a draw; a long one is stored separately. It is recorded when the function waits;
---nothing needs to be given back to a finished step.
---@param journal skillrt.Journal
---@param step skillrt.Step
---@param make fun(): string|nil, string?, string?
---@return string|nil text
---@return string? message
---@return string? code
function M.read(journal, step, make)
  local place, branch = place_of(step)
  if branch and branch.state == "once" then
    return make()
  end
  local known, at = next_known(step, "r", place)
  if not known then
    local text, message, code = make()
    add(step.live, "read", at, { text = text, message = message and record.printable(message), code = code })
    return text, message, code
  elseif known.sha256 then
    return journal:reread(known) --[[@as string]]
  end
  return known.text, known.message, known.code
end

local function keep_read(journal, step)
  local live = step.live
  if journal.keeps_nothing then
    return step:keep_values(live.read)
  end
  live.fresh = live.fresh or {}
  for at, list in pairs(live.read) do
    for i, held in ipairs(list) do
      list[i] = stored(journal, held)
    end
    live.fresh[at] = list
  end
end

-- Record types after which a step is not performed again.
local LAST <const> = { done = true, skip = true }

---A record of a step carries what its function drew and read since the last one.
---@param journal skillrt.Journal
---@param step skillrt.Step
---@param entry table
function M.tell(journal, step, entry)
  local live = step.live
  if live.read then
    if not LAST[entry.t] and (entry.t ~= "fail" or entry.retry) then
      keep_read(journal, step)
    end
    live.read = nil
  end
  entry.rec, live.fresh = live.fresh, nil
end

return M
