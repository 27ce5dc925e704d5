-- document/load/folder.lua: converts a skill's folder to the definition for skillrt.skill, with all findings.
--
-- Runs nothing: document/open.lua runs a skill.lua. Called by document/load/init.lua.
local agent_file = require "skillrt.agent.file"
local files = require "skillrt.base.files"
local findings = require "skillrt.document.findings"
local json_lines = require "skillrt.document.load.json_lines"
local foreign = require "skillrt.document.load.foreign"
local load_config = require "skillrt.document.load.config"
local markdown = require "skillrt.document.load.markdown"
local names = require "skillrt.base.names"
local prose = require "skillrt.document.load.prose"
local references = require "skillrt.document.load.references"
local skill_md = require "skillrt.document.load.skill_md"
local sources = require "skillrt.document.load.sources"
local tables = require "skillrt.base.tables"
local tree_of = require "skillrt.document.load.tree"
local workflow = require "skillrt.document.load.workflow"
local ends = require "skillrt.skill.ends"

local M = {}


---@class skillrt.load.Document  what is at a path, for whoever runs or checks it
---@field kind "folder"|"config"|"workflow"|"agent"|"script"
---@field path string
---@field dir string
---@field name string?
---@field script string?           the folder's skill.lua, which alone defines what runs
---@field definition table?        for skillrt.skill; nil: nothing can run
---@field stated skillrt.load.Flow?  what documents state about the order of phases
---@field asks { text: string, file: string, line: integer, action: string, told: skillrt.load.Told }[]?  preconditions
---  of actions that are prose
---@field compiled table?           the sources of its workflow.json made by `skillrt compile`
---@field config table?            the skill-config it was made from, as given
---@field findings skillrt.Findings
---@field tree skillrt.load.Tree?  the folder's files
---@field skill_md skillrt.load.SkillMd?
---@field prose skillrt.load.Prose?  links, graphs, registries and states of its documents
---@field phase_files skillrt.load.PhaseFile[]?
---@field specs { path: string, file: string, line: integer? }[]?  Phase 0 (F15)
---@field place fun(key: string): { file: string, line: integer? }  the place of a key of the config

-- A workflow.md whose steps are in documents next to it.
local function is_workflow(tree)
  return tree:has "workflow.md" and tree:within("steps", "^step[-_]?%d.*%.md$")[1] ~= nil
end

-- Whether nothing in a folder is a part of a skill.
local function holds_nothing(tree)
  return not tree:first("SKILL.md", "skill-config.json", "workflow.json", "skill.lua",
    "agent.yml", "agent.yaml", "specs/action-catalog.md", "orchestrator.md", "action-catalog.md", "state-schema.md")
    and not tree.kinds.phases and not tree.kinds.actions and not is_workflow(tree)
end

local function read_skill_md(self, path)
  if self.tree.kinds["SKILL.md"] == "link" then
    return -- it was reported that it is not read
  elseif not self.tree:has "SKILL.md" then
    if self.tree:has "skill.lua" or holds_nothing(self.tree) then
      return -- the script is what runs; or nothing does, which is said
    end
    local tell = is_workflow(self.tree) and self.found.note or self.found.warn
    tell(self.found, "no-skill-md", { file = "SKILL.md" }, "is not there", "hosts do not find the skill", "add one")
    return
  end
  local other = self.tree.real["SKILL.md"]
  if other then
    self.found:warn("no-skill-md", { file = other }, "is read as SKILL.md", "hosts do not find the skill",
      ("rename %s"):format(other))
  end
  local text = self.tree:read "SKILL.md"
  if text then
    local folder = path:match "([^/]+)/*$"
    folder = folder ~= "." and folder ~= ".." and folder or nil
    self.skill_md = skill_md.read(text, "SKILL.md", folder, self.found)
    self.skill_md.title = markdown.title(self.tree:document "SKILL.md")
  end
end

-- The place of a key of the config: in the document it was read from, else in the config.
local function place_of(self)
  local at = self.config_at or self.workflow_at
  return function(key)
    local known = json_lines.nearest(self.places, key)
    if known or not at then
      return known or { file = self.skill_md and "SKILL.md" or "." }
    end
    return at(key)
  end
end

-- A prompt with blanks in its path would be taken for the text itself.
local function prompt_at(self, path)
  if path:find "[%s]" then
    local text = self.tree:read(path)
    return text and text .. "\n"
  end
  return self.tree:unlinked(path)
end

-- `key`: the place of the step in the config.
local function set_prompt(self, step, kind, path, key)
  if self.tree:has(path) then
    step.prompt = prompt_at(self, path)
    return
  end
  step.prompt = nil
  if kind == "action" and ends.TERMINAL[step.id] then
    step.agent = nil -- it ends the run; a document is an optional hook (F27)
    return
  end
  local what = ("%s %s has no document"):format(kind, step.id)
  local fix = ("write phases/%s%s.md"):format(kind == "action" and "actions/" or "", step.id)
  self.found:warn("no-document", self.place(key), what, nil, fix)
end

local function set_prompts(self, definition)
  for i, step in ipairs(definition.actions or {}) do
    local said = self.prose.actions[step.id]
    set_prompt(self, step, "action", said and said.path or ("phases/actions/%s.md"):format(step.id),
      ("autonomous_config.actions[%d]"):format(i))
  end
  for i, step in ipairs(definition.phases or {}) do
    local key, agent = ("sequential_config.phases[%d]"):format(i), definition.agents[step.agent]
    if agent and agent.kind == "skill" then
      step.prompt = nil
      if not files.stat(files.join(self.tree.dir, agent.skill .. "/SKILL.md")) then
        self.found:error("workflow", self.place(key), ("phase %s: there is no skill %s"):format(step.id, agent.skill))
        self.broken = true
      end
    elseif step.run then -- a person is asked
      step.prompt = nil
    else
      set_prompt(self, step, "phase", self.prompts[step.id] or ("phases/%s.md"):format(step.id), key)
    end
  end
end

-- The documents that bind every step (Phase 0): the config's specs, or those SKILL.md requires.
local function specs_of(self, raw)
  local out = {}
  for i, one in ipairs(tables.object(raw.specs)) do
    local path = type(one) == "table" and one.path or one
    local place = self.place(("specs[%d]"):format(i))
    out[#out + 1] = type(path) == "string" and { path = path, file = place.file, line = place.line } or nil
  end
  if raw.specs == nil then
    for _, one in ipairs(references.mandatory(self.tree)) do
      out[#out + 1] = { path = one.path, file = "SKILL.md", line = one.line }
    end
  end
  local there = {}
  for _, one in ipairs(out) do
    if self.tree:has(one.path) then
      there[#there + 1] = self.tree:unlinked(one.path)
    else
      self.found:error("spec-missing", one,
        ("%s must be read first (Phase 0), but is not there"):format(names.show(one.path)))
      there[#there + 1] = names.confined(one.path)
    end
  end
  return out, there
end

-- Other files that decide, besides prompts: pinned with the run, so that a change is noticed.
local function documents_of(self, definition)
  local out = { self.workflow }
  if self.skill_md and (self.config or self.workflow) then
    out[#out + 1] = "SKILL.md" -- its body goes into every prompt
  end
  if not self.config and definition.actions then
    table.move(self.prose.documents, 1, #self.prose.documents, #out + 1, out)
  end
  out[#out + 1] = definition.mcp and ".mcp.json" -- and what it starts, too
  for i, path in ipairs(out) do
    out[i] = self.tree:unlinked(path)
  end
  return #out > 0 and out or nil
end

-- The file a resumed run loads again.
local function source_of(self)
  for _, path in ipairs { "skill-config.json", "workflow.json", "SKILL.md" } do
    if self.tree:has(path) then
      return self.tree.dir .. "/" .. self.tree:unlinked(path)
    end
  end
  return nil
end

-- An agent.yml is a skill only if nothing else is one.
local function tell_agent(self)
  local tree = self.tree
  local path = tree:first("agent.yml", "agent.yaml")
  if path then
    local other = tree:first("SKILL.md", "skill-config.json", "workflow.json", "skill.lua", "specs/action-catalog.md")
    local what = ("is not read: %s says what the skill is"):format(other or "phases/")
    local fix = ("give it by itself (skillrt check %s/%s), or move it into a folder of its own"):format(tree.dir, path)
    self.found:note("agent-unread", { file = path }, what, nil, fix)
  end
end

local function tell_code(self)
  for _, one in ipairs(self.prose.code) do
    local what = ("%s is code that decides what is next"):format(one.name)
    self.found:note("decision-code", one, what)
  end
  for _, one in ipairs(self.prose.odd) do
    self.found:warn("table-row", one, ("a row of an action table names no action: %s"):format(one.text))
  end
end

-- What a workflow.json leaves out; and the documents it was compiled from that have changed since.
local function tell_workflow(self)
  local runs = tables.by(self.workflow and self.flow.phases, "id")
  for _, one in ipairs(self.workflow and self.phase_files or {}) do
    if not runs[one.id] and not one.base:lower():find "orchestrator$" then
      self.found:note("workflow", { file = one.path }, ("is no phase of %s"):format(self.workflow), "it does not run")
    end
  end
  local compiled = self.flow and self.flow.compiled
  local changed = compiled and workflow.changed(compiled, workflow.digests(self.tree, self.phase_files,
    self.prose.documents)) or {}
  if changed[1] then
    self.found:warn("compiled-changed", { file = self.workflow, line = 1 },
      ("was compiled before these documents changed: %s"):format(table.concat(changed, ", ")),
      "what it says is what runs", ("skillrt compile %s --agent WHO asks about them again"):format(self.tree.dir))
  end
end

local function definition_of(self, raw, options)
  if self.broken then
    return nil -- reported already; what a half-read config lacks is no news
  end
  local definition, _, _, list = load_config.definition(raw, {
    folder = self.tree.dir,
    source = source_of(self),
    agents = options.agents,
    agents_required = false,
  })
  self.found:take_all(list, self.place)
  if not definition then
    return nil
  end
  definition.name, definition.description = self.name, self.description or definition.description
  definition.sandbox = definition.sandbox or self.skill_md and self.skill_md.sandbox
  if not files.stat(self.tree.dir .. "/skill-config.json") then
    definition.protocol = nil -- a hand-written page has no time limit of half an hour; its steps only give warnings
  end
  if self.untyped then
    definition.schema = nil
  end
  if self.flow then
    workflow.apply(definition, self.flow)
  end
  for _, phase in ipairs(self.plain and definition.phases or {}) do
    phase.output_free, phase.answer, phase.input = true, "text", nil
  end
  set_prompts(self, definition)
  workflow.ask(definition, self.flow)
  return not self.broken and definition or nil
end

local MAX_RESOURCES <const> = 200

---@class skillrt.Guide
---@field body string?
---@field tools string[]?
---@field resources { path: string, size: integer }[]?  of a plain skill: its other files
---@field more integer?       files that are not listed
---@field is_plain boolean?   only a page of instructions: it gets a task
---@field placeholders { arguments: string[]|nil, first: integer|nil }?  first: the number of the task's first word,
---  `$0` or `$1`; nil: neither occurs
---@field is_command boolean? a slash command: its arguments may be left out
---@field steps skillrt.PageStep[]?  by section: given one at a time; the body contains their titles

-- Other skills in the folder, and files that no agent reads, are no resources.
local function is_resource(path)
  return path ~= "SKILL.md" and not path:find "^%.[^/]" and not path:find "/%.[^/]" and not path:find "%.pyc$"
end

local function resources_of(tree)
  local list, more = {}, 0
  for _, path in ipairs(tree.paths) do
    if is_resource(path) and #list < MAX_RESOURCES then
      local info = files.stat(files.join(tree.dir, path))
      list[#list + 1] = { path = path, size = info and info.size or 0 }
    elseif is_resource(path) then
      more = more + 1
    end
  end
  return #list > 0 and list or nil, more > 0 and more or nil
end

-- What SKILL.md adds to every prompt: its body, the tools it allows, and for a plain skill the files to read further
-- (three levels of disclosure).
local function guide_of(self)
  local md = self.skill_md
  if not md then
    return nil
  end
  local guide = { body = md.body, is_plain = self.plain }
  guide.placeholders = skill_md.placeholders({ body = md.body, body_line = md.body_line, arguments = md.arguments,
    hint = md.hint, file = "SKILL.md", is_plain = self.plain }, self.found)
  if #(md.allowed_tools or {}) > 0 then
    guide.tools = md.allowed_tools
  end
  if self.plain then
    guide.resources, guide.more = resources_of(self.tree)
  end
  return guide
end

-- The documents that an agent is sent or reads: those that decide, and those of phases.
local function read_documents(self)
  local out = tables.append({}, self.prose.documents)
  for _, one in ipairs(self.phase_files or {}) do
    out[#out + 1] = one.path
  end
  return out
end

-- The servers that a folder lists for other programs, which of them would be refused, and which settings have no
-- meaning here.
local function add_servers(self, definition, path)
  if definition.mcp ~= nil or not files.stat(path) then
    return
  end
  local mcp, file = require("skillrt.tool.mcp.server"), ".mcp.json"
  local servers, notes = mcp.of_file(path)
  definition.mcp = servers or file
  if not servers then
    local text = notes --[[@as string]]
    local what = text:sub(1, #path + 2) == path .. ": " and text:sub(#path + 3) or text
    self.found:add("skill.invalid", { file = file, line = tonumber(what:match("^JSON: line (%d+)")) }, what)
  end
  for _, name in ipairs(names.sorted(servers or {})) do
    servers[name].sandbox_default = "strict"
    local _, message = mcp.check(name, servers[name], file)
    if message then
      self.found:add("skill.invalid", { file = file }, message:sub(#file + 3))
    end
  end
  for _, one in ipairs(servers and notes or {}) do
    self.found:add("load.mcp-unread", { file = file }, one.text, { level = one.level })
  end
end

---Reads a skill's folder. Always returns a document; without a definition nothing in it can run.
---@param dir string
---@param options { agents: table<string, table>?, workflow: string|false|nil }?
---@return skillrt.load.Document
function M.read(dir, options)
  local found = findings.new()
  local self = { found = found, tree = tree_of.open(dir, found), places = {}, given = (options or {}).workflow }
  if holds_nothing(self.tree) and foreign.folder(self.tree, found) then
    self.place = place_of(self)
    return { kind = "folder", path = dir, dir = dir, findings = found, tree = self.tree, place = self.place,
      specs = {} }
  end
  read_skill_md(self, dir)
  foreign.chains(self.tree, found)
  tell_agent(self)
  self.prose = prose.read(self.tree, found)
  local raw = sources.raw(self)
  self.place = place_of(self)
  local definition = definition_of(self, raw, options or {})
  local specs, there = specs_of(self, raw)
  if definition then
    definition.specs = #there > 0 and there or nil
    add_servers(self, definition, dir .. "/.mcp.json")
    definition.documents = documents_of(self, definition)
    definition.guide = guide_of(self)
    agent_file.with_front(definition.agents, self.skill_md or {})
    tell_code(self)
  end
  tell_workflow(self)
  references.check(self.tree, read_documents(self), found, tables.by(specs, "path"))
  return {
    kind = "folder",
    path = dir,
    dir = dir,
    name = self.name,
    definition = definition,
    stated = self.stated,
    asks = self.asks,
    compiled = self.flow and self.flow.compiled,
    config = raw,
    findings = found,
    tree = self.tree,
    skill_md = self.skill_md,
    prose = self.prose,
    phase_files = self.phase_files,
    specs = specs,
    place = self.place,
  }
end

return M
