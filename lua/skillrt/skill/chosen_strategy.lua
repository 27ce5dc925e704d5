-- skill/chosen_strategy.lua: which strategy a skill names: a function, a table, a name or a path.
--
-- Finds and runs none; strategy.resolve does. Called by skill/init.lua.

local names = require("skillrt.base.names")
local schema = require("skillrt.skill.schema")

local M = {}

local STRATEGY_FIELDS = {
  name = { type = "text" },
  description = { type = "string" },
  path = { type = "text" },
  select = { type = "function" },
  order = { enum = { "priority", "declaration" } },
  concurrent = { type = "boolean" },
  options = { type = "table" },
}

---Gives `skill.strategy` its normal form.
---@param skill skillrt.Skill
---@return string? message  what is wrong
function M.check(skill)
  local given = skill.strategy
  if type(given) == "function" then
    skill.strategy = { name = "function", select = given }
    return nil
  elseif type(given) == "string" then
    if given == "" or given:find("%c") then
      return 'field "strategy" must be a name or the path of a Lua file, not ' .. names.show(given)
    end
    local is_path = given:find("/", 1, true) or given:find("%.lua$")
    local short = given:match("([^/]+)%.lua$") or given:match("([^/]+)$") or given
    skill.strategy = { name = is_path and short or given, path = is_path and given or nil }
    return nil
  end
  local strategy, message = schema.record(given, STRATEGY_FIELDS, 'field "strategy"')
  if not strategy then
    return message
  elseif not (strategy.name or strategy.path or strategy.select) then
    return 'field "strategy" must have a function `select`, a name or a path'
  end
  strategy.name = strategy.name or strategy.path and strategy.path:match("([^/]+)%.lua$") or "table"
  skill.strategy = strategy
  return nil
end

return M
