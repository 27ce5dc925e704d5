-- base/template/parse.lua: Mustache text to a tree of blocks, in one pass over the text.
--
-- A block is four parallel arrays (op, argument, offset) that template.render walks. Throws
-- skillrt.template.Fault tables (line, column). Knows nothing of data. Called by template.
local source_of = require "skillrt.base.template.source"
local scan = require "skillrt.base.template.scan"

local M = {}

-- What a node does. Names without a dot have ops of their own: they are nearly all there are.
M.TEXT, M.NAME, M.RAW_NAME, M.VALUE, M.RAW_VALUE = 1, 2, 3, 4, 5
M.SECTION, M.INVERTED, M.PARTIAL = 6, 7, 8

local MAX_NESTING = 100

---@class skillrt.template.Block
---@field n integer
---@field ops integer[]
---@field args any[]
---@field at integer[] offset of the tag, for messages
---@field source skillrt.template.Source

local function new_block(parser)
  return { n = 0, ops = {}, args = {}, at = {}, source = parser.source }
end

local function emit(parser, op, arg, at)
  local block = parser.block
  local n = block.n + 1
  block.n, block.ops[n], block.args[n], block.at[n] = n, op, arg, at
end

local function emit_text(parser, first, last)
  if first <= last then
    emit(parser, M.TEXT, parser.text:sub(first, last), first)
  end
end

local function fail(parser, at, message, ...)
  error(source_of.fault(parser.source, at, message:format(...)), 0)
end

-- Text before a tag that stands alone on its line goes out without the line's white space.
local function flush_before(parser, tag, alone)
  emit_text(parser, parser.pos, alone and parser.line_start - 1 or tag.first - 1)
end

-- Goes on behind a tag; behind a lone one the rest of its line is gone.
local function go_on(parser, tag, alone)
  if alone then
    parser.pos, parser.line_start, parser.dirty = tag.eol + 1, tag.eol + 1, false
  else
    parser.pos, parser.dirty = tag.last + 1, true
  end
end

local function push(parser, frame)
  if #parser.frames >= MAX_NESTING then
    fail(parser, frame.at, "tags are nested deeper than %d levels", MAX_NESTING)
  end
  frame.outer = parser.block
  parser.frames[#parser.frames + 1] = frame
  parser.block = new_block(parser)
end

local open = {}

local function open_section(parser, tag)
  local alone = tag.clean and tag.eol
  flush_before(parser, tag, alone)
  go_on(parser, tag, alone)
  push(parser, {
    kind = tag.sigil == "#" and M.SECTION or M.INVERTED,
    name = tag.name,
    path = scan.path(parser, tag),
    at = tag.first,
  })
end
open["#"], open["^"] = open_section, open_section

local function close_section(parser, tag, frame)
  local alone = tag.clean and tag.eol
  flush_before(parser, tag, alone)
  local node = { path = frame.path, block = parser.block }
  parser.block = frame.outer
  emit(parser, frame.kind, node, frame.at)
  go_on(parser, tag, alone)
end

open["/"] = function(parser, tag)
  local frame = table.remove(parser.frames)
  if not frame then
    fail(parser, tag.first, "end of '%s', which was never opened", tag.name)
  elseif frame.name ~= tag.name then
    local line, column = source_of.place(parser.source, frame.at)
    local message = "end of '%s', but '%s' of line %d, column %d is still open"
    fail(parser, tag.first, message, tag.name, frame.name, line, column)
  end
  close_section(parser, tag, frame)
end

open[">"] = function(parser, tag)
  local alone = tag.clean and tag.eol
  flush_before(parser, tag, alone)
  local indent = alone and parser.text:sub(parser.line_start, tag.first - 1) or ""
  emit(parser, M.PARTIAL, { name = tag.name, indent = indent }, tag.first)
  go_on(parser, tag, alone)
end

local function skip(parser, tag)
  local alone = tag.clean and tag.eol
  flush_before(parser, tag, alone)
  go_on(parser, tag, alone)
end
open["!"] = skip

open["="] = function(parser, tag)
  skip(parser, tag)
  parser.open, parser.close = tag.new_open, tag.new_close
end

-- What the specification leaves to those who want it, and no template here uses.
local function unknown(parser, tag)
  fail(parser, tag.first, "%s%s: blocks and parents are not known: write a partial, {{> name}}", tag.sigil, tag.name)
end
open["<"], open["$"] = unknown, unknown

local function interpolate(parser, tag)
  flush_before(parser, tag, false)
  local raw = tag.sigil ~= ""
  local path = scan.path(parser, tag)
  if #path == 1 and not path.implicit then
    emit(parser, raw and M.RAW_NAME or M.NAME, path[1], tag.first)
  else
    emit(parser, raw and M.RAW_VALUE or M.VALUE, path, tag.first)
  end
  go_on(parser, tag, false)
end
open[""], open["&"], open["{"] = interpolate, interpolate, interpolate

---Parses a text; throws a skillrt.template.Fault.
---@param source skillrt.template.Source
---@return skillrt.template.Block
function M.parse(source)
  local parser = {
    source = source,
    text = source.text,
    open = "{{",
    close = "}}",
    pos = 1,
    line_start = 1,
    dirty = false, -- the line holds more than white space already
    frames = {},
    fail = fail,
  }
  parser.block = new_block(parser)
  while true do
    local tag = scan.next(parser)
    if not tag then
      break
    end
    open[tag.sigil](parser, tag)
  end
  local frame = parser.frames[#parser.frames]
  if frame then
    local ending = parser.open .. "/" .. frame.name .. parser.close
    fail(parser, frame.at, "'%s' is never closed: add %s", frame.name, ending)
  end
  emit_text(parser, parser.pos, #parser.text)
  return parser.block
end

return M
