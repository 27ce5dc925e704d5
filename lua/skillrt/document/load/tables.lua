-- document/load/tables.lua: the tables of known shapes about actions: catalogs, selection priorities.
--
-- Tables of another form are ignored. Called by prose.lua; `columns` by flow/tables.lua.
local condition = require "skillrt.document.load.condition"
local names = require "skillrt.base.names"
local trim = require("skillrt.base.text").trim

local M = {}

---The text of a cell without link, code and bold marks.
---@param cell string
---@return string
function M.plain(cell)
  if cell:find "[%[`*]" then
    cell = cell:gsub("%[([^%[%]]*)%]%([^)%[]*%)", "%1"):gsub("[`*]", "")
  end
  return trim(cell)
end

---Kinds of columns by their names.
---@param kinds table<string, string>  names in small letters, with "|" between them
---@return table<string, string>
function M.known(kinds)
  local out = {}
  for kind, list in pairs(kinds) do
    for name in list:gmatch "[^|]+" do
      out[name] = kind
    end
  end
  return out
end

---The places of a table's columns by their kinds.
---@param header string[]
---@param known table<string, string>  of M.known
---@return table<string, integer> at
---@return string? unknown  the first column of another name
function M.columns(header, known)
  local at, unknown = {}, nil
  for i, title in ipairs(header) do
    local kind = known[M.plain(title):lower()]
    if kind then
      at[kind] = at[kind] or i
    else
      unknown = unknown or title
    end
  end
  return at, unknown
end

local COLUMNS <const> = M.known {
  action = "action|\u{52A8}\u{4F5C}|\u{884C}\u{52A8}",
  preconditions = "preconditions|precondition|\u{524D}\u{7F6E}\u{6761}\u{4EF6}",
  effects = "effects|effect|\u{6548}\u{679C}",
  purpose = "purpose|description|\u{76EE}\u{7684}|\u{63CF}\u{8FF0}|\u{8BF4}\u{660E}",
  priority = "priority|\u{4F18}\u{5148}\u{7EA7}",
  from = "from states|from state|from|\u{6E90}\u{72B6}\u{6001}",
  to = "to states|to state|to|\u{76EE}\u{6807}\u{72B6}\u{6001}",
}

-- Whether it is a table of actions by its columns.
local function is_catalog(at)
  return at.action and at.action <= 2 and (at.preconditions or at.effects or at.purpose or at.priority)
end

local function at_line(list, line)
  for _, told in ipairs(list) do
    told.line = line
  end
  return list
end

local function read_row(one, cell, is_field)
  local text = cell "action"
  if not text:find "%w%-[%*<{]" and not text:find "%-%*`" then -- else a pattern: several actions, and none
    one.id = M.plain(text)
  end
  one.description = cell "purpose" and M.plain(cell "purpose")
  one.priority = tonumber(M.plain(cell "priority" or ""))
  one.preconditions = cell "preconditions" and at_line(condition.cell(cell "preconditions", is_field), one.line)
  one.effects = cell "effects" and at_line(condition.effects(cell "effects"), one.line)
end

---@class skillrt.load.Tables
---@field actions table[]  rows of catalogs, by id
---@field machine { line: integer, file: string }?  a table of states and the actions between them, which is not read
---@field odd { text: string, line: integer, file: string }[]  rows that name no action by an id

---What the known tables of a document say.
---@param blocks skillrt.load.Markdown
---@param file string
---@param is_field (fun(name: string): boolean)?
---@param is_action fun(id: string): boolean  whether an id is an action for another reason
---@return skillrt.load.Tables
function M.read(blocks, file, is_field, is_action)
  local out = { actions = {}, odd = {} }
  for _, block in ipairs(blocks) do
    local at = block.kind == "table" and M.columns(block.header, COLUMNS) or {}
    local rows, known, moves = {}, at.preconditions ~= nil, at.action and at.from and at.to
    for i, row in ipairs((moves or is_catalog(at)) and block.rows or {}) do
      rows[i] = { file = file, line = row.line }
      read_row(rows[i], function(name)
        return at[name] and (row.cells[at[name]] or "")
      end, is_field)
      known = known or names.id(rows[i].id) ~= nil and is_action(rows[i].id)
    end
    if moves then
      out.machine = known and { line = block.line, file = file } or out.machine
      known = false
    end
    -- "| Error | Action | Description |" looks alike, but names no action
    for _, one in ipairs(known and rows or {}) do
      if names.id(one.id) then
        table.insert(out.actions, one)
      elseif one.id then
        table.insert(out.odd, { text = one.id, line = one.line, file = file })
      end
    end
  end
  return out
end

return M
