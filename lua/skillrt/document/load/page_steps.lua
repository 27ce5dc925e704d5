-- document/load/page_steps.lua: a page by section: its numbered steps, and the rest of the page.
--
-- The form decides, in any language: headings of one level, or the items of one list, that are numbered in order.
-- Called by document/load/init.lua.
local cut = require("skillrt.base.text").cut
local markdown = require "skillrt.document.load.markdown"
local passages = require "skillrt.document.load.passages"

local names = require "skillrt.base.names"
local OUTPUT <const> = require("skillrt.document.load.words").OUTPUT

local M = {}

---@class skillrt.PageStep
---@field title string
---@field line integer  of the body
---@field text string
---@field outputs string[]?  files that it promises

-- The number of "Step 2: Check", "2. Check", "\u{7B2C}2\u{6B65}"; not of "2.1", "Phase 2b", "3-Phase Plan", "P0 Rules".
local function number_of(heading)
  local before, digits, behind = heading:gsub("[*_`]", ""):match "^(%D-)(%d+)(.*)$"
  local words = before and select(2, before:gsub("%S+", "")) or 3
  if words > 2 or #digits > 3 or before:find "%a$" or behind:find "^[%w-]" or behind:find "^%.%d" then
    return nil
  end
  return math.tointeger(tonumber(digits))
end

-- The lists of consecutively numbered blocks, from 0 or 1 on; `ends` says where a list stops.
local function series(blocks, number, ends)
  local all, now, last = {}, nil, nil
  for i, block in ipairs(blocks) do
    local n = number(block)
    if n and now and n == last + 1 then
      now[#now + 1], last = i, n
    elseif n and n <= 1 then
      now, last = { i }, n
      all[#all + 1] = now
    elseif n or ends(block) then
      now = nil
    end
  end
  local out = {}
  for _, one in ipairs(all) do
    out[#out + 1] = #one > 1 and one or nil
  end
  return out
end

-- Numbered headings of the highest level that has them, without examples.
local function of_headings(blocks)
  local shown = {}
  passages.each(blocks, function(passage)
    shown[passage.line] = passage.example or nil
  end)
  for level = 1, 6 do
    local found = series(blocks, function(block)
      return block.kind == "heading" and block.level == level and not shown[block.line] and number_of(block.text) or nil
    end, function(block)
      return block.kind == "heading" and block.level < level
    end)
    if found[1] then
      return found, level
    end
  end
  return {}
end

local function of_items(blocks, lines)
  return series(blocks, function(block)
    local digits = block.kind == "item" and lines[block.line]:match "^(%d+)[.)]%s"
    return digits and #digits < 4 and math.tointeger(tonumber(digits)) or nil
  end, function(block)
    return block.kind == "heading"
  end)
end

-- The line after the last step: the next heading outside of it; after an item, the first line that is not indented.
local function line_behind(blocks, lines, last, level)
  for i = last + 1, #blocks do
    local block = blocks[i]
    local is_over = block.kind == "heading" and block.level <= (level or 6)
      or not level and block.kind ~= "heading" and lines[block.line]:find "^%S"
    if is_over then
      return block.line
    end
  end
  return #lines + 1
end

local function title_of(block)
  return cut(block.text:gsub("[*_`]", ""):gsub("%s+", " "), 80)
end

-- The files that a step promises: "- **Output**: `report.md`".
local function promised(text)
  local out = {}
  passages.each(markdown.parse(text), function(passage)
    local line = passage.text:gsub("%*", ""):gsub("\u{FF1A}", ":")
    local label, path = line:match "^%s*([%a\128-\255]+)%s*:%s*`([%w_/.-]+%.%w+)`%s*%.?$"
    label = label and label:lower()
    for _, word in ipairs(label and not passage.example and names.confined(path) and OUTPUT or {}) do
      out[#out + 1] = label == word and path or nil
    end
  end)
  return out[1] and out or nil
end

---The numbered steps of a page, and the page with only their titles.
---@param body string
---@return skillrt.PageStep[]? steps
---@return string rest_or_problem
---@return integer[]? at  line numbers in the body at which several of them begin
function M.read(body)
  local lines = {}
  for line in (markdown.normal(body):gsub("\n$", "") .. "\n"):gmatch "([^\n]*)\n" do
    lines[#lines + 1] = line
  end
  local blocks = markdown.parse(body)
  local found, level = of_headings(blocks)
  if not found[1] then
    found = of_items(blocks, lines)
  end
  if not found[1] then
    return nil, "has no numbered steps"
  elseif found[2] then
    local at = {}
    for i, one in ipairs(found) do
      at[i] = blocks[one[1]].line
    end
    return nil, "has several lists of numbered steps", at
  end
  local places, stop = found[1], line_behind(blocks, lines, found[1][#found[1]], level)
  local first = blocks[places[1]].line
  local steps, rest = {}, table.move(lines, 1, first - 1, 1, {})
  for i, place in ipairs(places) do
    local from = blocks[place].line
    local to = places[i + 1] and blocks[places[i + 1]].line or stop
    steps[i] = { title = title_of(blocks[place]), line = from,
      text = table.concat(lines, "\n", from, to - 1):match "^(.-)%s*$" }
    steps[i].outputs = promised(steps[i].text)
    rest[#rest + 1] = ("(step %d of %d, which you are given later: %s)"):format(i, #places, steps[i].title)
  end
  rest[#rest + 1] = ""
  table.move(lines, stop, #lines, #rest + 1, rest)
  return steps, table.concat(rest, "\n")
end

---Turns the single step of a page into a conversation in which each numbered step is a call.
---@param document skillrt.load.Document
---@param is_asked boolean?  otherwise the page's own front matter decides
function M.apply(document, is_asked)
  local md, definition = document.skill_md, document.definition
  local own = md and md.metadata and md.metadata.skillrt
  local wish = type(own) == "table" and own["by-section"]
  if not definition or not is_asked and not wish then
    return
  end
  local guide, problem = definition.guide, "is more than a page, and its steps are calls of their own already"
  local fix = "number its steps from 1 on, in headings such as `## Step 1: Look` or as one list; or run it as one page"
  if not is_asked and wish ~= true then
    problem = "has neither true nor false in metadata.skillrt.by-section"
  elseif guide and guide.is_plain and #definition.phases == 1 then
    local steps, rest, at = M.read(guide.body)
    if steps then
      guide.steps, guide.body = steps, rest
      return
    end
    for i, line in ipairs(at or {}) do
      at[i] = "line " .. line + (md and md.body_line or document.body_line) - 1
    end
    problem = rest .. (at and ": " .. table.concat(at, ", ") or "")
  else
    fix = "run it without --by-section"
  end
  local place = { file = md and "SKILL.md" or document.place("skill_name").file, line = md and md.lines.metadata or 1 }
  document.findings:error("by-section", place, "cannot be run by section: it " .. problem, nil, fix)
end

---The message about a script that is to be run by section.
---@param path string
---@return nil
---@return string message
---@return string code
function M.refuse_script(path)
  return nil, ("%s: a script is not run by section: it says itself what its steps are"):format(path), "invalid"
end

return M
