-- document/load/flow/mentions.lua: which phases a line names: "Phase 2", "Phases 2-4", "2 and 3" behind the word,
-- a phase's file.
--
-- Knows phases by number and path, nothing of what is said of them. Called by flow.lua and flow/*.
local M = {}

local MAX_TEXT <const> = 1000 -- a longer line names nothing

---@class skillrt.load.Mentions
---@field phases skillrt.load.PhaseFile[]
local Mentions = {}
Mentions.__index = Mentions

local function key_of(number)
  return table.concat(number, ".")
end

---@param phases skillrt.load.PhaseFile[]  in their order
---@return skillrt.load.Mentions
function M.new(phases)
  local self = setmetatable({ phases = phases, by_number = {}, by_path = {}, by_id = {} }, Mentions)
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

---The phases a text names, by their place in the order, and where the first is named.
---@param text string
---@return integer[] indexes
---@return integer? at
function Mentions:of(text)
  local out, seen, first = {}, {}, nil
  if #text > MAX_TEXT then
    return out
  end
  local function add(index)
    if not seen[index] then
      seen[index] = true
      out[#out + 1] = index
    end
  end
  for _, pattern in ipairs(WORDS) do
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
  for name, start in text:gmatch "([%w_./-]+%.md)()" do
    local index = self.by_path[name] or self.by_path[name:gsub("^%./", "")]
    if index then
      add(index)
      first = first and math.min(first, start - #name) or start - #name
    end
  end
  table.sort(out)
  return out, first
end

return M
