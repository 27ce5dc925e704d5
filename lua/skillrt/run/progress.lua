-- run/progress.lua: whether anything moves: an action that is chosen again and again in the same state
-- ends the run (F33).
--
-- Knows the state's fingerprints and what an action's conditions read. Called by scheduler.lua.

local single = require("skillrt.base.single")

local REMEMBERED <const> = 128 -- distinct states kept per action

---@class skillrt.Progress
local Progress = {}

---@param run skillrt.Run
---@return skillrt.Progress
function Progress.new(run)
  return single.of(Progress, { books = run.books, limit = run.skill.limits.no_progress, seen = {} })
end

-- What tells the values of some keys from others: a single plain value is told by itself.
local function print_of(state, keys)
  if #keys == 1 then
    local value = state.root[keys[1]]
    if value == value and value ~= nil and type(value) ~= "table" then
      return value
    end
  end
  return state:fingerprint(keys)
end

-- Notes that an action was chosen with these values; whether it was before, and the note.
local function noted(self, one, print, progress)
  local seen = self.seen[one]
  local by_print = seen and seen.by_print
  local entry = by_print and by_print[print]
  if not entry then
    if not seen or seen.size >= REMEMBERED then
      by_print = {}
      seen = { size = 0, by_print = by_print }
      self.seen[one] = seen
    end
    by_print[print], seen.size = progress, seen.size + 1 -- most are met once
    return nil
  elseif type(entry) == "number" then
    entry = { times = 1, progress = entry }
    by_print[print] = entry
  end
  return entry, seen
end

-- The same action with the same relevant state again, and maybe too often. Has anything else moved since?
-- Only then the whole state counts: it may go round in a circle.
local function is_stuck(self, entry, seen, state)
  if state.progress == entry.progress then
    entry.times = entry.times + 1
    return entry.times > self.limit
  end
  local whole = state:whole_fingerprint()
  entry.whole = entry.whole or {}
  if not entry.whole[whole] then
    seen.size = seen.size + 1
  end
  entry.whole[whole] = (entry.whole[whole] or 0) + 1
  return entry.whole[whole] > self.limit
end

---Whether an action that was chosen and may be chosen again ends the run instead, as nothing moves.
---@param one skillrt.Action
---@return string? status
---@return string? reason
---@return string? message
function Progress:check(one)
  if self.limit == 0 then
    return nil
  end
  local state, keys = self.books.state, one.reads
  local entry, seen = noted(self, one, keys and print_of(state, keys) or 0, state.progress)
  if not entry or not is_stuck(self, entry, seen, state) then
    return nil
  end
  local message = "%s was chosen %d times and nothing that it depends on changed"
  return "failed", "no_progress", message:format(one.id, self.limit)
end

return Progress
