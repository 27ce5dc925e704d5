-- document/load/front_matter.lua: the YAML between the "---" lines at the top of a Markdown file.
--
-- Knows no keys. A block that is invalid YAML only because a value contains ": " or the like is read line by line and
-- reported, as its author meant it. Called by skill_md and tree.
local json = require "skillrt.base.json"
local yaml = require "skillrt.document.load.yaml"
local trim = require("skillrt.base.text").trim

local M = {}

M.MAX_BYTES = 64 << 10
local MAX_NODES = 2000

---@class skillrt.load.FrontMatter
---@field fields table<string, any>
---@field lines table<string, integer>  the line of each key, in the file
---@field body string
---@field body_line integer

-- The block's text; nil: the file has none; false: it is not closed.
local function split(text)
  local head = text:match "^%-%-%-[ \t]*\n()"
  if not head then
    return nil, text, 1
  end
  local at, line = head, 2
  while at <= #text do
    local stop = text:find("\n", at, true) or #text + 1
    local now = text:sub(at, stop - 1)
    if now:find "^%-%-%-[ \t]*$" or now:find "^%.%.%.[ \t]*$" then
      return text:sub(head, at - 1), text:sub(stop + 1), line + 1
    end
    at, line = stop + 1, line + 1
  end
  return false, text, 1
end

---Whether a text begins with front matter.
---@param text string
---@return boolean
function M.begins(text)
  return split(text) ~= nil
end

---The text below the front matter, and its first line number.
---@param text string
---@return string body
---@return integer line
function M.body(text)
  local _, body, line = split(text)
  return body, line
end

-- `key: anything` line by line; nil where it is more than that.
local function flat(block)
  local fields, lines, at, last = {}, {}, 1, nil
  for line in block:gmatch "([^\n]*)\n?" do
    at = at + 1
    local key, value = line:match "^([%a_][%w_-]*):(.*)$"
    if key and fields[key] == nil then
      value = trim(value)
      value = value:match '^"(.*)"$' or value:match "^'(.*)'$" or value
      fields[key], lines[key], last = value, at, key
    elseif line:find "^%s+%S" and last then
      local is_object = fields[last] == json.null or fields[last] == "" and line:find "^%s+[%w_-]+:%f[%s\0]"
      fields[last] = is_object and json.null or (fields[last] .. " " .. trim(line)):gsub("^[>|][+-]? ", "")
    elseif line:find "%S" and not line:find "^%s*#" then
      return nil
    end
  end
  return next(fields) and fields, lines
end

local function tell_flat(found, place, message)
  found:warn("front-matter-yaml", place, "the front matter " .. message)
end

-- Lines inside the block count from 1; the file's first line is the "---" before it.
local function shifted(lines)
  local out = {}
  for key, line in pairs(lines) do
    out[key] = line + 1
  end
  return out
end

local function parse(block, file, found)
  local value, lines, line, code = yaml.parse(block, { max_bytes = M.MAX_BYTES, max_nodes = MAX_NODES })
  local place = { file = file, line = (line or 0) + 1 }
  if value == nil then
    local fields, where = nil, nil
    if code == "invalid" and lines:find("^is no YAML") then
      fields, where = flat(block)
    end
    if fields then
      tell_flat(found, place, lines)
      return fields, where
    end
    found:error("front-matter", place, "the front matter " .. lines)
    return nil
  elseif value == json.null then
    return {}, {}
  elseif type(value) ~= "table" or json.is_array(value) then
    found:error("front-matter", { file = file, line = 2 }, "the front matter holds no `key: value` lines", nil,
      "begin with `name: ...`")
    return nil
  end
  return value, shifted(lines)
end

---Reads the front matter of a text; errors are findings.
---@param text string  with "\n" at the end of each line
---@param file string  for findings
---@param found skillrt.Findings
---@return skillrt.load.FrontMatter? front  nil if there is none or it cannot be read
function M.read(text, file, found)
  local block, body, body_line = split(text)
  if block == nil then
    return nil
  elseif block == false then
    local what = 'the front matter that begins with "---" is never closed'
    local fix = 'put "---" on a line below it'
    found:error("front-matter", { file = file, line = 1 }, what, nil, fix)
    return nil
  end
  local fields, lines = parse(block, file, found)
  if not fields then
    return nil
  end
  return { fields = fields, lines = lines, body = body, body_line = body_line }
end

return M
