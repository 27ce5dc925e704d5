-- base/template.lua: Mustache, the mandatory part of its specification: compile once, render in one pass.
--
-- Interpolation, sections, inverted sections, comments, delimiters, partials; data is never called or parsed. Nothing
-- is escaped unless options.escape says so, as most output here is Markdown. Reads no file. Called by generate/*,
-- policy (prompts), and scripts as skillrt.template.

local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local text_of = require("skillrt.base.text")

local M = {}

local MAX_TEXT <const>, MAX_CACHED <const> = 16 << 20, 8 << 20
local MAX_NAME <const>, MAX_NESTING <const> = 1000, 100
local MAX_MISSING <const>, MAX_NAMED <const> = 100, 20

---@class skillrt.template.Options
---@field name string? what messages call the text; default "template"
---@field escape "html"|"none"|(fun(text: string): string)|nil what {{x}} does to a value; default none
---@field strict boolean? a name or partial that does not exist is an error
---@field filters table<string, fun(value: any): string?>? what `{{name|filter}}` makes of a value
---@field max_depth integer? partials inside each other; default 100
---@field max_steps integer? default 50,000,000
---@field max_bytes integer? of the result; default 128 MiB

---@alias skillrt.template.Partials table<string, string>|fun(name: string): string?

---@class skillrt.template.Source
---@field name string   what messages call it
---@field text string   indented by `shift` where it is an indented partial
---@field shift integer

---@class skillrt.template.Block  texts, and what is between them, in order
---@field source skillrt.template.Source
---@field [integer] string|skillrt.template.Node

---@class skillrt.template.Node
---@field at integer       its offset in the text
---@field path string[]    of a value or section; { "." } for the value around it
---@field plain boolean|nil    of a value: it is not escaped
---@field filter string|nil    of a value: the filter that shows it
---@field block skillrt.template.Block|nil  of a section
---@field inverted boolean|nil
---@field partial string|nil
---@field indent string|nil  of a partial that is alone on its line

---@class skillrt.template.Fault
---@field message string
---@field line integer
---@field column integer

-- An error with its place: line and column from 1, in bytes.
local function fault(source, at, message, ...)
  local head = source.text:sub(1, at - 1)
  local line = 1 + select(2, head:gsub("\n", ""))
  local column = math.max(1, #text_of.behind_last(head, "\n") + 1 - source.shift)
  return { line = line, column = column,
    message = ("%s:%d:%d: %s"):format(source.name, line, column, message:format(...)) }
end

-- ---- parsing ----

local Parser = {}
Parser.__index = Parser

function Parser:fail(at, message, ...)
  error(fault(self.source, at, message, ...), 0)
end

-- Searches a text; raises that the tag is not closed if it is missing.
function Parser:find(text, from, first)
  local stop, last = self.text:find(text, from, true)
  if not stop then
    self:fail(first, "the tag is never closed: no %s behind it", text)
  end
  return stop, last
end

-- {{{name}}} ends with a brace of its own before the closing delimiter.
function Parser:triple_end(from, first)
  local brace = self.text:find("}", from, true)
  local behind = brace and self.text:find("%S", brace + 1)
  local last = behind and behind + #self.closing - 1
  if not behind or self.text:sub(behind, last) ~= self.closing then
    self:fail(first, "the tag is never closed: no %s behind it", "}" .. self.closing)
  end
  return brace, last
end

function Parser:set_delimiters(content, first)
  local opening, closing
  if #content <= MAX_NAME then
    opening, closing = content:match("^%s*([^%s=]+)%s+([^%s=]+)%s*$")
  end
  if not opening then
    self:fail(first, "set delimiters holds two delimiters without '=' or white space in them")
  end
  self.opening, self.closing = opening, closing
end

function Parser:name_of(content, first)
  local name = #content <= MAX_NAME and text_of.trim(content)
  if not name then
    self:fail(first, "the name is longer than %d bytes", MAX_NAME)
  elseif name == "" then
    self:fail(first, "the tag has no name")
  elseif name:find("%s") then
    self:fail(first, "the name '%s' has white space in it", name)
  end
  return name
end

-- The parts of a dotted name.
function Parser:path_of(name, first)
  local parts = {}
  for part in (name == "." and "" or name .. "."):gmatch("([^.]*)%.") do
    if part == "" then
      self:fail(first, "the name '%s' has an empty part", name)
    end
    parts[#parts + 1] = part
  end
  return parts
end

function Parser:put(item)
  if item ~= "" then
    self.block[#self.block + 1] = item
  end
end

function Parser:open(node, name)
  if #self.frames >= MAX_NESTING then
    self:fail(node.at, "tags are nested deeper than %d levels", MAX_NESTING)
  end
  self:put(node)
  self.frames[#self.frames + 1] = { node = node, name = name, outer = self.block }
  node.block = { source = self.source }
  self.block = node.block
end

function Parser:close(name, first)
  local frame = table.remove(self.frames)
  if not frame then
    self:fail(first, "end of '%s', which was never opened", name)
  elseif frame.name ~= name then
    local place = fault(self.source, frame.node.at, "")
    self:fail(first, "end of '%s', but '%s' of line %d, column %d is still open", name, frame.name, place.line,
      place.column)
  end
  self.block = frame.outer
end

-- Whether a tag is alone on its line, which is then removed with it: returns where the line ends.
function Parser:line_end(first, last)
  local behind = self.text:sub(self.pos, first - 1):match("^.*\n()")
  if behind then
    self.line, self.has_tag = self.pos + behind - 1, false
  end
  local text = self.text
  if self.has_tag or select(2, text:find("^[ \t]*", self.line)) ~= first - 1 then
    return nil
  end
  local _, blank = text:find("^[ \t]*", last + 1)
  return blank == #text and blank or select(2, text:find("^\r?\n", blank + 1))
end

local SIGILS <const> = "^[#%^/!=>&{<$]"
local OF_LINES <const> = { ["#"] = true, ["^"] = true, ["/"] = true, [">"] = true, ["!"] = true, ["="] = true }

-- The next tag; false: there is none.
function Parser:tag()
  local text = self.text
  local first, after = text:find(self.opening, self.pos, true)
  if not first then
    return false
  end
  local from = text:find("%S", after + 1) or #text + 1
  local is_empty = text:sub(from, from + #self.closing - 1) == self.closing
  local sigil = not is_empty and text:match(SIGILS, from) or ""
  from = from + #sigil
  local stop, last
  if sigil == "{" then
    stop, last = self:triple_end(from, first)
  else
    stop, last = self:find((sigil == "=" and "=" or "") .. self.closing, from, first)
  end
  local content = text:sub(from, stop - 1)
  local name = sigil ~= "!" and sigil ~= "=" and self:name_of(content, first) or nil
  local ending = self:line_end(first, last)
  local alone = OF_LINES[sigil] and ending
  self:put(text:sub(self.pos, (alone and self.line or first) - 1))
  if sigil == "#" or sigil == "^" then
    self:open({ at = first, path = self:path_of(name, first), inverted = sigil == "^" }, name)
  elseif sigil == "/" then
    self:close(name, first)
  elseif sigil == ">" then
    self:put({ at = first, partial = name, indent = alone and text:sub(self.line, first - 1) or "" })
  elseif sigil == "=" then
    self:set_delimiters(content, first)
  elseif sigil == "<" or sigil == "$" then -- what no template here uses
    self:fail(first, "%s%s: blocks and parents are not known: write a partial, {{> name}}", sigil, name)
  elseif name then
    local plain, filter = name:match("^(.+)|([%a_]+)$")
    self:put({ at = first, path = self:path_of(plain or name, first), plain = sigil ~= "", filter = filter })
  end
  self.pos, self.has_tag = (alone or last) + 1, not alone
  self.line = alone and self.pos or self.line
  return true
end

local function parse(source)
  local block = { source = source }
  local self = setmetatable({ source = source, text = source.text, block = block, frames = {}, opening = "{{",
    closing = "}}", pos = 1, line = 1, has_tag = false }, Parser)
  repeat until not self:tag()
  local frame = self.frames[#self.frames]
  if frame then
    self:fail(frame.node.at, "'%s' is never closed: add %s/%s%s", frame.name, self.opening, frame.name, self.closing)
  end
  self:put(self.text:sub(self.pos))
  return block
end

-- Puts `indent` before every line that is not empty.
local function indented(text, indent)
  if indent == "" then
    return text
  end
  text = text:gsub("\n([^\r\n])", function(char)
    return "\n" .. indent .. char
  end)
  return text:find("^\r?\n") and text or indent .. text
end

-- Cache of parsed texts, by text, then by name and indentation; cleared when it has grown too large.
local cache, cached = {}, 0

local function parsed(text, name, indent)
  local key = name .. "\0" .. indent
  local block = cache[text] and cache[text][key]
  if block then
    return block
  elseif #text > MAX_TEXT then
    error({ message = ("%s: the template is longer than %d bytes"):format(name, MAX_TEXT), line = 1, column = 1 }, 0)
  end
  block = parse({ name = name, text = indented(text, indent), shift = #indent })
  cached = cached + 16 * #text + 256 -- the tree is larger than its text
  if cached > MAX_CACHED then
    cache, cached = {}, 0
  end
  cache[text] = cache[text] or {}
  cache[text][key] = block
  return block
end

-- ---- rendering ----

-- Views of a table answer through their metamethods.
local function is_empty(value)
  local step, of, first = pairs(value)
  return #value == 0 and step(of, first) == nil
end

-- Nothing, false, null and the empty table are false; 0 and "" are true, as in Lua.
local function is_false(value)
  return not value or value == json.null or type(value) == "table" and is_empty(value)
end

local ENTITIES <const> = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

---@class skillrt.template.Rendering
---@field stack any[]  the data around a place, the innermost last
---@field out string[]
local Rendering = {}
Rendering.__index = Rendering

local function fail(block, at, message, ...)
  error(fault(block.source, at, message, ...), 0)
end

-- Each place is reported once, however often a section repeats it.
function Rendering:report(block, node, message, name)
  local missing = self.missing
  if missing and #missing < MAX_MISSING then
    local one = fault(block.source, node.at, message, name)
    missing[#missing + 1] = not missing[one.message] and one or nil
    missing[one.message] = true
  end
end

-- The first part of a name is searched from the inside out; the rest only in what that found.
function Rendering:value(path)
  local stack, first, value = self.stack, path[1], nil
  if not first then
    return stack[self.top]
  end
  for level = self.top, 1, -1 do
    local data = stack[level]
    if type(data) == "table" then
      value = data[first]
      if value ~= nil then
        break
      end
    end
  end
  for i = 2, #path do
    value = type(value) == "table" and value[path[i]] or nil
  end
  return value
end

-- A value that is no text, as text.
function Rendering:text(block, node, value)
  local kind = type(value)
  local meta = kind == "table" and getmetatable(value)
  if value == nil then
    self:report(block, node, "nothing in the data is called '%s'", table.concat(node.path, "."))
    return ""
  elseif kind == "number" then
    return text_of.number(value)
  elseif kind == "boolean" or type(meta) == "table" and meta.__tostring then
    return tostring(value)
  elseif value == json.null then
    return ""
  end
  local what = kind ~= "table" and "a " .. kind or (#value > 0 or is_empty(value)) and "a list" or "an object"
  fail(block, node.at, "the value is %s, which has no text: use a section", what)
end

function Rendering:push(value, block)
  local top = self.top + 1
  self.top, self.stack[top] = top, value
  self:block(block)
  self.top = top - 1
end

function Rendering:section(block, node)
  local value = self:value(node.path)
  if node.inverted then
    if is_false(value) then
      self:block(node.block)
    end
  elseif type(value) == "function" then
    fail(block, node.at, "the value is a function: functions in the data are not called")
  elseif value == true then
    self:block(node.block)
  elseif type(value) == "table" and #value > 0 then
    for i = 1, #value do
      self:push(value[i], node.block)
    end
  elseif not is_false(value) then
    self:push(value, node.block)
  end
end

function Rendering:include(block, node)
  local found = self.find(node.partial, node.indent)
  if not found then
    return self:report(block, node, "no partial is called '%s'", node.partial)
  end
  self.depth = self.depth + 1
  if self.depth > self.max_depth then
    fail(block, node.at, "partials call each other more than %d deep", self.max_depth)
  end
  self:block(found)
  self.depth = self.depth - 1
end

function Rendering:block(block)
  self.steps = self.steps + #block + 1
  if self.steps > self.max_steps then
    fail(block, 1, "rendering takes more than %d steps", self.max_steps)
  end
  local out, escape = self.out, self.escape
  for i = 1, #block do
    local node = block[i]
    local text = node
    if type(node) == "table" then
      text = nil
      if node.block then
        self:section(block, node)
      elseif node.partial then
        self:include(block, node)
      else
        text = self:value(node.path)
        if node.filter then
          text = (self.filters[node.filter] or fail(block, node.at, "there is no filter '%s'", node.filter))(text)
        end
        text = type(text) == "string" and text or self:text(block, node, text)
        text = escape and not node.plain and escape(text) or text
      end
    end
    if text then
      out[#out + 1] = text
      self.bytes = self.bytes + #text
    end
  end
  if self.bytes > self.max_bytes then
    fail(block, 1, "the result is longer than %d bytes", self.max_bytes)
  end
end

-- ---- public functions ----

---@class skillrt.template.Compiled
---@field text string
---@field name string
---@field block skillrt.template.Block
local Compiled = {}
Compiled.__index = Compiled
Compiled.__name = "skillrt.template"

-- Runs func; an error becomes nil, message, code.
local function guarded(name, func, ...)
  local ok, result = pcall(func, ...)
  if ok then
    return result
  elseif type(result) ~= "table" or not rawget(result, "message") then
    result = { message = ("%s: %s"):format(name, names.said(result)), line = 1, column = 1 }
  end
  return nil, result.message, "invalid", { result }
end

---Compiles a text; results are cached.
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

-- Returns the parsed partial of a name; each is requested once.
local function partial_finder(partials)
  local seen = {}
  return function(name, indent)
    local key = indent .. "\0" .. name
    if seen[key] == nil then
      local text
      if type(partials) == "function" then
        text = partials(name)
      else
        text = partials and partials[name]
      end
      text = getmetatable(text) == Compiled and text.text or text
      seen[key] = type(text) == "string" and parsed(text, name, indent)
    end
    return seen[key]
  end
end

local function escape_of(escape)
  if escape == "html" then
    return function(text)
      return (text:gsub("[&<>\"']", ENTITIES))
    end
  elseif type(escape) == "function" then
    return function(text)
      local escaped = escape(text)
      return type(escaped) == "string" and escaped or error("the escape function returned no string", 0)
    end
  elseif escape and escape ~= "none" then
    error(('template.render: options.escape is "html", "none" or a function, not %s'):format(tostring(escape)), 3)
  end
end

---Renders a text (or what compile returned) with data. Texts in the data are never expanded.
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
  local missing = {}
  local self = setmetatable({ find = partial_finder(partials), escape = escape_of(options.escape),
    filters = options.filters or {},
    missing = options.strict and missing, max_depth = options.max_depth or 100,
    max_steps = options.max_steps or 50000000, max_bytes = options.max_bytes or 128 << 20, out = {}, bytes = 0,
    steps = 0, depth = 0, top = 0, stack = {} }, Rendering)
  local _, message, code, faults = guarded(compiled.name, self.push, self, data, compiled.block)
  if message then
    return nil, message, code, faults
  elseif missing[1] then
    local lines = {}
    for i, one in ipairs(missing) do
      lines[i] = one.message
    end
    return nil, names.lines(lines, MAX_NAMED), "invalid", missing
  end
  return table.concat(self.out)
end

---Renders this template; as template.render.
---@param data any
---@param partials skillrt.template.Partials?
---@param options skillrt.template.Options?
---@return string? result
---@return string? message
---@return string? code
---@return skillrt.template.Fault[]? faults
function Compiled:render(data, partials, options)
  return M.render(self, data, partials, options)
end

return M
