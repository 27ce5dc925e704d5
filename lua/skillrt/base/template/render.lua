-- base/template/render.lua: walks the tree of parse.lua over a stack of data and collects the text.
--
-- Text of the data is data: it goes out as it is and is never parsed. Throws Fault tables. Called by
-- template only.
local parse = require "skillrt.base.template.parse"
local source_of = require "skillrt.base.template.source"
local value_of = require "skillrt.base.template.value"

local M = {}

local TEXT, NAME, RAW_NAME, VALUE, RAW_VALUE =
  parse.TEXT, parse.NAME, parse.RAW_NAME, parse.VALUE, parse.RAW_VALUE
local NONE = {}
local MAX_MISSING = 100
local type = type

---@class skillrt.template.State
---@field out string[] the pieces of the result
---@field n integer
---@field bytes integer
---@field steps integer nodes visited
---@field depth integer partials inside each other
---@field top integer
---@field dots any[] the context stack as it is
---@field tables table[] the same, with NONE for what has no keys
---@field find_partial fun(name: string, indent: string): skillrt.template.Block?
---@field escape (fun(text: string): string)?
---@field missing table[]? places of missing names, when they are asked for
---@field max_bytes integer
---@field max_steps integer
---@field max_depth integer

local function fail(block, i, message, ...)
  error(source_of.fault(block.source, block.at[i], message:format(...)), 0)
end

-- Every place is reported once, however often a section repeats it.
local function report_missing(state, block, i, message, ...)
  local missing = state.missing
  if not missing or #missing >= MAX_MISSING then
    return
  end
  local fault = source_of.fault(block.source, block.at[i], message:format(...))
  if not missing[fault.message] then
    missing[fault.message] = true
    missing[#missing + 1] = fault
  end
end

local function name_of(path)
  return type(path) == "string" and path or table.concat(path, ".")
end

-- A name's first part is searched from the inside out; the rest only in what that found.
local function resolve(state, path)
  if path.implicit then
    return state.dots[state.top]
  end
  local tables, first, value = state.tables, path[1], nil
  for level = state.top, 1, -1 do
    value = tables[level][first]
    if value ~= nil then
      break
    end
  end
  for i = 2, #path do
    if type(value) ~= "table" then
      return nil
    end
    value = value[path[i]]
  end
  return value
end

local function push(state, value)
  local top = state.top + 1
  state.top, state.dots[top] = top, value
  state.tables[top] = type(value) == "table" and value or NONE
end

local function enter(state, block, i)
  state.depth = state.depth + 1
  if state.depth > state.max_depth then
    fail(block, i, "partials call each other more than %d deep", state.max_depth)
  end
end

local render_block

-- A value that is no string, as text: the part of interpolation that is rarely needed.
local function text_of(state, block, i, value)
  if value == nil then
    report_missing(state, block, i, "nothing in the data is called '%s'", name_of(block.args[i]))
    return ""
  end
  local text, what = value_of.text(value)
  if not text then
    fail(block, i, "the value is %s, which has no text: use a section", what)
  end
  return text
end

local function section_list(state, node, list)
  for j = 1, #list do
    push(state, list[j])
    render_block(state, node.block)
    state.top = state.top - 1
  end
end

local function section(state, block, i, node)
  local value = resolve(state, node.path)
  if not value then
    return
  elseif value == true then
    return render_block(state, node.block)
  end
  local kind = type(value)
  if kind == "function" then
    fail(block, i, "the value is a function: functions in the data are not called")
  elseif kind == "table" and #value > 0 then
    section_list(state, node, value)
  elseif kind == "string" or kind == "number" or not value_of.is_false(value) then
    push(state, value)
    render_block(state, node.block)
    state.top = state.top - 1
  end
end

local function inverted(state, _, _, node)
  local value = resolve(state, node.path)
  if not value or value ~= true and value_of.is_false(value) then
    render_block(state, node.block)
  end
end

local function partial(state, block, i, node)
  local found = state.find_partial(node.name, node.indent)
  if not found then
    report_missing(state, block, i, "no partial is called '%s'", node.name)
    return
  end
  enter(state, block, i)
  render_block(state, found)
  state.depth = state.depth - 1
end

local tags = {
  [parse.SECTION] = section,
  [parse.INVERTED] = inverted,
  [parse.PARTIAL] = partial,
}

local function check_budget(state, block)
  state.steps = state.steps + block.n + 1
  if state.steps > state.max_steps then
    fail(block, 1, "rendering takes more than %d steps", state.max_steps)
  elseif state.bytes > state.max_bytes then
    fail(block, 1, "the result is longer than %d bytes", state.max_bytes)
  end
end

function render_block(state, block)
  if block.n == 0 then
    return
  end
  check_budget(state, block)
  local ops, args = block.ops, block.args
  local out, n, bytes = state.out, state.n, state.bytes
  local tables, top, escape = state.tables, state.top, state.escape
  for i = 1, block.n do
    local op, arg = ops[i], args[i]
    if op > RAW_VALUE then
      state.n, state.bytes = n, bytes
      tags[op](state, block, i, arg)
      n, bytes = state.n, state.bytes
      goto continue
    end
    local text
    if op == TEXT then
      text = arg
    else
      if op <= RAW_NAME then
        for level = top, 1, -1 do
          text = tables[level][arg]
          if text ~= nil then
            break
          end
        end
      else
        text = resolve(state, arg)
      end
      if type(text) ~= "string" then
        state.n, state.bytes = n, bytes
        text = text_of(state, block, i, text)
        bytes = state.bytes
      end
      if escape and (op == NAME or op == VALUE) then
        text = escape(text)
      end
    end
    n = n + 1
    out[n] = text
    bytes = bytes + #text
    ::continue::
  end
  state.n, state.bytes = n, bytes
end

---Renders a parsed block; throws a Fault.
---@param block skillrt.template.Block
---@param data any
---@param options table find_partial, escape?, missing?, max_bytes, max_steps, max_depth
---@return string
function M.render(block, data, options)
  local state = {
    find_partial = options.find_partial,
    escape = options.escape,
    missing = options.missing,
    max_bytes = options.max_bytes,
    max_steps = options.max_steps,
    max_depth = options.max_depth,
    out = {},
    n = 0,
    bytes = 0,
    steps = 0,
    depth = 0,
    top = 0,
    dots = {},
    tables = {},
  }
  push(state, data)
  render_block(state, block)
  if state.bytes > state.max_bytes then
    fail(block, 1, "the result is longer than %d bytes", state.max_bytes)
  end
  return table.concat(state.out, "", 1, state.n)
end

return M
