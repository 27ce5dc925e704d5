-- document/simulate/worst.lua: the maximal cost of the paths through a skill's states: steps, calls, tokens, money.
--
-- Knows a finished search, agents and limits. Called by document/simulate.lua.
local agents_of = require "skillrt.agent"
local limits_table = require "skillrt.skill.limits"
local rounds_of = require "skillrt.skill.rounds"
local tables = require "skillrt.base.tables"

local M = {}

-- The most that one run of an action or phase may use, with all its attempts, within its own limits.
local function of_step(given, definition)
  local limits = tables.object(definition.limits)
  local own = tables.object(given.limits)
  local one = given.agent and agents_of.cost(given.agent, definition.agents or {}) or nil
  if not given.run and not given.agent and not given.skill then
    return { calls = 0, tokens = 0, dollars = 0 }
  elseif given.each or not one then
    return own.calls and { calls = own.calls, tokens = 0, dollars = 0 } or nil
  end
  local attempts = 1 + (given.max_retries or limits.max_retries or limits_table.default "max_retries")
  return { calls = math.min(one.calls * attempts, own.calls or math.huge), tokens = one.tokens * attempts,
    dollars = one.dollars * attempts }
end

-- The longest path from a state by some weights of steps; nil: paths repeat.
local function longest(result, weights)
  local best, open, stack = { [0] = 0 }, {}, {}
  for at = 1, result.looked do
    if result.parent[at] == 0 then
      stack[#stack + 1] = { at = at }
    end
  end
  local firsts = table.move(stack, 1, #stack, 1, {})
  while #stack > 0 do
    local top = stack[#stack]
    if best[top.at] then
      stack[#stack] = nil
    elseif not top.ways then
      open[top.at], top.ways, top.next, top.most = true, result.ways[top.at], 1, 0
    else
      local step, to = top.ways[top.next], top.ways[top.next + 1]
      if not step then
        best[top.at], open[top.at], stack[#stack] = top.most, nil, nil
      elseif best[to] then
        top.most, top.next = math.max(top.most, best[to] + weights[step]), top.next + 2
      elseif open[to] then
        return nil
      else
        stack[#stack + 1] = { at = to }
      end
    end
  end
  local most = 0
  for _, one in ipairs(firsts) do
    most = math.max(most, best[one.at] or 0)
  end
  return most
end

-- What phases use in addition, each as often as it repeats.
local function add_phases(out, model, definition, unknown)
  local times = rounds_of.times(model.phases, definition.rounds, model.limits.max_iterations)
  for _, phase in ipairs(model.phases) do
    local one = of_step(phase, definition)
    unknown[#unknown + 1] = not one and phase.id or nil
    for _, what in ipairs(one and { "calls", "tokens", "dollars" } or {}) do
      out[what] = out[what] + one[what] * times[phase.id]
    end
  end
end

---@param result skillrt.check.Search
---@param definition table
---@param model skillrt.check.Model
---@return { steps: integer, rounds: boolean, calls: number, tokens: number, dollars: number, unknown: string[] }
function M.of(result, definition, model)
  local ones, costs, unknown, dearest = {}, { calls = {}, tokens = {}, dollars = {} }, {}, {}
  for i, step in ipairs(result.space.steps) do
    local one = of_step(step.action, definition)
    ones[i], unknown[#unknown + 1] = 1, not one and step.action.id or nil
    for what, weights in pairs(costs) do
      weights[i] = one and one[what] or 0
      dearest[what] = math.max(dearest[what] or 0, weights[i])
    end
  end
  local limits = tables.object(definition.limits)
  local bound = limits.max_iterations or limits_table.default "max_iterations"
  local steps = result.complete and longest(result, ones) or nil
  local out = { steps = math.min(steps or bound, bound), rounds = steps == nil, unknown = unknown }
  for what, weights in pairs(costs) do
    out[what] = steps and longest(result, weights) or bound * (dearest[what] or 0)
  end
  add_phases(out, model, definition, unknown)
  local usage = limits.usage or {}
  out.calls = math.min(out.calls, limits.calls or math.huge)
  out.limited = limits.calls and { calls = limits.calls } or {}
  for _, what in ipairs { "tokens", "dollars" } do
    out.limited[what] = usage[what]
    out[what] = usage[what] and (out[what] > 0 and math.min(out[what], usage[what]) or usage[what]) or out[what]
  end
  return out
end

return M
