-- crash_audit.lua: what the journal of a run amounts to, read by itself, for tests that harm runs.
--
-- audit(directory, reported) -> summary, lost, duplicated, kept. The summary is a text that is
-- equal for two runs that came to the same end; `reported` holds the records that were told to be
-- durable; `kept` counts the records of all the books. What a resume reads, which is only what came
-- after the newest of those, must be what all the records tell.
-- Called by tests/support/crash.c in a Lua state with the core.

local core = require "skillrt.core"
local history = require "skillrt.history"
local json = require "skillrt.json"
local ledger = require "skillrt.ledger"
local runner = require "skillrt.runner"
local views = require "skillrt.views"

local OVER = { done = true, skip = true }

-- Moments differ, and nothing else.
local MOMENTS = {
  started_at = true,
  completed_at = true,
  failed_at = true,
  skipped_at = true,
  updated_at = true,
  timestamp = true,
}

local function without_moments(value)
  if type(value) == "table" then
    for key, inner in pairs(value) do
      if MOMENTS[key] then value[key] = nil else without_moments(inner) end
    end
  end
  return value
end

local function by_id(list)
  table.sort(list, function(a, b)
    return a.id < b.id
  end)
end

local function whole(books)
  return json.encode(history.whole(books) or "something is open")
end

-- All the books as a text, read as a resume reads them.
local function resumed(directory)
  local reader = history.new(ledger.new())
  local function blob(digest)
    local file <close> = assert(io.open(directory .. "/blobs/" .. digest, "rb"))
    return file:read "a"
  end
  assert(core.read(directory, function(payload, seq)
    reader:add(payload, seq, blob)
  end))
  reader:apply()
  return whole(reader.ledger)
end

return function(directory, reported)
  local there, over, duplicated, kept = {}, {}, 0, 0
  local books, message = runner.read(directory, function(record)
    there[json.encode(record)] = true
    kept = kept + (record.t == "books" and 1 or 0)
    if record.step and (OVER[record.t] or (record.t == "fail" and not record.retry)) then
      duplicated = duplicated + (over[record.step] and 1 or 0)
      over[record.step] = true
    end
  end)
  if not books then
    return "unreadable: " .. message, #reported, 0, kept
  elseif resumed(directory) ~= whole(books) then
    return "the newest books say something else than all the records", 0, duplicated, kept
  end
  local lost = 0
  for _, text in ipairs(reported) do
    if not there[text] then
      lost = lost + 1
    end
  end
  local state = views.state(books)
  by_id(state.phases_completed) -- parallel phases end in any order
  local copy = without_moments(json.decode(json.encode(state)))
  return json.encode { state = copy, runs = books.runs, finished = books.finished, open = books.open },
    lost,
    duplicated,
    kept
end
