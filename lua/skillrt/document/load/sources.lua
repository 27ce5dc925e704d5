-- document/load/sources.lua: the resolver: what a folder holds, put together as one skill-config: skill-config.json and
-- workflow.json where they speak, else the weightiest fact of catalogs, action files and prose. Where these differ is
-- told, as is all that could not be read.
--
-- Called by folder.lua, which makes the definition of it.
local conditions = require "skillrt.document.load.condition"
local files = require "skillrt.base.files"
local json = require "skillrt.base.json"
local json_lines = require "skillrt.document.load.json_lines"
local names = require "skillrt.base.names"
local flow = require "skillrt.document.load.flow"
local phase_md = require "skillrt.document.load.phase_md"
local machine = require "skillrt.document.load.machine"
local prose_of = require "skillrt.document.load.prose"
local rounds = require "skillrt.document.load.rounds"
local state = require "skillrt.skill.state"
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

local function has_prose(list)
  for _, told in ipairs(list) do
    if not told.condition then
      return true
    end
  end
  return false
end

local function tell_unread(id, fact, found)
  for _, told in ipairs(fact.value) do
    if not told.condition then
      local what = ("action %s: its precondition cannot be read: %s (%s)"):format(id, told.text, told.problem)
      local fix = told.hint and ("write `%s`"):format(told.hint) or "write a condition such as `files.length > 0`"
      local why = "what cannot be read lets nothing through: the action waits for it"
      found:warn("condition-unread", { file = fact.at.file, line = told.line }, what, why, fix)
    end
  end
end

-- The conditions of a list as they are compared, and as they are shown.
local function set_of(list)
  local set, shown = {}, {}
  for _, told in ipairs(list) do
    if told.condition then
      local plain = told.condition:gsub("state%??%.", ""):gsub("%s+", ""):gsub('"', "'")
      set[plain:gsub("===", "=="):gsub("!==", "!=")] = true
      shown[#shown + 1] = "`" .. told.condition .. "`"
    end
  end
  return set, #shown > 0 and table.concat(shown, " and ") or "none"
end

local function holds(a, b)
  for key in pairs(b) do
    if not a[key] then
      return false
    end
  end
  return next(b) ~= nil or next(a) == nil
end

local function tell_differing(id, list, found)
  local mine, text = set_of(list[1].value)
  for i = 2, #list do
    local other, place = list[i], list[1].at
    local theirs, said = set_of(other.value)
    local summary = other.weight == prose_of.TABLE and next(mine) ~= nil -- tables leave out what goes without saying
    if not (holds(mine, theirs) and (summary or holds(theirs, mine))) and not has_prose(other.value) then
      local what = ("action %s: its preconditions here (%s) differ from %s:%d (%s)"):format(id, said, place.file,
        place.line or 1, text)
      found:warn("condition-differs", other.at, what, ("%s is what runs"):format(place.file),
        "say it in one place, or the same in both")
    end
  end
end

-- The preconditions that hold; nil: no document lists any.
local function conditions_of(id, list, found)
  if #list == 0 then
    return nil
  end
  tell_unread(id, list[1], found)
  tell_differing(id, list, found)
  local out = json.array {}
  for i, told in ipairs(list[1].value) do
    out[i] = told.condition or conditions.judged(told.text)
  end
  return out
end

local function effects_of(id, facts, found)
  local out, seen, fact = json.array {}, {}, nil
  for _, one in ipairs(facts:all(id, "effects")) do
    fact = fact or #one.value > 0 and one or nil
  end
  for _, told in ipairs(fact and fact.value or {}) do
    if told.effect and not seen[told.effect] then
      seen[told.effect] = true
      out[#out + 1] = told.effect
    elseif not told.effect then
      local what = ("action %s: its effect cannot be read: %s"):format(id, told.text)
      found:note("effect-unread", { file = fact.at.file, line = told.line }, what, "it is not checked",
        "write `key=value`, `key++` or `key.length>0`")
    end
  end
  return out
end

-- "go on with the same action" is a promise that it may run again, but only a condition that can
-- be read ends that.
local function may_repeat(id, prose, found)
  local link = id ~= "action-complete" and id ~= "action-abort" and prose.own[id] -- the run ends with those
  local list = prose.facts:best(id, "preconditions")
  if link and list and #list > 0 and not has_prose(list) then
    return true
  elseif link then
    local what = ("action %s: may follow itself, but nothing that can be read would end that"):format(id)
    local fix = "write the precondition that ends it as a condition, or give max_runs in a skill-config.json"
    found:warn("repeat-unread", link, what, "it runs once", fix)
  end
end

-- Keys of the state that the runtime keeps for itself; its books are written for the agent.
-- A context among the updates is merged into the run's.
local BOOKS = { status = true, completed_actions = true, current_action = true, error_count = true, errors = true,
  context = true }

local function tell_reserved(action, found)
  for _, key in ipairs(names.sorted(action.sets)) do
    if key:find("^[%a_][%w_]*%.[%a_]") then
      local what = ("action %s: its prompt asks for the key %s"):format(action.id, names.show(key))
      local place = { file = action.path, line = action.sets[key] }
      found:warn("dotted-key", place, what, "an update under a key with a dot is refused (F36)",
        "nest it: { " .. key:gsub("%.", ": { ") .. ": ... } }")
    elseif state.is_reserved(key) and not BOOKS[key] and not key:find "_at$" then
      local what = ("action %s: sets %s, which only the runtime writes"):format(action.id, names.show(key))
      local place = { file = action.path, line = action.sets[key] }
      found:warn("reserved-field", place, what, "the update is refused and recorded", "call the field something else")
    end
  end
end

-- What the documents of an action say of it; the weightiest holds, where they differ is told. `configured`: a config or
-- a table names it: one that lists no preconditions has none.
local function facts_of(self, action, configured)
  local id, facts, found = action.id, self.prose.facts, self.found
  local when = conditions_of(id, facts:all(id, "preconditions"), found)
  tell_reserved(action, found)
  if not when and not configured then
    local near = facts:best(id, "nearly")
    local place = { file = action.at.file, line = near and near.line or action.at.line }
    local what = ("action %s: no document lists its preconditions%s"):format(id,
      near and (' (is "%s" meant?)'):format(near.text) or "")
    local fix = "add a section Preconditions with items such as - [ ] `status === 'running'`"
    found:warn("no-preconditions", place, what, "it may run at any time, in the order of the documents", fix)
  end
  return {
    name = facts:best(id, "name"),
    description = facts:best(id, "description"),
    purpose = facts:best(id, "purpose"),
    priority = facts:best(id, "priority"),
    preconditions = when or json.array {},
    effects = effects_of(id, facts, found),
    repeatable = may_repeat(id, self.prose, found),
  }
end

-- The state a run begins with: the document's, else what its types begin with; without what the runtime writes.
local function state_of(prose, found)
  local said, fields = prose.state, json.array {}
  if not said then
    return nil, fields
  end
  for _, one in ipairs(said.unread) do
    if not (one.key and state.is_reserved(one.key)) then
      local place = { file = prose.state_file, line = one.line }
      local what = ("a value of the initial state is code: %s"):format(one.text)
      found:note("state-unread", place, what, "the run begins without it", "write a literal value")
    end
  end
  if not said.initial then
    for _, field in ipairs(said.fields) do
      if not field.optional and not state.is_reserved(field.name) then
        fields[#fields + 1] = { name = field.name, type = field.type, description = field.description }
      end
    end
    return nil, fields
  end
  local initial = {}
  for key, value in pairs(said.initial) do
    if not state.is_reserved(key) then
      initial[key] = value
    end
  end
  return initial, fields
end

-- The termination conditions that can be tested; nil: no document lists any.
local function ends_of(prose, found)
  local out, seen = json.array {}, {}
  for _, told in ipairs(prose.terminate) do
    local place = { file = told.file, line = told.line }
    if not told.condition then
      local what = ("a termination condition cannot be read: %s (%s)"):format(told.text, told.problem)
      found:warn("termination-unread", place, what, "it ends nothing", "write a condition between backticks")
    elseif not seen[told.condition] and not told.condition:find "status ===? ['\"].-['\"]$" then -- the runtime sets it
      seen[told.condition] = true
      out[#out + 1] = told.condition
    end
  end
  return #out > 0 and out or nil
end

local SAID <const> = { "name", "description", "purpose", "priority", "preconditions", "effects", "repeatable" }

-- What the documents of an action say goes where its own entry says nothing; gives what they are.
local function fill(self, action, configured)
  local said = self.prose.actions[action.id]
  local facts = said and facts_of(self, said, configured) or {}
  for _, key in ipairs(SAID) do
    if action[key] == nil then
      action[key] = facts[key]
    end
  end
  return said
end

-- The actions of the documents, each with the place that a finding about it names: those of a state machine's registry,
-- else all that are named.
local function actions_of(self)
  local runs, out, rows = self.machine and self.machine.runs, json.array {}, {}
  if runs then
    rows = machine.actions(self.machine, self.found)
    self.registry, self.broken = true, self.broken or self.machine.broken -- what contradicts itself is not run (F59)
  end
  for i, id in ipairs(runs and rows or self.prose.order) do
    local row = rows[i]
    local action = { id = row and row.action or id }
    local said, place = fill(self, action, runs), row
    if row then
      action.name, action.description = action.name or action.id, action.description or row.description
      action.preconditions = action.preconditions or json.array {}
    else
      local _, fact = self.prose.facts:best(id, "preconditions")
      place = fact and fact.weight == said.weight and fact.at or said.at
    end
    out[i] = action
    self.places[("autonomous_config.actions[%d]"):format(i)] = { file = place.file, line = place.line }
  end
  return out
end

-- An action of a config that says nothing of its preconditions has what its document says.
local function fill_actions(self, list)
  for i, action in ipairs(list) do
    local said = object(action) and action.preconditions == nil and fill(self, action, true)
    self.places[("autonomous_config.actions[%d].preconditions"):format(i)] = said and said.at or nil
  end
end

-- The first state and the ends of the loop, where the config says nothing of them.
local function fill_loop(self, raw)
  local own = object(raw.x_skillrt) or {}
  local autonomous = object(raw.autonomous_config) or {}
  raw.x_skillrt, raw.autonomous_config = own, autonomous
  if autonomous.state_schema == nil and raw.state_schema == nil then
    local initial, fields = state_of(self.prose, self.found)
    autonomous.state_schema = { fields = fields }
    own.initial_state = own.initial_state or initial
    self.untyped = true -- a document describes types, it does not promise them
  end
  if autonomous.termination_conditions == nil and raw.termination_conditions == nil then
    autonomous.termination_conditions = ends_of(self.prose, self.found)
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
    local what = "is in phases/; it belongs next to SKILL.md"
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
    actions = actions_of(self)
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
