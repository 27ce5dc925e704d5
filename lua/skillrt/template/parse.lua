-- template/parse.lua: Mustache text to a tree of blocks, in one pass over the text.
--
-- A block is four parallel arrays (op, argument, offset) that template.render walks. Throws
-- skillrt.template.Fault tables (line, column). Knows nothing of data. Called by template.
local source_of = require "skillrt.template.source"
local scan = require "skillrt.template.scan"

local M = {}

-- What a node does. Names without a dot have ops of their own: they are nearly all there are.
M.TEXT, M.NAME, M.RAW_NAME, M.VALUE, M.RAW_VALUE = 1, 2, 3, 4, 5
M.SECTION, M.INVERTED, M.PARTIAL, M.PARENT, M.BLOCK = 6, 7, 8, 9, 10

local MAX_NESTING = 100

---@class skillrt.template.Block
---@field n integer
---@field ops integer[]
---@field args any[]
---@field at integer[] offset of the tag, for messages
---@field source skillrt.template.Source

---@class skillrt.template.ParseOptions
---@field open string?
---@field close string?
---@field starts_inside boolean? the text starts in the middle of a line
---@field ends_inside boolean? the text ends in the middle of a line

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
    raw_from = parser.pos,
    open = parser.open,
    close = parser.close,
  })
end
open["#"], open["^"] = open_section, open_section

-- A parent's white space waits in the frame until its end tag shows whether it stands alone.
open["<"] = function(parser, tag)
  flush_before(parser, tag, tag.clean)
  local lead = tag.clean and parser.text:sub(parser.line_start, tag.first - 1) or nil
  local lead_at = parser.line_start
  go_on(parser, tag, false)
  push(parser, {
    kind = M.PARENT,
    name = tag.name,
    dynamic = scan.dynamic(parser, tag),
    at = tag.first,
    lead = lead,
    lead_at = lead_at,
    blocks = {},
  })
end

open["$"] = function(parser, tag)
  local above = parser.frames[#parser.frames]
  local argument = above ~= nil and above.kind == M.PARENT
  local alone = (argument or tag.clean) and tag.eol
  local lead = tag.clean and parser.text:sub(parser.line_start, tag.first - 1) or ""
  if argument then
    parser.pos = tag.first -- text between the blocks of a parent is not for us
  else
    flush_before(parser, tag, alone)
  end
  go_on(parser, tag, alone)
  push(parser, {
    kind = M.BLOCK,
    name = tag.name,
    at = tag.first,
    argument = argument,
    alone = alone and true or false,
    lead = lead,
    raw_from = parser.pos,
    open = parser.open,
    close = parser.close,
  })
end

local close = {}

local function close_section(parser, tag, frame)
  local alone = tag.clean and tag.eol
  flush_before(parser, tag, alone)
  -- The raw text for a lambda reaches to the end tag, or to its line when that stands alone.
  local raw_to = (alone and parser.line_start or tag.first) - 1
  local node = {
    path = frame.path,
    block = parser.block,
    from = frame.raw_from,
    to = raw_to,
    open = frame.open,
    close = frame.close,
  }
  parser.block = frame.outer
  emit(parser, frame.kind, node, frame.at)
  go_on(parser, tag, alone)
end
close[M.SECTION], close[M.INVERTED] = close_section, close_section

close[M.PARENT] = function(parser, tag, frame)
  local alone = frame.lead and tag.eol
  parser.block = frame.outer
  if frame.lead and not alone then
    emit_text(parser, frame.lead_at, frame.lead_at + #frame.lead - 1)
  end
  emit(parser, M.PARENT, {
    name = frame.name,
    dynamic = frame.dynamic,
    indent = alone and frame.lead or "",
    blocks = frame.blocks,
  }, frame.at)
  go_on(parser, tag, alone)
end

close[M.BLOCK] = function(parser, tag, frame)
  local alone = tag.clean and tag.eol
  local stop = (tag.clean and (alone or frame.argument)) and parser.line_start - 1 or tag.first - 1
  emit_text(parser, parser.pos, stop)
  local raw = parser.text:sub(frame.raw_from, stop)
  local margin = frame.alone and source_of.margin(raw) or ""
  local line = source_of.place(parser.source, frame.raw_from)
  local node = {
    name = frame.name,
    block = parser.block,
    raw = raw,
    margin = margin,
    -- Where it is expanded: what an override is moved right by, and from which line on.
    indent = frame.alone and raw:find "%S" and margin or frame.lead,
    first = frame.alone,
    open = frame.open,
    close = frame.close,
    line = line - 1,
    source = parser.source,
    variants = {},
  }
  parser.block = frame.outer
  if frame.argument then
    local parent = parser.frames[#parser.frames]
    parent.blocks[frame.name] = parent.blocks[frame.name] or node
  else
    emit(parser, M.BLOCK, node, frame.at)
  end
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
  close[frame.kind](parser, tag, frame)
end

open[">"] = function(parser, tag)
  local alone = tag.clean and tag.eol
  flush_before(parser, tag, alone)
  local indent = alone and parser.text:sub(parser.line_start, tag.first - 1) or ""
  local node = { name = tag.name, dynamic = scan.dynamic(parser, tag), indent = indent }
  emit(parser, M.PARTIAL, node, tag.first)
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
---@param options skillrt.template.ParseOptions?
---@return skillrt.template.Block
function M.parse(source, options)
  options = options or {}
  local parser = {
    source = source,
    text = source.text,
    open = options.open or "{{",
    close = options.close or "}}",
    pos = 1,
    line_start = 1,
    dirty = options.starts_inside or false, -- the line holds more than white space already
    ends_inside = options.ends_inside or false,
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
