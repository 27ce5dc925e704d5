-- document/load/machine.lua: the state machine of a folder's documents: the rows of its registry
-- (`| Action | From States | To States | Precondition | Limit |`, R127) as a transition table. A state diagram that
-- leads elsewhere is reported (F59); a table that contradicts itself is not run.
--
-- skill/machine.lua defines the form of the table and its checks. Called by sources.lua.
local ends = require "skillrt.skill.ends"
local machine_check = require "skillrt.skill.machine_check"
local machine_of = require "skillrt.skill.machine"
local names = require "skillrt.base.names"

local M = {}

-- The status of a run that ends in a state of such a name.
local FAILURE = { failed = "failed", failure = "failed", error = "failed", aborted = "aborted", cancelled = "aborted" }

-- Problems of the table that are reported, by level; the others only keep it from being run.
local TOLD = {
  unreachable = "error", ["leaves-end"] = "error", loop = "warning", ["no-failure"] = "warning", ambiguous = "note",
  shadowed = "warning",
}

---@class skillrt.load.Machine
---@field table skillrt.Machine
---@field given table       as skill/machine.lua takes it
---@field rows table[]      of the registry
---@field runs boolean      every action that has a document is in the registry
---@field broken boolean    it contradicts itself

-- Calls `visit` for each state that a row leaves and each that it leads to; from is nil for any state.
local function each_way(rows, visit)
  for _, row in ipairs(rows) do
    for _, from in ipairs(row.any and { false } or row.from) do
      for _, to in ipairs(row.to) do
        if to:find "%w" and (not from or from:find "%w") then -- "-" is no state
          visit(from or nil, to, row)
        end
      end
    end
  end
end

-- The states in the order in which rows and diagrams name them.
local function states_of(self)
  local list, seen, leaves = {}, {}, {}
  local function add(name, place)
    if name and not seen[name] then
      seen[name] = true
      list[#list + 1] = { name = name, x = { file = place.file, line = place.line } }
    end
  end
  local function add_both(from, to, place)
    add(from, place)
    add(to, place)
    leaves[from or to] = leaves[from or to] or from ~= nil and from ~= to
  end
  each_way(self.rows, add_both)
  for _, state in ipairs(list) do
    state.terminal = not leaves[state.name] and (FAILURE[state.name] or true) or nil
  end
  return list
end

-- The rows that name an action, those for any state last: they are taken where no other is.
local function rows_of(self, given)
  local rows, last = {}, {}
  for _, row in ipairs(given) do
    local id, problem = names.id(row.action)
    if not id then
      self.found:error("action-id", row, ("an action's name %s"):format(problem))
    else
      table.insert(row.any and last or rows, row)
    end
  end
  return table.move(last, 1, #last, #rows + 1, rows)
end

local function tell_problems(self, machine)
  for _, one in ipairs(machine_check.of(machine)) do
    local at = one.edge and one.edge.x or one.state and one.state.x or machine.states[1].x
    if TOLD[one.code] then
      self.found:add("machine." .. one.code, at, one.message, { level = TOLD[one.code] })
    end
    self.broken = self.broken or one.level == "error"
  end
end

-- Whether each action that has a document is in the registry: else the table is not all there is.
local function covers(self, prose)
  local listed = {}
  for _, row in ipairs(self.rows) do
    listed[row.action] = true
  end
  for _, id in ipairs(prose.order) do
    if not listed[id] and not ends.TERMINAL[id] then
      self.found:warn("registry-unread", prose.actions[id].at,
        ("the state machine is not run: no row of its registry has action %s%s"):format(id, names.suggest(id, listed)))
      return false
    end
  end
  return true
end

---The machine that the documents of a folder describe; nil: none.
---@param prose skillrt.load.Prose
---@param found skillrt.Findings
---@return skillrt.load.Machine?
function M.read(prose, found)
  local self = { found = found, broken = false }
  self.rows = rows_of(self, prose.transitions)
  if #self.rows == 0 then
    return nil
  end
  self.runs = covers(self, prose)
  local states = states_of(self)
  self.given = { initial = states[1] and states[1].name, states = states, edges = {} }
  each_way(self.rows, function(from, to, row)
    table.insert(self.given.edges, { action = row.action, from = from or "*", to = to, max_runs = row.max_runs,
      when = row.when, x = { file = row.file, line = row.line } })
  end)
  local message
  self.table, message = machine_of.new(self.given)
  if not self.table then
    found:warn("state-unread", { file = prose.documents[1] }, message)
    return nil
  end
  tell_problems(self, self.table)
  return self
end

---The rows of a machine's actions, the first of each. When they run says the table.
---@param self skillrt.load.Machine
---@param found skillrt.Findings
---@return table[] rows
function M.actions(self, found)
  local rows, seen = {}, {}
  for _, row in ipairs(self.rows) do
    if row.any and not seen[row.action] and row.action ~= self.table.handler then
      found:warn("registry-any", row, ("action %s: may run in any state, and no table says when"):format(row.action))
    end
    rows[#rows + 1] = not seen[row.action] and row or nil
    seen[row.action] = true
  end
  return rows
end

return M
