-- document/load/flow/quotes.lua: quotes the lines that name a phase and yielded no fact, each with its line number,
-- because the meaning of a sentence is not guessed. A line is selected by the names in it, in any language, not by
-- its words.
--
-- Called by flow.lua, which says which lines were read.
local passages = require "skillrt.document.load.passages"
local trim = require("skillrt.base.text").trim

local M = {}

local MAX_OF_FILE <const> = 8
local MAX_QUOTE <const> = 120
local MAX_FRONT <const> = 4000

local function quoted(text, at)
  text = text:sub(at > 80 and (utf8.offset(text, 0, at - 60) or 1) or 1)
  text = trim(text):gsub("%s+", " ")
  if utf8.len(text) and utf8.len(text) > MAX_QUOTE then
    text = text:sub(1, utf8.offset(text, MAX_QUOTE) - 1) .. "..."
  end
  return '"' .. text .. '"'
end

local function words_of(text, set)
  for word in text:lower():gmatch "[%w\128-\255]+" do
    set[word] = true
  end
  return set
end

-- Whether a line is only the name of a phase: its number, title and document, or `Ref: its document`.
local function is_name(self, text, index, heading)
  local mentions, known = self.mentions, self.known[index]
  if not known then
    local one = mentions.phases[index]
    known = words_of(mentions.titles[index] .. " phases steps md " .. one.path .. " " .. one.id, {})
    self.known[index] = known
  end
  if heading and text:gsub("[*_`#]", ""):find "^%a+%s*%d[%d.]*%s*[:.]?[%w%s&,/'-]*$" and not text:find "%s%-" then
    return true
  end
  local label, rest = text:match "^[^%w\128-\255]*([%a\128-\255]+)%s*[:\u{FF1A}][%s*]*(.+)$"
  if label and rest:find "^[`%[]*[%w_./-]+%.md[`%]]*%S*$" then
    return true
  end
  for word in text:lower():gmatch "[%w\128-\255]+" do
    if not known[word] and not mentions.words[word] and not word:find "^%d+$" then
      return false
    end
  end
  return true
end

---@class skillrt.load.Quotes
---@field count integer
---@field list { text: string, file: string, line: integer }[]
local Quotes = {}
Quotes.__index = Quotes

---@param mentions skillrt.load.Mentions
---@param found skillrt.Findings
---@return skillrt.load.Quotes
function M.new(mentions, found)
  return setmetatable({ mentions = mentions, found = found, count = 0, list = {}, of_file = {}, known = {}, told = {} },
    Quotes)
end

local BOXES <const> = "\xE2[\x94\x95][\x80-\xBF]" -- U+2500 to U+257F: a drawn tree
local FIX <const> = "skillrt compile FOLDER --agent WHO asks an agent; or write it as a table (docs/write/pages.md)"

---@param text string
---@param place { file: string, line: integer }
---@param at integer    where in the text the phase is named
---@param plain boolean?  it probably describes a phase: it begins with it, or is in the phase's own document and names
---  only the following one and those before it, whose results it uses
---@param what string?   default: that it names a phase
function Quotes:add(text, place, at, plain, what)
  local count = (self.of_file[place.file] or 0) + 1
  self.of_file[place.file], self.count = count, self.count + 1
  local whole = trim(text):gsub("%s+", " ")
  self.list[self.count] = { text = whole, file = place.file, line = place.line }
  local tell = plain and self.found.note or self.found.warn
  self.told[whole] = self.told[whole] or place.file
  if count <= MAX_OF_FILE and self.told[whole] == place.file then -- a line that many documents share is told once
    tell(self.found, "quote", place, ("%s: %s"):format(what or "names a phase and was not read", quoted(text, at)),
      "what it means is not guessed", FIX)
  end
end

-- A line that begins with a phase and says more: "2. **Phase 2: Write** (at times)".
---@param text string
---@param at integer  where the phase is named
---@return boolean?
function M.begins(text, at)
  return text:sub(1, at - 1):find "^[^%a\128-\255]*[%a\128-\255]*[%s*_`]*$" and not text:find "[%(%[]"
    and not text:find("\u{FF08}", 1, true)
end

---Quotes one line, if it names a phase and is more than a name.
---@param text string
---@param place { file: string, line: integer }
---@param own integer?  the phase whose document contains it
---@param heading boolean?
function Quotes:line(text, place, own, heading)
  text = text:gsub(BOXES, " ")
  local named, at = self.mentions:of(text, own)
  local first, last = named[1], named[#named]
  local next_one = own and first and first >= own and last <= own + 1
  if not first or #named == 1 and (own == first and heading or is_name(self, text, first, heading)
    and (not own or next_one)) then
    return
  end
  local begins = #named == 1 and M.begins(text, at) -- in a phase's document such a heading is a part of the phase
  self:add(text, place, at, own and last <= own + 1 or begins and (heading or not own))
end

local PLAIN_FENCES <const> = { [""] = true, text = true, txt = true, plain = true, plaintext = true }

local ARROWS <const> = "\xE2[\x96\x97][\xB2\xB6\xBA\xBC\x80\x84]" -- heads of arrows, U+25B2 to U+25C4: a drawn graph
local DIAGRAMS <const> = { mermaid = true, dot = true, graphviz = true }

-- The first line of a diagram that names a phase: of all of it, as it is not read.
local function read_diagram(self, block, file)
  local line = block.line
  for one in (block.text .. "\n"):gmatch "(.-)\n" do
    line = line + 1
    one = one:gsub("\u{2502}", "|")
    local named, at = self.mentions:of(one)
    if named[1] then
      self:add(one, { file = file, line = line }, at, not block.text:find "[|{]" and not block.text:find "label",
        "a diagram names phases and was not read")
      return
    end
  end
end

-- Keys of a front matter that name another document than the next one.
local function read_front(self, text, file, own)
  local line = 0
  for one in (text:find "^%-%-%-\n" and text:sub(1, MAX_FRONT) or ""):gmatch "(.-)\n" do
    line = line + 1
    local named, at = self.mentions:of(one, own)
    if own and #named > 0 and (#named > 1 or named[1] ~= own and named[1] ~= own + 1) then
      self:add(one, { file = file, line = line }, at)
    elseif line > 1 and one:find "^%-%-%-" then
      return
    end
  end
end

-- "- **Condition**: `size > 3`", in any language: below a phase's heading it is about that phase.
local CONDITION <const> = "^[%s*_]*[%a\128-\255 ]+[%s*_:]*`[^`]*[=<>!][^`]*`%s*$"

-- A line of code in a phase's document that names another phase than the next one: "goto: step-02-scope".
local function read_code(self, text, place, own)
  for at, word in text:gmatch "()([%w_./-]+)" do
    local index = self.mentions.by_id[word] or self.mentions.by_path[word]
    if index and index ~= own and index ~= own + 1 and #self.mentions.phases[index].number > 0 then
      return self:add(text, place, at, true, "code names a phase and was not read")
    end
  end
end

-- "Phase 5: Simulate (optional)", in any language.
local function has_addition(title)
  return title:find("(", 1, true) or title:find("\u{FF08}", 1, true)
end

-- Numbers of a document's own parts: "## 3. Check", "### Step 3", "3. check".
local function parts_of(blocks, text)
  local out = {} ---@type table<integer, boolean>
  for _, block in ipairs(blocks) do
    out[block.kind == "heading" and tonumber(block.text:match "%d+") or 0] = true
  end
  for digits in ("\n" .. text):gmatch "\n%s*(%d+)[.)]%s" do
    out[tonumber(digits)] = true
  end
  return out
end

---Quotes the lines of one document.
---@param blocks skillrt.load.Markdown
---@param text string   the whole document
---@param file string
---@param own integer?  the phase whose document it is
---@param used table<string, boolean>  places that yielded a fact
function Quotes:read(blocks, text, file, own, used)
  local under
  local folder = self.mentions.folder
  self.mentions.parts = own and self.mentions.steps and parts_of(blocks, text) or {}
  read_front(self, text, file, own)
  passages.each(blocks, function(passage)
    local heading, place = passage.kind == "heading", { file = file, line = passage.line }
    if heading then
      under = #self.mentions:of(passage.text) == 1
    elseif under and passage.kind == "item" and not own and passage.text:find(CONDITION) then
      return self:add(passage.text, place, 1, nil, "a condition of a phase was not read")
    end
    if passage.kind == "comment" or passage.box or used[file .. ":" .. passage.line] then
      return
    elseif own and passage.level == 1 and has_addition(passage.text) then
      self:add(passage.text, place, 1, true, "a title says more of its phase and was not read")
    elseif not own and folder and (passage.text .. "\n"):find(folder) and not self.mentions:of(passage.text)[1] then
      self:add(passage.text, place, 1, true, "names the folder of the phases and was not read")
    else
      self:line(passage.text, place, own, heading)
    end
  end, function(block)
    local line, count = block.line, self.count
    for one in ((own or PLAIN_FENCES[block.lang]) and block.text .. "\n" or ""):gmatch "(.-)\n" do
      line = line + 1
      if own then
        read_code(self, one, { file = file, line = line }, own)
      else
        self:line(one, { file = file, line = line })
      end
    end
    if not own and (DIAGRAMS[block.lang] or count == self.count and block.text:find(ARROWS)) then
      read_diagram(self, block, file)
    end
  end)
end

local function unread(count, more)
  return count == 1 and ("1%s line names phases and was not read"):format(more)
    or ("%d%s lines name phases and were not read"):format(count, more)
end

---Says what runs, and what was left out of documents with many lines.
---@param runs string
function Quotes:finish(runs)
  local is_all = self.count == 0
  local why = is_all and "no other line names them" or unread(self.count, "")
  self.found:note("flow", { file = "SKILL.md" }, runs, why, not is_all and FIX or nil)
  for file, count in pairs(self.of_file) do
    if count > MAX_OF_FILE then
      self.found:note("quote", { file = file }, "and " .. unread(count - MAX_OF_FILE, " more"))
    end
  end
end

return M
