-- document/check/prompts.lua: what is left in a prompt that somebody should have filled in; specs that say nothing.
--
-- Reads the documents of a folder that agents are sent; templates and specs are not prompts.
-- Called by check.lua.
local files = require "skillrt.base.files"
local trim = require("skillrt.base.text").trim

local M = {}

local MAX_PROMPT = 1 << 20
local MAX_TOLD = 5

local function lines_of(text)
  local at, line = 1, 0
  return function()
    if at > #text then
      return nil
    end
    local stop = text:find("\n", at, true) or #text + 1
    local one = text:sub(at, stop - 1)
    at, line = stop + 1, line + 1
    return line, one
  end
end

local MARKS = { "TODO", "TBD", "FIXME" }
local BEFORE = { "^[%s>*#|%-]*%[?", "^%s*%d+%.%s*%[?", "//%s*", "<!%-%-%s*" }

-- A mark at the beginning of a line or a comment, not a word of a sentence about marks.
local function is_todo(line)
  for _, mark in ipairs(MARKS) do
    if line:find(mark, 1, true) then
      for _, before in ipairs(BEFORE) do
        if line:find(before .. mark .. "[%s:%]]") or line:find(before .. mark .. "$") then
          return true
        end
      end
    end
  end
  return false
end

-- Most prompts hold nothing that could be left: that is seen without a look at each line.
local function may_be_left(text)
  local found = text:find("{{", 1, true)
  for _, mark in ipairs(MARKS) do
    found = found or text:find(mark, 1, true)
  end
  return found ~= nil
end

-- The name in the first `{{name}}` of a line.
local function placeholder(line)
  for inside in line:gmatch "{{{?([^{}]*)}}" do
    local name = trim(inside):match "^[#^/&>]?%s*([%w_.-]+)$"
    if name then
      return name
    end
  end
  return nil
end

local function scan(path, text, found)
  if not may_be_left(text) then
    return
  end
  local told = 0
  for line, one in lines_of(text) do
    local name = placeholder(one)
    if told < MAX_TOLD and name then
      told = told + 1
      found:add("prompt.placeholder", { file = path, line = line }, ("the placeholder {{%s}} is left"):format(name))
    elseif told < MAX_TOLD and is_todo(one) then
      told = told + 1
      found:add("prompt.todo", { file = path, line = line },
        ("is left to do: %s"):format(trim(one):sub(1, 80)))
    end
  end
end

-- Whether a document has anything but headings and blank lines.
local function says_something(text)
  for _, one in lines_of(text:gsub("^%-%-%-\n.-\n%-%-%-\n", "", 1)) do
    if one:find "%S" and not one:find "^#" then
      return true
    end
  end
  return false
end

local function check_folder(subject, found)
  for _, path in ipairs(subject.tree.paths) do
    if path == "SKILL.md" or path:find "^phases/.*%.md$" then
      local text = subject.tree:read(path)
      if text and not says_something(text) then
        found:add("prompt.empty", { file = path }, "says nothing")
      elseif text then
        scan(path, text, found)
      end
    end
  end
  for _, spec in ipairs(subject.specs or {}) do
    local text = subject.tree:has(spec.path) and subject.tree:read(spec.path)
    if text and not says_something(text) then
      found:add("spec.empty", { file = spec.path }, "holds nothing but headings")
    end
  end
end

---@param subject skillrt.check.Subject
---@param model skillrt.check.Model
---@param found skillrt.check.Found
function M.check(subject, model, found)
  if subject.tree then
    return check_folder(subject, found)
  end
  for _, list in ipairs { model.actions, model.phases } do
    for _, one in ipairs(list) do
      local prompt = one.given.prompt
      if type(prompt) == "string" and prompt:find "[ \n]" then
        scan(model.place(nil, one.id, one.kind).file, prompt, found)
      elseif type(prompt) == "string" then
        local text = files.read(files.join(subject.dir or ".", prompt), MAX_PROMPT)
        if text then
          scan(prompt, text, found)
        end
      end
    end
  end
end

return M
