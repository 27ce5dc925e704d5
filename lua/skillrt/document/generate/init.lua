-- document/generate/init.lua: makes the files of a skill folder from a skill-config: paths and texts, without
-- writing.
--
-- The same config gives the same bytes. generate/*.lua compute what each document needs; templates/<lang>/*.mustache
-- hold the text. Called by cli/writing.lua and init.lua.
local action = require "skillrt.document.generate.action"
local action_catalog = require "skillrt.document.generate.action_catalog"
local check = require "skillrt.document.check"
local config_of = require "skillrt.document.generate.config"
local orchestrator = require "skillrt.document.generate.orchestrator"
local load_config = require "skillrt.document.load.config"
local machine_md = require "skillrt.document.generate.machine_md"
local ordered = require "skillrt.document.generate.ordered"
local skill_md = require "skillrt.document.generate.skill_md"
local spec_study = require "skillrt.document.generate.spec_study"
local state_schema = require "skillrt.document.generate.state_schema"
local tables = require "skillrt.base.tables"
local template = require "skillrt.base.template"
local templates = require "skillrt.document.generate.templates"
local view = require "skillrt.document.generate.view"
local workflow = require "skillrt.document.generate.workflow"

local M = {}

---@class skillrt.generate.File
---@field path string relative to the skill's folder
---@field text string
---@field once boolean? an outline for a person to fill in: written only if the file does not exist

---@class skillrt.generate.Options
---@field lang "en"|"zh"|nil default "en"
---@field templates string|(fun(name: string, lang: string): string?)|nil templates that override ours

local SHOWN <const> = { strict = true, filters = view.FILTERS }

-- Collects files; the first template that fails stops the rest.
local function new_writer(find)
  local files, compiled = {}, {}
  local writer = { files = files }

  -- Each template is looked up and compiled once.
  local function template_of(name)
    local text = find(name)
    if not text then
      error({ message = ("templates: no template is called '%s'"):format(name) }, 0)
    end
    local made, message = template.compile(text, { name = name .. ".mustache" })
    if not made then
      error({ message = message }, 0)
    end
    compiled[name] = made
    return made
  end

  function writer.text(path, text, once)
    files[#files + 1] = { path = path, text = text, once = once }
  end

  function writer.render(path, name, data, once)
    local result, message = (compiled[name] or template_of(name)):render(data, find, SHOWN)
    if not result then
      error({ message = message }, 0)
    end
    writer.text(path, result, once)
  end

  return writer
end

local function write_phases(writer, config, shared)
  for _, one in ipairs(shared.phases) do
    writer.render(("phases/%s.md"):format(one.id), "phase", view.with(shared, { up = "../" }, one))
  end
  if #shared.phases > 0 or config.execution_mode == "hybrid" then
    writer.text("workflow.json", ordered.encode(workflow.document(config, shared), "workflow") .. "\n")
  end
end

local function write_loop(writer, config, shared)
  writer.render("phases/state-schema.md", "state-schema", state_schema.data(config, shared))
  if shared.machine then
    writer.render("phases/_orchestrator.md", "machine-orchestrator", machine_md.data(config, shared))
  else
    writer.render("phases/orchestrator.md", "orchestrator", orchestrator.data(config, shared))
  end
  writer.render("specs/action-catalog.md", "action-catalog", action_catalog.data(config, shared))
  for _, one in ipairs(shared.actions) do
    writer.render(("phases/actions/%s.md"):format(one.id), "action", action.data(config, shared, one))
  end
end

-- Documents that the config names: an outline for each that skillrt does not write itself.
local function write_outlines(writer, config, shared)
  local written = tables.by(writer.files, "path")
  for _, list in ipairs { config.specs, config.templates } do
    for _, entry in ipairs(list) do
      if not written[entry.path] then
        written[entry.path] = true
        writer.render(entry.path, "document-skeleton", spec_study.outline(shared, entry), true)
      end
    end
  end
end

local function write_all(writer, config, definition, lang)
  local shared = view.of(config, lang)
  shared.definition = definition
  writer.render("phases/00-spec-study.md", "spec-study", spec_study.data(shared))
  if not shared.autonomous then
    writer.render("phases/_orchestrator.md", "sequential-orchestrator", view.with(shared, {}))
  end
  if not shared.autonomous then
    write_phases(writer, config, shared)
  end
  if shared.loop then
    write_loop(writer, config, shared)
  end
  writer.text("skill-config.json", ordered.encode(config, "config") .. "\n")
  writer.render("skill.lua", "skill-lua", shared)
  writer.render("SKILL.md", "skill", skill_md.data(config, shared, writer.files))
  write_outlines(writer, config, shared)
  table.sort(writer.files, function(a, b)
    return a.path < b.path
  end)
  return writer.files
end

-- What a check finds wrong with the skill: the folder is written anyway.
local function check_run(definition, findings)
  for _, one in ipairs(check.check(definition, { space = false }).findings) do
    if one.level ~= "note" then
      findings:add(one.code, {}, ("%s: %s"):format(one.what, one.why), { level = "warning", fix = one.fix })
    end
  end
end

---The files of the folder a config describes, sorted by path. Writes nothing.
---@param config table a decoded skill-config.json; not changed
---@param options skillrt.generate.Options?
---@return skillrt.generate.File[]? files
---@return string? message
---@return string? code "invalid"
---@return skillrt.Finding[] findings errors and warnings about the config
function M.generate(config, options)
  options = options or {}
  local lang = options.lang or "en"
  if not templates.has_language(lang) then
    error(("generate: options.lang is \"en\" or \"zh\", not %s"):format(tostring(lang)), 2)
  end
  local normal, message, code, findings = config_of.normalise(config)
  if not normal then
    return nil, message, code, findings
  end
  local definition = assert(load_config.definition(normal, { agents_required = false }))
  check_run(definition, findings)
  local writer = new_writer(templates.finder(lang, options.templates))
  local ok, result = pcall(write_all, writer, normal, definition, lang)
  if ok then
    return result, nil, nil, findings
  elseif type(result) == "table" and result.message then
    return nil, result.message, "invalid", findings
  end
  error(result, 0)
end

return M
