-- document/load/init.lua: loads a skill from a folder, a skill-config.json, a workflow.json or an agent.yml: gives
-- one normal form, the table for skillrt.skill, with findings about what was read.
--
-- In a folder skill.lua comes first, then the JSON files, then the documents. Called by document/check/subject.lua
-- and document/open.lua.
local choice = require "skillrt.agent.choice"
local agents_of = require "skillrt.document.load.config_agents"
local files = require "skillrt.base.files"
local findings = require "skillrt.document.findings"
local names = require "skillrt.base.names"
local skill = require "skillrt.skill"

local M = {}

local MAX_CONFIG = 16 << 20

---@class skillrt.load.Options
---@field agent table|string|nil  the agent of steps without one: an agent, an address or a program
---@field agent_env string[]?  environment variables to pass to this agent's program
---@field agents table<string, table>?  by the name a step asks for; "*" for all others
---@field by_section boolean?  each numbered step of a page is a separate call
---@field is_stranger boolean?  its Lua runs in a process of its own
---@field has_own_script boolean?  ... and it defines its skill
---@field sandbox string?  the person's setting for all of it: off
---@field sees boolean|string?  nothing is to run: a script that runs its skill (of that name) itself is stopped there
---@field compiles boolean?  for the run that makes a folder's workflow.json, not the skill
---@field workflow string|false|nil  for a folder: the workflow.json that is used instead of its own; false: none

local function given_agents(options)
  local agents = {}
  for name, agent in pairs(options.agents or {}) do
    agents[name] = agent
  end
  if options.agent ~= nil then
    agents["*"] = choice.of(options.agent, options.agent_env)
  end
  return next(agents) and agents or nil
end

local function read_text(path, document)
  local text, message, code = files.kept(files.dirname(path), path:match "[^/]+$", MAX_CONFIG)
  if not text then
    document.findings:error("unreadable", { file = path }, message)
    document.code = code
  end
  return text and require("skillrt.document.load.markdown").normal(text)
end

local function use_config(document, raw, agents, own)
  local load_config = require "skillrt.document.load.config"
  local options = { agents = agents, agents_required = false, source = document.path, folder = own.folder }
  local definition, _, _, list = load_config.definition(raw, options)
  document.findings:take_all(list, document.place)
  document.definition, document.config = definition, raw
end

local function is_workflow(raw, path)
  return path:find "workflow%.json$" ~= nil or type(raw) == "table" and raw.phases_to_run ~= nil
end

-- The rule for a config's name is stricter than a workflow's, which workflow.config has checked.
local function use_workflow(document, raw, place, agents)
  local name = names.id(raw.skill_name) or "workflow"
  raw.skill_name, raw.display_name = "workflow", raw.display_name or name
  raw.description = raw.description or "A workflow"
  document.place = place
  use_config(document, raw, agents, {})
  raw.skill_name = name
  if document.definition then
    document.definition.name = name
  end
end

local function read_json(document, agents)
  local path = document.path
  local text = read_text(path, document)
  if not text then
    return
  end
  local raw
  raw, document.place = require("skillrt.document.load.json_lines").read(path, text, document.findings)
  if raw == nil then
    return
  elseif is_workflow(raw, path) then
    document.kind = "workflow"
    local place, flow
    local workflow = require("skillrt.document.load.workflow")
    raw, place, flow = workflow.config(raw, document.place, document.findings)
    if raw then
      use_workflow(document, raw, place, agents)
    end
    if document.definition then
      workflow.apply(document.definition, flow)
      workflow.ask(document.definition, flow)
    end
  else
    local kind = require("skillrt.document.load.foreign").json(raw)
    if kind then
      require("skillrt.document.load.foreign").tell(document.findings, { file = path, line = 1 }, kind)
      return
    end
    document.kind = "config"
    local folder = files.dirname(path)
    use_config(document, raw, agents, { folder = files.stat(folder .. "/phases") and folder or nil })
  end
end

local function read_yaml(document, agents)
  document.kind = "agent"
  local text = read_text(document.path, document)
  local name = (document.path:match "([^/]+)%.ya?ml$" or "agent"):gsub("[^%w._-]", "-")
  document.place = function()
    return { file = document.path }
  end
  local agent_yml = require "skillrt.document.load.agent_yml"
  local definition = text and agent_yml.definition(text, document.path, name, document.findings)
  if definition then
    definition.dir, definition.source = document.dir, document.path
    definition.agents, definition.missing = agents_of.only("default", agents)
    document.definition = definition
  end
end

local function read_markdown(document, agents)
  local text = read_text(document.path, document)
  if text then
    require("skillrt.document.load.one_md").read(document, text, agents)
  end
end

local OF_A_FOLDER = { "SKILL.md", "phases", "skill-config.json", "workflow.json", "skill.lua",
  "specs/action-catalog.md" }

-- The agent.yml of a folder without any other part of a skill.
local function agent_in(dir)
  for _, name in ipairs(OF_A_FOLDER) do
    if files.stat(files.join(dir, name)) then
      return nil
    end
  end
  for _, name in ipairs { "agent.yml", "agent.yaml" } do
    local path = files.join(dir, name)
    local info = files.stat(path)
    if info and info.kind == "file" then
      return path
    end
  end
end

-- A config or workflow inside a skill's folder means the folder.
local function folder_of(path)
  local name = path:match "([^/]+)$"
  local is_skill = name:lower() == "skill.md"
  if name ~= "skill-config.json" and name ~= "workflow.json" and not is_skill then
    return nil
  end
  local dir = files.dirname(path)
  return (is_skill or files.stat(dir .. "/SKILL.md") or files.stat(dir .. "/phases")) and dir or nil
end

local function read(path, agents, workflow)
  local dir = files.is_folder(path) and files.bare(path) or folder_of(path)
  local agent = dir and agent_in(dir)
  if dir and not agent then
    return require("skillrt.document.load.folder").read(dir, { agents = agents, workflow = workflow })
  end
  path = agent or path
  local document = { path = path, dir = files.dirname(path), findings = findings.new() }
  if path:find "%.json$" then
    read_json(document, agents)
  elseif path:find "%.ya?ml$" then
    read_yaml(document, agents)
  elseif path:find "%.md$" then
    read_markdown(document, agents)
  else
    document.findings:error("kind", { file = path }, "is neither a folder nor a .lua, .json, .yml or .md file", nil,
      "give a skill's folder, script or config")
  end
  document.name = document.definition and document.definition.name
  return document
end

-- The script of a folder, which alone defines its skill; false: it has none. A folder in the middle of a generation
-- is neither version.
local function script_in(path)
  local dir = files.bare(path)
  if require("skillrt.document.write").is_unfinished(dir) then
    local message = "%s: its generation was interrupted; finish it: skillrt generate %s --out %s"
    return nil, message:format(dir, dir, dir), "invalid"
  end
  return files.is_folder(path) and files.stat(dir .. "/skill.lua") and dir .. "/skill.lua" or false
end

---Reads whatever is at a path, without running any of it. A document without a definition contains nothing that can
---run; its findings say why. If it names a `script`, that defines what runs, and the document is its input.
---@param path string
---@param options skillrt.load.Options?
---@return skillrt.load.Document? document
---@return string? message  if there is nothing at the path, or half of something
---@return string? code
function M.read(path, options)
  local info, message, code = files.stat(path)
  local script
  if info then
    script, message, code = script_in(path)
  end
  if script == nil then
    return nil, message, code
  end
  local document = read(path, given_agents(options or {}), options and options.workflow)
  document.script = script or nil
  require("skillrt.document.load.page_steps").apply(document, options and options.by_section)
  return document
end

local function refused(document)
  local found = document.findings
  found:sort()
  local message = found:errors()
  if not message or document.kind == "folder" then
    message = ("%s: %s"):format(document.path, message or "nothing in it can be run")
  end
  return nil, message, document.code or "invalid", found
end

---Runs a script that gives a skill; configs that it reads use the agents given here.
---@param path string
---@param options skillrt.load.Options?
---@return skillrt.Skill|table|nil skill
---@return string? message
---@return string? code
---@return any traceback
function M.script(path, options)
  options = options or {}
  return require("skillrt.document.script").run(path, { drawn = options.drawn, run = options.run,
    sees = options.sees, agents = given_agents(options) or {} })
end

---The skill of an untrusted script; the folder's documents say what its sandbox grants.
---@param script string
---@param options skillrt.load.Options
---@return skillrt.Skill|nil skill
---@return string? message
---@return string? code
function M.guest(script, options)
  local document = M.read(files.dirname(script), { workflow = false })
  local definition = document and document.definition or {}
  return require("skillrt.document.guest").script(script, { drawn = options.drawn, sandbox = definition.sandbox,
    agents = given_agents(options) })
end

---A skill from a folder, a config, a workflow or an agent.yml.
---@param path string
---@param options skillrt.load.Options?
---@param may (fun(document: skillrt.load.Document?): boolean?, string?, string?)?  the gate, called before anything
---  of it runs
---@return skillrt.Skill? skill
---@return string? message
---@return string? code
---@return skillrt.Finding[]? findings
function M.load(path, options, may)
  options = options or {}
  local script, message, code = script_in(path)
  local document
  if script == false then
    document, message, code = M.read(path, options)
  end
  if script == nil or script == false and not document then
    return nil, message, code
  elseif script and options.by_section then
    return require("skillrt.document.load.page_steps").refuse_script(script)
  elseif document and (not document.definition or document.findings:errors()) then
    return refused(document)
  end
  local ok, why, cause = true, nil, nil
  if may then
    ok, why, cause = may(document)
  end
  if not ok then
    return nil, why, cause
  elseif not document and options.has_own_script then
    return M.guest(script, options)
  elseif not document then
    return M.script(script, options)
  end
  local checked, problem = skill.check(document.definition)
  document.findings:sort()
  if not checked then
    return nil, ("%s: %s"):format(path, problem), "invalid", document.findings
  end
  checked.guest = options.is_stranger and require("skillrt.document.guest").of_folder(checked.dir) or nil
  return checked, nil, nil, document.findings
end

return M
