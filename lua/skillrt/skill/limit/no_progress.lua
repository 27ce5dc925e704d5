-- skill/limit/no_progress.lua: how often an action may be chosen again while nothing that it depends on changes
-- (F33).
--
-- Knows the state's fingerprints and what an action's conditions read; the books count over all resumes how often an
-- action started in a state. Found by its name, by skill/limits.lua.

local names = require("skillrt.base.names")

---@type skillrt.Limit
local M = { name = "no_progress", type = "count", default = 3, unit = "choices", status = "paused",
  reason = "no_progress", code = 13, text = "how often an action may run on an unchanged state; 0: no limit" }

local PLAIN <const> = { number = true, string = true, boolean = true }
local REMEMBERED <const> = 128 -- distinct states kept per action

-- For an action: the only key that it reads, if there is just one, and when it was chosen with which values.
local function seen_of(bound, one)
  local keys = one.reads
  local seen = { at = {}, size = 0, key = keys and not keys[2] and keys[1] or nil }
  bound.seen[one.id] = seen
  return seen
end

-- How often the action has now been chosen in the same state, and a fingerprint of that state. If anything has
-- changed since it was chosen before, the whole state counts, as the run may go in a circle.
local function times(state, known, before, stands_still)
  local print = tostring(state:whole_fingerprint())
  local count = known and known[print]
  if not count and (before or stands_still) then
    count = (stands_still or before == state.progress) and 1 or 0
  end
  return count and count + 1, print
end

local function named(keys)
  return keys[1] and names.listed(keys, 10) or "nothing"
end

-- What does not change, in words: the keys that an action reads, and those that it set in this session.
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

---Whether an action that may be chosen again ends the run instead, as nothing changes; the second value is for the
---record of its start, if it was chosen in this state before: { same, print }.
function M.before_step(bound, one)
  local books, id = bound.books, one.id
  if one.max_runs == 1 or bound.most == 0 or books.retrying == id then
    return nil
  end
  local state, same = books.state, books.same
  local seen, progress = bound.seen and bound.seen[id] or seen_of(bound, one), state.progress
  local key, at = seen.key, seen.at
  local values = key and state.root[key] -- a single plain value identifies itself
  if not PLAIN[type(values)] or values ~= values then
    values = one.reads and state:fingerprint(one.reads) or 0
  end
  local before = at[values] -- the progress of the state when it was last chosen with these values
  if not before then
    local size = seen.size
    if size >= REMEMBERED then
      at, size = {}, 0
      seen.at = at
    end
    seen.size = size + 1
  end
  at[values] = progress
  local stands_still = books.chosen[id] == progress -- since it last started, maybe in an earlier session
  if not before and not stands_still and not same[id] then
    return nil
  end
  local count, print = times(state, same[id], before, stands_still)
  if not count then
    return nil
  elseif count <= bound.most then
    return nil, { same = count, print = print }
  end
  return ("%s was chosen %d times and nothing that it depends on changed%s"):format(id, bound.most, told(books, one))
end

return M
