-- skill/choices.lua: what a run of a skill can choose from, as data: its actions, phases and routes with their
-- conditions as text. A run records it, so that `skillrt explain` need not load the skill.
--
-- Pure. Called by runner.lua, resume.lua and subs.lua, which record it; report/explain.lua reads it.

local edges_of = require("skillrt.skill.limit.edges")
local json = require("skillrt.base.json")
local when = require("skillrt.skill.when")

local M = {}

local function written(conditions)
  local list = {}
  for i, condition in ipairs(conditions or {}) do
    local text = when.text(condition)
    list[i] = type(condition) == "function" and { ["function"] = text } or text
  end
  return list[1] and json.array(list) or nil
end

-- JSON has no infinity.
local function number(value, default)
  local is_infinite = value == math.huge or value == -math.huge
  return value ~= default and (is_infinite and tostring(value) or value) or nil
end

local function routes_of(machine)
  local routes, machine_of = {}, require("skillrt.skill.machine") -- few skills have one
  for name in pairs(machine.by_name) do
    local list = json.array({})
    for i, one in ipairs(machine_of.route(machine, name)) do
      local edges = json.array({})
      for j, edge in ipairs(one.edges) do
        edges[j] = { to = edge.to, max_runs = edge.max_runs, key = edge.max_runs and edges_of.key(edge) }
      end
      list[i] = { action = one.action, when = written(one.tests), edges = edges }
    end
    routes[name] = list
  end
  return routes
end

---@class skillrt.Choices  JSON; a condition is its text, or { function = where it was defined }
---@field strategy string
---@field order string|nil     "declaration": the order of the strategy
---@field actions table[]  id, when; priority and max_runs, where JSON has no word for it "inf" or "-inf"; handles
---@field phases { id: string, when: any[]|nil }[]|nil
---@field routes table<string, table[]>|nil  of a machine, by state: { action, when, edges = { to, max_runs, key } }
---@field routed boolean|nil   a function of the script gives the route

---@param skill skillrt.Skill  ready for a run: its strategy is found
---@return skillrt.Choices
function M.of(skill)
  local out = { strategy = skill.strategy.name, order = skill.strategy.order, actions = json.array({}) }
  for i, one in ipairs(skill.actions or {}) do
    out.actions[i] = { id = one.id, when = written(one.when), priority = number(one.priority, 0),
      max_runs = number(one.max_runs, 1), handles = one.handles and true or nil }
  end
  for i, one in ipairs(skill.phases or {}) do
    out.phases = out.phases or json.array({})
    out.phases[i] = { id = one.id, when = written(one.when) }
  end
  if skill.machine then
    out.routes, out.routed = routes_of(skill.machine), skill.machine.route and true or nil
  end
  return out
end

return M
