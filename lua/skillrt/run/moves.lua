-- run/moves.lua: where a machine goes when one of its actions has finished: the `move` in the step's `done` or `fail`
-- record.
--
-- Only the runtime moves the machine: a state that an agent names only chooses among the edges of the table. Knows
-- the skill and the books; records nothing. Used by outcome.lua and attempts.lua, in machine mode only.

local edges_of = require("skillrt.skill.limit.edges")
local json = require("skillrt.base.json")
local own = require("skillrt.run.books.machine").OWN
local state = require("skillrt.skill.state")
local tables = require("skillrt.base.tables")
local when = require("skillrt.skill.when")

local M = {}

---The updates without the fields that the machine writes, and what the agent said about these.
---@param updates table
---@return table updates
---@return table|nil claims
function M.apart(updates)
  local rest, claims
  for key in pairs(own) do
    local value = updates[key]
    if value ~= nil then
      claims = claims or {}
      claims[key] = value
    end
  end
  if not claims then
    return updates
  end
  rest = {}
  for key, value in pairs(updates) do
    rest[key] = not own[key] and value or nil
    if value == false then
      rest[key] = false
    end
  end
  return rest, claims
end

-- The state as it will be after the step.
local function after(root, entry)
  local out = tables.fill({}, root)
  for key, value in pairs(entry.set or {}) do
    out[key] = state.merge(root[key], value)
  end
  if entry.context then
    out.context = tables.fill({}, root.context)
    for key, value in pairs(entry.context) do
      out.context[key] = value ~= json.null and value or nil
    end
  end
  return out
end

-- The first condition that is false, in words.
local function unmet(tests, root)
  for i = 1, #tests do
    local ok, why = when.test(tests[i], root)
    if not ok then
      return when.text(tests[i]) .. (why and (" (%s)"):format(why) or "")
    end
  end
end

-- The edges of an action that leave a state: first those that the agent named, then the one it was chosen by.
local function candidates(machine, name, id, chosen, wish)
  local first, rest = {}, {}
  for _, edge in ipairs(machine.edges) do
    local leaves = false
    for _, from in ipairs(edge.from) do
      leaves = leaves or from == name
    end
    if leaves and edge.action == id then
      if wish and edge.to == wish then
        first[#first + 1] = edge
      elseif edge == chosen then
        table.insert(rest, 1, edge)
      else
        rest[#rest + 1] = edge
      end
    end
  end
  return tables.append(first, rest)
end

-- Why an edge cannot be taken now; nil: it can. The conditions of the edges it was chosen by were evaluated before
-- the action started.
local function obstacle(run, edge, is_chosen, now)
  local machine, root = run.skill.machine, run.books.state.root
  if not edges_of.is_open(root, edge, run.books.added) then
    return ("taken %d times, its maximum"):format(edges_of.taken(root, edges_of.key(edge)))
  end
  local target = machine.by_name[edge.to]
  local why = not is_chosen and #edge.tests > 0 and unmet(edge.tests, now())
  if why then
    return "its condition does not hold: " .. why
  end
  why = #target.tests > 0 and unmet(target.tests, now())
  return why and "it may not be entered: " .. why or nil
end

-- What the agent said about the machine's fields and is not true.
local function refuse(entry, claims, to)
  local list = entry.refused or json.array({})
  for key, value in pairs(claims) do
    if key ~= "state" or value ~= to then
      list[#list + 1] = key
    end
  end
  table.sort(list)
  entry.refused = list[1] and list or nil
end

---An action has finished: writes its move into its record.
---@param run skillrt.Run
---@param step skillrt.Step
---@param definition skillrt.Action
---@param entry table  the `done` record
---@param claims table|nil  what the agent said about the machine's own fields
---@return table|nil failure  { class, message }
function M.done(run, step, definition, entry, claims)
  local machine, root, view = run.skill.machine, run.books.state.root, nil
  local name, chosen, tried = root.state, machine.edges[step.edge or 0], {}
  chosen = chosen and chosen.action == definition.id and chosen or nil
  for _, edge in ipairs(candidates(machine, name, definition.id, chosen, claims and claims.state)) do
    local why = obstacle(run, edge, edge == chosen and not machine.routes, function()
      view = view or after(root, entry)
      return view
    end)
    if not why then
      local ends = machine.by_name[edge.to].terminal
      local stays = machine.handlers[definition.id] or ends == "failed" or ends == "aborted"
      entry.move = { from = name, to = edge.to, action = definition.id,
        edge = edge.max_runs and edges_of.key(edge) or nil, settled = root.error ~= nil and not stays or nil }
      if claims then
        refuse(entry, claims, edge.to)
      end
      return nil
    end
    tried[#tried + 1] = ("%s: %s"):format(edge.to, why)
  end
  local why = tried[1] and table.concat(tried, "; ") or "the table has no edge of it there"
  return { class = "permanent", message = ("%s: leads nowhere from state %s: %s"):format(definition.id, name, why) }
end

-- "ContextError", "context_error" and "context" are one class.
local function plain(class)
  return (tostring(class):lower():gsub("_?error$", ""))
end

---A step of an action has failed for good: the machine must handle the error. If its class has a row in the table,
---that row says where it leads.
---@param run skillrt.Run
---@param definition skillrt.Action
---@param entry table  the `fail` record
---@return boolean led  by a row of the table
function M.failed(run, definition, entry)
  local machine, root = run.skill.machine, run.books.state.root
  local class, row = plain(entry.class), nil
  for _, one in ipairs(machine.errors) do
    local known = one.class == "*" or plain(one.class) == class
    if not row and known and edges_of.leads(root, one, run.books.added) then
      row = one
    end
  end
  local name, step = root.state, run.books.steps[entry.step]
  local edge = step and machine.edges[step.edge or 0]
  local begun = edge and edge.action == definition.id and edge.max_runs and edges_of.key(edge) or nil
  entry.move = { from = name, action = definition.id, edge = begun, error = { class = entry.class, type = entry.class,
    message = entry.message, action = definition.id, state = name } }
  if not row or not machine.by_name[name] then
    return false
  end
  entry.move.to, entry.move.class = row.to, row.max_runs and edges_of.class_key(row) or nil
  entry.move.error.recovery = row.recovery
  entry.free = row.max_runs and true or nil
  return true
end

---A person retries a failed action: moves back to the state in which it failed.
---@param run skillrt.Run
---@param id string
---@return skillrt.Move|nil
function M.back(run, id)
  local root = run.books.state.root
  local problem = root.error
  if type(problem) == "table" and problem.action == id and run.skill.machine.by_name[problem.state] then
    return { from = root.state, to = problem.state, action = id }
  end
end

return M
