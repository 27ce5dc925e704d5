-- document/generate/view.lua: what every document's template may use: names, strategy, specs, phases, actions,
-- already made safe for the place where they stand.
--
-- Pure: config in, table out. Called by generate; the output kinds add what is theirs.
local config_actions = require "skillrt.document.generate.config_actions"
local config_phases = require "skillrt.document.generate.config_phases"
local ends = require "skillrt.skill.ends"
local fields = require "skillrt.document.generate.fields"
local helpers = require "skillrt.document.generate.helpers"
local limits_table = require "skillrt.skill.limits"
local markdown = require "skillrt.document.generate.markdown"

local M = {}

---@class skillrt.generate.Words
---@field phase_done string  the summary of a phase, by its number
---@field done string        stands behind an action's name
---@field loop string        what a link to the loop is called
---@field phase string       what a link to a phase is called, by number and id
---@field join string        between the items of a list
---@field calls string       before the words that call a skill
---@field stop string        ends a sentence
---@field open string        before a quoted word
---@field close string

-- The few words of documents that no template can hold: inside of code, in front matter, between items of a list.
---@type table<string, skillrt.generate.Words>
local WORDS <const> = {
  en = {
    phase_done = "Phase %d done",
    done = " done",
    loop = "The loop",
    phase = "Phase %d: %s",
    join = ", ",
    calls = " Triggers on ",
    stop = ".",
    open = '"',
    close = '"',
  },
  zh = {
    phase_done = "阶段 %d 完成",
    done = "完成",
    loop = "执行循环",
    phase = "Phase %d: %s",
    join = "、",
    calls = "触发词：",
    stop = "。",
    open = "“",
    close = "”",
  },
}

local function documents(list)
  local out = {}
  for i, entry in ipairs(list) do
    out[i] = {
      path = entry.path:gsub("[ ()]", { [" "] = "%20", ["("] = "%28", [")"] = "%29" }),
      path_text = markdown.line(entry.path):gsub("[%[%]]", "\\%0"),
      purpose = markdown.cell(entry.purpose),
      context = entry.context and markdown.cell(entry.context) or false,
    }
  end
  return out
end

local function purpose_of(item)
  return item.description and item.description:find "%S" and item.description or item.name
end

local function agent_text(agent)
  if agent.type == "llm" and agent.tool then
    return ("llm (%s)"):format(agent.tool)
  end
  return agent.type
end

-- A path inside a template literal of JavaScript.
local function in_template(path)
  local text = path:gsub("[`\\$]", "\\%0")
  return text
end

local function input_view(path, makers, taken)
  local base = "input_" .. helpers.to_identifier(path:gsub("%.[^./]*$", ""))
  local variable, count = base, 1
  while taken[variable] do
    count = count + 1
    variable = base .. "_" .. count
  end
  taken[variable] = true
  return {
    path = path,
    path_code = in_template(path),
    json = path:sub(-5) == ".json",
    key_quoted = helpers.quote((makers[path] or path) .. "_output"),
    variable = variable,
  }
end

local function phase_views(config, words)
  local out, makers = {}, {}
  local list = config.sequential_config and config.sequential_config.phases or {}
  for i, phase in ipairs(list) do
    local inputs, taken = {}, {}
    for k, path in ipairs(phase.input) do
      inputs[k] = input_view(path, makers, taken)
    end
    makers[phase.output] = phase.id
    local text = phase.description and phase.description:find "%S" and phase.description or nil
    out[i] = {
      number = i,
      order = i,
      id = phase.id,
      name_line = markdown.line(phase.name),
      description = text or false,
      description_line = text and markdown.line(text),
      objectives = phase.objectives,
      inputs = inputs,
      inputs_cell = #inputs > 0 and markdown.cell(table.concat(phase.input, ", ")) or "-",
      output = phase.output,
      output_cell = markdown.cell(phase.output),
      output_code = in_template(phase.output),
      output_quoted = helpers.quote(phase.output),
      json = phase.output:sub(-5) == ".json",
      key_quoted = helpers.quote(phase.id .. "_output"),
      summary_quoted = helpers.quote(words.phase_done:format(i)),
      agent_cell = markdown.cell(agent_text(phase.agent)),
      condition = phase.condition or false,
      condition_code = phase.condition and markdown.code(phase.condition),
      has_inputs = #phase.input > 0,
      is_first = i == 1,
    }
  end
  return out
end

-- Each item as inline code and as a line; and all of them in a table cell, "-" for none (R45).
local function code_items(list)
  local out, cells = {}, {}
  for i, item in ipairs(list) do
    local line, code, cell = markdown.code_forms(item)
    out[i], cells[i] = { code = code, line = line }, cell
  end
  return out, #cells > 0 and table.concat(cells, ", ") or "-"
end

-- Priorities are written as whole numbers where they are whole.
local function number_text(value)
  return math.tointeger(value) or value
end

-- How often an action may be chosen and tried, and whether the run ends with it: as the runtime has it.
local function rules_of(action, config, retries)
  local own = fields.own(config, "actions", action.id)
  local terminal = own.terminal
  if terminal == nil then
    terminal = ends.TERMINAL[action.id]
  end
  local repeatable = (own.repeatable or action.repeatable) == true
  return {
    repeatable = repeatable,
    max_runs = own.max_runs or action.max_runs or (not repeatable and 1 or nil),
    max_retries = own.max_retries or retries,
    terminal = terminal == true and "completed" or terminal or nil,
    idempotent = own.idempotent,
  }
end

local function action_view(action, rules)
  local preconditions, preconditions_cell = code_items(action.preconditions)
  local effects, effects_cell = code_items(action.effects)
  return setmetatable({
    id = action.id,
    name_line = markdown.line(action.name),
    description = action.description and action.description:find "%S" and action.description or false,
    purpose = action.purpose and action.purpose:find "%S" and action.purpose or false,
    purpose_cell = markdown.cell(purpose_of(action)),
    priority = number_text(action.priority),
    preconditions = preconditions,
    preconditions_cell = preconditions_cell,
    effects = effects,
    effects_cell = effects_cell,
    check_line = markdown.line(helpers.get_precondition_check(action)),
    result_key = helpers.to_identifier(action.id) .. "_result",
    source = action,
  }, { __index = rules })
end

local function action_views(config, retries)
  local list = config.autonomous_config and config.autonomous_config.actions or {}
  local out, sorted, by_source = {}, {}, {}
  for i, action in ipairs(list) do
    out[i] = action_view(action, rules_of(action, config, retries))
    by_source[action] = out[i]
  end
  for i, action in ipairs(config_actions.by_priority(list)) do
    sorted[i] = by_source[action]
  end
  return out, sorted
end

-- The steps of the skill from top to bottom: phases and, in its place, the loop.
local function flow_of(config, phases)
  local flow, leading, trailing, behind = {}, {}, {}, false
  local order = config.execution_mode == "hybrid" and config.x_skillrt.hybrid.order
  if config.execution_mode == "autonomous" then
    order = { config_phases.LOOP }
  end
  local by_id = {}
  for _, phase in ipairs(phases) do
    by_id[phase.id] = phase
  end
  if order then
    for i, id in ipairs(order) do
      flow[i] = { phase = by_id[id] or false, is_loop = id == config_phases.LOOP }
      behind = behind or id == config_phases.LOOP
      if by_id[id] then
        local side = behind and trailing or leading
        side[#side + 1] = id
      end
    end
  else
    for i, phase in ipairs(phases) do
      flow[i] = { phase = phase, is_loop = false }
    end
  end
  for i, step in ipairs(flow) do
    step.last = i == #flow
  end
  return flow, leading, trailing
end

-- What each step is followed by: the next phase, or the loop, which is not passed by (F7).
local function link(flow, words)
  for i, step in ipairs(flow) do
    local following = flow[i + 1]
    if step.phase then
      local phase = following and following.phase
      step.phase.next = phase and words.phase:format(phase.number, phase.id) or following and words.loop or false
      step.phase.next_file = phase and phase.id .. ".md" or "orchestrator.md"
    end
  end
end

local function limits_of(config)
  local limits = config.x_skillrt.limits or {}
  local function limit(name)
    return limits[name] or limits_table.default(name)
  end
  return limit("max_iterations"), limit("max_errors"), fields.retries(config) or limits_table.default("max_retries")
end

---The data that all templates share.
---@param config skillrt.generate.Config
---@param lang "en"|"zh"|nil  default "en"
---@return table
function M.of(config, lang)
  local words = WORDS[lang or "en"]
  local phases = phase_views(config, words)
  local iterations, errors, retries = limits_of(config)
  local termination, host = config.x_skillrt.termination or {}, config.x_skillrt.host or {}
  local actions, by_priority = action_views(config, retries)
  local flow, leading, trailing = flow_of(config, phases)
  link(flow, words)
  local machine = config.autonomous_config ~= nil and config.autonomous_config.machine ~= nil
  return {
    skill_name = config.skill_name,
    display_name = config.display_name,
    display_line = markdown.line(config.display_name),
    description = config.description,
    version = config.version,
    strategy = config.context_strategy,
    file = config.context_strategy == "file",
    memory = config.context_strategy == "memory",
    sequential = config.execution_mode == "sequential",
    autonomous = config.execution_mode == "autonomous",
    hybrid = config.execution_mode == "hybrid",
    loop = config.execution_mode ~= "sequential",
    lang = lang,
    specs = documents(config.specs),
    has_specs = #config.specs > 0,
    templates = documents(config.templates),
    has_templates = #config.templates > 0,
    phases = phases,
    actions = actions,
    by_priority = by_priority,
    flow = flow,
    leading = leading,
    trailing = trailing,
    run_finalize = config.execution_mode == "hybrid" and config.x_skillrt.hybrid.on_loop_failed == "run_finalize",
    max_iterations = iterations,
    max_errors = errors,
    max_retries = retries,
    termination = termination,
    machine = machine,
    orchestrator_file = machine and "_orchestrator.md" or "orchestrator.md",
    goes_on = termination.on_error == "continue",
    done = words.done,
    words = words,
    task_tool = type(host.task_tool) == "string" and host.task_tool:match "^[%a_][%w_]*$" or "Task",
    up = "",
  }
end

---Data of one document: its own keys before the shared ones.
---@param shared table
---@param own table
---@return table
function M.with(shared, own)
  return setmetatable(own, { __index = shared })
end

return M
