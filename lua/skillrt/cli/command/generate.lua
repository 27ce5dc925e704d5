-- cli/command/generate.lua: `skillrt generate CONFIG --out DIR`: generates a skill's folder from a skill-config.

local core = require("skillrt.core")

local M = {
  name = "generate",
  summary = "Generates a skill's folder from its skill-config.json",
  description = "Changes that a person made to a generated file are kept and merged. If both changed the same "
    .. "lines, or the folder holds another skill, nothing is overwritten without --force. Outlines for "
    .. "people to fill in are written once. An interrupted skillrt generate is finished by the next one.",
  arguments = { { name = "CONFIG", help = "a skill-config.json, or the folder it is in" } },
  options = {
    { name = "out", value = "DIR", help = "the skill's folder; created if it does not exist", needed = true },
    {
      name = "lang",
      value = "LANG",
      choices = { "en", "zh" },
      help = "the documents' language: en or zh; default: the folder's, else en",
    },
    { name = "templates", value = "DIR", help = "your own templates; each replaces the built-in one of its name" },
    { name = "force", help = "overwrites changed files and other skills, after showing the differences" },
    { name = "dry-run", help = "shows what would be written and what differs; writes nothing" },
    { name = "strict", help = "treats warnings about the config as errors" },
    { name = "quiet", help = "prints warnings, errors and the last line only" },
  },
}

local MAX_CONFIG = 16 << 20

-- The config's text and path; for a folder, the config in it.
local function read(path)
  local files = require("skillrt.base.files")
  local info, message, code = files.stat(path)
  if info and info.kind == "directory" then
    path = path:gsub("(.)/$", "%1") .. "/skill-config.json"
  elseif not info then
    return nil, message, code
  end
  local text
  text, message, code = files.read(path, MAX_CONFIG, true)
  return text, text and path or message, code
end

local function has_templates(dir)
  local files = require("skillrt.base.files")
  local list, message = files.list(dir)
  if not list then
    return nil, message
  end
  for _, folder in ipairs({ "", "/en", "/zh" }) do
    for _, entry in ipairs(files.list(dir .. folder) or {}) do
      if entry.name:find("%.mustache$") then
        return true
      end
    end
  end
  return nil, dir .. ": contains no template, such as en/skill.mustache (docs/reference/templates.md lists them)"
end

---@param args table
---@return integer|nil code
function M.run(args)
  if args.out == "" then
    return require("skillrt.cli.help").wrong(M, "--out DIR: name the skill's folder")
  end
  local writing = require("skillrt.cli.writing")
  local text, path, code = read(args.config)
  if not text then
    return nil, path, code
  end
  local config, problem = core.json.decode((text:gsub("^\u{FEFF}", "")))
  if config == nil then
    return nil, ("%s: %s"):format(path, problem), "invalid"
  elseif args.templates then
    local ok, message = has_templates(args.templates)
    if not ok then
      return nil, message, "missing"
    end
  end
  return writing.generate(config, path, {
    out = args.out,
    lang = args.lang,
    templates = args.templates,
    source = text,
    force = args.force,
    dry_run = args.dry_run,
    strict = args.strict,
    quiet = args.quiet,
  })
end

return M
