-- mode/machine.lua: selects the next step in machine mode: what the route of the present state names.
--
-- Reads the books, changes nothing in them: a finished action moves the machine (run/moves.lua), and a terminal state
-- ends the run. Called by the scheduler.

local cut = require("skillrt.base.text").cut
local edges_of = require("skillrt.skill.limit.edges")
local fatal = require("skillrt.base.fatal")
local machine_of = require("skillrt.skill.machine")
local names = require("skillrt.base.names")
local repeats = require("skillrt.mode.repeats")
local state_of = require("skillrt.skill.state")
local when = require("skillrt.skill.when")

local M = {}

---@class skillrt.MachineMode
local Machine = {}
Machine.__index = Machine

---@param skill table   normal form
---@param books skillrt.Books
---@param ctx table     what a route that is a function sees
---@return skillrt.MachineMode
function M.new(skill, books, ctx)
  local self = setmetatable({ skill = skill, machine = skill.machine, books = books, ctx = ctx, routes = {},
    by_id = {}, one = {}, picked = false }, Machine)
  for _, one in ipairs(skill.actions) do
    self.by_id[one.id] = one
  end
  return self
end

-- What a state asks for, computed when it is first entered.
local function route_of(self, name)
  local list = self.routes[name]
  if not list then
    list = machine_of.route(self.machine, name)
    for _, one in ipairs(list) do
      one.definition = self.by_id[one.action]
    end
    self.routes[name] = list
  end
  return list
end

-- ---- ends ----

local function error_of(root)
  local problem = root.error
  return type(problem) == "table" and ("%s: %s"):format(tostring(problem.action), tostring(problem.message)) or nil
end

-- The run ends by an error that nothing recovers from (R140).
local function unrecoverable(root, more)
  local text = error_of(root)
  return "stop", "failed", "unrecoverable", more and ("%s (%s)"):format(text, more) or text
end

-- The run ends in its present state.
local function ended(state, root)
  if state.terminal == "completed" then
    return "stop", "completed", "task_completed"
  elseif state.terminal == "failed" and root.error ~= nil then
    return unrecoverable(root)
  end
  return "stop", state.terminal, cut(state.name, 60, ""), error_of(root)
end

-- No action of the route can run: lists what prevents each edge.
local function stuck(self, name, root)
  local lines, used_up = {}, nil
  for _, one in ipairs(route_of(self, name)) do
    local why = {}
    for _, test in ipairs(one.tests) do
      why[#why + 1] = when.unmet({ when = { test } }, root)[1]
    end
    why[#why + 1] = when.unmet(one.definition, root)[1]
    for _, edge in ipairs(one.edges) do
      if not edges_of.is_open(root, edge, self.books.added) then
        local text = ("the edge to %s was taken %d times, its maximum"):format(edge.to,
          edges_of.taken(root, edges_of.key(edge)))
        used_up, why[#why + 1] = used_up or ("%s: %s"):format(one.action, text), text
      end
    end
    if (self.books.runs[one.action] or 0) >= one.definition.max_runs then
      why[#why + 1] = ("it ran %d times, its maximum"):format(one.definition.max_runs)
    end
    why[#why + 1] = repeats.barred(self.books, one.definition)
    lines[#lines + 1] = ("%s: %s"):format(one.action, table.concat(why, "; "))
  end
  local message = ("state %s: %s"):format(name, names.lines(lines, 10))
  if root.error ~= nil then
    return unrecoverable(root, message)
  elseif used_up then
    return "stop", "failed", "edge_limit", message
  end
  return "stop", "paused", "blocked", message
end

-- ---- what is next ----

-- Whether an action may start, by its own conditions.
local function is_ready(self, one, root)
  return (self.books.runs[one.id] or 0) < one.max_runs and not repeats.barred(self.books, one)
    and when.holds(one, root)
end

-- The edge that an action of the route takes; of several the first that is open.
local function way_of(self, one, root)
  for _, edge in ipairs(one.edges) do
    if edges_of.is_open(root, edge, self.books.added) then
      return edge
    end
  end
end

local function take(self, definition, edge)
  self.one[1], self.picked = definition, edge
  return "start", self.one
end

-- Refuses a transition that is not in the table.
local function forbidden(self, name, id)
  local allowed, set = {}, {}
  for _, one in ipairs(route_of(self, name)) do
    allowed[#allowed + 1] = not set[one.action] and one.action or nil
    set[one.action] = true
  end
  return "stop", "failed", "forbidden_transition", ("state %s: the route chose %s, and no edge of it leaves this state "
    .. "(%s)%s"):format(name, names.show(id), allowed[1] and "these do: " .. table.concat(allowed, ", ") or "none does",
    type(id) == "string" and names.suggest(id, set) or "")
end

-- The action that a function of the script names.
local function by_function(self, name, root)
  local ok, id, why = pcall(self.machine.route, state_of.view(root), name, self.ctx)
  if not ok then
    fatal.pass_on(id)
    return "stop", "paused", "strategy_error", "route: " .. names.said(id)
  elseif id == nil then
    return "stop", "paused", "blocked", ("state %s: the route chose nothing%s"):format(name,
      type(why) == "string" and ": " .. why or "")
  end
  local known = false
  for _, one in ipairs(route_of(self, name)) do
    if one.action == id then
      known = true
      local edge = is_ready(self, one.definition, root) and way_of(self, one, root)
      if edge then
        return take(self, one.definition, edge)
      end
    end
  end
  if known then
    return stuck(self, name, root)
  end
  return forbidden(self, name, id)
end

---@return "start"|"stop" decision
---@return skillrt.Action[]|string what  the action, or the status
---@return string? reason
---@return string? message
function Machine:choose()
  local state, machine = self.books.state, self.machine
  local root = state.root
  local name = root.state
  local present = machine.by_name[name]
  state:take_dirty() -- nothing is kept up to date here
  if not present then
    return "stop", "failed", "unknown_state", ("%s is not a state of the machine%s"):format(names.show(name),
      type(name) == "string" and names.suggest(name, machine.by_name) or "")
  elseif present.terminal then
    return ended(present, root)
  elseif machine.route then
    return by_function(self, name, root)
  end
  for _, one in ipairs(route_of(self, name)) do
    local edge = way_of(self, one, root)
    if edge and when.holds({ when = one.tests }, root) and is_ready(self, one.definition, root) then
      return take(self, one.definition, edge)
    end
  end
  return stuck(self, name, root)
end

---The edge of the table for an action: the one it was chosen by; or, where it replaces a failed one or a person
---retries it, the first that leaves the present state.
---@param definition skillrt.Action
---@return integer|nil index
function Machine:edge_of(definition)
  local picked, root = self.picked, self.books.state.root
  self.picked = false
  if picked and picked.action == definition.id then
    return picked.index
  end
  for _, edge in ipairs(machine_of.leaving(self.machine, root.state)) do
    if edge.action == definition.id and edges_of.is_open(root, edge, self.books.added) then
      return edge.index
    end
  end
end

---Whether an action that was chosen may still start: nothing else runs meanwhile.
---@return boolean
function Machine.may_begin()
  return true
end

Machine.concurrent = false

function Machine.is_concurrent()
  return false
end

function Machine.could_choose()
  return false
end

---Whether the conditions of `terminate` are evaluated now.
---@return boolean
function Machine.is_looping()
  return true
end

---How many iterations a step counts, by its kind.
Machine.iterations = { action = 1 }

---What follows when something else ends the run.
function Machine.over(_, status, reason, message)
  return "stop", status, reason, message
end

---A step has finished: its record has moved the machine.
function Machine.finished() end

---@param id string
---@return skillrt.Action|nil
function Machine:find(id)
  return self.by_id[id]
end

return M
