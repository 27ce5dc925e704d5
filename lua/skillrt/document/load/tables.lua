-- document/load/tables.lua: the tables of known shapes: action catalogs, selection priorities, transition
-- registries (R127), state definitions, documents with their purpose.
--
-- A table of another shape is not ours and is left alone.
local condition = require "skillrt.document.load.condition"
local names = require "skillrt.base.names"
local words = require "skillrt.document.load.words"
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

local function columns(header)
  local at = {}
  for i, title in ipairs(header) do
    local name = M.plain(title):lower()
    for _, kind in ipairs { "ACTION", "CONDITIONS", "EFFECTS", "PURPOSES", "PRIORITY", "FROM", "TO", "STATE",
      "EXITS", "LIMIT" } do
      if words[kind][name] and not at[kind] then
        at[kind] = i
      end
    end
  end
  return at
end

-- The kind of a table by its columns; nil for all others.
local function kind_of(at)
  if at.ACTION and at.FROM and at.TO then
    return "transitions"
  elseif at.ACTION and at.ACTION <= 2 and (at.CONDITIONS or at.EFFECTS or at.PURPOSES or at.PRIORITY) then
    return "actions"
  elseif at.STATE == 1 and (at.PURPOSES or at.EXITS) and not at.ACTION then
    return "states"
  end
  return nil
end

local function states_in(cell)
  local out = {}
  for name in cell:gmatch "`([^`]+)`" do
    out[#out + 1] = name
  end
  if #out == 0 then
    for name in M.plain(cell):gsub("%f[%w]or%f[%W]", ","):gsub("\u{6216}", ","):gmatch "[^,/|\u{FF0C}]+" do
      name = trim(name)
      out[#out + 1] = name ~= "" and name or nil
    end
  end
  return out
end

local ANY = { any = true, ["*"] = true, all = true, ["\u{4EFB}\u{610F}"] = true }

local function transition(row, at, file)
  local from, to = states_in(row.cells[at.FROM] or ""), states_in(row.cells[at.TO] or "")
  local told = at.CONDITIONS and condition.cell(row.cells[at.CONDITIONS] or "") or {}
  local parts = {}
  for i, one in ipairs(told) do
    parts[i] = ("(%s)"):format(one.condition or condition.judged(one.text))
  end
  local limit = at.LIMIT and math.tointeger(tonumber(M.plain(row.cells[at.LIMIT] or "")))
  return {
    when = #parts > 0 and table.concat(parts, " && ") or nil,
    max_runs = limit and limit > 0 and limit or nil,
    action = M.plain(row.cells[at.ACTION] or ""),
    from = from,
    to = to,
    any = #from == 1 and ANY[from[1]:lower()] or false,
    description = at.PURPOSES and M.plain(row.cells[at.PURPOSES] or "") or nil,
    file = file,
    line = row.line,
  }
end

local function at_line(line, list)
  for _, told in ipairs(list) do
    told.line = line
  end
  return list
end

-- One row of a catalog; nil and the cell where it names no action.
local function action(row, at, file, is_field)
  local cells = row.cells
  local cell = cells[at.ACTION] or ""
  if cell:find "%w%-[%*<{]" or cell:find "%-%*`" then
    return nil -- a pattern stands for several actions and names none
  end
  local id = M.plain(cell)
  if not names.id(id) then
    return nil, id
  end
  local one = { id = id, file = file, line = row.line, from = "table" }
  one.description = at.PURPOSES and M.plain(cells[at.PURPOSES] or "") or nil
  one.priority = at.PRIORITY and tonumber(M.plain(cells[at.PRIORITY] or "")) or nil
  if at.CONDITIONS or at.EFFECTS then
    function one.rest()
      one.preconditions = at.CONDITIONS and at_line(row.line, condition.cell(cells[at.CONDITIONS] or "", is_field))
      one.effects = at.EFFECTS and at_line(row.line, condition.effects(cells[at.EFFECTS] or ""))
    end
  end
  return one
end

---@class skillrt.load.Tables
---@field actions skillrt.load.Source[]  rows of catalogs
---@field transitions table[]
---@field states { name: string, exits: string[], line: integer, file: string }[]
---@field odd { text: string, line: integer, file: string }[]  rows that name no action by an id

---What the known tables of a document say.
---@param blocks skillrt.load.Markdown
---@param file string
---@param is_field (fun(name: string): boolean)?
---@param is_action fun(id: string): boolean  whether an id is an action for another reason
---@return skillrt.load.Tables
function M.read(blocks, file, is_field, is_action)
  local out = { actions = {}, transitions = {}, states = {}, odd = {} }
  for _, block in ipairs(blocks) do
    local at = block.kind == "table" and columns(block.header) or {}
    local kind = kind_of(at)
    local actions, odd, known = {}, {}, at.CONDITIONS ~= nil
    for _, row in ipairs(kind and block.rows or {}) do
      if kind == "transitions" then
        out.transitions[#out.transitions + 1] = transition(row, at, file)
      elseif kind == "states" then
        local name = M.plain(row.cells[1] or "")
        local exits = {}
        for exit in (at.EXITS and row.cells[at.EXITS] or ""):gmatch "`([%w_.-]+)`" do
          exits[#exits + 1] = exit
        end
        out.states[#out.states + 1] = { name = name, exits = exits, line = row.line, file = file }
      else
        local one, other = action(row, at, file, is_field)
        actions[#actions + 1] = one
        odd[#odd + 1] = other and { text = other, line = row.line, file = file } or nil
        known = known or one and is_action(one.id)
      end
    end
    -- "| Error | Action | Description |" looks alike, but names no action.
    if known and #actions > 0 then
      table.move(actions, 1, #actions, #out.actions + 1, out.actions)
      table.move(odd, 1, #odd, #out.odd + 1, out.odd)
    end
  end
  return out
end

return M
