-- document/check/prompts.lua: placeholders that somebody should have filled in, left in a prompt; specs without
-- content.
-- Reads the documents of a folder that agents are sent; not templates, specs, code, quotes or examples. Called by
-- document/check/init.lua.
local cut = require("skillrt.base.text").cut
local files = require "skillrt.base.files"
local trim = require("skillrt.base.text").trim
local front_matter = require "skillrt.document.load.front_matter"
local markdown = require "skillrt.document.load.markdown"
local outline = require "skillrt.base.outline"
local passages = require "skillrt.document.load.passages"

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

-- A name in braces in a title: whoever makes a document fills it. An agent fills those in the text.
local NAME <const> = "{{{?%s*([%w_-]+)%s*}}"

local function scan(path, blocks, found)
  local told = 0
  passages.each(blocks, function(passage)
    if told >= MAX_TOLD or passage.example or passage.quote or #passage.text > MAX_LINE then
      return
    end
    local name = passage.level == 1 and passages.without_code(passage.text):match(NAME)
    if name then
      told = told + 1
      found:add("prompt.placeholder", { file = path, line = passage.line },
        ("the placeholder {{%s}} is left"):format(name))
    elseif is_todo(passage) then
      told = told + 1
      found:add("prompt.todo", { file = path, line = passage.line },
        ("is left to do: %s"):format(cut(trim(passage.text), 80)))
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

local function check_folder(subject, model, found)
  local sent = {}
  for _, one in ipairs(model.steps) do
    sent[one.prompt or ""] = true
  end
  for _, path in ipairs(subject.tree.paths) do
    local is_step = sent[path] or path:find "^phases/.*%.md$"
    local text = (is_step or path == "SKILL.md") and subject.tree:read(path)
    local blocks = text and subject.tree:document(path)
    if text and is_step and not says_something(blocks) then
      found:add("prompt.empty", { file = path }, "says nothing")
    elseif text then
      scan(path, blocks, found)
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

-- The prompt of a script's step. Only what an agent is started with has placeholders.
local function scan_text(path, text, found)
  local body, first = front_matter.body(markdown.normal(text))
  scan(path, markdown.parse(body, first), found)
  local name = text:match "{(state%.[%w_.]+)}" or text:match "{(input%.[%w_.]+)}"
  if name then
    found:add("prompt.placeholder", { file = path }, ("{%s} in a prompt is not expanded"):format(name),
      { fix = "say it in words: the state, with `input`, stands above each prompt" })
  end
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
