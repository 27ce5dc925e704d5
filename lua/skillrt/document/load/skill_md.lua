-- document/load/skill_md.lua: SKILL.md by the Agent Skills specification: its front matter checked, its body
-- for those who ask, the files it refers to named but not read (three levels of disclosure).
--
-- Called by folder.lua; `summary` by whoever only lists skills.
local files = require "skillrt.base.files"
local findings = require "skillrt.document.findings"
local front_matter = require "skillrt.document.load.front_matter"
local keys = require "skillrt.document.load.keys"
local markdown = require "skillrt.document.load.markdown"
local names = require "skillrt.base.names"

local M = {}

local KNOWN, OF_HOSTS = keys.set(keys.SKILL), keys.set(keys.OF_HOSTS)

---@class skillrt.load.SkillMd
---@field name string?
---@field description string?
---@field license string?
---@field compatibility string?
---@field metadata table?
---@field allowed_tools string[]
---@field lines table<string, integer>
---@field title string?
---@field body string
---@field body_line integer

local function place_of(front, file, key)
  return { file = file, line = front.lines[key] or 1 }
end

---Whether a skill may have this name, by the specification.
---@param name any
---@return boolean
function M.is_name(name)
  return type(name) == "string" and #name <= KNOWN.name.max and name:find "^[a-z0-9-]+$" ~= nil
    and not ("-" .. name .. "-"):find("--", 1, true)
end

M.NAME_RULE = "name %s must be 1 to 64 small letters, digits and single hyphens between them"

local function check_name(front, file, folder, found)
  local name = front.fields.name
  local place = place_of(front, file, "name")
  if type(name) ~= "string" or name == "" then
    local what = name == nil and "has no name" or "its name must be a text, not " .. names.show(name)
    found:error("skill-name", place, what, "hosts find a skill by its name", ("add `name: %s`"):format(folder or "..."))
    return nil
  elseif not M.is_name(name) then
    local what = M.NAME_RULE:format(names.show(name))
    found:error("skill-name", place, what, "hosts refuse other names", "rename it, and its folder with it")
  elseif folder and folder ~= name then
    local what = ("name %s differs from its folder %s"):format(names.show(name), names.show(folder))
    found:warn("skill-folder", place, what, "hosts that follow the specification refuse it", "give both one name")
  end
  return name
end

-- A text with at most so many characters.
local function check_text(front, file, key, maximum, found, required)
  local value = front.fields[key]
  local place = place_of(front, file, key)
  if value == nil and not required then
    return nil
  elseif type(value) ~= "string" or not value:find "%S" then
    local what = value == nil and ("has no %s"):format(key)
      or ("its %s must be a text that is not empty, not %s"):format(key, names.show(value))
    found:error("skill-" .. key, place, what, nil, ("write `%s: ...` in the front matter"):format(key))
    return type(value) == "number" and tostring(value) or nil
  elseif maximum and utf8.len(value) > maximum then
    local what = ("its %s has %d characters, at most %d are allowed"):format(key, utf8.len(value), maximum)
    found:error("skill-" .. key, place, what, "hosts cut or refuse it", "shorten it; details belong into the body")
  end
  return value
end

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
  local out, word, depth = {}, {}, 0
  local function close()
    if #word > 0 then
      out[#out + 1] = table.concat(word)
      word = {}
    end
  end
  for c in value:gmatch "." do
    depth = depth + (c == "(" and 1 or c == ")" and depth > 0 and -1 or 0)
    if depth == 0 and c:find "[%s,]" then
      close()
    else
      word[#word + 1] = c
    end
  end
  close()
  return out
end

local function check_others(front, file, found)
  local tools, metadata = front.fields["allowed-tools"], front.fields.metadata
  if tools ~= nil and type(tools) ~= "string" and type(tools) ~= "table" then
    found:error("skill-tools", place_of(front, file, "allowed-tools"), "its allowed-tools must be a text or a list")
  end
  if metadata ~= nil and (type(metadata) ~= "table" or #metadata > 0) then
    local what = "its metadata must be keys and texts, not " .. names.show(metadata)
    found:error("skill-metadata", place_of(front, file, "metadata"), what)
  end
  for _, key in ipairs(names.sorted(front.fields)) do
    local near = not KNOWN[key] and not OF_HOSTS[key] and front.fields[names.nearest(tostring(key), KNOWN) or ""] == nil
      and names.nearest(tostring(key), KNOWN)
    local place = place_of(front, file, key)
    if near then
      local what = ("key %s is not in the specification (did you mean %s?)"):format(names.show(key), near)
      found:warn("skill-key", place, what, "nobody reads it", "correct its name")
    elseif not KNOWN[key] then
      local what = ("key %s is not in the specification"):format(names.show(key))
      found:note("skill-key", place, what, "skillrt does not use it", "it may stand below metadata")
    end
  end
end

---Reads and checks a SKILL.md.
---@param text string
---@param file string     for findings
---@param folder string?  the folder's name, where it is known
---@param found skillrt.Findings
---@return skillrt.load.SkillMd
function M.read(text, file, folder, found)
  local good, bad = utf8.len(text)
  if not good then
    local line = select(2, text:sub(1, bad):gsub("\n", "")) + 1
    found:error("encoding", { file = file, line = line }, "is no UTF-8", "it was not read", "save it as UTF-8")
    return { allowed_tools = {}, lines = {}, body = "", body_line = 1 }
  end
  local front = front_matter.read(text, file, found)
  local body, body_line = front_matter.body(text)
  if not text:find "^%-%-%-[ \t]*\n" then
    local fix = ('begin with "---", `name: %s`, `description: ...`, "---"'):format(folder or "...")
    local place = { file = file, line = 1 }
    found:error("front-matter", place, "has no front matter", "hosts find a skill by it", fix)
  end
  local out = { allowed_tools = {}, lines = front and front.lines or {}, body = body, body_line = body_line }
  if front then
    out.name = check_name(front, file, folder, found)
    out.description = check_text(front, file, "description", KNOWN.description.max, found, true)
    out.license = check_text(front, file, "license", nil, found)
    out.compatibility = check_text(front, file, "compatibility", KNOWN.compatibility.max, found)
    out.metadata = type(front.fields.metadata) == "table" and front.fields.metadata or nil
    out.allowed_tools = M.tools(front.fields["allowed-tools"])
    check_others(front, file, found)
  end
  return out
end

-- How much of a file the first level of disclosure may cost.
local MAX_SUMMARY = 1 << 20

---The first level of disclosure: what a host shows of a skill before anyone needs it.
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
