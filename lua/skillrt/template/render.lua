-- template/render.lua: walks the tree of template.parse over a stack of data and collects the text.
--
-- Text of the data is data: it goes out as it is and is never parsed; only what a function in
-- the data returns is a template (the specification's lambdas). Throws Fault tables. Called by
-- template only.
local names = require "skillrt.base.names"
local parse = require "skillrt.template.parse"
local source_of = require "skillrt.template.source"
local value_of = require "skillrt.template.value"

local M = {}

local TEXT, NAME, RAW_NAME, VALUE, RAW_VALUE =
  parse.TEXT, parse.NAME, parse.RAW_NAME, parse.VALUE, parse.RAW_VALUE
local NONE = {}
local MAX_VARIANTS = 64
local MAX_MISSING = 100
local type = type

---@class skillrt.template.State
---@field out string[] the pieces of the result
---@field n integer
---@field bytes integer
---@field steps integer nodes visited
---@field depth integer partials, parents, blocks and lambdas inside each other
---@field top integer
---@field dots any[] the context stack as it is
---@field tables table[] the same, with NONE for what has no keys
---@field overrides table<string, table>[] blocks given to the parents being rendered, outermost first
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
    fail(block, i, "partials, parents or functions call each other more than %d deep", state.max_depth)
  end
end

local render_block

-- Renders a block to a string of its own.
local function render_apart(state, block)
  local out, n = state.out, state.n
  state.out, state.n = {}, 0
  render_block(state, block)
  local text = table.concat(state.out, "", 1, state.n)
  state.out, state.n = out, n
  return text
end

local function parse_result(block, i, text, open, close)
  local name = ("%s:%d: result of a function"):format(block.source.name, (source_of.place(block.source, block.at[i])))
  return parse.parse(source_of.new(name, text), { open = open, close = close })
end

local function call(block, i, func, ...)
  local ok, result = pcall(func, ...)
  if not ok then
    if type(result) == "table" and rawget(result, "message") then
      error(result, 0)
    end
    fail(block, i, "the function of this name failed: %s", names.said(result))
  end
  local text, what = value_of.text(result)
  if not text then
    fail(block, i, "the function of this name returned %s, not text", what)
  end
  return text
end

-- A value that is no string, as text: the part of interpolation that is rarely needed.
local function text_of(state, block, i, value)
  if value == nil then
    report_missing(state, block, i, "nothing in the data is called '%s'", name_of(block.args[i]))
    return ""
  elseif type(value) == "function" then
    enter(state, block, i)
    local text = call(block, i, value)
    if text:find("{{", 1, true) then
      text = render_apart(state, parse_result(block, i, text))
    end
    state.depth = state.depth - 1
    return text
  end
  local text, what = value_of.text(value)
  if not text then
    fail(block, i, "the value is %s, which has no text: use a section", what)
  end
  return text
end

local function section_lambda(state, block, i, node, func)
  enter(state, block, i)
  local function render(text)
    assert(type(text) == "string", "render(text) takes a string")
    return render_apart(state, parse_result(block, i, text, node.open, node.close))
  end
  local raw = block.source.text:sub(node.from, node.to)
  local text = call(block, i, func, raw, render)
  render_block(state, parse_result(block, i, text, node.open, node.close))
  state.depth = state.depth - 1
end

local function section_list(state, block, i, node, list)
  for j = 1, #list do
    local element = list[j]
    if type(element) == "function" then
      section_lambda(state, block, i, node, element)
    else
      push(state, element)
      render_block(state, node.block)
      state.top = state.top - 1
    end
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
    section_lambda(state, block, i, node, value)
  elseif kind == "table" and #value > 0 then
    section_list(state, block, i, node, value)
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

local function partial_of(state, block, i, node)
  local name = node.name
  if node.dynamic then
    name = resolve(state, node.dynamic)
    if type(name) ~= "string" then
      report_missing(state, block, i, "no text in the data is called '%s'", name_of(node.dynamic))
      return nil
    end
  end
  local found = state.find_partial(name, node.indent)
  if not found then
    report_missing(state, block, i, "no partial is called '%s'", name)
  end
  return found
end

local function partial(state, block, i, node)
  local found = partial_of(state, block, i, node)
  if found then
    enter(state, block, i)
    render_block(state, found)
    state.depth = state.depth - 1
  end
end

local function parent(state, block, i, node)
  local found = partial_of(state, block, i, node)
  if found then
    enter(state, block, i)
    local overrides = state.overrides
    overrides[#overrides + 1] = node.blocks
    render_block(state, found)
    overrides[#overrides] = nil
    state.depth = state.depth - 1
  end
end

-- The text of an override, moved to where it is expanded: its own margin off, the site's on.
local function moved(body, indent, first)
  if body.margin == "" and indent == "" then
    return body.block
  end
  local key = (first and "+" or "-") .. indent
  local variant = body.variants[key]
  if not variant then
    local text = source_of.indent(source_of.dedent(body.raw, body.margin), indent, first)
    local shift = #indent - #body.margin
    variant = parse.parse(source_of.new(body.source.name, text, body.line, shift), {
      open = body.open,
      close = body.close,
      starts_inside = not body.first,
      ends_inside = text:sub(-1) ~= "\n",
    })
    body.count = (body.count or 0) + 1
    if body.count > MAX_VARIANTS then
      body.variants, body.count = {}, 1
    end
    body.variants[key] = variant
  end
  return variant
end

local function block_tag(state, block, i, node)
  for level = 1, #state.overrides do
    local body = state.overrides[level][node.name]
    if body then
      enter(state, block, i)
      render_block(state, moved(body, node.indent, node.first))
      state.depth = state.depth - 1
      return
    end
  end
  render_block(state, node.block)
end

local tags = {
  [parse.SECTION] = section,
  [parse.INVERTED] = inverted,
  [parse.PARTIAL] = partial,
  [parse.PARENT] = parent,
  [parse.BLOCK] = block_tag,
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
    overrides = {},
  }
  push(state, data)
  render_block(state, block)
  if state.bytes > state.max_bytes then
    fail(block, 1, "the result is longer than %d bytes", state.max_bytes)
  end
  return table.concat(state.out, "", 1, state.n)
end

return M
