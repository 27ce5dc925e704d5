-- document/load/phase_md.lua: phases/NN.N-name.md: the phases of a folder in the order of their numbers, with name,
-- objective and output from their documents.
--
-- Called by sources.lua.
local condition = require "skillrt.document.load.condition"
local json = require "skillrt.base.json"
local markdown = require "skillrt.document.load.markdown"
local names = require "skillrt.base.names"
local passages = require "skillrt.document.load.passages"
local tree_of = require "skillrt.document.load.tree"
local words = require "skillrt.document.load.words"
local tables = require "skillrt.base.tables"

local M = {}

-- Documents in phases/ that are no phases.
local OTHERS = tables.words "00-spec-study orchestrator _orchestrator state-schema state-manager action-catalog README"

---@class skillrt.load.PhaseFile
---@field id string
---@field path string
---@field number number[]  empty where its name has none
---@field base string

local WORDS = tables.words "phase step stage p"

-- "03.5-merge" and "03-5-merge" are 3.5, and so is "35-merge" if its title says "Phase 3.5".
local function number_of(base, title)
  local rest = base:gsub("^%a+[-_ ]?%f[%d]", function(word)
    return WORDS[word:lower():match "^%a+"] and "" or nil -- "phase-1-scope", "P1-scope"
  end)
  local digits = rest:match "^%d+%-%d+%f[-]" or rest:match "^%d[%d.]*"
  local dotted = digits and (title or ""):match "%f[%d]%d+%.%d+%f[^%d.]"
  digits = dotted and dotted:gsub("%.", "") == digits and dotted or digits
  local out = {}
  for part in (digits or ""):gmatch "%d+" do
    out[#out + 1] = tonumber(part)
  end
  return out
end

local function before(a, b)
  for i = 1, math.max(#a.number, #b.number) do
    local x, y = a.number[i] or 0, b.number[i] or 0
    if x ~= y then
      return x < y
    end
  end
  return a.path < b.path
end

-- Gives an id to a phase whose file name is no valid id; the document keeps its name.
local function id_of(base, taken)
  local id = base:gsub("[^%w._]+", "-"):gsub("%.%.+", "."):gsub("^[^%w]+", ""):gsub("[-.]+$", ""):sub(1, names.MAX_ID)
  if id == "" or taken[id] then
    local n = 1
    while taken[("phase-%d"):format(n)] do
      n = n + 1
    end
    id = ("phase-%d"):format(n)
  end
  taken[id] = true
  return id
end

-- Where SKILL.md first names each file: by links, else in tables, items and sentences.
local function places_in(tree)
  local place, count = {}, 0
  local function add(path)
    count = count + 1
    place[path or ""] = place[path or ""] or count
  end
  local blocks = tree:document "SKILL.md"
  for _, link in ipairs(markdown.links(blocks)) do
    add(tree_of.resolve("SKILL.md", link.target))
  end
  passages.each(blocks, function(passage)
    for path in (passage.example and "" or passage.text):gmatch "[%w_./-]+%.md" do
      add(tree_of.resolve("SKILL.md", path))
    end
  end)
  return place
end

-- Phases without numbers are in the order in which SKILL.md names them.
local function by_links(list, tree, found)
  local place = places_in(tree)
  local out, others = {}, {}
  for _, one in ipairs(list) do
    one.place = place[one.path]
    local into = one.place and out or others
    into[#into + 1] = one
  end
  for _, one in ipairs(others) do
    local tell = out[1] and found.warn or found.note -- where SKILL.md names none of them, it is what runs
    tell(found, "phase-order", { file = one.path }, "its name has no number and SKILL.md does not name it",
      "it is not run", "name it NN-name.md")
  end
  table.sort(out, function(a, b)
    return a.place < b.place
  end)
  if #out > 0 then
    local what = "the phases have no numbers in their names"
    local why = "they run in the order in which SKILL.md names them"
    found:warn("phase-order", { file = "phases" }, what, why, "name them NN-name.md")
  end
  return out
end

-- The documents in phases/; without such a folder, steps/step-NN-name.md, or those next to SKILL.md.
local function documents_in(tree)
  local list = tree:within("phases", "%.md$")
  if #list == 0 and not tree.kinds.phases then
    list = tree:within("steps", "^step[-_]?%d.*%.md$")
    list = #list == 0 and tree:within("", "^step[-_]?%d.*%.md$") or list
    list = #list > 1 and list or {}
  end
  return list
end

-- Whether SKILL.md itself describes more phases than have documents: then it is what runs, and says when to read them.
local function is_page(tree, list, found)
  local has, without = {}, {}
  for _, one in ipairs(list) do
    has[table.concat(one.number, ".")] = true
  end
  passages.each(list[1] and tree:document "SKILL.md" or {}, function(passage)
    local number = passage.kind == "heading" and not passage.example and passage.level > 1
      and passage.text:match "^[*_`]*[Pp]hase%s+(%d[%d.]-)%.?%f[^%w.]"
    if number and not has[number] and number ~= "0" then -- phase 0, to study specs or to resume, is the runtime's
      has[number], without[#without + 1] = true, { number = number, line = passage.line }
    end
  end)
  for _, one in ipairs(without) do
    found:note("phase-section", { file = "SKILL.md", line = one.line }, ("phase %s has no document"):format(one.number),
      #without > #list and "SKILL.md is what runs, as one step" or "it does not run by itself",
      #without > #list and "skillrt run --by-section gives its steps one at a time"
        or ("write phases/%s-name.md"):format(one.number))
  end
  return #without > #list
end

---The phases of a folder, in order.
---@param tree skillrt.load.Tree
---@param found skillrt.Findings
---@param has_actions boolean  unnumbered documents are then no phases
---@return skillrt.load.PhaseFile[]
function M.files(tree, found, has_actions)
  local numbered, others, taken = {}, {}, {}
  for _, path in ipairs(documents_in(tree)) do
    local base = path:match "([^/]+)%.md$"
    if not OTHERS[base] then
      local one = { path = path, base = base, number = number_of(base, markdown.title(tree:document(path))) }
      local list = #one.number > 0 and numbered or others
      list[#list + 1] = one
    end
  end
  table.sort(numbered, before)
  local list = #numbered == 0 and not has_actions and by_links(others, tree, found) or numbered
  if list == numbered then
    for _, one in ipairs(others) do
      found:note("phase-other", { file = one.path }, "its name has no number, so it is no phase")
    end
  end
  if not has_actions and is_page(tree, list, found) then
    return {}
  end
  for _, one in ipairs(list) do
    one.id = id_of(one.base, taken)
    if one.id ~= one.base then
      found:note("phase-id", { file = one.path }, ("its name is no id; the phase is called %s"):format(one.id), nil,
        "use letters, digits, '.', '_' and '-'")
    end
  end
  return list
end

-- The file that a code span names, without a leading work dir; nil: it is no plain path.
local function path_in(span)
  local path = span:gsub("^%$?{*[wW]ork_?[dD]ir}*/", "")
  return names.confined(path) and path:find "^[^.{}%[%]$*<>|?:%s~][^{}%[%]$*<>|?:%s~]*%.%w+$" and path or nil
end

local function items_of(blocks, words_of_section)
  local out = {}
  for _, block in ipairs(markdown.section(blocks, words_of_section, true) or {}) do
    out[#out + 1] = block.kind == "item" and block or nil
  end
  return out
end

local function begins_with(text, patterns)
  for _, pattern in ipairs(patterns) do
    if text:gsub("[*_]", ""):find(pattern) then
      return true
    end
  end
  return false
end

-- What the phase depends on and when it runs (R20): outputs of earlier phases, a condition.
local function read_input(phase, one, blocks, made, found)
  for _, block in ipairs(items_of(blocks, words.INPUT)) do
    local place, path = { file = one.path, line = block.line }, path_in(block.text:match "`([^`]+)`" or "")
    if begins_with(block.text, words.DEPENDENCY) then
      if made.outputs[path] then
        phase.input = phase.input or json.array {}
        phase.input[#phase.input + 1] = path
      elseif path and not made.text:find(path, 1, true) then
        found:warn("phase-input", place, ("phase %s: depends on %s, which no earlier phase makes"):format(one.id,
          names.show(path)), nil, "name an output of a phase before it" .. names.suggest(path, made.outputs))
      end
    elseif begins_with(block.text, words.ONLY_IF) then
      local told = condition.item(block.text:match "`+.*$" or block.text:gsub("^.-[:\u{FF1A}]%s*", ""))
      phase.condition = told and told.condition
      if told and not told.condition then
        found:warn("condition-unread", place, ("phase %s: its condition cannot be read: %s (%s)"):format(one.id,
          told.text, told.problem), "it always runs", "write a condition between backticks")
      end
    end
  end
end

---One phase in the form of a config.
---@param one skillrt.load.PhaseFile
---@param blocks skillrt.load.Markdown
---@param made { outputs: table<string, boolean>, text: string }  of earlier phases; this one's are added
---@param found skillrt.Findings
---@return table
function M.phase(one, blocks, made, found)
  local title = markdown.title(blocks)
  local name = title and title:gsub("^[Pp]hase%s*%d[%d.]*%s*[:\u{FF1A}%-]?%s*", "")
  local phase = { id = one.id, name = name and name:find "%S" and name or one.base, objectives = {} }
  for i, block in ipairs(items_of(blocks, words.OBJECTIVE)) do
    phase.objectives[i] = block.text
  end
  for _, block in ipairs(blocks) do
    if block.kind == "text" then
      phase.description = block.text:gsub("\n", " ")
      break
    elseif block.kind == "heading" and block.level > 1 then
      break
    end
  end
  local folder, above = "", 0 -- "- `requirements/`" is that of the items below it
  passages.each(markdown.section(blocks, words.OUTPUT, true) or {}, function(passage)
    folder = (passage.indent or 0) > above and folder or ""
    for span in passage.text:gmatch "`([^`\n]+)`" do
      local path = path_in(folder .. span)
      phase.output = phase.output or not made.outputs[path] and path or nil -- otherwise it continues another's file
      if passage.indent and span:find "^[%w_./-]+/$" then
        folder, above = span, passage.indent
      end
    end
  end)
  read_input(phase, one, blocks, made, found)
  made.outputs[phase.output or phase.id .. ".json"] = true
  return phase
end

return M
