-- document/generate/orchestrator.lua: phases/orchestrator.md: catalog, decision logic, tables (R37, R40, R80-R90).
-- Pure. Called by generate.
local action_catalog = require "skillrt.document.generate.action_catalog"
local ends = require "skillrt.skill.ends"
local helpers = require "skillrt.document.generate.helpers"
local json = require "skillrt.base.json"
local markdown = require "skillrt.document.generate.markdown"
local ordered = require "skillrt.document.generate.ordered"
local view = require "skillrt.document.generate.view"

local M = {}

-- Termination conditions that are conditions, not names of the runtime's own ends.
local function conditions_of(config)
  local list = {}
  for _, condition in ipairs(config.autonomous_config.termination_conditions) do
    if not ends.is_builtin[condition] then
      list[#list + 1] = condition
    end
  end
  return list
end

-- One line of JavaScript for a termination condition (R89).
local function termination_check(condition, shared)
  if condition == "max_iterations" then
    return ('if (state.iteration_count >= %s) return "action-abort";'):format(shared.max_iterations)
  end
  local test = helpers.get_termination_check(condition, shared.max_errors)
  return ("if (%s) return %s;"):format(markdown.line(test), condition == "error_limit" and '"action-abort"' or "null")
end

-- One line of JavaScript for an action: its conditions, and that it has not run if it may run once (R90, F33).
local function selection_line(action)
  local id = helpers.quote(action.id)
  local tests = {}
  if #action.preconditions > 0 then
    tests[1] = markdown.line(helpers.get_precondition_check(action))
  end
  if action.max_runs == 1 or #tests == 0 then
    tests[#tests + 1] = ("!state.completed_actions.includes(%s)"):format(id)
  end
  return ("if (%s) return %s;"):format(table.concat(tests, " && "), id)
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
    logic[i] = selection_line(action)
    local link = ("[%s](actions/%s.md)"):format(action.id, action.id)
    rows[i] = ("| %s | %s | %s |"):format(link, markdown.cell(action.about),
      markdown.code_list_cell(action.preconditions))
  end
  return {
    termination_checks = table.concat(checks, "\n  "),
    action_selection_logic = table.concat(logic, "\n  "),
    action_catalog_table = table.concat(rows, "\n"),
    termination_conditions_list = #list > 0 and table.concat(list, "\n") or "- task_completed",
  }
end

-- What a strategy of the config does when several actions can run.
local function choice_of(config)
  local strategy = config.x_skillrt.strategy
  local by_declaration = strategy == "sequential"
  local by_rank = strategy == nil or strategy == "priority"
  return {
    by_rank = by_rank,
    by_declaration = by_declaration,
    by_strategy = not by_rank and not by_declaration,
    strategy_name = type(strategy) == "string" and markdown.code(strategy) or "`x_skillrt.strategy`",
  }
end

---@param config skillrt.generate.Config
---@param shared table
---@return table
function M.data(config, shared)
  local own = M.placeholders(config, shared)
  local names = {}
  for i, condition in ipairs(config.autonomous_config.termination_conditions) do
    names[i] = condition:find "^[%w_]+$" and condition or markdown.code(condition)
  end
  own.termination_line = #names > 0 and table.concat(names, shared.words.join) or "task_completed"
  own.catalog_json = ordered.encode(action_catalog.entries(shared), "entry")
  own.termination_json = ordered.encode(json.array(conditions_of(config)))
  own.fence = markdown.fence(own.catalog_json .. own.termination_json)
  for key, value in pairs(choice_of(config)) do
    own[key] = value
  end
  return view.with(shared, own)
end

return M
