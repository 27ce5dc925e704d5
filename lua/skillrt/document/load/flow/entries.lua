-- document/load/flow/entries.lua: where a run begins: tables whose rows lead to a phase each ("an old one | `--edit` |
-- -> Phase 3"), and sentences such as "Start at phase 3 when a draft exists."
--
-- An entry is a mode that runs its phase and those behind it: `--set entry=NAME`, asked where nobody says it. Called
-- by flow.lua.
local modes_of = require "skillrt.document.load.flow.modes"
local plain = require("skillrt.document.load.tables").plain

local M = {}

local MAX_TEXT <const>, MAX_NAME <const> = 400, 40
local FIRST <const> = "start"

local STARTS = { ["start at"] = true, ["starts at"] = true, ["start with"] = true, ["starts with"] = true,
  ["begin at"] = true, ["begins at"] = true, ["begin with"] = true, ["entry"] = true, ["entry point"] = true,
  ["entry phase"] = true, ["start phase"] = true, ["starting phase"] = true, ["leads to"] = true,
  ["resume at"] = true, ["resume from"] = true }

---@class skillrt.load.Entry
---@field name string
---@field text string
---@field start integer  the phase
---@field default boolean?
---@field place table?  where it stands

-- A name that can be typed: of a code span, else of the words.
local function name_of(text)
  local code = text:match "`%-*([%w][%w_-]*)`"
  local name = (code or plain(text)):lower():gsub("[^%w]+", "-"):gsub("^%-", ""):sub(1, MAX_NAME):gsub("%-$", "")
  return name ~= "" and name or nil
end

-- The one phase that a cell leads to.
local function start_in(cell, mentions)
  local text = #cell <= MAX_TEXT and plain(cell):gsub("\u{2192}", "->") or ""
  local named = mentions:of(text:find "^%s*%d" and "phase " .. text or text)
  local more = text:find "[,;]" or text:find "%f[%a]or%f[%A]" or text:find "%f[%a]if%f[%A]"
  return #named == 1 and not more and named[1] or nil
end

-- The column that says where a run begins; nil: none does.
local function column_of(block)
  for i = 2, #block.header do
    local arrows = #block.rows > 0
    for _, row in ipairs(block.rows) do
      arrows = arrows and (row.cells[i] or ""):gsub("\u{2192}", "->"):find "^%s*%->%s*[Pp]hase%s*%d" ~= nil
    end
    if arrows or STARTS[plain(block.header[i]):lower()] then
      return i
    end
  end
end

---The entries of a table; nil where it is none, or a row of it leads nowhere.
---@param block skillrt.load.Block
---@param mentions skillrt.load.Mentions
---@return skillrt.load.Entry[]?
function M.table(block, mentions)
  local column, out, later = column_of(block), {}, false
  for _, row in ipairs(column and block.rows or {}) do
    local text, code = row.cells[1] or "", nil
    for i, cell in ipairs(row.cells) do
      code = code or i ~= column and #cell <= MAX_TEXT and cell:match "`%-+[%w][%w_-]*`" or nil
    end
    local start, name = start_in(row.cells[column] or "", mentions), name_of(code or text:sub(1, MAX_TEXT))
    if not start or not name or #mentions:of(text) > 0 then
      return nil
    end
    later = later or start > 1
    out[#out + 1] = { name = name, text = plain(text), start = start,
      default = text:lower():find("(default)", 1, true) ~= nil }
  end
  return later and out or nil
end

-- "Start at phase 3 when a draft exists", "If a draft exists, begin with phase 3.": the words of the condition.
local SENTENCES = {
  "^start%a* %a+ phase %d[%d.]* [wi][hf]e?n? (.-)%.?%s*$",
  "^begin%a* %a+ phase %d[%d.]* [wi][hf]e?n? (.-)%.?%s*$",
  "^[wi][hf]e?n? ([^,;:]-),? start %a+ phase %d[%d.]*%.?%s*$",
  "^[wi][hf]e?n? ([^,;:]-),? begin %a+ phase %d[%d.]*%.?%s*$",
}

---The entry that a sentence states; nil for all else.
---@param text string
---@param named integer[]  the phases it names
---@return skillrt.load.Entry?
function M.sentence(text, named)
  local words = #text <= MAX_TEXT and #named == 1 and named[1] > 1 and text:gsub("[*_]", ""):gsub("^[%s%-+#]*", "")
  for _, pattern in ipairs(words and SENTENCES or {}) do
    local told = (words:sub(1, 1):lower() .. words:sub(2)):gsub("Phase", "phase"):match(pattern)
    local name = told and name_of(told)
    if name then
      return { name = name, text = told, start = named[1] }
    end
  end
end

---Makes modes of the entries: each runs its phase and those behind it.
---@param modes skillrt.load.Modes  none of them are known
---@param list skillrt.load.Entry[]
---@param total integer  how many phases there are
function M.apply(modes, list, total)
  local has_first = false
  for _, one in ipairs(list) do
    has_first = has_first or one.start == 1
  end
  if not has_first then
    table.insert(list, 1, { name = FIRST, text = "the first phase", start = 1 })
  end
  modes.word, modes.told = "entry", {}
  for _, one in ipairs(list) do
    modes.told[#modes.told + 1] = ("%s: %s"):format(one.name, one.text)
    for index = one.start, total do
      modes_of.add(modes, index, one.name)
    end
    modes.default = modes.default or one.default and one.name or nil
  end
end

return M
