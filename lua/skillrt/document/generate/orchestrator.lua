-- document/generate/orchestrator.lua: phases/orchestrator.md: catalog, decision logic, tables (R37, R40, R80-R90).
-- Pure. Called by generate.
local helpers = require "skillrt.document.generate.helpers"
local json = require "skillrt.base.json"
local markdown = require "skillrt.document.generate.markdown"
local view = require "skillrt.document.generate.view"

local M = {}

-- One line of JavaScript for a termination condition (R89).
local function termination_check(condition, shared)
  if condition == "max_iterations" then
    return ('if (state.iteration_count >= %s) return "action-abort";'):format(shared.max_iterations)
  end
  local test = helpers.get_termination_check(condition, shared.max_errors)
  return ("if (%s) return %s;"):format(markdown.line(test), condition == "error_limit" and '"action-abort"' or "null")
end

---The four placeholders of the orchestrator's template (R88): code, code, rows, list.
---@param config skillrt.generate.Config
---@param shared table
---@return table<string, string>
function M.placeholders(config, shared)
  local checks, logic, rows, list = {}, {}, {}, {}
  for i, condition in ipairs(config.autonomous_config.termination_conditions) do
    checks[i] = termination_check(condition, shared)
    list[i] = "- " .. (condition:find "^[%w_]+$" and condition or markdown.code(condition))
  end
  for i, action in ipairs(shared.actions) do
    local id = helpers.quote(action.id)
    local also = #action.preconditions > 0 and " && " .. action.check_line or ""
    logic[i] = ("if (among(%s)%s) return %s;"):format(id, also, id)
    local link = ("[%s](actions/%s.md)"):format(action.id, action.id)
    rows[i] = ("| %s | %s | %s |"):format(link, action.purpose_cell, action.preconditions_cell)
  end
  return {
    termination_checks = table.concat(checks, "\n  "),
    action_selection_logic = table.concat(logic, "\n  "),
    action_catalog_table = table.concat(rows, "\n"),
    termination_conditions_list = #list > 0 and table.concat(list, "\n") or "- task_completed",
  }
end

-- The states an action leaves from and goes to, as far as conditions and effects name the status.
local function statuses(list, pattern)
  local out, seen = {}, {}
  for _, text in ipairs(list) do
    if text:find("status", 1, true) then
      for value in text:gmatch(pattern) do
        if not seen[value] then
          seen[value] = true
          out[#out + 1] = value
        end
      end
    end
  end
  return out
end

local function registry(shared)
  for _, action in ipairs(shared.actions) do
    local from = statuses(action.source.preconditions, "%f[%w]status%s*===?%s*['\"]([^'\"]*)['\"]")
    local to = statuses(action.source.effects, "%f[%w_]status%s*=%s*['\"]?([%w_-]+)")
    action.from_cell = #from > 0 and markdown.code_list_cell(from) or "-"
    action.to_cell = #to > 0 and markdown.code_list_cell(to) or action.from_cell
  end
end

local function catalog(shared)
  local list = json.array {}
  for i, action in ipairs(shared.actions) do
    local source = action.source
    list[i] = {
      id = source.id,
      name = source.name,
      preconditions = source.preconditions,
      effects = source.effects,
      priority = action.priority,
    }
  end
  return json.encode(list, { indent = 2 })
end

---@param config skillrt.generate.Config
---@param shared table
---@return table
function M.data(config, shared)
  registry(shared)
  local own = M.placeholders(config, shared)
  local names = {}
  for i, condition in ipairs(config.autonomous_config.termination_conditions) do
    names[i] = condition:find "^[%w_]+$" and condition or markdown.code(condition)
  end
  own.termination_line = #names > 0 and table.concat(names, ", ") or "task_completed"
  own.catalog_json = catalog(shared)
  own.fence = markdown.fence(own.catalog_json)
  return view.with(shared, own)
end

return M
