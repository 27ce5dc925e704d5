-- cli/command/generate.lua: `skillrt generate CONFIG --out DIR`: a skill-config into the folder of a skill.

local core = require("skillrt.core")

local M = {
  name = "generate",
  summary = "Generates the folder of a skill from its skill-config.json",
  description = "One that was interrupted is finished by the next, and no run begins before. What a person changed in "
    .. "a file is kept, and merged with what is generated now; where both changed the same lines, it is not "
    .. "overwritten without --force, nor is another skill. Outlines for people to fill in are written only where "
    .. "none is. The folder keeps the digests of what was generated in .skillrt-generated.json.",
  arguments = { { name = "CONFIG", help = "a skill-config.json, or a folder that holds one" } },
  options = {
    { name = "out", value = "DIR", help = "where the skill's folder is, or is to be", needed = true },
    {
      name = "lang",
      value = "LANG",
      choices = { "en", "zh" },
      help = "the documents' language: en or zh; default: the folder's, else en",
    },
    { name = "templates", value = "DIR", help = "templates that replace ours, file by file" },
    { name = "force", help = "overwrites what a person changed, after showing what differs, or another skill" },
    { name = "dry-run", help = "shows what would be written, and what differs; writes nothing" },
    { name = "strict", help = "a warning about the config stops it, as an error does" },
    { name = "quiet", help = "only the last line, warnings and errors" },
  },
}

local MAX_CONFIG = 16 << 20

-- The config's text and path; a folder means the config in it.
local function read(path)
  local files = require("skillrt.base.files")
  local info, message, code = files.stat(path)
  if info and info.kind == "directory" then
    path = path:gsub("(.)/$", "%1") .. "/skill-config.json"
  elseif not info then
    return nil, message, code
  end
  local text
  text, message, code = files.read(path, MAX_CONFIG)
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
  return nil, dir .. ": holds no template; the names are those of docs/templates.md, such as en/skill.mustache"
end

---@param args table
---@return integer code
function M.run(args)
  local ending = require("skillrt.cli.ending")
  if not args.out or args.out == "" then
    return require("skillrt.cli.help").wrong(M, "--out DIR is needed: where the skill's folder is to be")
  end
  local writing = require("skillrt.cli.writing")
  local text, path, code = read(args.config)
  if not text then
    return ending.refused(path, code)
  end
  local config, problem = core.json.decode((text:gsub("^\u{FEFF}", "")))
  if config == nil then
    return ending.refused(("%s: %s"):format(path, problem), "invalid")
  elseif args.templates then
    local ok, message = has_templates(args.templates)
    if not ok then
      return ending.refused(message, "missing")
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
