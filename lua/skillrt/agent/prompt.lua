-- agent/prompt.lua: the text of a task: an agent's prompt (R31, R63), and the request to rewrite an answer of the
-- wrong form (F25).
--
-- Text from the state or from an earlier reply was written by others: it is put between marks that do not occur in it
-- (F44). Knows nothing of HTTP or processes.

local json = require("skillrt.base.json")
local plain = require("skillrt.agent.plain")
local secrets = require("skillrt.base.secrets")
local tables = require("skillrt.base.tables")
local texts = require("skillrt.base.text")
local data_marks = require("skillrt.base.data_marks")

local M = {}

local RETURN_ACTION = [[Return JSON: { "status": "completed"|"failed", "stateUpdates": {...}, "summary": "..." }
"stateUpdates" holds only the keys that change (null removes one); progress, errors and counters are kept for you.
Return exactly one such object.]]

local RETURN_PHASE = [[Return JSON: { "status": "completed"|"partial"|"failed", "output_file": "...", "summary": "..." }
Write the result to [OUTPUT] and name it in "output_file", or return it whole in "output".
Return exactly one such object.]]

-- Reminds of the fields that a phase promises; without this an agent would not set them.
local PROMISED = [[Set in "stateUpdates": {...} of that object what this step promises: %s.]]

local function return_phase(task)
  local promised = {}
  for i, effect in ipairs(task.phase and task.phase.effects or {}) do
    promised[i] = effect.text
  end
  return #promised > 0 and RETURN_PHASE .. "\n" .. PROMISED:format(table.concat(promised, ", ")) or RETURN_PHASE
end

---Precedes a prompt whose answer is a text, because agents tend to report on their work instead of returning it.
M.RETURNED = "Your last message is what you return to the program that called you: the whole result itself.\n\n"

---For an agent that may only read, whether or not its program can enforce that.
M.READS = "Only read: change nothing, and start nothing that changes something."

local RETURN_SCHEMA = "Return JSON that fits this JSON Schema, and nothing else:\n%s"

---The form that the reply must have.
---@param task skillrt.Task
---@return string
function M.return_format(task)
  if task.schema then
    return RETURN_SCHEMA:format(json.encode(task.schema, { sorted = true }))
  elseif task.answer == "text" then
    return "Return the result as text."
  end
  return task.kind == "phase" and return_phase(task) or RETURN_ACTION
end

---Text by others, between marks that do not occur in it.
---@param text string
---@param what string  a name for it, in capitals
---@return string
M.untrusted = data_marks.marked

-- The documents of Phase 0 (R76, F15): in full where they fit, else their paths.
local function add_specs(lines, task)
  if not task.specs then
    return
  end
  lines[#lines + 1] = "[SPECS]"
  lines[#lines + 1] = "Read every document below in full before the work; its rules bind this step."
  for _, spec in ipairs(task.specs) do
    if spec.text then
      local mark = data_marks.mark_for(spec.text, "DOCUMENT", spec.name)
      lines[#lines + 1] = ("BEGIN DOCUMENT %s\n%s\nEND DOCUMENT %s"):format(mark, texts.trim_end(spec.text), mark)
    else
      lines[#lines + 1] = ("DOCUMENT %s (%d bytes): read it from its file"):format(spec.path, spec.size)
    end
  end
  lines[#lines + 1] = ""
end

-- The work: the prompt's text, else what the definition says about it.
local function instructions(task)
  if task.prompt and task.prompt:find("%S") then
    return texts.trim_end(task.prompt)
  end
  local step = task.action or task.phase
  local lines = { step.name or step.id }
  for _, line in ipairs({ step.description or "", step.purpose or "" }) do
    if line ~= "" then
      lines[#lines + 1] = line
    end
  end
  for _, objective in ipairs(step.objectives or {}) do
    lines[#lines + 1] = "- " .. objective
  end
  return table.concat(lines, "\n")
end

-- The item of an `each` that this branch is for.
local function add_item(lines, task)
  if task.index then
    local item = task.item
    local text = type(item) == "string" and item or json.encode(item, { indent = 2 }) or ""
    lines[#lines + 1] = ("[ITEM] %s"):format(task.index)
    lines[#lines + 1] = M.untrusted(text, "ITEM")
    lines[#lines + 1] = ""
  end
end

-- The input without the task, as JSON; nil: there is none.
local function other_input(task)
  local rest = {}
  for key, value in pairs(tables.object(task.input)) do
    if key ~= "task" then
      rest[key] = value
    end
  end
  return next(rest) ~= nil and json.encode(rest, { sorted = true, indent = 2 }) or nil
end

local MAX_BODY = 16 * 1024

-- The part that the prompts of all steps of a skill share: its page, or the page's path, and what a person gave.
local function add_guide(lines, task)
  local guide, given, values = task.guide, plain.task(task), other_input(task)
  plain.add_places(lines, task)
  if guide and guide.body and guide.body:find("%S") and #guide.body <= MAX_BODY then
    local mark = data_marks.mark_for(guide.body, "DOCUMENT", "SKILL.md")
    local body = texts.trim_end(plain.filled(guide.body, task))
    lines[#lines + 1] = ("BEGIN DOCUMENT %s\n%s\nEND DOCUMENT %s"):format(mark, body, mark)
  elseif guide and guide.body then
    lines[#lines + 1] = ("DOCUMENT %s/SKILL.md (%d bytes): what this skill is"):format(task.dir, #guide.body)
  end
  if given then
    lines[#lines + 1] = "[TASK]\n" .. given
  end
  if values then
    lines[#lines + 1] = "[INPUT VALUES]\n" .. M.untrusted(values, "INPUT VALUES")
  end
  lines[#lines + 1] = ""
end

-- The tool set of the step, and what the runtime adds for it.
local function add_phase(lines, task)
  if task.phased then
    require("skillrt.agent.phase").add(lines, task)
  end
end

local function action_text(task)
  local lines = {
    "[STATE]",
    M.untrusted(task.state_text or "{}", "STATE"),
    "",
    "[WORK_DIR]",
    task.store:path(),
    "",
    "[CONTEXT_STRATEGY]",
    task.context_strategy,
    "",
  }
  add_guide(lines, task)
  add_specs(lines, task)
  add_item(lines, task)
  add_phase(lines, task)
  local rest = { "[ACTION] " .. task.action.id, instructions(task), "", "[RETURN FORMAT]", M.return_format(task) }
  return table.concat(tables.append(lines, rest), "\n")
end

local function phase_text(task)
  local inputs = task.inputs and table.concat(task.inputs, ", ") or ""
  local lines = {
    "[PHASE] " .. task.phase.id,
    "[WORK_DIR] " .. task.store:path(),
    "[INPUT] " .. (inputs ~= "" and inputs or "None"),
    "[OUTPUT] " .. (task.output or "None"),
    task.round and ("[ROUND] %s"):format(task.round) or "",
  }
  lines[#lines + 1] = task.round and "" or nil
  add_guide(lines, task)
  add_specs(lines, task)
  add_phase(lines, task)
  add_item(lines, task)
  lines[#lines + 1] = instructions(task)
  if task.input_text then
    lines[#lines + 1] = "\n" .. M.untrusted(task.input_text, "INPUT")
  end
  lines[#lines + 1] = "\n[RETURN FORMAT]\n" .. M.return_format(task)
  return table.concat(lines, "\n")
end

-- What a check found wrong with the previous result of the same task.
local function add_repair(text, task)
  local repair = task.repair
  local lines = { text, "", ("[REPAIR] %d"):format(repair.round),
    "You did this task, and its result was refused. What is wrong with it:", M.untrusted(repair.problem, "PROBLEM") }
  local result = repair.result ~= nil and json.encode(repair.result, { sorted = true })
  if result then
    lines[#lines + 1] = "Your result was:"
    lines[#lines + 1] = M.untrusted(result, "RESULT")
  end
  lines[#lines + 1] = "Put right what is wrong, and return the whole result again, in the same form."
  return table.concat(lines, "\n")
end

---The whole text of a task.
---@param task skillrt.Task
---@return string
function M.text(task)
  local text = secrets.clean(M.words(task)) -- no agent is sent a secret
  return task.repair and add_repair(text, task) or text
end

-- The text without the request for a repair.
function M.words(task)
  if task.bare then -- a prompt that somebody wrote in full
    return task.prompt
  elseif task.answer == "text" and task.guide and not task.schema then
    local lines = {}
    add_phase(lines, task)
    return table.concat(lines, "\n") .. plain.text(task, M.untrusted, other_input(task))
  elseif task.kind == "phase" then
    return phase_text(task)
  end
  return action_text(task)
end

---A numbered step of a page that is given step by step.
---@param task skillrt.Task
---@param index integer
---@return string
function M.step(task, index)
  return secrets.clean(plain.step(task, index))
end

---The next step of a page, for an agent that remembers nothing or did not perform the previous step.
---@param said any  the result of the previous step
---@param text string
---@return string
function M.gone_on(said, text)
  said = type(said) == "string" and said or assert(json.encode(said, { sorted = true }))
  return ("[RESULT]\nThis step was done; its result:\n%s\n\n%s"):format(M.untrusted(said, "RESULT"), text)
end

local MAX_QUOTED = 256 * 1024

---The same task, with a person's answer to the agent's question.
---@param text string  the text before it
---@param question string
---@param answer any
---@return string
function M.answered(text, question, answer)
  return table.concat({
    text,
    "",
    "[QUESTION]",
    M.untrusted(question, "QUESTION"),
    "",
    "[ANSWER]",
    "You asked this about the task above; a person answered:",
    tostring(answer),
  }, "\n")
end

---Asks for the same answer in the right form; the work is not to be repeated.
---@param task skillrt.Task
---@param reply_text string
---@param problem string  what was wrong with it
---@return string
function M.reformat(task, reply_text, problem)
  return table.concat({
    "Your reply to this task could not be read as the one JSON object that was asked for: " .. problem .. ".",
    "Do not do the work again. Write the outcome of the work you did as that object.",
    "",
    "[REPLY]",
    M.untrusted(texts.tail(reply_text, MAX_QUOTED), "REPLY"),
    "",
    "[RETURN FORMAT]\n" .. M.return_format(task),
  }, "\n")
end

local function paths_of(specs)
  local paths = {}
  for i, spec in ipairs(specs) do
    paths[i] = spec.path
  end
  return paths
end

-- An object with those of these fields that are set.
local function fields(task, text, agent)
  local step = task.action or task.phase
  return {
    prompt = text,
    host_tool = agent.host_tool,
    subagent_type = agent.type or "universal-executor",
    run_in_background = false,
    tool = agent.tool,
    mode = agent.mode,
    skill = task.skill,
    run_id = task.run_id,
    step = task.step,
    action = task.kind ~= "phase" and step.id or nil,
    phase = task.kind == "phase" and step.id or nil,
    item = task.item,
    index = task.index,
    tools = step.tools and json.array(step.tools) or task.phased and task.phased.names
      and json.array(task.phased.names) or nil,
    tool_set = task.phased and task.phased.set and task.phased.set.name or nil,
    work_dir = task.store:path(),
    inputs = task.inputs and task.inputs[1] and json.array(task.inputs) or nil,
    output = task.output,
    specs = task.specs and json.array(paths_of(task.specs)) or nil,
    context_strategy = task.context_strategy,
    return_format = M.return_format(task),
  }
end

---The task as one JSON object: the text and its parts as fields. The state's text is inserted unchanged, so that no
---number in it changes; the attempt is not part of what is declared.
---@param task skillrt.Task
---@param text string   the whole text, or the request to reformat
---@param agent table
---@return string? body
---@return string? declared_or_message
function M.task(task, text, agent)
  local head, message = json.encode(fields(task, text, agent), { sorted = true })
  if not head then
    return nil, message
  end
  head = head:sub(1, -2)
  local state = ',"state":' .. (task.state_text or "{}") .. "}"
  return ('%s,"attempt":%d%s'):format(head, task.attempt, state), head .. state
end

return M
