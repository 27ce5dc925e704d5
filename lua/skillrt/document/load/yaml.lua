-- document/load/yaml.lua: YAML as plain data, in a safe form: no tags, bounded aliases and sizes, repeated keys
-- refused, every value with its line.
--
-- Composes the events of lyaml's parser itself, with the scalars of YAML 1.2 (`no` is a text).
-- lyaml is loaded with the first text. Called by front_matter and agent_yml.
local json = require "skillrt.base.json"

local M = {}

M.MAX_BYTES = 1 << 20
M.MAX_DEPTH = 32
M.MAX_NODES = 50000
M.MAX_ALIASES = 64

---@class skillrt.load.YamlLimits
---@field max_bytes integer?
---@field max_nodes integer?

local function fail(line, message)
  error({ line = line, message = message }, 0)
end

local CONSTANTS = {
  [""] = json.null,
  ["~"] = json.null,
  null = json.null,
  Null = json.null,
  NULL = json.null,
  ["true"] = true,
  True = true,
  TRUE = true,
  ["false"] = false,
  False = false,
  FALSE = false,
}

local function number_of(text)
  if text:find "^[-+]?%d+$" then
    return math.tointeger(tonumber((text:gsub("^%+", ""))))
  elseif text:find "^0x%x+$" and #text <= 17 then
    return math.tointeger(tonumber(text))
  elseif text:find "^0o[0-7]+$" and #text <= 22 then
    return math.tointeger(tonumber(text:sub(3), 8))
  end
  local mantissa = text:match "^[-+]?([%d.]+)$" or text:match "^[-+]?([%d.]+)[eE][-+]?%d+$"
  if mantissa and mantissa:find "%d" and not mantissa:find "%..*%." then
    local value = tonumber((text:gsub("^%+", "")))
    return value and value - value == 0 and value or nil
  end
  return nil
end

local function scalar(event)
  local value = event.value
  if event.style ~= "PLAIN" then
    return value
  end
  local constant = CONSTANTS[value]
  if constant ~= nil then
    return constant
  end
  return number_of(value) or value
end

local Composer = {}
Composer.__index = Composer

function Composer:next()
  local event = self.events()
  if event then
    self.line = event.start_mark.line + 1
  end
  return event
end

function Composer:count(line)
  self.nodes = self.nodes + 1
  if self.nodes > self.max_nodes then
    fail(line, ("holds more than %d values"):format(self.max_nodes))
  end
end

-- An alias is copied and counted value by value, so that a few lines cannot become millions.
function Composer:copy(value, line, depth)
  self:count(line)
  if type(value) ~= "table" then
    return value
  elseif depth > M.MAX_DEPTH then
    fail(line, ("is nested more than %d deep"):format(M.MAX_DEPTH))
  end
  local out = json.is_array(value) and json.array {} or {}
  for key, item in pairs(value) do
    out[key] = self:copy(item, line, depth + 1)
  end
  return out
end

function Composer:alias(event, line)
  self.aliases = self.aliases + 1
  local value = self.anchors[event.anchor]
  if self.aliases > M.MAX_ALIASES then
    fail(line, ("holds more than %d aliases"):format(M.MAX_ALIASES))
  elseif value == nil then
    fail(line, ("alias *%s has no anchor before it"):format(event.anchor))
  end
  return self:copy(value, line, 0)
end

function Composer:mapping(path, depth)
  local out, seen = {}, {}
  while true do
    local event = self:next()
    if event.type == "MAPPING_END" then
      return out
    end
    local line = self.line
    if event.type ~= "SCALAR" then
      fail(line, "a key must be a plain text")
    elseif event.tag then
      fail(line, ("key %s: tags are not read; remove %s"):format(event.value, event.tag))
    elseif event.value == "<<" and event.style == "PLAIN" then
      fail(line, 'merge keys ("<<") are not read; write the keys out')
    elseif seen[event.value] then
      local above = line - seen[event.value] -- where the text begins in its file is not known here
      fail(line, ("key %s occurs here a second time, the first is %d line%s above"):format(event.value, above,
        above == 1 and "" or "s"))
    end
    local key = event.value
    seen[key] = line
    local inner = path == "" and key or path .. "." .. key
    out[key] = self:value(self:next(), inner, depth + 1)
    self.lines[inner] = line
  end
end

function Composer:sequence(path, depth)
  local out = json.array {}
  while true do
    local event = self:next()
    if event.type == "SEQUENCE_END" then
      return out
    end
    local inner, line = ("%s[%d]"):format(path, #out + 1), self.line
    out[#out + 1] = self:value(event, inner, depth + 1)
    self.lines[inner] = line
  end
end

function Composer:value(event, path, depth)
  local line = self.line
  if depth > M.MAX_DEPTH then
    fail(line, ("is nested more than %d deep"):format(M.MAX_DEPTH))
  elseif event.tag then
    fail(line, ("tags are not read; remove %s"):format(event.tag))
  elseif event.type == "ALIAS" then
    return self:alias(event, line)
  end
  self:count(line)
  local value
  if event.type == "SCALAR" then
    value = scalar(event)
  elseif event.type == "MAPPING_START" then
    value = self:mapping(path, depth)
  elseif event.type == "SEQUENCE_START" then
    value = self:sequence(path, depth)
  else
    fail(line, "is no value")
  end
  if event.anchor then
    self.anchors[event.anchor] = value
  end
  return value
end

local function compose(self)
  local event = self:next()
  while event.type == "STREAM_START" or event.type == "DOCUMENT_START" do
    event = self:next()
  end
  if event.type == "STREAM_END" then
    return json.null
  end
  local value = self:value(event, "", 0)
  self:next() -- the document's end
  event = self:next()
  if event and event.type ~= "STREAM_END" then
    fail(self.line, "a second document begins here; only the first is read")
  end
  return value
end

local function parser_of()
  local ok, yaml = pcall(require("skillrt.base.system").require, "yaml")
  if not ok or type(yaml) ~= "table" or not yaml.parser then
    return nil, "reading YAML needs lyaml: install lua-yaml (Debian) or lyaml (LuaRocks)"
  end
  return yaml.parser
end

-- "mapping values are not allowed in this context at document: 1, line: 1, column: 5"
local function raised(problem)
  if type(problem) == "table" then
    return problem.message, problem.line
  end
  local text, line = tostring(problem):match "^(.-) at document: %d+, line: (%d+)"
  text = text or tostring(problem):gsub("^[^:]*:%d+: ", "")
  return "is no YAML: " .. text, math.tointeger(tonumber(line))
end

---The single document of a YAML text.
---@param text string
---@param limits skillrt.load.YamlLimits?
---@return any value       objects, lists marked as such, texts, numbers, booleans, json.null
---@return table<string, integer>|string lines  the line of each key, as "skills[2].tools"; or what is wrong
---@return integer? line   of what is wrong
---@return string? code    "unsupported" where lyaml is missing
function M.parse(text, limits)
  limits = limits or {}
  local max_bytes = limits.max_bytes or M.MAX_BYTES
  if #text > max_bytes then
    return nil, ("is %d bytes long; at most %d are read"):format(#text, max_bytes), 1, "limit"
  elseif text:find("%z") then
    return nil, "holds a NUL byte", select(2, text:match("^[^%z]*"):gsub("\n", "")) + 1, "invalid"
  end
  local parser, missing = parser_of()
  if not parser then
    return nil, missing, nil, "unsupported"
  end
  local self = setmetatable({
    nodes = 0,
    aliases = 0,
    anchors = {},
    lines = {},
    line = 1,
    max_nodes = limits.max_nodes or M.MAX_NODES,
  }, Composer)
  local ok, value = pcall(function()
    self.events = parser(text)
    return compose(self)
  end)
  if not ok then
    local message, line = raised(value)
    return nil, message, line or self.line, "invalid"
  end
  return value, self.lines
end

return M
