-- run/call.lua: everything an agent module needs to build the request of a step or to read its reply.
--
-- The costly parts (the state as text, the prompt's file) are worked out when they are first
-- asked for. Knows the ledger and the skill through the policy; no journal, no transport.
-- Called by exchange.lua.

local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local state = require("skillrt.skill.state")

local M = {}

-- The text of a prompt: a file of the skill (pinned), or the text itself.
local function prompt_text(policy, prompt)
  local kept = policy.prompts[prompt]
  if kept or prompt:find("[\n ]") then
    return kept or prompt
  end
  local text, message = files.read(files.join(policy.skill.dir, prompt))
  if not text then
    error({ message = ("prompt %s"):format(message), code = "missing" }, 0)
  end
  policy.prompts[prompt] = text
  return text
end

-- A value as its JSON, or a word about why it is left out (F43).
local function bounded(value, limit)
  local text = json.encode(value)
  if text and #text > limit then
    return ("(left out: %d bytes of JSON, the limit is %d)"):format(#text, limit)
  end
  return value
end

-- The state an agent is shown: the declared keys, each bounded in size.
local function state_text(policy, root)
  local limit, shown = policy.skill.limits.max_prompt_state, {}
  local keys = policy.skill.project
  if keys then
    for _, key in ipairs(keys) do
      shown[key] = bounded(root[key], limit)
    end
  else
    for key, value in pairs(root) do
      shown[key] = bounded(value, limit)
    end
  end
  return assert(json.encode(shown, { indent = 2 }))
end

-- The inputs that are there: one that was only taken from a skipped phase is not (F21).
local function each_input(policy, definition, visit)
  for _, name in ipairs(definition.input or {}) do
    local maker = policy.ledger.outputs[name]
    if maker or definition.input_declared then
      visit(name, maker)
    end
  end
end

local function input_paths(policy, definition)
  local list = {}
  each_input(policy, definition, function(name)
    list[#list + 1] = files.join(policy.work_dir, name)
  end)
  return list
end

-- Under the memory strategy there are no files: the values themselves go along (F4, R21).
local function input_text(policy, step, definition)
  local parts, limit = {}, policy.skill.limits.max_prompt_state
  each_input(policy, definition, function(name, maker)
    local value = maker and bounded(step.root.outputs[maker], limit)
    if value ~= nil then
      local text = type(value) == "string" and value or json.encode(value, { indent = 2 })
      parts[#parts + 1] = ("%s:\n%s"):format(name, text)
    end
  end)
  return #parts > 0 and table.concat(parts, "\n\n") or nil
end

local function in_memory(call)
  return call.context_strategy == "memory"
end

local LATER = {}

function LATER.state(call)
  return state.view(call._step.root)
end

function LATER.state_text(call)
  return state_text(call._policy, call._step.root)
end

function LATER.prompt(call)
  local prompt = call._prompt
  return prompt and prompt_text(call._policy, prompt)
end

-- The documents that bind every step: their texts while they fit, else where they lie (F15).
function LATER.specs(call)
  local skill, list = call._policy.skill, {}
  local room = skill.limits.max_prompt_specs
  for i, name in ipairs(skill.specs or {}) do
    local text = prompt_text(call._policy, name)
    local path = files.join(files.join(files.current(), skill.dir), name)
    list[i] = { name = name, path = path, size = #text, text = #text <= room and text or nil }
    room = list[i].text and room - #text or room
  end
  return list[1] and list
end

function LATER.inputs(call)
  return in_memory(call) and {} or input_paths(call._policy, call._definition)
end

function LATER.input_text(call)
  return in_memory(call) and input_text(call._policy, call._step, call._definition) or nil
end

local Call = {}

function Call:__index(key)
  local make = LATER[key]
  if not make then
    return nil
  end
  local value = make(self)
  self[key] = value
  return value
end

-- Where the step's output is to be written, below a folder that is there: an agent told to write to
-- sections/api.md need not make sections. What keeps the folder from being made, its writing tells.
local function output_path(policy, definition)
  local path = files.join(policy.work_dir, definition.output)
  if definition.output:find("/", 1, true) then
    files.make_folders(files.dirname(path))
  end
  return path
end

---@param policy skillrt.Policy
---@param step skillrt.Step
---@param definition skillrt.Action
---@param number integer     which exchange of the step
---@param request table|nil  what the script awaits
---@return skillrt.Call
function M.new(policy, step, definition, number, request)
  local ledger = policy.ledger
  local to_file = definition.output and not definition.output_free and ledger.context_strategy ~= "memory"
  return setmetatable({
    _policy = policy,
    _step = step,
    _definition = definition,
    _prompt = request and request.prompt or definition.prompt,
    run_id = ledger.run_id,
    skill = policy.skill.name,
    step = step.number,
    kind = step.kind,
    [step.kind] = definition,
    link = step.link,
    timeout = request and request.timeout or definition.timeout or policy.skill.limits.step_timeout,
    attempt = step.attempt,
    exchange = number,
    key = ("%s-%d-%d"):format(ledger.run_id, step.number, number),
    work_dir = policy.work_dir,
    dir = policy.skill.dir,
    input = ledger.input,
    context_strategy = ledger.context_strategy,
    output = to_file and output_path(policy, definition) or nil,
  }, Call)
end

return M
