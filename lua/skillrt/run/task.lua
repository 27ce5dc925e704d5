-- run/task.lua: an agent's task: everything about a step that the agent may need.
--
-- The costly parts (the state as text, the prompt's file) are computed on first use. Knows the books and the skill
-- through the run; no journal, no transport.

local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local state = require("skillrt.skill.state")

local M = {}

-- A value as its JSON, or a word about why it is left out (F43).
local function bounded(value, limit)
  local text = json.encode(value)
  if text and #text > limit then
    return ("(left out: %d bytes of JSON, the limit is %d)"):format(#text, limit)
  end
  return value
end

-- The keys of a state, which may be a view: `next` finds none in a view.
local function keys_of(root)
  local keys = {}
  for key in pairs(root) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  return keys
end

-- The state that an agent is shown: the keys that its action or the skill declares, each bounded in size; and if the
-- action limits their total size, all of them together, in order (F43).
local function state_text(run, root, definition)
  local limit, shown, room = run.skill.limits.max_prompt_state, {}, definition.prompt_bytes
  local keys = definition.prompt_keys or run.skill.project
  for _, key in ipairs(keys or keys_of(root)) do
    local value = bounded(root[key], math.min(limit, room or limit))
    shown[key] = value
    if room and value ~= nil then
      room = math.max(0, room - #(json.encode(value) or ""))
    end
  end
  return assert(json.encode(shown, { indent = 2 }))
end

local MAKERS = setmetatable({}, { __mode = "k" }) -- by skill: the phase that declares each output

local function maker_of(skill, name)
  local makers = MAKERS[skill]
  if not makers then
    makers = {}
    for _, phase in ipairs(skill.phases or {}) do
      makers[phase.output or ""] = phase.id
    end
    MAKERS[skill] = makers
  end
  return makers[name]
end

-- The file that the phase wrote instead of this output, and named in its reply (R23); nil: none.
local function made_instead(run, name)
  local id, completed = maker_of(run.skill, name), run.books.completed -- a prompt is shown without books
  for file, maker in pairs(id and completed and completed[id] and run.books.outputs or {}) do
    if maker == id then
      return file, id
    end
  end
end

-- The existing inputs; one that is only read from a skipped phase does not exist (F21).
local function each_input(run, definition, visit)
  for _, name in ipairs(definition.input or {}) do
    local maker, file = run.books.outputs[name], nil
    if not maker then
      file, maker = made_instead(run, name)
    end
    name = file or name
    if maker or definition.input_declared then
      visit(name, maker)
    end
  end
end

local function input_paths(run, definition)
  local list = {}
  each_input(run, definition, function(name)
    list[#list + 1] = run.store:path(name)
  end)
  return list
end

-- With the memory strategy there are no files: the values themselves are sent (F4, R21).
local function input_text(run, step, definition)
  local parts, limit = {}, run.skill.limits.max_prompt_state
  each_input(run, definition, function(name, maker)
    local value = maker and bounded(step.root.outputs[maker], limit)
    if value ~= nil then
      local text = type(value) == "string" and value or json.encode(value, { indent = 2 })
      parts[#parts + 1] = ("%s:\n%s"):format(name, text)
    end
  end)
  return #parts > 0 and table.concat(parts, "\n\n") or nil
end

local function in_memory(task)
  return task.context_strategy == "memory"
end

local LATER = {}

function LATER.state(task)
  return state.view(task._step.root)
end

function LATER.state_text(task)
  return state_text(task._run, task._step.root, task._definition)
end

function LATER.prompt(task)
  local prompt = task._prompt
  return prompt and task._run:prompt(prompt)
end

-- The documents that bind every step: their texts if they fit, else their paths (F15).
function LATER.specs(task)
  local skill, list = task._run.skill, {}
  local room = skill.limits.max_prompt_specs
  for i, name in ipairs(skill.specs or {}) do
    local text = task._run:prompt(name)
    local path = files.join(files.join(files.current(), skill.dir), name)
    list[i] = { name = name, path = path, size = #text, text = #text <= room and text or nil }
    room = list[i].text and room - #text or room
  end
  return list[1] and list
end

-- SKILL.md's body and path: each prompt contains one of them.
function LATER.guide(task)
  return task._run.skill.guide
end

-- The results of a page's steps so far, whichever agent of a chain performed them.
function LATER.said()
  return {}
end

-- The phase of the step, if its skill has tool sets or runtime fields of the state.
function LATER.phased(task)
  local run = task._run
  return (run.skill.tool_sets or run.skill.kept) and require("skillrt.run.phases").of_task(run, task._step,
    task._definition, function(prompt) return run:prompt(prompt) end) or false
end

function LATER.tools(task)
  local guide, phased = task.guide, task.phased
  return task._definition.tools or phased and phased.names or guide and guide.tools
end

function LATER.own_tools(task)
  return task._run.skill.tools
end

-- Whether files that its tools write must survive a power cut.
function LATER.lasts(task)
  return files.lasts(task._run.skill)
end

-- What this process knows of a run's servers, and our identity.
function LATER.mcp(task)
  return task._run:servers()
end

function LATER.work_dir(task)
  return task.store:path()
end

function LATER.inputs(task)
  return in_memory(task) and {} or input_paths(task._run, task._definition)
end

-- The number of its round, for a repeating phase: "2 of at most 5"; of the innermost round.
function LATER.round(task)
  local skill, books, at = task._run.skill, task._run.books, task._definition.index
  for _, one in ipairs(task.kind == "phase" and skill.rounds or {}) do
    if one.from <= at and at <= one.to then
      local known = books.rounds and books.rounds[one.key]
      return ("%d%s"):format(known and known.n or 1, one.max_rounds and " of at most " .. one.max_rounds or "")
    end
  end
end

-- A failed member of a chain may have left an output that is not the next one's: returns a function that sets it
-- aside.
function LATER.put_aside(task)
  return task.output and function()
    return require("skillrt.run.output_files").put_aside(task._run, task._definition) or false
  end or nil
end

function LATER.input_text(task)
  return in_memory(task) and input_text(task._run, task._step, task._definition) or nil
end

local Task = {}

function Task:__index(key)
  if key == "key" then -- of the next call: each has its own
    return self._step.live.home:next_key(self._step)
  end
  local make = LATER[key]
  if not make then
    return nil
  end
  local value = make(self)
  self[key] = value
  return value
end

-- The path of the step's output, below an existing folder, so that an agent told to write sections/api.md need not
-- make sections. If the folder cannot be made, writing reports it.
local function output_path(run, definition)
  local path = run.store:path(definition.output)
  if definition.output:find("/", 1, true) then
    files.make_folders(files.dirname(path))
  end
  return path
end

-- The first of the two that is not empty.
local function first_of(one, other)
  if one == nil then
    return other
  end
  return one
end

---@param run skillrt.Run
---@param step skillrt.Step
---@param definition skillrt.Action
---@param request table|nil    what a script awaits: { prompt, timeout, idempotent, retry }
---@return skillrt.Task
function M.new(run, step, definition, request)
  local books = run.books
  local asked = request or {}
  local to_file = definition.output and not definition.output_free and books.context_strategy ~= "memory"
  return setmetatable({
    _run = run,
    _step = step,
    _definition = definition,
    _prompt = asked.prompt or definition.prompt,
    run_id = books.run_id,
    skill = run.skill.name,
    step = step.number,
    kind = step.kind,
    [step.kind] = definition,
    idempotent = first_of(definition.idempotent_declared, asked.idempotent),
    timeout = asked.timeout or run.limits:seconds_of(definition),
    retry = asked.retry,
    member_retry = asked.retry or (asked.agent == nil and {} or nil), -- the members of a step's chain are retried
    attempt = step.attempt,
    store = run.store,
    dir = run.skill.dir,
    input = books.input,
    context_strategy = books.context_strategy,
    output = to_file and output_path(run, definition) or nil,
    answer = asked.schema == nil and definition.answer or nil,
    schema = asked.schema,
    model = asked.model,
    effort = asked.effort,
    project_dir = books.cwd,
    item = asked.item,
    index = asked.index,
    repair = asked.repair,
  }, Task)
end

return M
