-- document/load/flow/mentions.lua: which phases a line names: "Phase 2", "Phases 2-4", "2 and 3" behind the word,
-- a phase's file; "Step 2" where the phases are steps.
--
-- Knows phases by number and path, nothing of what is said of them. Called by flow.lua and flow/*.
local M = {}

local MAX_TEXT <const> = 1000 -- a longer line names nothing

---@class skillrt.load.Mentions
---@field phases skillrt.load.PhaseFile[]
---@field steps boolean  its documents are called steps: so are they in what is said of them
local Mentions = {}
Mentions.__index = Mentions

local function key_of(number)
  return table.concat(number, ".")
end

---@param phases skillrt.load.PhaseFile[]  in their order
---@return skillrt.load.Mentions
function M.new(phases)
  local steps = #phases > 0 and phases[1].base:lower():find "^step" ~= nil
  local self = setmetatable({ phases = phases, by_number = {}, by_path = {}, by_id = {}, steps = steps }, Mentions)
  for i, one in ipairs(phases) do
    if #one.number > 0 then
      self.by_number[key_of(one.number)] = self.by_number[key_of(one.number)] or i
    end
    self.by_path[one.path], self.by_path[one.path:match "[^/]+$"] = i, i
    self.by_id[one.id] = i
  end
  return self
end

---The phase with this number, as a document writes it.
---@param text string
---@return integer?
function Mentions:number(text)
  local digits = text:match "^%s*[Pp]?(%d[%d.]*)%s*$"
  return digits and self.by_number[(digits:gsub("%.$", ""):gsub("%f[%d]0+(%d)", "%1"))]
end

-- What stands between two numbers of one list: a range, or one more.
local RANGES = { "-", "\u{2013}", "~", "to", "through", "\u{5230}", "\u{81F3}" }
local MORE = { ",", "&", "/", "and", "or", "\u{2192}", "->", "\u{3001}", "\u{548C}", "\u{6216}", ", and", "then" }

local function separator(text, at)
  for _, list in ipairs { RANGES, MORE } do
    for _, word in ipairs(list) do
      local plain = word:gsub("%p", "%%%0")
      local after = text:match("^%s*" .. plain .. "%s*()%*?%*?[Pp]?%d", at)
        or text:match("^%s*" .. plain .. "%s*[Pp]hase%s*()%d", at)
      if after then
        return after, list == RANGES
      end
    end
  end
  return nil
end

-- "2", "2-4", "2, 3 and 5" from a place on; 4A is a part of a phase, no phase.
function Mentions:list(text, at, add)
  local last, is_range
  while true do
    local digits, after = text:match("^%*?%*?[Pp]?(%d[%d.]*)()", at)
    if not digits then
      return at
    end
    local dot = digits:match "%.$"
    digits, after = digits:gsub("%.$", ""), dot and after - 1 or after
    if text:find("^%a", after) then
      return after
    end
    local index = self.by_number[(digits:gsub("^0+(%d)", "%1"))]
    if index then
      for k = is_range and last and last < index and last + 1 or index, index do
        add(k)
      end
    end
    last = index
    at, is_range = separator(text, after)
    if not at then
      return after
    end
  end
end

local WORDS = { "[Pp]hases?%s*()%*?%*?%d", "PHASES?%s*()%d", "\u{9636}\u{6BB5}%s*()%d", "%f[%w]()P%d%f[^%d]" }
local STEPS = { "[Ss]teps?%s+()%*?%*?%d", "%f[%w][Ss]tep[-_]()%d", table.unpack(WORDS) }
-- In a step's own document "Step 1" is a part of it, and a phase something else.
local STEPS_IN_ONE = { "%f[%w][Ss]tep[-_]()%d" }

function Mentions:words(own)
  return not self.steps and WORDS or own and STEPS_IN_ONE or STEPS
end

-- Each path of a phase's file in a text, for what `make(index, length)` gives.
local function replace_paths(self, text, make)
  return (text:gsub("[%w_./-]+%.md", function(name)
    local index = self.by_path[name] or self.by_path[name:match "[^/]+$"]
    return index and make(index, #name) or nil
  end))
end

---Whether a text names a phase by its file, or a step by its name.
---@param text string
---@return boolean
function Mentions:by_file(text)
  local found = self.steps and text:find "%f[%w][Ss]tep[-_]%d" ~= nil
  replace_paths(self, text, function()
    found = true
  end)
  return found
end

---A text in which each file of a phase, and each step, is called "phase 0": for who looks at the words.
---@param text string
---@param own boolean  it stands in a phase's document
---@return string
function Mentions:normal(text, own)
  text = replace_paths(self, text, function()
    return "phase 0"
  end)
  if self.steps then
    text = text:gsub("%f[%w][Ss]tep[-_](%d+)[%w_-]*", "phase %1")
    return own and text or (text:gsub("[Ss]tep(s?%s+%*?%*?%d)", "phase%1"))
  end
  return text
end

---The phases a text names, by their place in the order, and where the first is named.
---@param text string
---@param own boolean?  it stands in a phase's document
---@return integer[] indexes
---@return integer? at
function Mentions:of(text, own)
  local out, seen = {}, {}
  if #text > MAX_TEXT then
    return out
  end
  local function add(index)
    if not seen[index] then
      seen[index] = true
      out[#out + 1] = index
    end
  end
  text = replace_paths(self, text, function(index, length)
    add(index)
    return ("\0"):rep(length)
  end)
  local first = text:find("\0", 1, true)
  for _, pattern in ipairs(self:words(own)) do
    local from = 1
    while true do
      local start, _, at = text:find(pattern, from)
      if not start then
        break
      end
      local before = #out
      -- "LP-Phase 2" is another document's
      from = text:find("^[%w_-]", start - 1) and start > 1 and at or self:list(text, at, add)
      first = #out > before and (not first or start < first) and start or first
      from = math.max(from, at)
    end
  end
  table.sort(out)
  return out, first
end

return M
