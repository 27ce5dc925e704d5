-- run/progress.lua: whether anything moves: an action that is chosen again and again in the same state
-- ends the run (F33).
--
-- Knows the state's fingerprints and what an action's conditions read; how often an action began in a
-- state, the books keep over every resume. Called by scheduler.lua.

local single = require("skillrt.base.single")

local PLAIN <const> = { number = true, string = true, boolean = true }
local REMEMBERED <const> = 128 -- distinct states kept per action

---@class skillrt.Progress
local Progress = {}

---@param run skillrt.Run
---@return skillrt.Progress
function Progress.new(run)
  local limit = run.limits.no_progress.most
  return single.of(Progress, { books = run.books, limit = limit, state = run.books.state, seen = {} })
end

-- Of an action: the only key that it reads, if that is one, and when it was chosen with which values.
local function seen_of(self, one)
  local keys = one.reads
  local seen = { at = {}, size = 0, key = keys and not keys[2] and keys[1] or nil }
  self.seen[one.id] = seen
  return seen
end

-- How often the action is now chosen in the same state, and what tells that state. Has anything moved since
-- it was chosen before? Then the whole state counts: it may go round in a circle.
local function times(state, known, before, stands_still)
  local print = tostring(state:whole_fingerprint())
  local count = known and known[print]
  if not count and (before or stands_still) then
    count = (stands_still or before == state.progress) and 1 or 0
  end
  return count and count + 1, print
end

local function named(keys)
  if #keys == 0 then
    return "nothing"
  end
  return table.concat(keys, ", ", 1, math.min(#keys, 10)) .. (#keys > 10 and (" and %d more"):format(#keys - 10) or "")
end

-- What stands still, in words: the keys that an action reads, and those that it gave in this session.
local function told(books, one)
  local parts, gave = {}, books.returned[one.id]
  if one.reads then
    parts[1] = "it reads " .. named(one.reads)
  end
  if gave then
    local keys = {}
    for key in pairs(gave) do
      keys[#keys + 1] = tostring(key)
    end
    table.sort(keys)
    parts[#parts + 1] = "it gave " .. named(keys)
  end
  return parts[1] and ": " .. table.concat(parts, "; ") or ""
end

---Whether an action that was chosen and may be chosen again ends the run instead, as nothing moves.
---@param one skillrt.Action
---@return string? status
---@return string? reason
---@return string? message
---@return table? said  { same, print } for the record of its start, where it was chosen in this state before
function Progress:check(one)
  local id, state, same = one.id, self.state, self.books.same
  local seen, progress = self.seen[id] or seen_of(self, one), state.progress
  local key, at = seen.key, seen.at
  local values = key and state.root[key] -- what tells them from others: a single plain value is told by itself
  if not PLAIN[type(values)] or values ~= values then
    values = one.reads and state:fingerprint(one.reads) or 0
  end
  local before = at[values] -- how far the state had moved when it was chosen with these before
  if not before then
    local size = seen.size
    if size >= REMEMBERED then
      at, size = {}, 0
      seen.at = at
    end
    seen.size = size + 1
  end
  at[values] = progress
  local stands_still = self.books.chosen[id] == progress -- since it began last, maybe in an earlier session
  if not before and not stands_still and not same[id] then
    return nil
  end
  local count, print = times(state, same[id], before, stands_still)
  if not count then
    return nil
  elseif count <= self.limit then
    return nil, nil, nil, { same = count, print = print }
  end
  local message = "%s was chosen %d times and nothing that it depends on changed%s"
  return "paused", "no_progress", message:format(id, self.limit, told(self.books, one))
end

return Progress
