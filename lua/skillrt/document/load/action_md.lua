-- document/load/action_md.lua: reads phases/actions/<id>.md: what its lists and tables say about one action: name,
-- purpose, preconditions, state updates, and hints about the next action.
--
-- Reads known sections (R46-R52); searches code for literal state updates only, and never runs it. Called by
-- prose.lua.
local condition = require "skillrt.document.load.condition"
local js = require "skillrt.document.load.js"
local markdown = require "skillrt.document.load.markdown"
local names = require "skillrt.base.names"
local words = require "skillrt.document.load.words"

local M = {}

---@class skillrt.load.ActionMd
---@field name string?
---@field line integer?
---@field description string?
---@field purpose string?
---@field preconditions skillrt.load.Told[]?  nil: no such section
---@field preconditions_line integer?
---@field effects { text: string, effect: string?, line: integer }[]
---@field sets table<string, integer>          state keys its updates name, with a line
---@field next { text: string, line: integer }[]  what may come next

-- The text of a document or a section, up to the next heading: all of it, or its first paragraph.
local function text_of(blocks, first)
  local out = {}
  for i, block in ipairs(blocks or {}) do
    if block.kind == "heading" and (i > 1 or block.level > 1) or first and out[1] then
      break
    elseif block.kind == "text" or block.kind == "item" and not first then
      out[#out + 1] = (block.kind == "item" and "- " or "") .. block.text
    end
  end
  return #out > 0 and table.concat(out, "\n") or nil
end

-- Prose and what belongs to it, which are one condition: the items below an item, those of a list that a paragraph
-- introduces.
local function whole_of(section, at, told)
  local head, parts = section[at], { told.text }
  while section[at + 1] and section[at + 1].kind == "item"
    and (section[at + 1].indent > (head.indent or math.huge) or not head.indent and head.text:find "[:\u{FF1A}]$") do
    at = at + 1
    parts[#parts + 1] = section[at].text
  end
  told.text = table.concat(parts, "; ")
  return at
end

-- `a` and the rest of an item in a list of preconditions.
local function read_preconditions(section, is_field, read)
  read.preconditions, read.preconditions_line = {}, section.heading.line
  local at = 1
  while section[at] and section[at].kind ~= "heading" do
    local block, told = section[at], nil
    if block.kind == "item" then
      told = condition.item(block.text, is_field)
    elseif block.kind == "text" and not condition.is_none(block.text) then
      told = { text = block.text, problem = "it is a paragraph, not an item of the list" }
    end
    at = told and not told.condition and whole_of(section, at, told) or at
    if told then
      told.line = block.line
      table.insert(read.preconditions, told)
    end
    at = at + 1
  end
end

-- How many state updates of one document are examined.
local MAX_LOOKS = 32

local LITERAL = { boolean = true, number = true }

local function promise_of(key, value)
  if LITERAL[type(value)] then
    return ("%s=%s"):format(key, tostring(value))
  elseif type(value) == "string" and value:find "^[%w_][%w_.-]*$" then
    return ("%s='%s'"):format(key, value)
  end
  return nil
end

-- What opens an object of updates.
local OPENS = { "[sS]tateUpdates%s*:%s*(){", "[uU]pdateState%(%s*(){" }

-- `return { stateUpdates: { done: true, files: list } }`: every key, and what a literal promises.
local function read_updates(block, read, promises)
  for _, opens in ipairs(OPENS) do
    local at = block.text:match(opens)
    while at and read.looks < MAX_LOOKS do
      local entries, after = js.entries(block.text, at)
      local first = block.line + 1 + select(2, block.text:sub(1, at):gsub("\n", ""))
      read.looks = read.looks + 1
      for _, entry in ipairs(entries) do
        local line = first + entry.line
        read.sets[entry.key or ""] = read.sets[entry.key or ""] or line
        local promise = promises and entry.key and promise_of(entry.key, entry.value)
        if promise then
          read.effects[#read.effects + 1] = { text = promise, effect = promise, line = line }
        end
      end
      at = block.text:match(opens, after or at + 1)
    end
  end
  read.sets[""] = nil -- a spread or a computed key
end

local function read_changes(section, read)
  for _, block in ipairs(section) do
    if block.kind == "code" then
      read_updates(block, read, true)
    elseif block.kind == "item" then
      local code = markdown.code_span(block.text)
      for _, one in ipairs(condition.effects(code or block.text)) do
        one.line = block.line
        read.effects[#read.effects + 1] = one
      end
      local key = (code or block.text):match "^([%a_][%w_]*)"
      if key and (code or block.text:find "^[%a_][%w_]*_[%w_]*%f[^%w_]") then
        read.sets[key] = read.sets[key] or block.line
      end
    end
  end
end

-- What a document says may come after its action.
local function next_of(blocks)
  local out = {}
  for _, block in ipairs(markdown.section(blocks, words.NEXT) or {}) do
    if block.kind == "item" or block.kind == "text" then
      out[#out + 1] = { text = block.text, line = block.line }
    end
  end
  return out
end

-- A heading that differs from a section's name by a letter or two.
local function nearly(blocks, name)
  for _, block in ipairs(blocks) do
    if block.kind == "heading" and #block.text > 8 and names.nearest(block.text, { name }) then
      return { text = block.text, line = block.line }
    end
  end
end

---The content of an action's document.
---@param blocks skillrt.load.Markdown
---@param is_field (fun(name: string): boolean)?
---@return skillrt.load.ActionMd
function M.read(blocks, is_field)
  local title, line = markdown.title(blocks)
  local read = { line = line, effects = {}, sets = {}, looks = 0, next = next_of(blocks) }
  local name = title and title:gsub("^[Aa]ction%s*[:\u{FF1A}]%s*", ""):gsub("`", "")
  read.name = name and name:find "%S" and name or nil
  read.description = text_of(blocks, true)
  read.purpose = text_of(markdown.section(blocks, words.PURPOSE))
  local section = markdown.section(blocks, words.PRECONDITIONS)
  if section then
    read_preconditions(section, is_field, read)
  else
    read.nearly = nearly(blocks, "preconditions")
  end
  section = markdown.section(blocks, words.UPDATES)
  if section then
    read_changes(section, read)
  end
  for _, block in ipairs(blocks) do
    if block.kind == "code" then
      read_updates(block, read, false)
    end
  end
  return read
end

return M
