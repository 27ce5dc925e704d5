-- run/ctx/shared.lua: the shared context as a step's function sees it (ctx.context): as it was when the step began,
-- and what it sets itself, which is kept with its result.
--
-- Knows the state, no journal. Used by ctx.lua.

local drawn = require("skillrt.base.drawn")
local json = require("skillrt.base.json")
local draws = require("skillrt.run.branch.draws")
local names = require("skillrt.base.names")
local state = require("skillrt.skill.state")

local M = {}

---@class skillrt.Context
---@field get fun(key: string): any  read-only; as it was when the step began, or set by it
---@field set fun(key: string, value: any)

---@param step skillrt.Step
---@return skillrt.Context
function M.of(step)
  local context = {}
  ---Gives a value of the shared context; nil where nobody set it (F14).
  function context.get(key)
    local value = step.context and step.context[key]
    if value == nil then
      value = step.root.context[key]
    end
    if value == json.null then
      return nil
    end
    return state.view(value)
  end
  ---Sets a value; it is kept together with the step's result.
  function context.set(key, value)
    if drawn.step ~= step then
      error(draws.OTHERS, 2)
    end
    local id, problem = names.id(key)
    if not id then
      error("context.set: the key " .. problem, 2)
    end
    step.context, step.told = step.context or {}, true
    step.context[key] = value == nil and json.null or value
  end
  return context
end

return M
