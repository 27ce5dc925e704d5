-- skill/state_schema.lua: what a skill's schema declares, checked; and the first state marked by it.
--
-- Knows types and ways to merge, no runs. Called by skill/init.lua where a skill is made.

local json = require("skillrt.base.json")
local merge = require("skillrt.skill.merge")
local names = require("skillrt.base.names")
local schema = require("skillrt.skill.schema")
local types = require("skillrt.skill.types")

local M = {}

-- In a script {} is a list: JSON has to know (F70).
local function mark_lists(tree)
  for _, value in pairs(tree) do
    if type(value) == "table" then
      if next(value) == nil then
        json.array(value)
      end
      mark_lists(value)
    end
  end
end

---Marks the lists of a skill's first state, unless the schema says otherwise, or all came from JSON,
---where {} is an object.
---@param skill table
function M.mark(skill)
  for key, value in pairs(skill.state) do
    local declared = skill.schema and skill.schema[key]
    local is_list = not skill.marked
    if declared and declared ~= "any" then
      is_list = types.is_list(declared)
    end
    if type(value) == "table" and next(value) == nil and is_list then
      json.array(value)
    elseif type(value) == "table" and not skill.marked then
      mark_lists(value)
    end
  end
end

local FIELD = { type = { type = "string", default = "any" }, merge = { enum = merge.WAYS } }

---`name = "string[]"` or `name = { type = "string[]", merge = "append" }`: types and ways apart.
---@param skill table
---@return string? problem
function M.check(skill)
  skill.merge = {}
  for _, name in ipairs(names.sorted(skill.schema or {})) do
    local where = ('field "schema": %s'):format(names.show(name))
    local given = skill.schema[name]
    if type(given) == "table" then
      local field, message = schema.record(given, FIELD, where)
      if not field then
        return message
      end
      skill.merge[name], given = field.merge, field.type
    end
    local declared, problem = types.check(given)
    if not declared then
      return ("%s %s"):format(where, problem)
    elseif skill.merge[name] and not merge.suits(skill.merge[name], declared) then
      return ('%s: merge = "%s" does not suit the type %s'):format(where, skill.merge[name], declared)
    end
    skill.schema[name] = declared
  end
  return nil
end

return M
