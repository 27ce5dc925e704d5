-- run/ctx/context.lua: the shared context as a step's function sees it (ctx.context): as it was when the step
-- started, plus the step's own changes, which are recorded with its result.
--
-- A function that does not run again (a finished round of a loop, ctx.once) sets nothing again: its changes are
-- recorded with its value, too. Knows the state, no journal. Used by ctx.lua, and by the kinds of calls `round` and
-- `once`.

local drawn = require("skillrt.base.drawn")
local json = require("skillrt.base.json")
local draws = require("skillrt.run.branch.draws")
local names = require("skillrt.base.names")
local state = require("skillrt.skill.state")

local M = {}

---@class skillrt.Context
---@field get fun(key: string): any  read-only; as it was when the step started, or set by the step
---@field set fun(key: string, value: any)

---@param step skillrt.Step
---@return skillrt.Context
function M.of(step)
  local context = {}
  ---A value of the shared context; nil: it was never set (F14).
  function context.get(key)
    local own = step.live.context
    local value = own and own[key]
    if value == nil then
      value = step.root.context[key]
    end
    if value == json.null then
      return nil
    end
    return state.view(value)
  end
  ---Sets a value; it is recorded together with the step's result.
  function context.set(key, value)
    if drawn.step ~= step then
      error(draws.OTHERS, 2)
    end
    local id, problem = names.id(key)
    if not id then
      error("context.set: the key " .. problem, 2)
    end
    local branch = step.live.execution and step.live.execution:current()
    M.restore(step, branch and branch.prefix or "", { [key] = value == nil and json.null or value })
  end
  return context
end

---Sets values of the shared context, and notes which branch did.
---@param step skillrt.Step
---@param prefix string  of the places in that branch
---@param values table<string, any>
function M.restore(step, prefix, values)
  local live = step.live
  live.context, live.context_log = live.context or {}, live.context_log or {}
  for key, value in pairs(values) do
    live.context[key] = value
    table.insert(live.context_log, { prefix = prefix, key = key, value = value })
  end
end

---How often the step has set values.
---@param step skillrt.Step
---@return integer
function M.count(step)
  return step.live.context_log and #step.live.context_log or 0
end

---What a step has set since then; nil: nothing.
---@param step skillrt.Step
---@param count integer  by M.count
---@return table<string, any>|nil
function M.since(step, count)
  local log, values = step.live.context_log or {}, nil
  for i = count + 1, #log do
    values = values or {}
    values[log[i].key] = log[i].value
  end
  return values
end

---What any branch set below a place; nil: nothing.
---@param step skillrt.Step
---@param place string
---@return table<string, any>|nil
function M.below(step, place)
  local prefix, rest, values = place .. ".", {}, nil
  for _, one in ipairs(step.live.context_log or {}) do
    if one.prefix:sub(1, #prefix) == prefix then
      values = values or {}
      values[one.key] = one.value
    else
      rest[#rest + 1] = one
    end
  end
  if values then -- one entry for each key, however many rounds set it
    for key, value in pairs(values) do
      rest[#rest + 1] = { prefix = prefix, key = key, value = value }
    end
    step.live.context_log = rest
  end
  return values
end

return M
