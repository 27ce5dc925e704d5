-- document/load/flow.lua: reads from a folder's documents how its phases follow each other, where the form needs no
-- guessing: tables of their order and their modes. Other lines that name a phase are quoted.
--
-- For phases that are defined by documents; a config or a workflow.json takes precedence. Called by sources.lua.
local markdown = require "skillrt.document.load.markdown"
local mentions_of = require "skillrt.document.load.flow.mentions"
local modes_of = require "skillrt.document.load.flow.modes"
local names = require "skillrt.base.names"
local passages = require "skillrt.document.load.passages"
local quotes_of = require "skillrt.document.load.flow.quotes"
local tables = require "skillrt.document.load.flow.tables"

local M = {}

---@class skillrt.load.Flow
---@field modes skillrt.load.Modes
---@field order integer[]?  of a table that names all phases
---@field read integer      facts that change the run
local Flow = {}
Flow.__index = Flow

-- The order of a table that names all phases is used; a different order of the file names is reported.
function Flow:read_order(rows, file)
  local order, seen, first, phases = {}, {}, nil, self.mentions.phases
  for _, row in ipairs(rows) do
    if row.index and not seen[row.index] then
      seen[row.index], order[#order + 1] = true, row.index
      first = first or row.index ~= #order and #phases[row.index].number > 0 and { row, #order } or nil
    end
  end
  if #order ~= #phases or self.order then
    return
  end
  self.order = order
  if first then
    local what = ("the table runs %s where the names of the files have %s"):format(phases[first[1].index].path,
      phases[first[2]].path)
    self.found:warn("phase-order", { file = file, line = first[1].line }, what)
  end
end

local ROWS = {}

function ROWS.phases(self, row, place)
  if row.path and not self.tree:has(row.path) then
    self.found:warn("reference-missing", place, ("the table names %s, which is not in the folder%s"):format(
      names.show(row.path), names.meant(row.path, self.mentions.by_path)))
    self.used[place.file .. ":" .. place.line] = true
  elseif row.index then
    for _, mode in ipairs(row.modes or {}) do
      modes_of.add(self.modes, row.index, mode)
      self.read = self.read + 1
    end
    self.used[place.file .. ":" .. place.line] = not row.unread
  end
end

function ROWS.modes(self, row, place)
  for _, index in ipairs(not row.unread and row.phases or {}) do
    modes_of.add(self.modes, index, row.modes[1])
  end
  self.used[place.file .. ":" .. place.line] = true
  if row.unread then
    self.quotes:add(row.text, place, 1)
  else
    self.read = self.read + 1
  end
end

function ROWS.unread(self, row, place)
  self.used[place.file .. ":" .. place.line] = true
  self.quotes:add(row.text, place, 1)
end

function Flow:read_table(block, file)
  local kind, rows, unknown = tables.read(block, self.mentions)
  for _, row in ipairs(rows or {}) do
    ROWS[kind](self, row, { file = file, line = row.line })
    self.modes.default = self.modes.default or row.default or nil
  end
  if kind == "phases" then
    self:read_order(rows, file)
  end
  if unknown then
    self.quotes:add("| " .. table.concat(block.header, " | ") .. " |", { file = file, line = block.line }, 1, true,
      ("a table of phases has a column %s that is not read"):format(names.show(unknown)))
  end
end

-- The number in a phase's title differs from that of its file.
function Flow:check_title(one, title, line)
  local digits = title and title:match "^[Pp]hase%s+(%d[%d.]*)%f[^%w.]"
  local number = digits and digits:gsub("%.$", ""):gsub("^0+(%d)", "%1")
  if number and #one.number > 0 and number ~= table.concat(one.number, ".") and not one.base:find "^%d+%a" then
    local what = ("its title says phase %s, the name of its file %s"):format(number, table.concat(one.number, "."))
    local why = "the name of the file decides the order"
    self.found:warn("phase-order", { file = one.path, line = line }, what, why, "give both one number")
  end
end

-- Documents with the same number, without a table that gives their order.
function Flow:check_numbers()
  local phases, first = self.mentions.phases, 1
  for i = 2, #phases + 1 do
    local key = table.concat(phases[first].number, ".")
    if not phases[i] or table.concat(phases[i].number, ".") ~= key then
      local ids, bare = {}, 0
      for at = first, key ~= "" and i - 1 or 0 do
        ids[#ids + 1] = phases[at].id
        bare = bare + (phases[at].base:find "^%D*[%d.]+%a" and 0 or 1) -- "03b-check" is none
      end
      if #ids > 1 then
        local tell = bare > 1 and self.found.warn or self.found.note
        tell(self.found, "phase-order", { file = phases[first].path }, ("%s have one number"):format(
          table.concat(ids, ", ")), "they run one after the other, in this order", "give each a number of its own")
      end
      first = i
    end
  end
end

-- Phases that a list has in another order than the names of their files.
function Flow:check_lists(blocks, file)
  local last, phases = nil, self.mentions.phases
  passages.each(blocks, function(passage)
    local named, at = self.mentions:of(passage.text)
    local index = passage.kind == "item" and #named == 1 and quotes_of.begins(passage.text, at) and named[1] or nil
    if passage.more then
      return
    elseif index and last and index < last and not self.order and not self.misplaced and #phases[last].number > 0 then
      local what = ("%s stands before %s here, behind it by the names of the files"):format(phases[last].path,
        phases[index].path)
      self.misplaced = true
      self.found:warn("phase-order", { file = file, line = passage.line }, what, "the names of the files decide",
        "number the files in the order that is meant")
    end
    last = index
  end)
end

---Says what runs, and that nothing else was understood.
---@param list table[]  in the form of a config, in the order that runs
function Flow:conclude(list)
  local ids, read = {}, self.read
  for i, phase in ipairs(list) do
    ids[i] = phase.id
  end
  if #ids > 1 or self.quotes.count > 0 then
    local how = read == 0 and "once each, in this order"
      or ("in this order, with %d facts of tables"):format(read)
    self.quotes:finish(("runs %s %s; nothing else was read"):format(table.concat(ids, ", "), how))
  end
end

---Reads what documents state about the flow of phases.
---@param tree skillrt.load.Tree
---@param phases skillrt.load.PhaseFile[]
---@param found skillrt.Findings
---@return skillrt.load.Flow
function M.read(tree, phases, found)
  local titles, documents, used = {}, {}, {}
  for _, path in ipairs(#phases > 0 and { "SKILL.md", "workflow.md" } or {}) do
    documents[#documents + 1] = tree:has(path) and { path, blocks = tree:document(path) } or nil
  end
  for i, one in ipairs(phases) do
    local blocks = tree:document(one.path)
    local title, line = markdown.title(blocks)
    titles[i] = title or ""
    documents[#documents + 1] = { one.path, i, blocks = blocks, title = title, line = line }
  end
  local mentions = mentions_of.new(phases, titles)
  local self = setmetatable({ tree = tree, found = found, mentions = mentions, read = 0,
    modes = modes_of.new(), used = used, quotes = quotes_of.new(mentions, found) }, Flow)
  for _, one in ipairs(documents) do
    local file, own = one[1], one[2]
    for _, block in ipairs(not own and one.blocks or {}) do
      if block.kind == "table" then
        self:read_table(block, file)
      end
    end
    if own then
      self:check_title(phases[own], one.title, one.line)
    else
      self:check_lists(one.blocks, file)
    end
  end
  if not self.order then
    self:check_numbers()
  end
  for _, one in ipairs(documents) do
    self.quotes:read(one.blocks, tree:read(one[1]) or "", one[1], one[2], used)
  end
  modes_of.tell(self.modes, found)
  return self
end

return M
