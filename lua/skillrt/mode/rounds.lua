-- mode/rounds.lua: whether phases repeat once more: asked after the last phase of a round, and before the first one,
-- as `over` may be true already.
--
-- Decisions are in the books, so that none is made twice. Changes nothing in them. Called by sequential.lua.
local when = require("skillrt.skill.when")

local M = {}

-- Whether all conditions are true; one that cannot be evaluated ends the run, as for a phase.
local function all_hold(conditions, root)
  for _, condition in ipairs(conditions) do
    local holds, problem = when.test(condition, root)
    if problem then
      error({ rounds = "its rounds have a condition that fails: " .. when.problem(condition, problem) }, 0)
    elseif not holds then
      return false
    end
  end
  return true
end

local function texts(conditions)
  local out = {}
  for i, condition in ipairs(conditions) do
    out[i] = when.text(condition)
  end
  return table.concat(out, " and ")
end

---The rounds among some phases, the inner ones first, by the groups they begin and end with; nil: there are none.
---@param skill table
---@param groups table[][]
---@return skillrt.Rounds[]?
function M.of(skill, groups)
  local out, group_of = {}, {}
  for at, group in ipairs(groups) do
    for _, phase in ipairs(group) do
      group_of[phase.id] = at
    end
  end
  for _, one in ipairs(skill.rounds or {}) do
    local first, last = group_of[one.first], group_of[one.last]
    if first and last then
      out[#out + 1] = setmetatable({ starts = first, ends = last }, { __index = one })
    end
  end
  return out[1] and out or nil
end

-- Why there is no further round; nil: there is one. Phases around a loop are no iterations of it, so the bound
-- applies to each of their rounds separately.
local function end_of(self, one, done)
  local skill, root = self.skill, self.books.state.root
  local most = one.max_rounds or skill.mode == "hybrid" and skill.limits.max_iterations
  if most and done >= most then
    return "it has repeated as often as allowed"
  elseif one.over and all_hold(one.over, root) then
    return texts(one.over) .. " holds"
  elseif one.again and not all_hold(one.again, root) then
    return texts(one.again) .. " does not hold"
  end
end

-- Whether all phases of a round were skipped: another round would be the same.
local function nothing_ran(self, one)
  for at = one.starts, one.ends do
    for _, phase in ipairs(self.groups[at]) do
      if not self.books.skipped[phase.id] then
        return false
      end
    end
  end
  return true
end

local function phases_of(self, one)
  local ids = {}
  for at = one.starts, one.ends do
    for _, phase in ipairs(self.groups[at]) do
      ids[#ids + 1] = phase.id
    end
  end
  return ids
end

local function inner_of(self, one)
  local keys = {}
  for _, other in ipairs(self.rounds) do
    if other ~= one and other.starts >= one.starts and other.ends <= one.ends then
      keys[#keys + 1] = other.key
    end
  end
  return keys[1] and keys or nil
end

-- The decision after a finished group: its record, and the next group.
local function behind(self)
  local books = self.books
  for _, one in ipairs(self.rounds) do
    local known = books.rounds and books.rounds[one.key]
    if one.ends == self.at and not (known and known.over) then
      local done = known and known.n or 1
      local why = end_of(self, one, done)
        or nothing_ran(self, one) and "none of its phases ran" or nil
      if why then
        return { t = "rounds", key = one.key, n = done, over = true, why = why }, self.at
      end
      return { t = "rounds", key = one.key, n = done + 1, phases = phases_of(self, one), inner = inner_of(self, one) },
        one.starts
    end
  end
end

-- The decision before a group begins: the outer rounds first. If they have finished, the phases are skipped.
local function before(self)
  local books = self.books
  for i = #self.rounds, 1, -1 do
    local one = self.rounds[i]
    if one.asks_first and one.starts == self.at and not (books.rounds and books.rounds[one.key]) then
      local over = one.over and all_hold(one.over, books.state.root)
      local why = over and texts(one.over) .. " holds" or nil
      return { t = "rounds", key = one.key, n = over and 0 or 1, over = over or nil, why = why,
        left_out = over and phases_of(self, one) or nil }
    end
  end
end

---What rounds decide before a group begins, and after one has finished.
---@param self skillrt.Sequential  with `rounds`
---@param is_over boolean
---@return "round"|"stop"|nil decision  nil: there is nothing to decide
---@return table|string|nil what    the record; the status
---@return integer|string|nil next  the group that comes next; the reason
---@return string? message
function M.choose(self, is_over)
  local ok, record, next_one = pcall(is_over and behind or before, self)
  if ok then
    return record and "round" or nil, record, next_one
  elseif type(record) ~= "table" or not record.rounds then
    error(record, 0)
  end
  return "stop", "failed", "phase_failed", record.rounds
end

---Whether a decision is still open after a group.
---@param self skillrt.Sequential
---@return boolean
function M.is_open(self)
  for _, one in ipairs(self.rounds) do
    local known = self.books.rounds and self.books.rounds[one.key]
    if one.ends == self.at and not (known and known.over) then
      return true
    end
  end
  return false
end

return M
