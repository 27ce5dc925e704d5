-- skill/rounds.lua: repeating phases: `rounds`, each from one phase to a later one, until a condition is true or a
-- number of times.
--
-- Checks that they are nested or disjoint. Knows phases by id, no runs.
local action = require("skillrt.skill.action")
local names = require("skillrt.base.names")
local schema = require("skillrt.skill.schema")
local tables = require("skillrt.base.tables")

local M = {}

---@class skillrt.Rounds
---@field first string         the first phase of a round
---@field last string          the phase after which another round is decided
---@field over function[]?     conditions that end it when all are true
---@field again function[]?    conditions that must be true for another round
---@field max_rounds integer?  nil: as many as the limits of the run allow
---@field asks_first boolean?  `over` is evaluated before the first round, too
---@field key string           its name in the books

local FIELDS = {
  first = { type = "id", required = true },
  last = { type = "id", required = true },
  over = {},
  again = {},
  max_rounds = { type = "positive" },
  asks_first = { type = "boolean" },
}

local function place_of(phases, id, where)
  for i, phase in ipairs(phases) do
    if phase.id == id then
      return i
    end
  end
  local ids = tables.by(phases, "id")
  return nil, ('%s: "%s" is no phase%s'):format(where, id, names.suggest(id, ids))
end

-- Whether a round would start or end inside a group of parallel phases, or after the loop of a hybrid skill.
local function cut(phases, from, to)
  local function joined(i)
    return phases[i] and phases[i + 1] and phases[i].parallel and phases[i + 1].parallel
  end
  return joined(from - 1) or joined(to) or (phases[from].trailing or false) ~= (phases[to].trailing or false)
end

local function one_of(given, phases, where)
  local one, message = schema.record(given, FIELDS, where, {})
  if not one then
    return nil, message
  end
  local from, to
  from, message = place_of(phases, one.first, where)
  if from then
    to, message = place_of(phases, one.last, where)
  end
  if not to then
    return nil, message
  elseif to < from then
    return nil, ('%s: "%s" stands before "%s"'):format(where, one.last, one.first)
  elseif cut(phases, from, to) then
    return nil, where .. ": begins or ends among phases that run at once, or goes past the actions"
  elseif not one.over and not one.again and not one.max_rounds then
    return nil, where .. ": needs `over`, `again` or `max_rounds`"
  end
  for _, field in ipairs({ "over", "again" }) do
    if one[field] ~= nil then
      one[field], message = action.conditions(one[field], where .. ": " .. field)
      if not one[field] then
        return nil, message
      end
    end
  end
  one.from, one.to, one.key = from, to, one.first .. " .. " .. one.last
  return one
end

---The normal form of `rounds`, the inner before the outer.
---@param skill table  its phases have their normal form
---@return string? message
function M.check(skill)
  local out = {}
  for i, given in ipairs(skill.rounds) do
    local one, message = one_of(given, skill.phases, ("rounds[%d]"):format(i))
    if not one then
      return message
    end
    for _, other in ipairs(out) do
      local apart = one.to < other.from or other.to < one.from
      local inside = one.from >= other.from and one.to <= other.to or other.from >= one.from and other.to <= one.to
      if one.key == other.key or not apart and not inside then
        return ("rounds[%d]: %s to %s and %s to %s cross each other; put one into the other"):format(i, one.first,
          one.last, other.first, other.last)
      end
    end
    out[i] = one
  end
  table.sort(out, function(a, b)
    return a.to - a.from < b.to - b.from or a.to - a.from == b.to - b.from and a.from < b.from
  end)
  skill.rounds = out
  return nil
end

---How often each phase may run at most, by id.
---@param phases table[]
---@param rounds table[]?  as a script writes them, too
---@param bound integer    of rounds without a bound of their own
---@return table<string, integer>
function M.times(phases, rounds, bound)
  local out = {}
  for _, phase in ipairs(phases) do
    out[phase.id] = 1
  end
  for _, one in ipairs(rounds or {}) do
    local inside = false
    for _, phase in ipairs(phases) do
      inside = inside or phase.id == one.first
      out[phase.id] = math.min(bound, out[phase.id] * (inside and (one.max_rounds or bound) or 1))
      inside = inside and phase.id ~= one.last
    end
  end
  return out
end

return M
