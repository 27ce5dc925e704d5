-- document/load/sources.lua: what a folder holds, put together as one skill-config: skill-config.json and
-- workflow.json where they speak, catalogs, action files and prose where they do not.
--
-- Called by folder.lua, which makes the definition of it.
local files = require "skillrt.base.files"
local json = require "skillrt.base.json"
local json_lines = require "skillrt.document.load.json_lines"
local merge = require "skillrt.document.load.merge"
local names = require "skillrt.base.names"
local flow = require "skillrt.document.load.flow"
local phase_md = require "skillrt.document.load.phase_md"
local machine = require "skillrt.document.load.machine"
local rounds = require "skillrt.document.load.rounds"
local tree_of = require "skillrt.document.load.tree"
local workflow = require "skillrt.document.load.workflow"

local M = {}

local MAX_DESCRIPTION = 1024 -- bytes of a config's; a SKILL.md counts characters

local function object(value)
  return type(value) == "table" and not json.is_array(value) and value or nil
end

-- A JSON file with the places of its keys.
local function read_json(self, path)
  local tree, found = self.tree, self.found
  local text = path and tree:read(path, tree_of.MAX_DATA)
  if not text then
    self.broken = self.broken or path ~= nil
    return nil
  end
  local value, problem = json.decode(text)
  if value == nil then
    local line = tonumber(tostring(problem):match "line (%d+)" or tostring(problem):match "^(%d+):")
    found:error("json", { file = path, line = line }, "is no JSON: " .. tostring(problem), "nothing of it was read")
    self.broken = true
    return nil
  end
  return value, json_lines.places(path, text)
end

local function actions_in(raw)
  local own = object(raw.autonomous_config)
  local list = own and own.actions or raw.actions
  return type(list) == "table" and json.is_array(list) and list or nil
end

-- The actions of a state machine: those of its registry, with what their documents say besides.
local function machine_actions(self)
  local actions, rows = machine.actions(self.machine, self.found)
  self.registry = true
  self.broken = self.broken or self.machine.broken -- a table that contradicts itself is not run (F59)
  for i, row in ipairs(rows) do
    local action = actions[i]
    local said = self.prose.actions[action.id]
    if said then
      local filled = merge.action(said, self.prose, self.found, true)
      for _, key in ipairs { "name", "description", "purpose", "preconditions", "effects" } do
        action[key] = filled[key] or action[key]
      end
    end
    self.places[("autonomous_config.actions[%d]"):format(i)] = { file = row.file, line = row.line }
  end
  return json.array(actions)
end

-- The actions of the documents, each with the place that a finding about it names.
local function prose_actions(self)
  local out = json.array {}
  if self.machine and self.machine.runs then
    return machine_actions(self)
  end
  for _, id in ipairs(self.prose.order) do
    local action = self.prose.actions[id]
    local _, fact = self.prose.facts:best(id, "preconditions")
    out[#out + 1] = merge.action(action, self.prose, self.found)
    self.places[("autonomous_config.actions[%d]"):format(#out)] = fact and fact.weight == action.weight and fact.at
      or action.at
  end
  return out
end

-- An action of a config that says nothing of its preconditions has those of its document.
local function fill_actions(self, list)
  for i, action in ipairs(list) do
    local said = object(action) and self.prose.actions[action.id]
    if said and action.preconditions == nil then
      local filled = merge.action(said, self.prose, self.found, true)
      action.preconditions = filled.preconditions
      action.effects = action.effects or filled.effects
      action.purpose = action.purpose or filled.purpose
      action.repeatable = action.repeatable or filled.repeatable
      local key = ("autonomous_config.actions[%d].preconditions"):format(i)
      self.places[key] = said.at
    end
  end
end

-- The first state and the ends of the loop, where the config says nothing of them.
local function fill_loop(self, raw)
  local own = object(raw.x_skillrt) or {}
  local autonomous = object(raw.autonomous_config) or {}
  raw.x_skillrt, raw.autonomous_config = own, autonomous
  if autonomous.state_schema == nil and raw.state_schema == nil then
    local initial, fields = merge.state(self.prose, self.found)
    autonomous.state_schema = { fields = fields }
    own.initial_state = own.initial_state or initial
    self.untyped = true -- a document describes types, it does not promise them
  end
  if autonomous.termination_conditions == nil and raw.termination_conditions == nil then
    autonomous.termination_conditions = merge.terminate(self.prose, self.found)
  end
  if next(self.prose.limits) then
    own.limits = own.limits or self.prose.limits
  end
end

-- Numbered documents that stand for the loop of the actions are called exactly so.
local function is_loop(one)
  return one.base:lower():match "^[%d._-]*(.*)$" == "orchestrator"
end

local function phases_of(self)
  local list, made, steps = json.array {}, {}, {}
  for _, one in ipairs(self.phase_files) do
    steps[#steps + 1] = not is_loop(one) and one or nil
  end
  local stated = flow.read(self.tree, steps, self.found)
  self.modes, self.free_outputs, self.free_inputs = stated.modes, {}, {}
  if #stated.modes.order > 1 then
    self.alternatives = { [stated.modes.word] = stated.modes.order }
  end
  local place_of = {}
  for place in ipairs(steps) do
    local index = stated.order and stated.order[place] or place
    place_of[index] = place
    local one = steps[index]
    list[place] = phase_md.phase(one, one.blocks or self.tree:document(one.path) or {}, made, self.found)
    made.text = made.text .. "\n" .. (one.text or self.tree:read(one.path) or "")
    stated:apply(index, list[place])
    self.free_outputs[place] = list[place].output == nil
    self.free_inputs[place] = list[place].input == nil
    self.places[("sequential_config.phases[%d]"):format(place)] = { file = one.path, line = one.line or 1 }
  end
  self.rounds = rounds.of_flow(stated, list, place_of, self.has_loop)
  stated:conclude(list)
  return list
end

-- Where the loop stands among numbered phases: at the file that is called orchestrator.
local function order_of(self)
  local order, loop = json.array {}, false
  for _, one in ipairs(self.phase_files) do
    order[#order + 1] = is_loop(one) and "@autonomous" or one.id
    loop = loop or is_loop(one)
  end
  if loop then
    return order
  end
  local what = "no document says where among the phases the loop of the actions runs"
  local fix = 'write x_skillrt.hybrid.order into a skill-config.json, as in ["01-init", "@autonomous", "02-end"]'
  self.found:warn("hybrid-order", { file = "phases" }, what, "it runs before the last phase", fix)
  return nil
end

-- What two documents say of the same phases; the first difference.
local function difference(ours, theirs)
  for i = 1, math.max(#ours, #theirs) do
    local a, b = object(ours[i]) or {}, object(theirs[i]) or {}
    for _, key in ipairs { "id", "condition", "output" } do
      local x = a[key] ~= json.null and a[key] or nil
      if x ~= b[key] and not (key == "output" and x == nil) then
        return i, key
      end
    end
  end
  return nil
end

-- workflow.json is what a sequential run goes by (R28); a config beside it describes it.
local function join_workflow(self, raw, from)
  for key, value in pairs(from) do
    if raw[key] == nil then
      raw[key] = value
    end
  end
  local own = object(raw.sequential_config)
  local i, key = difference(own and own.phases or {}, from.sequential_config.phases)
  if i and own then
    local place = self.workflow_at(("sequential_config.phases[%d].%s"):format(i, key))
    local what = ("phase %d: its %s differs from skill-config.json"):format(i, key)
    self.found:warn("workflow-differs", place, what, "workflow.json is what runs", "generate the folder anew")
    own.phases = from.sequential_config.phases
  end
end

local function read_files(self)
  local tree, found = self.tree, self.found
  local raw, at = read_json(self, tree:first "skill-config.json")
  if raw ~= nil and not object(raw) then
    found:error("config", { file = "skill-config.json", line = 1 }, "must be an object", "nothing of it was read")
    raw, self.broken = nil, true
  end
  self.config, self.config_at = raw and true or false, at
  raw = raw or {}
  local path = tree:first("workflow.json", "phases/workflow.json")
  local document, workflow_at = read_json(self, path)
  if path == "phases/workflow.json" then
    local what = "stands in phases/; its place is beside SKILL.md"
    found:warn("workflow-place", { file = path }, what, "it was taken from there", "move it")
  end
  if document == nil then
    return raw
  end
  local from
  from, self.workflow_at = workflow.config(document, workflow_at, found)
  self.broken = self.broken or not from
  if from then
    self.workflow = path
    join_workflow(self, raw, from)
  end
  return raw
end

local function mode_of(raw, self, actions)
  local has_phases = object(raw.sequential_config) or raw.phases or #self.phase_files > 0
  if #actions > 0 then
    return has_phases and "hybrid" or "autonomous"
  end
  return "sequential"
end

-- What a router chooses among: the folder, the word by which one is asked for, how its files are called.
local ROUTES = {
  { folder = "roles", word = "role", files = { "^roles/([^/]+)%.md$", "^roles/([^/]+)/role%.md$" } },
  { folder = "workflows", word = "workflow", files = { "^workflows/([^/]+)%.md$" } },
  { folder = "skills", word = "skill", files = { "^skills/([^/]+)/SKILL%.md$" } },
}

-- The documents of one kind; but for roles SKILL.md has to send to two of them or more.
local function routed(tree, route)
  local out, text, named = {}, tree:read "SKILL.md" or "", 0
  for _, path in ipairs(tree.paths) do
    local name = path:match(route.files[1]) or route.files[2] and path:match(route.files[2])
    if name and names.id(name) and name ~= "run" and name:lower() ~= "readme" then
      out[#out + 1] = { name = name, path = path }
      named = named + (text:find(path, 1, true) and 1 or 0)
    end
  end
  return #out > 1 and (route.word == "role" or named > 1) and out or nil
end

-- Each of them is a step that runs where it is asked for; SKILL.md runs where none is.
local function add_routes(self, phases)
  local list, route
  for _, one in ipairs(ROUTES) do
    if not list then
      list, route = routed(self.tree, one), one
    end
  end
  local shown = {}
  for i, one in ipairs(list or {}) do
    local condition = ("input.%s === '%s'"):format(route.word, one.name)
    phases[#phases + 1] = { id = one.name, name = one.name, output = one.name .. ".md", condition = condition }
    self.prompts[one.name], shown[i] = one.path, one.name
    self.free_outputs[#phases], self.free_inputs[#phases] = true, true
    self.places[("sequential_config.phases[%d]"):format(#phases)] = { file = one.path, line = 1 }
  end
  if list then
    phases[1].condition = "!input." .. route.word
    self.alternatives = { [route.word] = shown }
    local what = ("its %s (%s) are alternatives"):format(route.folder, table.concat(shown, ", "))
    self.found:note("router", { file = "SKILL.md", line = 1 }, what, "without one SKILL.md is what runs",
      ("run one with --set %s=%s"):format(route.word, shown[1]))
  end
end

-- A folder that is only a SKILL.md is one step.
local function one_step(self, raw)
  if not self.skill_md then
    local what = "holds no SKILL.md, no phases, no actions, no config and no script"
    if not self.tree:has "SKILL.md" then -- else it has been told why that was not read
      self.found:error("nothing", { file = "." }, what, "nothing in it can run", "give a skill's folder")
    end
    self.broken = true
    return
  end
  raw.sequential_config = { phases = json.array { { id = "run", name = raw.display_name, output = "run.md" } } }
  self.free_outputs, self.free_inputs = { true }, { true }
  add_routes(self, raw.sequential_config.phases)
  self.prompts.run, self.plain = "SKILL.md", true
end

local function name_of(self, raw)
  local name = raw.skill_name
  local said = self.skill_md and self.skill_md.name
  if type(name) == "string" and said and said ~= name then
    local what = ("name %s differs from skill_name %s of the config"):format(names.show(said), names.show(name))
    self.found:warn("name-differs", { file = "SKILL.md", line = self.skill_md.lines.name }, what)
  end
  local folder = self.tree.dir:match "([^/]+)/*$"
  if folder == "." or folder == ".." then
    folder = files.current():match "([^/]+)$"
  end
  for _, one in ipairs { name or false, said or false, folder, "skill" } do
    if one and names.id(one) then
      return one
    end
  end
end

local function fill_heads(self, raw)
  local md = self.skill_md or {}
  self.name = name_of(self, raw)
  if not self.config then
    raw.skill_name = "a-skill" -- a name of the specification may be shorter or longer than a config's
  end
  raw.display_name = raw.display_name or md.title or self.name
  local description = md.description
  if description and #description > MAX_DESCRIPTION then
    description = description:sub(1, utf8.offset(description, 0, MAX_DESCRIPTION + 1) - 1)
  end
  self.description = raw.description == nil and md.description or nil -- whole, as it stands there
  raw.description = raw.description or description or (not self.config and self.name) or nil
  if raw.allowed_tools == nil and #(md.allowed_tools or {}) > 0 then
    raw.allowed_tools = json.array(md.allowed_tools)
  end
end

---Puts together what the folder says; the parts of it stay in `self`.
---@param self table  tree, found, prose, skill_md; gets places, prompts, registry and more
---@return table raw  a skill-config
function M.raw(self)
  self.places, self.prompts, self.texts = {}, {}, {}
  local raw = read_files(self)
  local actions = actions_in(raw)
  if (object(raw.autonomous_config) or {}).machine == nil then -- else its document was made of it
    self.machine = machine.read(self.prose, self.found)
  end
  local has_actions = actions ~= nil or #self.prose.order > 0 or self.machine ~= nil and self.machine.runs
  self.phase_files = phase_md.files(self.tree, self.found, has_actions)
  for _, one in ipairs(self.phase_files) do
    self.prompts[one.id], self.texts[one.id] = one.path, one.text
  end
  local loop = raw.execution_mode ~= "sequential"
  if actions then
    fill_actions(self, actions)
  elseif loop and not (self.config and raw.execution_mode == nil) then
    actions = prose_actions(self)
  end
  raw.execution_mode = raw.execution_mode or mode_of(raw, self, actions or {})
  loop = raw.execution_mode ~= "sequential"
  if loop then
    fill_loop(self, raw)
    raw.autonomous_config.actions = raw.autonomous_config.actions or raw.actions == nil and actions or nil
  end
  fill_heads(self, raw)
  if raw.execution_mode ~= "autonomous" and raw.sequential_config == nil and raw.phases == nil then
    self.has_loop = loop
    raw.sequential_config = { phases = phases_of(self) }
    if #raw.sequential_config.phases == 0 and not loop then
      one_step(self, raw)
    elseif loop then
      raw.x_skillrt.hybrid = object(raw.x_skillrt.hybrid) or { order = order_of(self) }
    end
  end
  return raw
end

return M
