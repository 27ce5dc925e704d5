-- run/step/each.lua: an action that is performed once for each item of a list, like ctx.map (`each`).
--
-- Updates are merged in the order of the items, by the schema's rules where several change a field; outputs of agents
-- form a list. Knows states and outcomes, no agents. Used by steps.lua.

local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local function_result = require("skillrt.agent.function_result")
local merge = require("skillrt.skill.merge")
local state = require("skillrt.skill.state")

local M = {}

-- The items: from a key of the state, or from a function.
local function items_of(step, each)
  local source = each.items
  local list
  if type(source) == "function" then
    list = source(state.view(step.root))
  else
    list = step.root
    for part in source:gmatch("[^.]+") do
      list = type(list) == "table" and list[part] or nil
    end
  end
  if type(list) ~= "table" then
    local text = "each = %s: is %s, not a list"
    error({ message = text:format(names.show(source), names.show(list)), class = "permanent" }, 0)
  end
  return list
end

-- The function's result for one item, as an outcome.
local function outcome_of(step, by_agent, first, second, third)
  if by_agent then
    return first, second, third
  end
  return function_result.outcome(step.kind, step.id .. ": run", first, second, third)
end

-- Adds the updates of one more item; fields that earlier items have changed are merged.
local function met(step, ways, updates, more)
  local out = {}
  for key, value in pairs(more) do
    if ways[key] and updates[key] ~= nil then
      local problem
      value, problem = merge.value(ways[key], updates[key], state.copy(step.root[key]), value)
      if problem then
        local text = "update %q of several items: %s"
        error({ message = text:format(key, problem), class = "permanent" }, 0)
      end
    end
    out[key] = value
  end
  return state.merge(updates, out)
end

-- The outcomes of all items as one.
local function joined(outcomes, step, each, ways)
  local updates, outputs, context, some = {}, json.array({}), {}, each.as ~= nil or #outcomes == 0
  for i, outcome in ipairs(outcomes) do
    updates = met(step, ways, updates, outcome.updates or {})
    outputs[i] = outcome.output == nil and json.null or outcome.output
    some = some or outcome.output ~= nil
    for key, value in pairs(outcome.context or {}) do
      context[key] = value
    end
  end
  if each.as then
    updates = state.merge(updates, { [each.as] = outputs })
  end
  return { status = "completed", updates = updates, output = some and outputs or nil,
    context = next(context) and context or nil }
end

---A function that performs an action for each of its items.
---@param step skillrt.Step
---@param definition skillrt.Action  with each = { items, as, max_parallel, on_error, key }
---@param perform fun(state: table, ctx: table, item: any, index: integer): any
---@param ways table<string, string>?  the merge rules of fields that several items change, from the skill's schema
---@return fun(view: table, ctx: table): table|nil, string?, string?
function M.over(step, definition, perform, ways)
  local each, by_agent = definition.each, definition.agent ~= nil
  return function(view, ctx)
    local results, message, class = ctx.map(items_of(step, each), function(item, index)
      local outcome, problem, class = outcome_of(step, by_agent, perform(view, ctx, item, index))
      return outcome, problem, class
    end, { max_parallel = each.max_parallel, on_error = each.on_error, key = each.key })
    if not results then
      return nil, message, class
    end
    return joined(results, step, each, ways or {})
  end
end

return M
