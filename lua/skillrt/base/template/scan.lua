-- base/template/scan.lua: finds the next Mustache tag and takes it apart; says whether it is alone on its line.
--
-- Knows delimiters, sigils and names, not what tags mean. Called by template.parse only.
local trim = require("skillrt.base.text").trim
local M = {}

local MAX_NAME = 1000
local SIGILS = "[#%^/!=>&{<$]"

---@class skillrt.template.Tag
---@field sigil string "" for a plain name
---@field name string
---@field first integer offset of the opening delimiter
---@field last integer offset of the last byte of the closing delimiter
---@field clean boolean only white space stands before it on its line
---@field eol integer|nil|false last byte of its line, if only white space follows on it

-- Where the line ends if only white space follows; the end of the text is the end of a line.
local function line_end(parser, after)
  local _, stop = parser.text:find("^[ \t]*", after)
  if stop == #parser.text then
    return stop
  end
  local _, newline = parser.text:find("^\r?\n", stop + 1)
  return newline
end

-- Keeps line_start and dirty true for the text between two tags.
local function look_back(parser, first)
  local behind = parser.text:sub(parser.pos, first - 1):match "^.*\n()"
  if behind then
    parser.line_start, parser.dirty = parser.pos + behind - 1, false
  end
  if parser.dirty then
    return false
  end
  local _, stop = parser.text:find("^[ \t]*", parser.line_start)
  return stop == first - 1
end

local function never_closed(parser, first, closing)
  parser.fail(parser, first, "the tag is never closed: no %s behind it", closing)
end

local function read_delimiters(parser, tag, from)
  local ending = "=" .. parser.close
  local stop, last = parser.text:find(ending, from, true)
  if not stop then
    never_closed(parser, tag.first, ending)
  end
  local content = parser.text:sub(from, stop - 1)
  local new_open, new_close
  if #content <= MAX_NAME then
    new_open, new_close = content:match "^%s*([^%s=]+)%s+([^%s=]+)%s*$"
  end
  if not new_open then
    local message = "set delimiters holds two delimiters without '=' or white space in them"
    parser.fail(parser, tag.first, message)
  end
  tag.new_open, tag.new_close, tag.last = new_open, new_close, last
end

-- {{{name}}} ends with a brace of its own before the closing delimiter.
local function read_triple(parser, tag, from)
  local brace = parser.text:find("}", from, true)
  local behind = brace and parser.text:find("%S", brace + 1)
  local stop = behind and behind + #parser.close - 1
  if not brace or not behind or parser.text:sub(behind, stop) ~= parser.close then
    never_closed(parser, tag.first, "}" .. parser.close)
  end
  tag.last = stop
  return parser.text:sub(from, brace - 1)
end

local function read_name(parser, tag, from)
  local content
  if tag.sigil == "{" then
    content = read_triple(parser, tag, from)
  else
    local stop, last = parser.text:find(parser.close, from, true)
    if not stop then
      never_closed(parser, tag.first, parser.close)
    end
    tag.last = last
    if tag.sigil == "!" then
      return
    end
    content = parser.text:sub(from, stop - 1)
  end
  if #content > MAX_NAME then
    parser.fail(parser, tag.first, "the name is longer than %d bytes", MAX_NAME)
  end
  local name = trim(content)
  if name == "" then
    parser.fail(parser, tag.first, "the tag has no name")
  elseif name:find "%s" then
    parser.fail(parser, tag.first, "the name '%s' has white space in it", name)
  end
  tag.name = name
end

---The next tag, or nil at the end of the text. Throws a Fault for a tag that is none.
---@param parser table
---@return skillrt.template.Tag?
function M.next(parser)
  local text = parser.text
  local first, after = text:find(parser.open, parser.pos, true)
  if not first then
    return nil
  end
  local tag = { first = first, sigil = "" }
  local from = text:find("%S", after + 1)
  if not from then
    never_closed(parser, first, parser.close)
  end
  if text:sub(from, from + #parser.close - 1) ~= parser.close and text:find(SIGILS, from) == from then
    tag.sigil = text:sub(from, from)
    from = from + 1
  end
  if tag.sigil == "=" then
    read_delimiters(parser, tag, from)
  else
    read_name(parser, tag, from)
  end
  tag.clean = look_back(parser, first)
  tag.eol = line_end(parser, tag.last + 1)
  return tag
end

---The parts of a dotted name; {"."} for the implicit iterator.
---@param parser table
---@param tag skillrt.template.Tag
---@return string[]
function M.path(parser, tag)
  if tag.name == "." then
    return { ".", implicit = true }
  end
  local parts = {}
  for part in (tag.name .. "."):gmatch "([^.]*)%." do
    if part == "" then
      parser.fail(parser, tag.first, "the name '%s' has an empty part", tag.name)
    end
    parts[#parts + 1] = part
  end
  return parts
end

return M
