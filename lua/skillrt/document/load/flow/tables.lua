-- document/load/flow/tables.lua: tables about phases: which document, in which mode, under which condition,
-- beside which others, what it writes; and tables of modes with their phases.
--
-- A table that names no phase of the folder is not ours. Called by flow.lua.
local names = require "skillrt.base.names"
local plain = require("skillrt.document.load.tables").plain

local M = {}

local COLUMNS = {
  mode = { mode = true, modes = true, ["\u{6A21}\u{5F0F}"] = true },
  condition = { condition = true, conditions = true, when = true, ["load when"] = true, ["run when"] = true,
    ["runs when"] = true, ["run if"] = true, ["only if"] = true, ["\u{6761}\u{4EF6}"] = true,
    ["\u{6267}\u{884C}\u{6761}\u{4EF6}"] = true },
  parallel = { parallel = true, ["in parallel"] = true, ["\u{5E76}\u{884C}"] = true },
  output = { output = true, outputs = true, ["\u{8F93}\u{51FA}"] = true, ["\u{4EA7}\u{51FA}"] = true },
  used = { ["used by"] = true, ["used in"] = true, ["applies to"] = true, ["runs in"] = true },
  phase = { phase = true, ["#"] = true, ["phase #"] = true, ["\u{9636}\u{6BB5}"] = true },
  phases = { phases = true, ["phases to run"] = true, ["\u{9636}\u{6BB5}"] = true },
}

local function columns(header)
  local at = {}
  for i, title in ipairs(header) do
    local name = plain(title):lower()
    for kind, words in pairs(COLUMNS) do
      at[kind] = at[kind] or words[name] and i or nil
    end
  end
  return at
end

---@class skillrt.load.PhaseRow
---@field index integer     of the phase
---@field line integer
---@field mode string?      the cell
---@field condition string?
---@field parallel string?
---@field output string?

local MAX_CELL <const> = 1000

local function path_in(cells)
  for _, cell in ipairs(cells) do
    local path = #cell <= MAX_CELL and (cell:match "%]%(%s*([^%s()]+%.md)" or cell:match "([%w_./-]+%.md)")
    if path and path:find "phases/" then
      return path:match "phases/.*$"
    end
  end
  return nil
end

---The file that a cell is: a path with an ending, between backticks or not; nil for all else, several of them too.
---@param cell string
---@return string?
function M.file(cell)
  local path = #cell <= MAX_CELL and (cell:match "^%s*`([^`]+)`%s*$" or cell:match "^%s*([%w_./-]+)%s*$") or nil
  path = path and path:gsub("^%${?{?[wW]ork_?[dD]ir}?}?/", "")
  return path and path:find "^[%w_./-]+%.%w+$" and names.confined(path) and path or nil
end

local function row_of(row, at, mentions)
  local cells, path = row.cells, path_in(row.cells)
  local index = path and mentions.by_path[path]
  if not index and not path and at.phase then
    index = mentions:number(plain(cells[at.phase] or ""))
    local named = not index and mentions:of(cells[at.phase] or "") or {}
    index = index or #named == 1 and named[1] or nil
  end
  local out = { index = index, line = row.line, path = path }
  for _, kind in ipairs { "mode", "condition", "parallel", "output" } do
    out[kind] = at[kind] and cells[at[kind]] or nil
  end
  return out
end

-- A column that says who uses a phase speaks of modes where it says so.
local function mode_column(block, at)
  for _, row in ipairs(at.used and not at.mode and block.rows or {}) do
    local cell = row.cells[at.used] or ""
    if #cell <= MAX_CELL and cell:lower():find "%f[%w]modes?%f[%W]" then
      return at.used
    end
  end
  return at.mode
end

---The rows of a table of phases; nil where it is none.
---@param block skillrt.load.Block
---@param mentions skillrt.load.Mentions
---@return skillrt.load.PhaseRow[]? rows
---@return { path: string, line: integer }[]? missing  rows whose document is not there
function M.phases(block, mentions)
  local at = columns(block.header)
  at.mode = mode_column(block, at)
  if at.mode == 1 or not (at.phase or path_in(block.rows[1] and block.rows[1].cells or {})) then
    return nil
  end
  local rows, missing, by_path = {}, {}, 0
  for _, row in ipairs(block.rows) do
    local one = row_of(row, at, mentions)
    if one.index then
      rows[#rows + 1] = one
      by_path = by_path + (one.path and 1 or 0)
    elseif one.path and not one.path:find "[{}<>*$]" then
      missing[#missing + 1] = { path = one.path, line = one.line }
    end
  end
  local tells = by_path > 0 or #rows > 1 and (at.mode or at.condition or at.parallel)
  return tells and rows or nil, missing
end

-- "plan (default)" or "plan, verify": the names, which of them is the default; nil: it is prose.
local function modes_in(cell)
  local out, default = {}, nil
  if #cell > MAX_CELL then
    return nil
  end
  local text = plain(cell):lower()
  if text:find "%w%s+modes?%f[%W]" then -- "single role mode only"
    text = text:gsub("%s+only$", ""):gsub("%s+modes?%f[%W]", ""):gsub("(%w)%s+(%w)", "%1-%2")
    text = text:gsub("%-and%-", ","):gsub("%-or%-", ",")
  end
  for part in (text:gsub("%f[%w]and%f[%W]", ","):gsub("\u{3001}", ",") .. ","):gmatch "([^,/+]*)[,/+]" do
    local name, more = part:match "^%s*%-*([%w_-]+)%s*(.-)%s*$"
    local is_default = more and more:find "^%(?default%)?$" ~= nil
    if not name or more ~= "" and not is_default then
      return nil
    end
    out[#out + 1] = name
    default = is_default and name or default
  end
  return out, default
end

local EVERY = { all = true, any = true, both = true, ["*"] = true, always = true, [""] = true, ["-"] = true,
  every = true }

---The modes of a phase's cell; an empty list: all.
---@param cell string
---@return string[]? modes  nil: it is prose
---@return string? default
function M.modes(cell)
  local text = plain(cell):sub(1, MAX_CELL)
  if EVERY[(text:lower():gsub("%s+modes?$", ""))] or text == "\u{2014}" then
    return {}
  end
  local out, default = modes_in(cell)
  return out and names.id(out[1] or "") and out or nil, default
end

-- "1 -> 4" may mean all from 1 to 4, or those two: nobody can tell. "1 -> 2" and "1 -> 3 -> 4" are lists.
local function is_unclear(cell)
  local from, to = cell:gsub("\u{2192}", "->"):match "^%s*(%d+)%s*%->%s*(%d+)%+?%s*$"
  return from ~= nil and tonumber(to) ~= tonumber(from) + 1
end

-- "Default: a page is given" in any cell behind the first.
local function says_default(cells)
  for i = 2, #cells do
    if plain(cells[i]):lower():find "^default%f[%W]" then
      return true
    end
  end
  return false
end

---A table of modes with their phases or documents; nil where it is none.
---@param block skillrt.load.Block
---@param mentions skillrt.load.Mentions
---@return { mode: string?, default: boolean, phases: integer[], line: integer, text: string }[]?
function M.by_mode(block, mentions)
  local at = columns(block.header)
  if at.mode ~= 1 then
    return nil
  end
  local out, ours, unclear = {}, at.phases ~= nil, false
  for _, row in ipairs(block.rows) do
    local cells, path = row.cells, path_in(row.cells)
    unclear = unclear or at.phases ~= nil and is_unclear(plain(cells[at.phases] or ""))
    local named, list = {}, at.phases and cells[at.phases]
    if list and plain(list):lower():find "^all%f[%W]" and #plain(list) < 12 then
      for i in ipairs(mentions.phases) do
        named[i] = i
      end
    elseif list then
      named = mentions:of("phases " .. plain(list):gsub("^[Pp]hases?%s*", ""))
    elseif path then
      named = { mentions.by_path[path] }
    end
    local modes, default = M.modes(cells[1] or "")
    ours = ours or path ~= nil and #named > 0
    out[#out + 1] = { mode = modes and modes[1], default = default ~= nil or says_default(cells),
      phases = named, line = row.line, text = table.concat(cells, " | ") }
  end
  for _, row in ipairs(unclear and out or {}) do
    row.mode = nil -- then none of it is read
  end
  return ours and #out > 0 and out or nil
end

return M
