-- base/template/init.lua: Mustache, what its specification asks of everybody: compile once, render in one pass.
--
-- Interpolation, sections, inverted sections, comments, delimiters, partials; data is data, never called or parsed.
-- Nothing is escaped unless options.escape says so: most of what is rendered here is Markdown.
-- Reads no file. Called by generate/*, policy (prompts) and scripts, as skillrt.template.
local bind = require "skillrt.base.template.bind"
local names = require "skillrt.base.names"
local parse = require "skillrt.base.template.parse"
local render = require "skillrt.base.template.render"
local source_of = require "skillrt.base.template.source"
local value_of = require "skillrt.base.template.value"

local M = {}

local MAX_TEXT = 16 << 20
local MAX_CACHED = 8 << 20
local MAX_NAMED = 20

---@class skillrt.template.Compiled
---@field text string
---@field block skillrt.template.Block

---@class skillrt.template.Options
---@field name string? what messages call the text; default "template"
---@field escape "html"|"none"|(fun(text: string): string)|nil what {{x}} does to a value; default none
---@field strict boolean? a name or partial that does not exist is an error
---@field max_depth integer? partials inside each other; default 100
---@field max_steps integer? default 50,000,000
---@field max_bytes integer? of the result; default 128 MiB

---@alias skillrt.template.Partials table<string, string>|fun(name: string): string?

local Compiled = {}
Compiled.__index = Compiled
Compiled.__name = "skillrt.template"

-- Two generations of compiled texts: a text not used while the young one fills up is forgotten.
local young, old, young_bytes = {}, {}, 0

local function remember(text, indent, block)
  local size = 16 * #text + 256 -- the tree is larger than its text
  if size > MAX_CACHED then
    return
  end
  if young_bytes + size > MAX_CACHED then
    young, old, young_bytes = {}, young, 0
  end
  young_bytes = young_bytes + size
  local variants = young[text] or {}
  young[text] = variants
  variants[indent] = block
end

-- The name is part of messages only, so a text known under another name is parsed again.
local function known(cache, text, name, indent)
  local block = cache[text] and cache[text][indent]
  return block and block.source.name == name and block or nil
end

-- The parsed text from the cache, or parsed now; throws a Fault.
local function parsed(text, name, indent)
  local block = known(young, text, name, indent)
  if block then
    return block
  end
  block = known(old, text, name, indent)
  if block then
    remember(text, indent, block)
    return block
  end
  if #text > MAX_TEXT then
    local message = ("%s: the template is longer than %d bytes"):format(name, MAX_TEXT)
    error({ message = message, line = 1, column = 1 }, 0)
  end
  local moved = source_of.indent(text, indent, true)
  block = parse.parse(source_of.new(name, moved, #indent))
  remember(text, indent, block)
  return block
end

-- Runs func; a Fault or any other error becomes nil, message, code.
local function guarded(name, func, ...)
  local ok, result = pcall(func, ...)
  if ok then
    return result
  elseif type(result) == "table" and rawget(result, "message") then
    return nil, result.message, "invalid", { result }
  end
  local message = ("%s: %s"):format(name, names.said(result))
  return nil, message, "invalid", { { message = message, line = 1, column = 1 } }
end

---Compiles a text. The same text is compiled once and then comes from a cache.
---@param text string
---@param options skillrt.template.Options?
---@return skillrt.template.Compiled? compiled
---@return string? message with line and column
---@return string? code "invalid"
---@return skillrt.template.Fault[]? faults
function M.compile(text, options)
  if type(text) ~= "string" then
    error(("template.compile: the text must be a string, not a %s"):format(type(text)), 2)
  end
  local name = options and options.name or "template"
  local block, message, code, faults = guarded(name, parsed, text, name, "")
  if not block then
    return nil, message, code, faults
  end
  return setmetatable({ text = text, block = block, name = name }, Compiled)
end

local function partial_finder(partials)
  local seen = {}
  local function text_of(name)
    if type(partials) == "function" then
      return partials(name)
    end
    return partials and partials[name]
  end
  return function(name, indent)
    local key = indent .. "\0" .. name
    if seen[key] == nil then
      local text = text_of(name)
      if type(text) == "table" and getmetatable(text) == Compiled then
        text = text.text
      end
      seen[key] = type(text) == "string" and parsed(text, name, indent) or false
    end
    return seen[key] or nil
  end
end

local function escape_of(escape)
  if escape == "html" then
    return value_of.escape_html
  elseif escape == nil or escape == "none" or escape == false then
    return nil
  elseif type(escape) == "function" then
    return function(text)
      local escaped = escape(text)
      return type(escaped) == "string" and escaped or error("the escape function returned no string", 0)
    end
  end
  error(('template.render: options.escape is "html", "none" or a function, not %s'):format(tostring(escape)), 3)
end

local function missing_message(missing)
  local lines = {}
  for i = 1, math.min(#missing, MAX_NAMED) do
    lines[i] = missing[i].message
  end
  if #missing > MAX_NAMED then
    lines[#lines + 1] = ("and %d more"):format(#missing - MAX_NAMED)
  end
  return table.concat(lines, "\n")
end

---Renders a text (or what compile returned) with data. Strings of the data are never expanded again.
---@param text string|skillrt.template.Compiled
---@param data any
---@param partials skillrt.template.Partials?
---@param options skillrt.template.Options?
---@return string? result
---@return string? message with line and column
---@return string? code "invalid"
---@return skillrt.template.Fault[]? faults
function M.render(text, data, partials, options)
  options = options or {}
  local compiled = text
  if getmetatable(text) ~= Compiled then
    if type(text) ~= "string" then
      error(("template.render: the text must be a string, not a %s"):format(type(text)), 2)
    end
    local message, code, faults
    compiled, message, code, faults = M.compile(text, options)
    if not compiled then
      return nil, message, code, faults
    end
  end
  local missing = options.strict and {} or nil
  local state = {
    find_partial = partial_finder(partials),
    escape = escape_of(options.escape),
    missing = missing,
    max_depth = options.max_depth or 100,
    max_steps = options.max_steps or 50000000,
    max_bytes = options.max_bytes or 128 << 20,
  }
  local result, message, code, faults = guarded(compiled.name, render.render, compiled.block, data, state)
  if result and missing and #missing > 0 then
    return nil, missing_message(missing), "invalid", missing
  end
  return result, message, code, faults
end

---Renders this template; as template.render.
---@param data any
---@param partials skillrt.template.Partials?
---@param options skillrt.template.Options?
---@return string? result
---@return string? message
---@return string? code
function Compiled:render(data, partials, options)
  return M.render(self, data, partials, options)
end

---This template for many documents that share `data`: what the shared data alone decides is put in
---once, and rendering each with its own data over the shared costs that much less. Not for
---templates that are rendered with an escape.
---@param data table
---@param own table<string, any> the names that the documents have of their own, whatever they hold;
---  a document's own data will do: what its metatable adds does not count
---@return skillrt.template.Compiled
function Compiled:bind(data, own)
  return setmetatable({ text = self.text, block = bind.bind(self.block, data, own), name = self.name }, Compiled)
end

return M
