-- document/load/registry.lua: a transition registry (`| Action | From States | To States |`, R127) as actions:
-- each may run in the states it comes from and leads to those it names.
--
-- The state of the machine is the key `state` of the run's state. Called by folder.lua.
local json = require "skillrt.base.json"
local names = require "skillrt.base.names"

local M = {}

M.KEY = "state"

local FAILED = { error = true, failed = true, failure = true }
local ABORTED = { aborted = true, cancelled = true }

local function quoted(name)
  return "'" .. name:gsub("[\\']", "\\%0") .. "'"
end

local function condition_of(row)
  local parts = {}
  for i, name in ipairs(row.from) do
    parts[i] = ("state.%s === %s"):format(M.KEY, quoted(name))
  end
  return table.concat(parts, " || ")
end

-- Rows of the same action, joined.
local function by_action(rows, found)
  local order, joined = {}, {}
  for _, row in ipairs(rows) do
    local id, problem = names.id(row.action)
    if not id then
      found:error("action-id", row, ("an action's name %s"):format(problem), "the row was not read", "rename it")
    elseif joined[id] then
      table.move(row.from, 1, #row.from, #joined[id].from + 1, joined[id].from)
      table.move(row.to, 1, #row.to, #joined[id].to + 1, joined[id].to)
    else
      order[#order + 1] = id
      joined[id] = { id = id, from = row.from, to = row.to, any = row.any, row = row }
    end
  end
  return order, joined
end

-- States from which an action leads back, over others, to where it may run.
local function loops(rows)
  local next_of = {}
  for _, row in ipairs(rows) do
    for _, from in ipairs(row.any and {} or row.from) do
      next_of[from] = next_of[from] or {}
      for _, to in ipairs(row.to) do
        next_of[from][to] = true
      end
    end
  end
  return function(row)
    local seen, todo = {}, table.move(row.to, 1, #row.to, 1, {})
    while #todo > 0 do
      local name = table.remove(todo)
      for to in pairs(not seen[name] and next_of[name] or {}) do
        todo[#todo + 1] = to
      end
      seen[name] = true
    end
    for _, from in ipairs(row.from) do
      if seen[from] then
        return true
      end
    end
    return row.any
  end
end

local function action_of(one, repeats, found)
  local row = one.row
  local action = {
    id = one.id,
    name = one.id,
    description = row.description,
    preconditions = json.array { condition_of(one) },
    effects = json.array(#one.to == 1 and { ("%s=%s"):format(M.KEY, one.to[1]) } or {}),
    priority = 0,
    repeatable = repeats or nil,
  }
  if one.any then
    action.preconditions, action.priority = json.array {}, -1
    local what = ("action %s: may run in any state, and no table says when"):format(one.id)
    found:warn("registry-any", row, what, "it runs only when nothing else can", "name the states it comes from")
  end
  return action
end

-- A state that no action leaves ends the run.
local function ends_of(rows)
  local left, ends, seen = {}, {}, {}
  for _, row in ipairs(rows) do
    for _, from in ipairs(row.from) do
      left[from] = true
    end
  end
  for _, row in ipairs(rows) do
    for _, to in ipairs(row.to) do
      if not left[to] and not seen[to] then
        seen[to] = true
        local status = FAILED[to] and "failed" or ABORTED[to] and "aborted" or "completed"
        ends[#ends + 1] = {
          when = ("state.%s === %s"):format(M.KEY, quoted(to)),
          status = status,
          reason = to:sub(1, 60),
        }
      end
    end
  end
  return ends
end

---@class skillrt.load.Registry
---@field actions table[]  as a config holds them
---@field rows table[]     where each of them stands
---@field first string?    the state a run begins in
---@field ends table[]     entries for `terminate`

---@param prose skillrt.load.Prose
---@param found skillrt.load.Findings
---@return skillrt.load.Registry
function M.read(prose, found)
  local order, joined = by_action(prose.transitions, found)
  local repeats = loops(prose.transitions)
  local actions, places = {}, {}
  for i, id in ipairs(order) do
    places[i] = joined[id].row
    actions[i] = action_of(joined[id], repeats(joined[id]), found)
  end
  local first = prose.states[1] and prose.states[1].name
  if not first and prose.transitions[1] then
    first = prose.transitions[1].from[1]
  end
  return { actions = actions, rows = places, first = first, ends = ends_of(prose.transitions) }
end

return M
