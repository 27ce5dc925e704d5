-- document/load/sources.lua: the resolver: combines what a folder contains into one skill-config: skill-config.json
-- and workflow.json if they say something, else the weightiest fact of catalogs, action files and prose. Differences
-- are reported, and so is everything that could not be read.
--
-- Called by folder.lua, which makes the definition of it.
local conditions = require "skillrt.document.load.condition"
local cut = require("skillrt.base.text").cut
local files = require "skillrt.base.files"
local json = require "skillrt.base.json"
local json_lines = require "skillrt.document.load.json_lines"
local names = require "skillrt.base.names"
local flow = require "skillrt.document.load.flow"
local phase_md = require "skillrt.document.load.phase_md"
local modes_of = require "skillrt.document.load.flow.modes"
local prose_of = require "skillrt.document.load.prose"
local state = require "skillrt.skill.state"
local tables = require "skillrt.base.tables"
local tree_of = require "skillrt.document.load.tree"
local workflow = require "skillrt.document.load.workflow"

local M = {}

local MAX_DESCRIPTION = 1024 -- bytes of a config's; a SKILL.md counts characters

local function object(value)
  return json.is_object(value) and value or nil
end

-- A JSON file with the places of its keys.
local function read_json(self, path)
  local text = path and self.tree:read(path, tree_of.MAX_DATA)
  if not text then
    self.broken = self.broken or path ~= nil
    return nil
  end
  local value, place = json_lines.read(path, text, self.found)
  self.broken = self.broken or value == nil
  return value, place
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

-- The conditions of a list in the forms for comparing and for showing.
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

-- Whether two lists mean the same; a table leaves out the obvious.
local function agree(best, other)
  local mine, theirs = set_of(best.value), set_of(other.value)
  local summary = other.weight == prose_of.TABLE and next(mine) ~= nil
  return holds(mine, theirs) and (summary or holds(theirs, mine)) or has_prose(other.value)
end

-- The preconditions that are used; nil: no document lists any.
local function conditions_of(self, id)
  local facts, found = self.prose.facts, self.found
  local list, fact = facts:best(id, "preconditions")
  if not list then
    return nil
  end
  local out = json.array {}
  for i, told in ipairs(list) do
    out[i] = told.condition or conditions.judged(told.text)
    if not told.condition then
      table.insert(self.asks, { text = told.text, file = fact.at.file, line = told.line, action = id, told = told })
      found:warn("condition-unread", { file = fact.at.file, line = told.line },
        ("action %s: its precondition cannot be read: %s (%s)"):format(id, told.text, told.problem),
        "what cannot be read lets nothing through: the action waits for it",
        told.hint and ("write `%s`"):format(told.hint) or "write a condition such as `files.length > 0`")
    end
  end
  facts:tell(id, "preconditions", "action " .. id, found, { code = "condition-differs", agree = agree,
    show = function(value)
      return select(2, set_of(value))
    end })
  return out
end

local function effects_of(id, facts, found)
  local out, seen, unread, fact = json.array {}, {}, {}, nil
  for _, one in ipairs(facts:all(id, "effects")) do
    fact = fact or #one.value > 0 and one or nil
  end
  for _, told in ipairs(fact and fact.value or {}) do
    unread[#unread + 1] = not told.effect and told or nil
    out[#out + 1] = not seen[told.effect or ""] and told.effect or nil
    seen[told.effect or ""] = true
  end
  if unread[1] then
    found:note("effect-unread", { file = fact.at.file, line = unread[1].line },
      ("action %s: its effect cannot be read: %s%s"):format(id, unread[1].text,
        unread[2] and (", and %d more"):format(#unread - 1) or ""))
  end
  return out
end

-- "continue with the same action" promises that it may run again, but only a readable condition can end that.
local function may_repeat(id, prose, found, compiled)
  local link = id ~= "action-complete" and id ~= "action-abort" and prose.own[id] -- the run ends with those
  local list = compiled or prose.facts:best(id, "preconditions")
  if link and list and #list > 0 and (compiled or not has_prose(list)) then
    return true
  elseif link then
    found:warn("repeat-unread", link,
      ("action %s: may follow itself, but nothing that can be read would end that"):format(id))
  end
end

-- Keys of the state that the runtime keeps for itself; agents do not write its records.
-- A context among the updates is merged into the run's.
local BOOKS <const> = tables.set { "status", "completed_actions", "current_action", "error_count", "errors", "context" }

local function tell_reserved(action, found)
  for _, key in ipairs(names.sorted(action.sets)) do
    local place, shown = { file = action.path, line = action.sets[key] }, names.show(key)
    if key:find("^[%a_][%w_]*%.[%a_]") then
      found:warn("dotted-key", place, ("action %s: its prompt asks for the key %s"):format(action.id, shown), nil,
        "nest it: { " .. key:gsub("%.", ": { ") .. ": ... } }")
    elseif state.is_reserved(key) and not BOOKS[key] and not key:find "_at$" then
      found:warn("reserved-field", place,
        ("action %s: sets %s, which only the runtime writes"):format(action.id, shown))
    end
  end
end

local SAID <const> = { "name", "description", "purpose", "priority" }

-- What documents say about an action fills in what its own entry lacks: the weightiest fact is used, and differences
-- are reported. `configured`: a config or a table names it: if it lists no preconditions it has none. Returns what
-- comes from its documents.
local function fill(self, action, configured)
  local id, facts, found = action.id, self.prose.facts, self.found
  local said = self.prose.actions[id]
  if not said then
    return nil
  end
  local compiled = self.flow and tables.object(self.flow.actions)[id] or {}
  local when = compiled.preconditions or conditions_of(self, id)
  tell_reserved(said, found)
  if not when and not configured then
    local near = facts:best(id, "nearly")
    local what = ("action %s: no document lists its preconditions%s"):format(id,
      near and (' (is "%s" meant?)'):format(near.text) or "")
    found:warn("no-preconditions", { file = said.at.file, line = near and near.line or said.at.line }, what)
  end
  for _, key in ipairs(SAID) do
    action[key] = tables.first(action[key], (facts:best(id, key)))
  end
  action.preconditions = action.preconditions or when or json.array {}
  action.effects = action.effects or tables.append(effects_of(id, facts, found), compiled.effects or {})
  action.repeatable = tables.first(action.repeatable, may_repeat(id, self.prose, found, compiled.preconditions))
  return said
end

-- The initial state of a run: the document's, without what the runtime writes; else its fields.
local function state_of(prose, found)
  local said, fields = prose.state, json.array {}
  if not said then
    return nil, fields
  end
  for _, one in ipairs(said.unread) do
    if not (one.key and state.is_reserved(one.key)) then
      found:note("state-unread", { file = prose.state_file, line = one.line },
        ("a value of the initial state is code: %s"):format(one.text))
    end
  end
  for _, field in ipairs(not said.initial and said.fields or {}) do
    if not field.optional and not state.is_reserved(field.name) then
      fields[#fields + 1] = { name = field.name, type = field.type, description = field.description }
    end
  end
  local initial = said.initial and tables.fill({}, said.initial)
  for key in pairs(said.initial or {}) do
    if state.is_reserved(key) then
      initial[key] = nil
    end
  end
  return initial, fields
end

-- The termination conditions that can be tested; nil: no document lists any.
local function ends_of(prose, found)
  local out, seen = json.array {}, {}
  for _, told in ipairs(prose.terminate) do
    if not told.condition then
      found:warn("termination-unread", told,
        ("a termination condition cannot be read: %s (%s)"):format(told.text, told.problem))
    elseif not seen[told.condition] and not told.condition:find "status ===? ['\"].-['\"]$" then -- the runtime sets it
      seen[told.condition] = true
      out[#out + 1] = told.condition
    end
  end
  return #out > 0 and out or nil
end

-- The actions of the documents, each with the place for findings about it.
local function actions_of(self)
  local out = json.array {}
  for i, id in ipairs(self.prose.order) do
    local action = { id = id }
    local said = fill(self, action)
    local _, fact = self.prose.facts:best(id, "preconditions")
    local place = fact and fact.weight == said.weight and fact.at or said.at
    out[i] = action
    self.places[("autonomous_config.actions[%d]"):format(i)] = { file = place.file, line = place.line }
  end
  return out
end

-- An action of a config without preconditions gets those of its document.
local function fill_actions(self, list)
  for i, action in ipairs(list) do
    local said = object(action) and action.preconditions == nil and fill(self, action, true)
    self.places[("autonomous_config.actions[%d].preconditions"):format(i)] = said and said.at or nil
  end
end

-- A part of the config, added if missing; one of another type stays, and the config is refused for it.
local function part(raw, key)
  raw[key] = raw[key] == nil and {} or raw[key]
  return object(raw[key]) or {}
end

-- The initial state and the ends of the loop, if the config lacks them.
local function fill_loop(self, raw, actions)
  local own, autonomous = part(raw, "x_skillrt"), part(raw, "autonomous_config")
  if autonomous.state_schema == nil and raw.state_schema == nil then
    local initial, fields = state_of(self.prose, self.found)
    autonomous.state_schema = { fields = fields }
    own.initial_state = own.initial_state or initial
    self.untyped = true -- a document describes types, it does not promise them
  end
  if autonomous.termination_conditions == nil and raw.termination_conditions == nil then
    autonomous.termination_conditions = ends_of(self.prose, self.found)
  end
  own.limits = own.limits or next(self.prose.limits) and self.prose.limits or nil
  autonomous.actions = autonomous.actions or raw.actions == nil and actions or nil
end

-- Numbered documents for the loop of the actions have exactly these names.
local function is_loop(one)
  return one.base:lower():match "^[%d._-]*(.*)$" == "orchestrator"
end

-- A phase of the documents; findings about it name its place.
local function add_phase(self, list, phase, file)
  list[#list + 1] = phase
  self.places[("sequential_config.phases[%d]"):format(#list)] = { file = file, line = 1 }
  return phase
end

local function phases_of(self)
  local list, made, steps = json.array {}, { outputs = {}, text = "" }, {}
  for _, one in ipairs(self.phase_files) do
    steps[#steps + 1] = not is_loop(one) and one or nil
  end
  local stated = flow.read(self.tree, steps, self.found)
  self.stated = stated
  for place in ipairs(steps) do
    local index = stated.order and stated.order[place] or place
    local one = steps[index]
    local phase = add_phase(self, list, phase_md.phase(one, self.tree:document(one.path), made, self.found), one.path)
    local own, mode = phase.condition, modes_of.condition(stated.modes, index)
    phase.condition = own and mode and ("(%s) && (%s)"):format(own, mode) or own or mode
    made.text = made.text .. "\n" .. (self.tree:read(one.path) or "")
  end
  self.flow = { phases = list, inputs = modes_of.inputs(stated.modes) }
  stated:conclude(list)
  return list
end

-- The position of the loop among numbered phases: at the file called orchestrator.
local function order_of(self)
  local order, loop = json.array {}, false
  for i, one in ipairs(self.phase_files) do
    order[i], loop = is_loop(one) and "@autonomous" or one.id, loop or is_loop(one)
  end
  if not loop then
    self.found:warn("hybrid-order", { file = "phases" },
      "no document says between which phases the loop of actions runs")
  end
  return loop and order or nil
end

-- workflow.json defines a sequential run (R28); a config next to it describes it.
local function join_workflow(self, raw, from)
  local own = object(raw.sequential_config)
  for key, value in pairs(from) do
    raw[key] = tables.first(raw[key], value)
  end
  local ours, theirs = tables.object(own and own.phases), from.sequential_config.phases
  for i = 1, own and math.max(#ours, #theirs) or 0 do
    local a, b = tables.object(ours[i]), tables.object(theirs[i])
    for _, key in ipairs { "id", "condition", "output" } do
      local mine = a[key] ~= json.null and a[key] or nil
      if own.phases ~= theirs and mine ~= b[key] and not (key == "output" and mine == nil) then
        self.found:warn("workflow-differs", self.workflow_at(("sequential_config.phases[%d].%s"):format(i, key)),
          ("phase %d: its %s differs from skill-config.json"):format(i, key))
        own.phases = theirs
      end
    end
  end
end

local function read_files(self)
  local tree, found = self.tree, self.found
  local raw, at = read_json(self, tree:first "skill-config.json")
  if raw ~= nil and not object(raw) then
    found:error("config", { file = "skill-config.json", line = 1 }, "must be an object")
    raw, self.broken = nil, true
  end
  self.config, self.config_at = raw and true or false, at
  raw = raw or {}
  local path = tree:first("workflow.json", "phases/workflow.json")
  local document, workflow_at
  if self.given then
    path, document = "workflow.json", json.decode(self.given)
    workflow_at = json_lines.places(path, self.given)
  elseif self.given == nil then
    document, workflow_at = read_json(self, path)
  end
  if path == "phases/workflow.json" and self.given == nil then
    found:warn("workflow-place", { file = path }, "is in phases/; it belongs next to SKILL.md")
  end
  if document == nil then
    return raw
  end
  local from
  from, self.workflow_at, self.flow = workflow.config(document, workflow_at, found)
  self.broken = self.broken or not from
  self.workflow = from and path
  if from and from.sequential_config then
    join_workflow(self, raw, from)
  end
  return raw
end

-- What a router chooses among: the folder, the word for one of them, the names of its files.
local ROUTES = {
  { folder = "roles", word = "role", files = { "^roles/([^/]+)%.md$", "^roles/([^/]+)/role%.md$" } },
  { folder = "workflows", word = "workflow", files = { "^workflows/([^/]+)%.md$" } },
  { folder = "skills", word = "skill", files = { "^skills/([^/]+)/SKILL%.md$" } },
}

-- The documents of one kind; except for roles, SKILL.md must refer to at least two of them.
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

-- Each of them is a step that runs if it is asked for; SKILL.md runs if none is.
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
    add_phase(self, phases, { id = one.name, name = one.name, output = one.name .. ".md", condition = condition },
      one.path)
    self.prompts[one.name], shown[i] = one.path, one.name
  end
  if list then
    phases[1].condition = "!input." .. route.word
    self.flow.inputs = { [route.word] = { one_of = shown, default = "SKILL.md" } }
    self.found:note("router", { file = "SKILL.md", line = 1 },
      ("its %s (%s) are alternatives"):format(route.folder, table.concat(shown, ", ")), nil,
      ("run one with --set %s=%s"):format(route.word, shown[1]))
  end
end

-- A script in it that may be a skill: a workflow, or Lua that uses skillrt.
local function script_in(tree)
  for _, kind in ipairs { { "%.js$", "export const meta" }, { "%.lua$", "skillrt" } } do
    for _, path in ipairs(tree:within("", kind[1])) do
      if (tree:read(path) or ""):find(kind[2], 1, true) then
        return path
      end
    end
  end
end

-- A folder that is only a SKILL.md is one step.
local function one_step(self, raw)
  if not self.skill_md then
    -- A script is what runs; and it was reported why a SKILL.md, or the folder, was not read.
    if not self.tree.kinds["SKILL.md"] and not self.tree:first("skill.lua") and not self.found:errors() then
      local skills, script = self.tree:skills(), script_in(self.tree)
      local fix = script and ("name a script: %s/%s"):format(self.tree.dir, script)
      if self.tree:first("run.lock") then
        fix = ("it is a run: skillrt resume %s"):format(self.tree.dir)
      end
      if skills[1] then
        fix = ("give one of the skills below it (%d): %s/%s"):format(#skills, self.tree.dir, skills[1])
      end
      self.found:error("nothing", { file = "." },
        "holds no SKILL.md, no phases, no actions, no config and no skill.lua", nil, fix)
    end
    self.broken = true
    return
  end
  local phases = json.array { { id = "run", name = raw.display_name, output = "run.md" } }
  raw.sequential_config, self.flow = { phases = phases }, { phases = phases }
  add_routes(self, phases)
  self.prompts.run, self.plain = "SKILL.md", true
end

local function name_of(self, raw)
  local name = raw.skill_name
  local said = self.skill_md and self.skill_md.name
  if type(name) == "string" and said and said ~= name then
    self.found:warn("name-differs", { file = "SKILL.md", line = self.skill_md.lines.name },
      ("name %s differs from skill_name %s of the config"):format(names.show(said), names.show(name)))
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
  local description = md.description and cut(md.description, MAX_DESCRIPTION, "")
  self.description = raw.description == nil and md.description or nil -- whole, as it stands there
  raw.description = raw.description or description or (not self.config and self.name) or nil
  if raw.allowed_tools == nil and #(md.allowed_tools or {}) > 0 then
    raw.allowed_tools = json.array(md.allowed_tools)
  end
end

---Combines what the folder says; the parts stay in `self`.
---@param self table  tree, found, prose, skill_md; gets places, prompts, registry and more
---@return table raw  a skill-config
function M.raw(self)
  self.places, self.prompts, self.asks = {}, {}, {}
  local raw = read_files(self)
  local actions = actions_in(raw)
  if self.prose.machine and (object(raw.autonomous_config) or {}).machine == nil then -- else it was made from that
    self.found:warn("machine-unread", self.prose.machine, "a table of states and the actions between them is not read")
  end
  local has_actions = actions ~= nil or #self.prose.order > 0
  self.phase_files = phase_md.files(self.tree, self.found, has_actions)
  for _, one in ipairs(self.phase_files) do
    self.prompts[one.id] = one.path
  end
  if actions then
    fill_actions(self, actions)
  elseif raw.execution_mode ~= "sequential" and not (self.config and raw.execution_mode == nil) then
    actions = actions_of(self)
  end
  local has_phases = object(raw.sequential_config) or raw.phases or #self.phase_files > 0
  raw.execution_mode = raw.execution_mode
    or #(actions or {}) > 0 and (has_phases and "hybrid" or "autonomous") or "sequential"
  self.has_loop = raw.execution_mode ~= "sequential"
  if self.has_loop then
    fill_loop(self, raw, actions)
  end
  fill_heads(self, raw)
  if raw.execution_mode ~= "autonomous" and raw.sequential_config == nil and raw.phases == nil then
    raw.sequential_config = { phases = phases_of(self) }
    if #raw.sequential_config.phases == 0 and not self.has_loop then
      one_step(self, raw)
    elseif self.has_loop then
      local own = part(raw, "x_skillrt")
      own.hybrid = tables.first(own.hybrid, { order = order_of(self) })
    end
  end
  return raw
end

return M
