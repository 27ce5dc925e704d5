-- document/check/prompts.lua: placeholders that somebody should have filled in, left in a prompt; specs without
-- content.
-- Reads the documents of a folder that agents are sent; not templates, specs, code, quotes or examples. Called by
-- document/check/init.lua.
local files = require "skillrt.base.files"
local trim = require("skillrt.base.text").trim
local front_matter = require "skillrt.document.load.front_matter"
local markdown = require "skillrt.document.load.markdown"
local outline = require "skillrt.base.outline"
local passages = require "skillrt.document.load.passages"
local tables = require("skillrt.base.tables")

local M = {}

local MAX_PROMPT = 1 << 20
local MAX_TOLD = 5
local MAX_LINE <const> = 4000 -- a longer one was made by a program

local MARKS = { "TODO", "TBD", "FIXME" }

-- A mark that is alone on its line, in brackets or followed by a colon; not a word in a sentence about marks.
local function is_todo(passage)
  local text = passage.text
  if passage.kind == "comment" then
    text = text:match "^%s*<!%-%-%s*(.*)$" or text
  elseif passage.kind == "row" or passage.quote then
    return false
  end
  for _, mark in ipairs(MARKS) do
    if text:find("^%s*%**%[?" .. mark .. "%**[%]:]") or text:find("^%s*%[?" .. mark .. "%]?%s*$")
      or passage.kind == "comment" and text:find("^" .. mark .. "%f[%W]") then
      return true
    end
  end
  return false
end

-- A quick test, as most prompts contain no marks.
local function may_be_left(text)
  local found = text:find("{{", 1, true)
  for _, mark in ipairs(MARKS) do
    found = found or text:find(mark, 1, true)
  end
  return found ~= nil
end

local NAME = "{{{?%s*([#^/&>]?%s*[%w_-]+)%s*}}"

-- Names that stand for any name: the sentence is about braces.
local OF_BRACES = tables.words "variable placeholder var variable_name"

local MAX_NAMES <const> = 2 -- a folder with more names in braces speaks in them: its agent fills them

-- A name in braces that is explained nowhere. A name that occurs several times in a document, in several documents,
-- or in a table of names is filled by the agent; so are most in a SKILL.md, which no tool fills. Whoever made the
-- document fills those in a title.
local function placeholder_in(passage, text, is_step, spoken)
  local plain = passages.without_code(passage.text):gsub("%${{.-}}", "")
  local name = plain:match(NAME)
  if not name or passage.kind == "row" or passage.kind == "comment" then
    return nil
  elseif passage.kind == "heading" and passage.level == 1 then
    return name
  elseif spoken and spoken(name) or OF_BRACES[name:lower()] then
    return nil
  elseif passage.kind == "heading" or name:find "^[#^/]" or plain:find("^%s*" .. NAME .. "%s*$") then
    return name
  end
  local count = select(2, text:gsub("{{{?%s*" .. name:gsub("%W", "%%%0") .. "%s*}}", ""))
  return is_step and count == 1 and name or nil
end

-- Whether a folder's documents use names in braces as notation: in many of them, or this one in several documents.
local function spoken_in(tree, paths)
  local count, in_how_many = 0, {}
  for _, path in ipairs(paths) do
    local here, text = {}, tree:read(path) or ""
    for name in (text:find("{{", 1, true) and text or ""):gmatch "{{%s*([%w_-]+)%s*}}" do
      if not here[name] then
        here[name] = true
        count = count + (in_how_many[name] and 0 or 1)
        in_how_many[name] = (in_how_many[name] or 0) + 1
      end
    end
  end
  return function(name)
    return count > MAX_NAMES or (in_how_many[name] or 0) > 1
  end
end

local function scan(path, text, blocks, found, is_step, spoken)
  if not may_be_left(text) then
    return
  end
  local told = 0
  passages.each(blocks, function(passage)
    if told >= MAX_TOLD or passage.example or passage.quote or #passage.text > MAX_LINE then
      return
    end
    local name = placeholder_in(passage, text, is_step, spoken)
    if name then
      told = told + 1
      found:add("prompt.placeholder", { file = path, line = passage.line },
        ("the placeholder {{%s}} is left"):format(name))
    elseif is_todo(passage) then
      told = told + 1
      found:add("prompt.todo", { file = path, line = passage.line },
        ("is left to do: %s"):format(trim(passage.text):sub(1, 80)))
    end
  end)
end

-- Whether a document has anything but headings and blank lines.
local function says_something(blocks)
  for _, block in ipairs(blocks) do
    if block.kind ~= "heading" and block.kind ~= "comment" then
      return true
    end
  end
  return false
end

-- Which step is sent a document. A SKILL.md next to phases and actions is for hosts.
local function prompts_of(model)
  local set = {}
  for _, one in ipairs(model.steps) do
    set[one.prompt or ""] = true
  end
  return set
end

local function check_folder(subject, model, found)
  local sent, steps, paths = prompts_of(model), {}, {}
  for _, path in ipairs(subject.tree.paths) do
    steps[path] = sent[path] and path ~= "SKILL.md" or path:find "^phases/.*%.md$" ~= nil
    paths[#paths + 1] = (steps[path] or path == "SKILL.md") and path or nil
  end
  local spoken
  for _, path in ipairs(paths) do
    local text, blocks = subject.tree:read(path), subject.tree:document(path)
    if text and not says_something(blocks) and (steps[path] or sent[path]) then
      found:add("prompt.empty", { file = path }, "says nothing")
    elseif text then
      spoken = spoken or spoken_in(subject.tree, paths)
      scan(path, text, blocks, found, steps[path], spoken)
    end
  end
  for _, spec in ipairs(subject.specs or {}) do
    local text = subject.tree:has(spec.path) and subject.tree:read(spec.path)
    if text and outline.is(text) then
      local bare = not says_something(subject.tree:document(spec.path))
      found:add("spec.empty", { file = spec.path },
        bare and "contains only headings" or "is an outline that is not filled in")
    end
  end
end

local function scan_text(path, text, found)
  local body, first = front_matter.body(markdown.normal(text))
  scan(path, text, markdown.parse(body, first), found, true)
end

---@param subject skillrt.check.Subject
---@param model skillrt.check.Model
---@param found skillrt.Findings
function M.check(subject, model, found)
  if subject.tree then
    return check_folder(subject, model, found)
  end
  for _, one in ipairs(model.steps) do
    local prompt = one.prompt
    if type(prompt) == "string" and prompt:find "[ \n]" then
      scan_text(model.place(nil, one.id, one.kind).file, prompt, found)
    elseif type(prompt) == "string" then
      local text = files.kept(subject.dir or ".", prompt, MAX_PROMPT)
      if text then
        scan_text(prompt, text, found)
      end
    end
  end
end

return M
