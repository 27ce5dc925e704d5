-- crash_audit.lua: what the journal of a run amounts to, read by itself, for tests that harm runs.
--
-- audit(directory, reported, any_order, look) -> summary, lost, duplicated, kept, problem
--
-- The summary is a text that is equal for two runs that came to the same end. `reported` holds the records that were
-- told, which must be there; `kept` counts the records of all the books. What a resume reads, which is only what came
-- after the newest of those, must be what all the records tell: else that is the problem, and the summary. `look` is
-- called with the records, whose numbers are in their field `seqs`.
-- Called by tests/support/crash.c in a Lua state with the core.

local core = require "skillrt.core"
local snapshot = require "skillrt.run.snapshot"
local json = require "skillrt.base.json"
local books_of = require "skillrt.run.books"
local record = require "skillrt.base.record"
local record_of = require "skillrt.run.record"
local views = require "skillrt.run.views"

local OVER = { done = true, skip = true }

-- Moments differ, and the run's name, and nothing else.
local MOMENTS = {
  run_id = true,
  started_at = true,
  completed_at = true,
  failed_at = true,
  skipped_at = true,
  updated_at = true,
  timestamp = true,
  start_time = true, -- of a machine's metrics
  action_duration = true,
}

local function without_moments(value)
  if type(value) == "table" then
    for key, inner in pairs(value) do
      if MOMENTS[key] then value[key] = nil else without_moments(inner) end
    end
  end
  return value
end

-- Where a deadline decided (tests/run/skills/orders_branches.lua), the step says what the journal says of the
-- last time it was waited for: that it had passed, or that it was no longer asked for; gives what is wrong.
local function misjudged(state, records)
  local claimed, sleeps, found = state.decided, {}, "reply"
  state.decided = nil
  for _, entry in ipairs(records) do
    if entry.t == "call" and entry.kind == "sleep" then
      sleeps[entry.c] = true
    elseif entry.t == "result" and sleeps[entry.c] then
      found = entry.failed and "reply" or "time"
    end
  end
  return claimed and found ~= claimed and ("the journal says %s, the step says %s"):format(found, claimed) or nil
end

-- What leaves and may act, where nobody said that it may be made again.
local ACTS = { http = true, command = true, session = true }

-- A call that may have been executed, and left again though nobody was asked; gives what is wrong.
local function left_twice(records)
  local out = {}
  for _, entry in ipairs(records) do
    local name = entry.step and ("%d/%s"):format(entry.step, entry.c or "")
    if entry.t == "call" and ACTS[entry.kind] and not entry.idem then
      if out[name] then
        return ("call %s of step %d left twice, unasked"):format(entry.c, entry.step)
      end
      out[name] = true
    elseif entry.t == "doubt" or entry.t == "result" or entry.t == "attempt" then
      out[name] = nil
    elseif entry.t == "drop" or entry.t == "fail" then
      out = {}
    end
  end
end

local function by_id(list)
  table.sort(list, function(a, b)
    return a.id < b.id
  end)
end

local function whole(books)
  return json.encode(snapshot.whole(books))
end

-- What there is to know of a journal: its records as texts, the books that they all make, those
-- that a resume makes, and what was done twice. Raises where it cannot be read.
local function read(directory, look)
  local list, over, duplicated, kept = { seqs = {} }, {}, 0, 0
  local books, reader = books_of.new(), snapshot.new(books_of.new())
  local store, texts = {}, {}
  local function blob(digest)
    texts[digest] = texts[digest] or assert(store.blob(digest))
    return texts[digest]
  end
  local function take(one, seq)
    list[#list + 1] = one
    list.seqs[#list] = seq
  end
  local report, message = core.read(directory, function(payload, seq)
    local entry = assert(record.decode(payload, blob))
    reader:add(payload, seq, blob)
    record_of.each(entry, take, seq)
    kept = kept + (entry.t == "books" and 1 or 0)
  end, store)
  assert(report, message)
  if look then
    look(list)
  end
  local there = {}
  for i, one in ipairs(list) do -- as they are before the books have them
    there[json.encode(one)] = true
    books_of.apply(books, one, list.seqs[i])
  end
  for _, entry in ipairs(list) do
    if entry.t == "start" then
      over[entry.step] = nil -- a step that had failed is resumed
    elseif entry.step and (OVER[entry.t] or (entry.t == "fail" and not entry.retry)) then
      duplicated = duplicated + (over[entry.step] and 1 or 0)
      over[entry.step] = true
    end
  end
  if kept > 0 then -- else it reads the same
    reader:apply()
  end
  return list, there, books, kept > 0 and reader.books or books, duplicated, kept
end

return function(directory, reported, any_order, look)
  local ok, list, there, books, resumed, duplicated, kept = pcall(read, directory, look)
  if not ok then
    local problem = "unreadable: " .. tostring(type(list) == "table" and list.message or list)
    return problem, #reported, 0, 0, problem
  elseif resumed ~= books and whole(resumed) ~= whole(books) then
    local problem = "the newest books say something else than all the records"
    return problem, 0, duplicated, kept, problem
  end
  local lost = 0
  for _, text in ipairs(reported) do
    if not there[text] and not text:find('"t":"start"', 1, true) then -- who watches hears of a start from memory
      lost = lost + 1
    end
  end
  local state = views.state(books)
  local wrong = misjudged(state, list) or left_twice(list)
  if wrong then
    return wrong, lost, duplicated, kept
  end
  by_id(state.phases_completed) -- parallel phases end in any order
  if any_order then
    table.sort(state.completed_actions)
  end
  local copy = without_moments(json.decode(json.encode(state)))
  return json.encode { state = copy, runs = books.runs, finished = books.finished, open = books.open },
    lost,
    duplicated,
    kept
end
