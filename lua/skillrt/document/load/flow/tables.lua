-- document/load/flow/tables.lua: tables about phases: which document, in which mode; modes with their phases; where a
-- run starts; which phases repeat.
--
-- Tables that name no phase of the folder are ignored. Called by flow.lua.
local tables = require "skillrt.document.load.tables"
local words = require("skillrt.base.tables").words

local M = {}

local plain = tables.plain
local MAX_CELL <const> = 1000

-- Names of columns, in lower case; `about`: known, and without effect on a run.
local COLUMNS <const> = tables.known {
  mode = "mode|modes|\u{6A21}\u{5F0F}",
  condition = "condition|conditions|when|run when|runs when|run if|only if|load when|\u{6761}\u{4EF6}|"
    .. "\u{6267}\u{884C}\u{6761}\u{4EF6}",
  phase = "phase|#|phase #|\u{9636}\u{6BB5}",
  phases = "phases|phases to run|repeat",
  start = "start at|starts at|begin at|entry|entry point|entry phase|start phase|leads to|resume at",
  about = "document|file|ref|reference|name|title|purpose|description|input|output|outputs|agent|\u{6587}\u{6863}|"
    .. "\u{6587}\u{4EF6}|\u{76EE}\u{7684}|\u{63CF}\u{8FF0}|\u{8BF4}\u{660E}|\u{540D}\u{79F0}|"
    .. "\u{8F93}\u{5165}|\u{8F93}\u{51FA}|\u{4EA7}\u{51FA}",
}

local function path_in(cells)
  for _, cell in ipairs(cells) do
    local path = #cell <= MAX_CELL and (cell:match "%]%(%s*([^%s()]+%.md)" or cell:match "([%w_./-]+%.md)")
    if path and path:find "phases/" then
      return path:match "phases/.*$"
    end
  end
  return nil
end

local EVERY = words "all any both * always - \u{2014}"
EVERY[""] = true

-- "plan (default), verify": the names, and which is the default; an empty list: all; nil: prose.
local function modes_in(cell)
  local text, out, default = plain(cell):lower(), {}, nil
  if #cell > MAX_CELL then
    return nil
  elseif EVERY[text] then
    return {}
  end
  for part in (text:gsub("\u{3001}", ",") .. ","):gmatch "([^,/+]*)[,/+]" do
    local name, more = part:match "^%s*%-*([%w_-]+)%s*(.-)%s*$"
    if not name or more ~= "" and more ~= "(default)" then
      return nil
    end
    out[#out + 1], default = name, more ~= "" and name or default
  end
  return out, default
end

local IS_MODE <const> = "^%s*`?mode%s*==?=?%s*['\"]?([%w_-]+)['\"]?`?%s*$" -- `mode == 'quick'` is one of the modes

---@class skillrt.load.FlowRow  what a row says about phases
---@field line integer
---@field text string
---@field index integer?    of its phase
---@field path string?      of a document that does not exist
---@field modes string[]?
---@field default string?
---@field phases integer[]? of a mode
---@field unread boolean?   something in it was not understood

local function phase_row(out, cells, at, mentions)
  local path = path_in(cells)
  out.index = path and mentions.by_path[path]
  if not path and at.phase then
    local cell = plain(cells[at.phase] or "")
    local named = mentions:of(cell)
    out.index = mentions:number(cell) or #named == 1 and named[1] or mentions:called(cell)
  elseif path and not out.index and not path:find "[{}<>*$]" then
    out.path = path
  end
  out.by_path = path ~= nil and out.index ~= nil
  local cell = at.condition and cells[at.condition] or ""
  local mode = #cell <= MAX_CELL and cell:match(IS_MODE)
  out.modes = mode and { mode:lower() }
  if at.mode then
    out.modes, out.default = modes_in(cells[at.mode] or "")
  end
  out.unread = at.mode ~= nil and not out.modes or not mode and not EVERY[plain(cell):lower()]
end

local function mode_row(out, cells, at, mentions)
  local modes, default = modes_in(cells[1])
  local path = path_in(cells)
  out.modes = modes and #modes == 1 and modes or nil
  out.default = default or table.concat(cells, "|", 2):lower():find "|%s*default%f[%W]" and modes and modes[1] or nil
  if at.phases then
    out.phases = mentions:list(cells[at.phases] or "")
  else
    out.phases = { path and mentions.by_path[path] }
  end
  out.unread = not out.modes or #(out.phases or {}) == 0
end

local ROWS = { phases = phase_row, modes = mode_row }

local function kind_of(block, at)
  local has_path = path_in((block.rows[1] or {}).cells or {}) ~= nil
  if at.start and at.start > 1 then
    return nil
  elseif at.mode == 1 and (at.phases or has_path) then
    return "modes"
  elseif at.mode ~= 1 and (at.phase or has_path) then
    return "phases"
  end
end

---What a table says of phases; nil where it is about something else. A table that says where runs begin or what
---repeats is "unread".
---@param block skillrt.load.Block
---@param mentions skillrt.load.Mentions
---@return "phases"|"modes"|"unread"|nil kind
---@return skillrt.load.FlowRow[]? rows
---@return string? unknown  the first unknown column
function M.read(block, mentions)
  local at, unknown = tables.columns(block.header, COLUMNS)
  local kind, rows, ours, missing = kind_of(block, at), {}, false, false
  local lists = not kind and (at.phases or at.start)
  for i, row in ipairs(block.rows) do
    local one = { line = row.line, text = table.concat(row.cells, " | ") }
    rows[i] = one
    if kind then
      ROWS[kind](one, row.cells, at, mentions)
    end
    ours = ours or one.by_path or #(one.phases or {}) > 0 or lists and mentions:list(row.cells[lists] or "") ~= nil
      or one.index and (at.mode or at.condition) and #block.rows > 1
    missing = missing or one.phases == nil and kind == "modes"
  end
  for _, one in ipairs(missing and rows or {}) do
    one.unread = true -- which rows belong to a mode is known only from all of them
  end
  if not ours and not (kind == "modes" and at.phases) then
    return nil
  end
  return kind or "unread", rows, kind == "phases" and unknown or nil
end

return M
