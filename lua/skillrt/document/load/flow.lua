-- document/load/flow.lua: what a folder's documents state of how its phases follow each other. What has a
-- stated shape is read: tables of phases and modes, conditions in code, neighbours that run at once.
-- What is seen and not read is a warning that quotes its line: nothing is left out in silence.
--
-- Judges phases that documents make; where a config or a workflow.json speaks, it decides. Called by
-- sources.lua.
local condition = require "skillrt.document.load.condition"
local entries = require "skillrt.document.load.flow.entries"
local lines = require "skillrt.document.load.flow.lines"
local listed = require "skillrt.document.load.flow.listed"
local mentions_of = require "skillrt.document.load.flow.mentions"
local modes_of = require "skillrt.document.load.flow.modes"
local names = require "skillrt.base.names"
local passages = require "skillrt.document.load.passages"
local rounds = require "skillrt.document.load.rounds"
local sections = require "skillrt.document.load.flow.sections"
local statements = require "skillrt.document.load.flow.statements"
local tables = require "skillrt.document.load.flow.tables"
local trim = require("skillrt.base.text").trim
local words = require "skillrt.document.load.words"

local M = {}

local MAX_TOLD <const> = 12
local MAX_QUOTE <const> = 120
local MAX_LINE <const> = 1000 -- a longer one is no sentence about phases

---@class skillrt.load.Flow
---@field conditions table<integer, string[]>  by phase
---@field modes skillrt.load.Modes
---@field parallel table<integer, boolean>
---@field outputs table<integer, string>
---@field rounds skillrt.load.Rounds[]
---@field order integer[]?  of a table that names all phases
local Flow = {}
Flow.__index = Flow

local function quoted(text)
  text = trim(text):gsub("%s+", " ")
  if utf8.len(text) and utf8.len(text) > MAX_QUOTE then
    text = text:sub(1, utf8.offset(text, MAX_QUOTE) - 1) .. "..."
  end
  return '"' .. text .. '"'
end

local TOLD = {
  loop = { "a loop is stated and not run", "each phase runs once",
    "write `Repeat phases 2-3 until ..., at most 5 times` with a condition between backticks (docs/loading.md)" },
  choice = { "alternatives are stated and not read", "all phases run, one after the other",
    "write a table | Mode | Phases |, or conditions between backticks" },
  condition = { "a condition on a phase is stated and not read", "the phase always runs",
    "write it between backticks, in a column Condition or as `- **Condition**: ...`" },
  parallel = { "phases that run at once are stated and not read", "they run one after the other",
    "write `Phases 2 and 3 run in parallel` of neighbours" },
}

-- One finding for the same phases and kind; the first line that says it is quoted.
function Flow:tell(kind, phases, place, text)
  local covered, new = self.covered[kind], #phases == 0 and next(self.covered[kind]) == nil
  for _, index in ipairs(phases) do
    new = new or not covered[index]
    covered[index] = true
  end
  covered[0] = true
  self.told[kind] = self.told[kind] or 0
  if not new or self.told[kind] >= MAX_TOLD then
    return
  end
  self.told[kind] = self.told[kind] + 1
  local said, found = TOLD[kind], self.found
  local what = ("%s: %s"):format(said[1], quoted(text))
  if kind == "loop" then
    found:warn("flow-loop", place, what, said[2], said[3])
  elseif kind == "choice" then
    found:warn("flow-choice", place, what, said[2], said[3])
  elseif kind == "condition" then
    found:warn("flow-condition", place, what, said[2], said[3])
  else
    found:warn("flow-parallel", place, what, said[2], said[3])
  end
end

-- Cells and words that say that nothing has to hold but that the phases before are done.
local function is_no_condition(text)
  local plain = text:lower():gsub("[`*_]", "")
  return condition.is_none(text) or plain:find "^%s*$" ~= nil or plain:find "^always" ~= nil
    or plain:find "^phases? [%d., -]+ ?%a*$" ~= nil and not plain:find "fail"
    or plain:find "^after phases? [%d.]+$" ~= nil
    or plain:find "start$" ~= nil or plain:find "^first" ~= nil
end

function Flow:add_condition(index, text, place, in_cell)
  if is_no_condition(text) then
    return
  end
  local told = in_cell and condition.equality(text) or condition.item(text)
  if told and told.condition then
    self.conditions[index] = self.conditions[index] or {}
    table.insert(self.conditions[index], told.condition)
    self.covered.condition[index] = true
  elseif told then
    self:tell("condition", { index }, place, text)
  end
end

local IS_MODE <const> = "^%s*`?mode%s*==?=?%s*['\"]?([%w_-]+)['\"]?`?%s*$" -- `mode == 'quick'` is one of the modes

local YES = { yes = true, y = true, ["\u{2713}"] = true, ["\u{2705}"] = true, ["true"] = true, ["\u{662F}"] = true }

function Flow:read_row(row, place)
  if row.mode then
    local modes, default = tables.modes(row.mode)
    if not modes and not row.mode:find "[`-]" then
      self:tell("choice", { row.index }, place, row.mode)
    end
    for _, mode in ipairs(modes or {}) do
      modes_of.add(self.modes, row.index, mode)
    end
    self.modes.default = self.modes.default or default
    self.modes.every = self.modes.every or modes and #modes == 0 and row.mode:find "%a" ~= nil
  end
  local mode = row.condition and row.condition:match(IS_MODE)
  if mode then
    modes_of.add(self.modes, row.index, mode:lower())
  elseif row.condition then
    self:add_condition(row.index, row.condition, place, true)
  end
  self.modes.every = self.modes.every or row.condition ~= nil and is_no_condition(row.condition)
  self.outputs[row.index] = self.outputs[row.index] or row.output and tables.file(row.output)
  self.parallel[row.index] = self.parallel[row.index] or row.parallel and YES[row.parallel:lower()] or nil
end

function Flow:read_order(rows, file)
  local order, seen, first = {}, {}, nil
  for _, row in ipairs(rows) do
    if not seen[row.index] then
      seen[row.index] = true
      order[#order + 1] = row.index
      if row.index ~= #order and not first and #self.mentions.phases[row.index].number > 0 then
        first = row
      end
    end
  end
  if #order == #self.mentions.phases and not self.order then
    self.order = order
    if first then
      local phases, place = self.mentions.phases, 1
      while order[place] ~= first.index do
        place = place + 1
      end
      local what = ("the table runs %s where the names of the files have %s"):format(
        phases[first.index].path, phases[place].path)
      local why = "the order of the table is what runs"
      self.found:warn("phase-order", { file = file, line = first.line }, what, why, "number table and files alike")
    end
  end
end

function Flow:add_entry(one, file, line)
  self.used[file .. ":" .. line] = true
  one.place = { file = file, line = line }
  self.entries[#self.entries + 1] = one
end

function Flow:read_table(block, file)
  local begins = entries.table(block, self.mentions)
  if begins then
    for i, row in ipairs(block.rows) do
      self:add_entry(begins[i], file, row.line)
    end
    return true
  end
  local rows, missing = tables.phases(block, self.mentions)
  for _, row in ipairs(rows or {}) do
    self:read_row(row, { file = file, line = row.line })
  end
  for _, one in ipairs(rows and missing or {}) do
    self:read_missing(one, file)
  end
  if rows then
    self:read_order(rows, file)
    return true
  end
  local modes = tables.by_mode(block, self.mentions)
  self:read_modes(modes or {}, file)
  return modes ~= nil
end

function Flow:read_modes(list, file)
  for _, row in ipairs(list) do
    if not row.mode or #row.phases == 0 then
      self:tell("choice", {}, { file = file, line = row.line }, row.text)
    end
    for _, index in ipairs(row.mode and row.phases or {}) do
      modes_of.add(self.modes, index, row.mode)
    end
    self.modes.default = self.modes.default or row.default and row.mode or nil
    self.used[file .. ":" .. row.line] = true
  end
end

function Flow:read_missing(one, file)
  if not self.tree:has(one.path) then
    local near = names.nearest(one.path, self.mentions.by_path)
    local what = ("the table names %s, which is not in the folder%s"):format(names.show(one.path),
      near and (" (did you mean %s?)"):format(near) or "")
    self.found:warn("reference-missing", { file = file, line = one.line }, what, "the phase does not run",
      "add the file or correct the row")
  end
end

local function only_if(text)
  if #text > MAX_LINE then
    return nil
  end
  local plain = text:gsub("[*_]", ""):gsub("^>%s*", "")
  for _, pattern in ipairs(words.ONLY_IF) do
    if plain:find(pattern) and plain:find "[:\u{FF1A}]" then
      return text:match "`.*$" or plain:gsub("^.-[:\u{FF1A}]%s*", "")
    end
  end
  return nil
end

-- Neighbours by their place: 2,3 or 4,5,6.
local function is_run(indexes)
  for i = 2, #indexes do
    if indexes[i] ~= indexes[i - 1] + 1 then
      return false
    end
  end
  return #indexes > 1
end

-- Rounds that are read; whether they can be run is known when the order is.
function Flow:add_rounds(read, text, place)
  read.text, read.place = text, place
  self.rounds[#self.rounds + 1] = read
  for _, index in ipairs(read.indexes) do
    self.covered.loop[index] = true
  end
end

function Flow:read_rounds(passage, place)
  if not passage.text:find("`", 1, true) and not passage.text:find("times", 1, true) then
    return false
  end
  local read = rounds.read(passage.text, self.mentions:of(passage.text))
  if read then
    self.used[place.file .. ":" .. place.line] = true
    self:add_rounds(read, passage.text, place)
  end
  return read ~= nil
end

function Flow:read_entry(passage, place)
  local one = entries.sentence(passage.text, self.mentions:of(passage.text))
  if one then
    self:add_entry(one, place.file, place.line)
  end
  return one ~= nil
end

-- What has a stated shape, outside tables: conditions below a phase's heading, plain groups, the
-- default of modes.
function Flow:read_shapes(blocks, file, own)
  local under, headings = own, 0
  passages.each(blocks, function(passage)
    local place = { file = file, line = passage.line }
    if passage.kind == "heading" then
      local named = self.mentions:of(passage.text)
      headings = headings + 1
      under = not own and #named == 1 and named[1] or own and headings <= 1 and own or nil
      local mode = passage.text:lower():match "^[%d. ]*([%w_-]+) mode %(default%)"
      self.modes.default = self.modes.default or mode and self.modes.seen[mode] and mode or nil
      return
    elseif passage.example or passage.kind == "row" then
      return
    end
    local text = under and only_if(passage.text)
    if text then
      self.used[file .. ":" .. passage.line] = true
      self:add_condition(under, text, place)
    elseif not own and (self:read_rounds(passage, place) or self:read_entry(passage, place)) then
      return
    elseif not own and #passage.text <= MAX_LINE and statements.is_plain_group(passage.text) then
      local named = self.mentions:of(passage.text)
      for _, index in ipairs(is_run(named) and named or {}) do
        self.parallel[index], self.covered.parallel[index] = true, true
      end
    end
  end)
end

-- The number that a phase's title gives differs from that of its file.
function Flow:check_title(one, blocks)
  for _, block in ipairs(blocks) do
    if block.kind == "heading" and block.level == 1 then
      local digits = block.text:match "^[Pp]hase%s+(%d[%d.]*)%f[^%w.]"
      local number = digits and digits:gsub("%.$", ""):gsub("^0+(%d)", "%1")
      if number and #one.number > 0 and number ~= table.concat(one.number, ".") and not one.base:find "^%d+%a" then
        local what = ("its title says phase %s, the name of its file %s"):format(number, table.concat(one.number, "."))
        local why = "the name of the file decides the order"
        self.found:warn("phase-order", { file = one.path, line = block.line }, what, why, "give both one number")
      end
      return
    end
  end
end

-- Those that tell of all phases, and each phase's own: path, its place in the order, the phase, its blocks.
local function documents_of(tree, phases)
  local out = {}
  for _, path in ipairs(#phases > 0 and { "SKILL.md", "workflow.md" } or {}) do
    out[#out + 1] = tree:has(path) and { path, nil, nil, blocks = tree:document(path) or {} } or nil
  end
  for i, one in ipairs(phases) do
    if not one.blocks then -- else it is a section of SKILL.md
      out[#out + 1] = { one.path, i, one, blocks = tree:has(one.path) and tree:document(one.path) or {} }
    end
  end
  return out
end

function Flow:read_tables(blocks, file)
  for _, block in ipairs(blocks) do
    if block.kind == "table" then
      self:read_table(block, file)
    end
  end
  self:read_modes(sections.modes(blocks, self.mentions), file)
  modes_of.complete(self.modes, sections.mode_names(blocks))
end

---Reads what documents state of the flow of phases, and tells what of it is not run.
---@param tree skillrt.load.Tree
---@param phases skillrt.load.PhaseFile[]
---@param found skillrt.Findings
---@return skillrt.load.Flow
function M.read(tree, phases, found)
  local documents = {}
  local self = setmetatable({ tree = tree, found = found, mentions = mentions_of.new(phases), conditions = {},
    parallel = {}, outputs = {}, modes = modes_of.new(), told = {}, used = {}, rounds = {}, entries = {},
    covered = { loop = {}, choice = {}, condition = {}, parallel = {} } }, Flow)
  for _, one in ipairs(documents_of(tree, phases)) do
    documents[#documents + 1] = one
    if not one[2] then
      self:read_tables(one.blocks, one[1])
    end
    self:read_shapes(one.blocks, one[1], one[2])
    if one[3] then
      self:check_title(one[3], one.blocks)
    end
  end
  if #self.entries > 0 and #self.modes.order == 0 then
    entries.apply(self.modes, self.entries, #phases)
  else -- beside modes nobody can tell what an entry means
    for _, one in ipairs(self.entries) do
      self:tell("choice", { one.start }, one.place, one.text)
    end
  end
  local general = {}
  for _, one in ipairs(documents) do
    general[#general + 1] = not one[2] and one or nil
  end
  listed.tell(general, self.mentions, found, self.order ~= nil)
  for _, one in ipairs(documents) do
    lines.read(self, one.blocks, one[1], one[2])
  end
  modes_of.tell(self.modes, found)
  return self
end

---What the flow says of one phase, put into its entry of a config.
---@param index integer
---@param phase table
function Flow:apply(index, phase)
  local all = { table.unpack(self.conditions[index] or {}) }
  all[#all + 1] = phase.condition
  all[#all + 1] = modes_of.condition(self.modes, index)
  if #all > 1 then
    phase.condition = "(" .. table.concat(all, ") && (") .. ")"
  else
    phase.condition = all[1]
  end
  phase.parallel = phase.parallel or self.parallel[index]
  phase.output = phase.output or self.outputs[index]
end

return M
