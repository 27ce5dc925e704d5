-- document/load/flow/mentions.lua: which phases a line names: "Phase 2", a phase's file or id. The words for a phase
-- are those of the documents' own titles and a few nouns.
--
-- Called by flow.lua and flow/*.
local plain = require("skillrt.document.load.tables").plain
local tables = require "skillrt.base.tables"

local M = {}

local MAX_TEXT <const> = 4000 -- the beginning of a longer line

local PHASES <const> = "phase phases phasen stage stages fase fases etapa etapas étape étapes "
  .. "\u{9636}\u{6BB5} \u{968E}\u{6BB5} \u{6BB5}\u{968E} \u{30D5}\u{30A7}\u{30FC}\u{30BA} \u{B2E8}\u{ACC4}"
local STEPS <const> = "step steps schritt schritte paso pasos \u{6B65}\u{9AA4} \u{30B9}\u{30C6}\u{30C3}\u{30D7}"

local DIGITS = {}
for digit, sign in pairs { "\u{4E00}", "\u{4E8C}", "\u{4E09}", "\u{56DB}", "\u{4E94}", "\u{516D}", "\u{4E03}",
  "\u{516B}", "\u{4E5D}" } do
  DIGITS["\u{7B2C}" .. sign] = tostring(digit) -- the second, written as a symbol
end

---@class skillrt.load.Mentions
---@field phases skillrt.load.PhaseFile[]
---@field by_path table<string, integer>
---@field steps boolean  its documents are called steps, so "step" means a phase
---@field parts table<integer, boolean>  numbers of headings and items of the document that is being read: in a step,
---  "step 3" is that part of it
---@field folder string?  a pattern for its folder as a whole
---@field letter boolean?  its documents are called P1, P2; otherwise these are priorities, except in SKILL.md
local Mentions = {}
Mentions.__index = Mentions

---A document's name without its number, as a table cell may use it.
---@param text string
---@return string
function M.name_of(text)
  return (plain(text):lower():gsub("^%a*[-_ ]?[%d.]+%a?%f[-_ ]", ""):gsub("[-_ ]+", " "):gsub("^ ", ""))
end

-- A pattern for the folder of the phases, named as a whole: "load one file of `phases/`".
local function folder_of(phase)
  local folder = phase and phase.path:match "^(.+)/"
  return folder and "%f[%w_-]" .. folder:gsub("%p", "%%%0") .. "/[^%w_.{<$%[-]"
end

---@param phases skillrt.load.PhaseFile[]  in their order
---@param titles string[]  of their documents
---@return skillrt.load.Mentions
function M.new(phases, titles)
  local steps = #phases > 0 and phases[1].base:lower():find "^step" ~= nil
  local self = setmetatable({ phases = phases, by_number = {}, by_path = {}, by_id = {}, by_name = {}, steps = steps,
    parts = {}, words = tables.words(PHASES .. " " .. STEPS), titles = titles,
    folder = folder_of(phases[1]) }, Mentions)
  self.of_phases = setmetatable({}, { __index = self.words }) -- in a phase's document, steps are parts of it
  for word in STEPS:gmatch "%S+" do
    self.of_phases[word] = false
  end
  for i, one in ipairs(phases) do
    if #one.number > 0 then
      local key = table.concat(one.number, ".")
      self.by_number[key] = self.by_number[key] or i
    end
    self.by_path[one.path], self.by_path[one.path:match "[^/]+$"] = i, i
    self.by_id[one.id], self.by_id[one.base] = i, i
    self.letter = self.letter or one.base:find "^[Pp]%d" ~= nil or titles[i]:find "^P%d" ~= nil
    local name = M.name_of(one.base)
    self.by_name[name] = not (name == "" or self.by_name[name]) and i or nil
    local word = titles[i]:lower():match "^([%a\128-\255]+)[%s%-]*%d"
      or titles[i]:match "^%d+%s*([\128-\255]+)"
    if word and #word > 1 then
      self.words[(word:gsub("\u{FF1A}.*$", ""))] = true
    end
  end
  return self
end

---The phase with this number, as a document writes it.
---@param text string
---@param own integer?  the phase whose document contains it: of several with this number it is meant
---@return integer?
function Mentions:number(text, own)
  local digits = text:match "^%s*[Pp]?(%d[%d.]*)%s*$"
  local key = digits and digits:gsub("%.$", ""):gsub("%f[%d]0+(%d)", "%1")
  local is_own = key and own and table.concat(self.phases[own].number, ".") == key
  return is_own and own or self.by_number[key or ""]
end

---The phase whose id or name a text is.
---@param text string
---@return integer?
function Mentions:called(text)
  return self.by_id[text] or #text < 80 and self.by_name[M.name_of(text)] or nil
end

local function ends_with_word(words, text)
  local before, run = text:match "^(.-)([%a\128-\255]+)$"
  if not run then
    return false
  elseif words[run] or words[run:match "%a*$"] then
    return not (words[run] and before:find "[%w_-]$") -- "LP-Phase 2" belongs to another document
  end
  for tail = #run - 1, 1, -1 do
    if run:byte(tail) > 127 and words[run:sub(tail)] then
      return true
    end
  end
  return false
end

-- Whether P1 means a phase in a text: not in most phases' documents, nor next to a P0 that is no phase.
function Mentions:has_letters(text, own)
  for digits in text:gmatch "%f[%w_-]P(%d+)" do
    if not self:number(digits) then
      return self.letter
    end
  end
  return self.letter or not own
end

-- Whether a noun for phases is directly before a number or, as in Asian languages, after it.
function Mentions:is_named(text, start, after, own)
  local words = own and self.of_phases or self.words
  local before = text:sub(math.max(1, start - 40), start - 1):gsub("[%s*_`#]*$", "")
  if before:find "%f[%w_-]P$" and self:has_letters(text, own) or ends_with_word(words, before:lower()) then
    return true
  end
  local behind = text:match("^%s*([\128-\255]+)", after)
  for word in pairs(behind and self.words or {}) do
    if words[word] and word:find "[\128-\255]" and behind:sub(1, #word) == word then
      return true
    end
  end
  return false
end

---The phases that a text names, by position in the order, and where the first is named.
---@param text string
---@param own integer?  the phase whose document contains it: "Step 1" is a part of a step's
---@return integer[] indexes
---@return integer? at
function Mentions:of(text, own)
  local seen, out, first = {}, {}, nil
  local function add(index, at)
    first = index and math.min(first or at, at) or first
    if index and not seen[index] then
      seen[index] = true
      out[#out + 1] = index
    end
  end
  text = text:sub(1, MAX_TEXT):gsub("()([%w_./-]+%.md)", function(at, name)
    local index = self.by_path[name] or self.by_path[name:match "[^/]+$"]
    add(index, at)
    return index and (" "):rep(#name) or nil
  end)
  for at, code in text:gmatch "()`([^`]+)`" do
    add(self.by_id[code], at)
  end
  if text:find("\u{7B2C}", 1, true) then
    for sign, digit in pairs(DIGITS) do
      text = text:gsub(sign, digit)
    end
  end
  for at, cell in ("|" .. text .. "|"):gmatch "()|([^|]+)%f[|]" do
    local name = text:find("|", 1, true) and (cell:find "`" and "" or cell) or cell:match "^%s*%*%*([^*]+)%*%*" or ""
    add(self:called(name), at)
  end
  local chain = 0 -- how far a list of numbers such as "2-4" or "2, 3" has been read
  for at, digits, after in text:gmatch "()%f[%d](%d[%d.]*)()" do
    local dashed = self.steps and text:sub(1, at - 1):find "%f[%w][Ss]tep[-_]$"
    local index, in_step = self:number(digits, own), own and self.steps
    local is_near = in_step and (not index or index == own or index == own + 1)
    local is_other = not in_step or not is_near and not self.parts[tonumber(digits:match "%d+")]
    local named = dashed or is_other and self:is_named(text, at, after, not in_step and own or nil)
      or chain > 0 and text:sub(chain, at - 1):find "^%s*[-,/&~\128-\255]+%s*$"
    chain = named and not text:find("^%a", after) and after or 0
    add(chain > 0 and index or nil, at)
  end
  table.sort(out)
  return out, first
end

---The phases of a cell that is a list of numbers: "1, 3", "Phases 2-4", "1 -> 2 -> 3", "all".
---@param cell string
---@return integer[]?  nil: it is something else, or ambiguous: "1 -> 4" may be two or four of them
function Mentions:list(cell)
  local text, out, last = plain(cell):lower(), {}, nil
  if text == "all" or text == "*" or text == "\u{5168}\u{90E8}" then
    for index in ipairs(self.phases) do
      out[index] = index
    end
    return out
  end
  local word, numbers = text:match "^([%a\128-\255]*)%s*(p?%d[^\n]*)$"
  if not numbers or word ~= "" and not self.words[word] or #numbers > MAX_TEXT then
    return nil
  end
  local list, arrows = numbers:gsub("%s*\u{2192}%s*", ","):gsub("%s*%->%s*", ",")
  arrows = arrows + select(2, numbers:gsub("\u{2192}", ""))
  list = list:gsub("\u{2013}", "-"):gsub("~", "-"):gsub("\u{3001}", ","):gsub("[&/+]", ",")
  for part in (list .. ","):gmatch "([^,]*)," do
    local from, to = part:match "^%s*p?([%d.]+)%s*%-%s*p?([%d.]+)%s*$"
    from, to = self:number(from or part), self:number(to or part)
    for index = from or 1, to or 0 do
      out[#out + 1] = index
    end
    if not from or not to or from > to or arrows == 1 and last and from ~= last + 1 then
      return nil
    end
    last = to
  end
  return out
end

return M
