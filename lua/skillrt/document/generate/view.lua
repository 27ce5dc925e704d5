-- document/generate/view.lua: the data for every document's template: the normal form of the config, what follows
-- from it, and the filters that make a value safe for its place (`{{name|cell}}`).
--
-- Pure: config in, table out. Called by generate; the output kinds add their own data.
local ends = require "skillrt.skill.ends"
local config_of = require "skillrt.document.generate.config"
local form = require "skillrt.document.form"
local helpers = require "skillrt.document.generate.helpers"
local limits_table = require "skillrt.skill.limits"
local json = require "skillrt.base.json"
local markdown = require "skillrt.document.generate.markdown"
local tables = require "skillrt.base.tables"

local M = {}

---@class skillrt.generate.Words
---@field phase_done string  the summary of a phase, by its number
---@field done string        follows an action's name
---@field loop string        the text of a link to the loop
---@field phase string       the text of a link to a phase, by number and id
---@field join string        between the items of a list
---@field calls string       before the words that trigger a skill
---@field stop string        ends a sentence
---@field open string        before a quoted word
---@field close string

-- Words that no template can contain: inside code, in front matter, between items of a list.
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

local function joined(list)
  return #list > 0 and markdown.cell(table.concat(list, ", ")) or "-"
end

-- A path as the target of a link, and as its label.
local function link(path)
  return (path:gsub("[ ()]", { [" "] = "%20", ["("] = "%28", [")"] = "%29" }))
end

local function label(path)
  return (markdown.line(path):gsub("[%[%]]", "\\%0"))
end

-- A path inside a template literal of JavaScript.
local function literal(path)
  return (path:gsub("[`\\$]", "\\%0"))
end

---The filters of templates, by the name after "|".
---@type table<string, fun(value: any): string>
M.FILTERS = {
  line = markdown.line, cell = markdown.cell, code = markdown.code, code_list = markdown.code_list_cell, list = joined,
  code_cell = function(value)
    return value and markdown.code_cell(tostring(value)) or "-"
  end,
  quoted = helpers.quote, identifier = helpers.to_identifier, link = link, label = label, literal = literal,
  json = function(text)
    return json.encode(markdown.line(text)):sub(2, -2)
  end,
}

---An object of the config with what follows from it. Missing keys of its kind are false: otherwise a template would
---find those of the surrounding object.
---@param kind string
---@param object table
---@param own table?
---@return table
function M.row(kind, object, own)
  local rank = form.KINDS[kind].rank
  return setmetatable(own or {}, { __index = function(_, key)
    if object[key] == nil and rank[key] then
      return false
    end
    return object[key]
  end })
end

local function rows(kind, list, own_of)
  local out = {}
  for i, object in ipairs(list) do
    out[i] = M.row(kind, object, own_of and own_of(object, i))
  end
  return out
end

M.rows = rows

local function input_view(path, makers, taken)
  local base = "input_" .. helpers.to_identifier(path:gsub("%.[^./]*$", ""))
  local variable, count = base, 1
  while taken[variable] do
    count = count + 1
    variable = base .. "_" .. count
  end
  taken[variable] = true
  return { path = path, json = path:sub(-5) == ".json", key = (makers[path] or path) .. "_output", variable = variable }
end

local function phase_views(config, words)
  local makers = {}
  return rows("phase", config.sequential_config and config.sequential_config.phases or {}, function(phase, i)
    local inputs, taken, agent = {}, {}, phase.agent
    for k, path in ipairs(phase.input) do
      inputs[k] = input_view(path, makers, taken)
    end
    makers[phase.output] = phase.id
    return { number = i, inputs = inputs, has_inputs = #inputs > 0, is_first = i == 1,
      json = phase.output:sub(-5) == ".json", summary = words.phase_done:format(i),
      performer = agent.type == "llm" and agent.tool and ("llm (%s)"):format(agent.tool) or agent.type }
  end)
end

-- How often an action may be chosen and retried, and whether it ends the run: as the runtime counts it.
local function rules_of(action, config, retries)
  local own = config_of.own(config, "actions", action.id)
  local terminal = own.terminal
  if terminal == nil then
    terminal = ends.TERMINAL[action.id]
  end
  local repeatable = (own.repeatable or action.repeatable) == true
  return {
    source = action,
    about = action.description or action.name,
    repeatable = repeatable,
    max_runs = own.max_runs or action.max_runs or (not repeatable and 1 or nil),
    max_retries = own.max_retries or retries,
    terminal = terminal == true and "completed" or terminal or nil,
    idempotent = own.idempotent,
  }
end

local function action_views(config, retries)
  local list = config.autonomous_config and config.autonomous_config.actions or {}
  local out = rows("action", list, function(action)
    return rules_of(action, config, retries)
  end)
  local sorted = table.move(out, 1, #out, 1, {})
  for i, view in ipairs(out) do
    view.index = i
  end
  table.sort(sorted, function(a, b)
    if a.priority ~= b.priority then
      return a.priority > b.priority
    end
    return a.index < b.index
  end)
  return out, sorted
end

-- The steps of the skill from top to bottom: phases, and the loop at its place.
local function flow_of(config, phases)
  local flow, leading, trailing, behind = {}, {}, {}, false
  local order = config.execution_mode == "hybrid" and config.x_skillrt.hybrid.order
  if config.execution_mode == "autonomous" then
    order = { config_of.LOOP }
  end
  local by_id = tables.by(phases, "id")
  if order then
    for i, id in ipairs(order) do
      flow[i] = { phase = by_id[id] or false, is_loop = id == config_of.LOOP }
      behind = behind or id == config_of.LOOP
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

-- What follows each step: the next phase, or the loop, which cannot be skipped (F7).
local function set_next(flow, words)
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
  return limit("max_iterations"), limit("max_errors"), config_of.retries(config) or limits_table.default("max_retries")
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
  set_next(flow, words)
  local machine, mode = config.autonomous_config and config.autonomous_config.machine ~= nil, config.execution_mode
  return M.row("config", config, {
    file = config.context_strategy == "file",
    memory = config.context_strategy == "memory",
    sequential = mode == "sequential",
    autonomous = mode == "autonomous",
    hybrid = mode == "hybrid",
    loop = mode ~= "sequential",
    lang = lang,
    specs = rows("document", config.specs),
    has_specs = #config.specs > 0,
    templates = rows("document", config.templates),
    has_templates = #config.templates > 0,
    phases = phases,
    actions = actions,
    by_priority = by_priority,
    flow = flow,
    leading = leading,
    trailing = trailing,
    run_finalize = mode == "hybrid" and config.x_skillrt.hybrid.on_loop_failed == "run_finalize",
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
  })
end

---Data of one document: its own keys override the shared ones.
---@param shared table
---@param own table
---@param row table?  what it is about, between the two
---@return table
function M.with(shared, own, row)
  return setmetatable(own, { __index = row and function(_, key)
    local value = row[key]
    if value == nil then
      value = shared[key]
    end
    return value
  end or shared })
end

return M
