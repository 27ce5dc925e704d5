-- document/load/skill_md.lua: SKILL.md by the Agent Skills specification: its front matter checked, its body, the
-- files it refers to named but not read (three levels of disclosure).
--
-- Called by folder.lua; `summary` by whoever only lists skills.
local files = require "skillrt.base.files"
local findings = require "skillrt.document.findings"
local form = require "skillrt.document.form"
local front_matter = require "skillrt.document.load.front_matter"
local json_lines = require "skillrt.document.load.json_lines"
local markdown = require "skillrt.document.load.markdown"
local names = require "skillrt.base.names"
local plain = require "skillrt.agent.plain"
local tables = require "skillrt.base.tables"

local M = {}

---@class skillrt.load.SkillMd
---@field name string?
---@field description string?
---@field metadata table?
---@field allowed_tools string[]
---@field sandbox any
---@field arguments any  the names of the words of its task
---@field hint any
---@field lines table<string, integer>
---@field title string?
---@field body string
---@field body_line integer

---The tools of an `allowed-tools`: a list, or a text with commas or blanks between them, as in
---`Read, Bash(git:*), mcp__x__y`.
---@param value any
---@return string[]
function M.tools(value)
  if type(value) == "table" then
    local out = {}
    for _, one in ipairs(value) do
      out[#out + 1] = type(one) == "string" and one or nil
    end
    return out
  elseif type(value) ~= "string" then
    return {}
  end
  local out, at = {}, value:find "[^%s,]"
  while at do
    local word = value:match("^[^%s,()]*%b()[^%s,]*", at) or value:match("^[^%s,]+", at)
    out[#out + 1], at = word, value:find("[^%s,]", at + #word)
  end
  return out
end

-- The names of hosts' placeholders (agent/plain.lua fills them in).
M.FILLED = tables.words "CLAUDE_SKILL_DIR CLAUDE_PLUGIN_ROOT CLAUDE_PROJECT_DIR CLAUDE_SESSION_ID"

-- The names of `arguments`: a list, or a text with blanks between them.
local function names_of(value)
  local list = {}
  for _, one in ipairs(type(value) == "table" and value or { value }) do
    for name in tostring(one):gmatch "[%a_][%w_-]*" do
      list[#list + 1] = name
    end
  end
  return list[1] and list or nil
end

---What the placeholders of a page mean, as far as the page says; and its commands that run before an agent reads the
---page, if the page is the whole skill.
---@param page { body: string, body_line: integer, arguments: any, hint: any, file: string, is_command: boolean?,
---  is_plain: boolean? }
---@param found skillrt.Findings
---@return { arguments: string[]|nil, first: integer|nil, commands: string[]|nil }
function M.placeholders(page, found)
  local line, body = page.body_line, page.body
  local commands, places = plain.commands(body)
  for at, text in body:gmatch "()([^\n]*)\n?" do
    for from = at, page.is_plain and 0 or at + #text do
      if places[from] then
        found:warn("command-unrun", { file = page.file, line = line },
          ("!`%s` is not expanded"):format(places[from].command:match "[^\n]*"))
      end
    end
    for name in text:gmatch "%${(CLAUDE_[%u_]+)}" do
      if not M.FILLED[name] then
        found:warn("prompt.placeholder", { file = page.file, line = line }, ("${%s} is not expanded"):format(name))
      end
    end
    line = line + 1
  end
  local has_zero = body:find "%$0%f[%W]"
  local counts = page.is_command or page.arguments ~= nil or page.hint ~= nil or has_zero
  local from_one = page.is_command and not has_zero
  return { arguments = names_of(page.arguments), first = counts and (from_one and 1 or 0) or nil,
    commands = page.is_plain and commands[1] and commands or nil }
end

-- Checks the keys by their table, and that the folder has the skill's name.
local function check(front, file, folder, found)
  local function at(key)
    return { file = file, line = json_lines.nearest(front.lines, key) or 1 }
  end
  local fields = front.fields
  local ok = form.check("skill_md", fields, found, at)
  if ok and folder and folder ~= fields.name then
    found:warn("skill-folder", at "name", ("name %s differs from its folder %s"):format(names.show(fields.name),
      names.show(folder)))
  end
end

local function text_of(value)
  return type(value) == "string" and value:find "%S" and value or nil
end

---Reads and checks a SKILL.md.
---@param text string
---@param file string     for findings
---@param folder string?  the folder's name, where it is known
---@param found skillrt.Findings
---@return skillrt.load.SkillMd
function M.read(text, file, folder, found)
  local front = front_matter.read(text, file, found)
  local body, body_line = front_matter.body(text)
  if not text:find "^%-%-%-[ \t]*\n" then
    local fix = ('begin with "---", `name: %s`, `description: ...`, "---"'):format(folder or "...")
    local place = { file = file, line = 1 }
    found:warn("front-matter", place, "has no front matter", "hosts find a skill by it", fix)
  end
  local out = { allowed_tools = {}, lines = front and front.lines or {}, body = body, body_line = body_line }
  if front then
    local fields = front.fields
    check(front, file, folder, found)
    out.name, out.description = text_of(fields.name), text_of(fields.description)
    out.metadata = type(fields.metadata) == "table" and fields.metadata or nil
    out.allowed_tools = M.tools(fields["allowed-tools"])
    out.sandbox = fields.sandbox
    out.model, out.effort = fields.model, fields.effort
    out.arguments, out.hint = fields.arguments, fields["argument-hint"]
  end
  return out
end

-- The maximal part of a file that the first level of disclosure reads.
local MAX_SUMMARY = 1 << 20

---The first level of disclosure: what a host shows of a skill before anybody needs it.
---@param dir string
---@return { name: string?, description: string? }? summary
---@return string? message
---@return string? code
---@return skillrt.Findings? findings
function M.summary(dir)
  local path = dir .. "/SKILL.md"
  local text, message, code = files.kept(dir, "SKILL.md", MAX_SUMMARY)
  if not text then
    return nil, message, code
  end
  local found = findings.new()
  local read = M.read(markdown.normal(text), path, dir:match "([^/]+)/*$", found)
  return { name = read.name, description = read.description }, nil, nil, found
end

return M
