-- document/load/json_lines.lua: the line of a key in a JSON text: "autonomous_config.actions[2].id".
--
-- The text was decoded before, so this only walks through it. Called when a finding about a key needs a place.
local json = require "skillrt.base.json"

local M = {}

local function skip(text, at)
  return text:match("^%s*()", at)
end

local function string_end(text, at)
  local i = at + 1
  while true do
    local stop, c = text:match('()(["\\])', i)
    if not stop then
      return #text + 1
    elseif c == '"' then
      return stop + 1
    end
    i = stop + 2
  end
end

-- Uses a stack of its own, as a text may be nested as deep as the codec allows.
local function walk(text, visit)
  local stack, path = {}, ""
  local at, c = text:match '()([%[%]{},"])'
  while at do
    local top = stack[#stack]
    local behind = at + 1
    if c == "{" then
      stack[#stack + 1] = { path = path }
    elseif c == "[" then
      stack[#stack + 1] = { path = path, list = true, index = 1 }
      if not text:find("^%s*%]", behind) then
        path = path .. "[1]"
        visit(path, skip(text, behind))
      end
    elseif c == "}" or c == "]" then
      stack[#stack] = nil
    elseif c == "," then
      if top and top.list then
        top.index = top.index + 1
        path = ("%s[%d]"):format(top.path, top.index)
        visit(path, skip(text, behind))
      end
    else
      behind = string_end(text, at)
      if top and not top.list and text:find("^%s*:", behind) then
        local key = text:sub(at + 1, behind - 2)
        path = top.path == "" and key or top.path .. "." .. key
        visit(path, at)
      end
    end
    at, c = text:match('()([%[%]{},"])', behind)
  end
end

---The line of each key and item of a JSON text.
---@param text string
---@return table<string, integer>
function M.of(text)
  local lines, line = {}, 1
  local stop = text:find("\n", 1, true)
  walk(text, function(path, at)
    while stop and stop < at do
      line, stop = line + 1, text:find("\n", stop + 1, true)
    end
    lines[path] = lines[path] or line
  end)
  return lines
end

-- Keys above one that is longer are not looked for from its end: it has as many as it has dots.
local LONGEST_KEY = 1024

---The entry of a key, or of the nearest existing key above it.
---@generic T
---@param lines table<string, T>
---@param key string
---@return T?
function M.nearest(lines, key)
  if lines[key] then
    return lines[key]
  end
  key = key:sub(1, LONGEST_KEY)
  while key ~= "" do
    if lines[key] then
      return lines[key]
    end
    key = key:match "^(.*)%[[^%[%]]*%]$" or key:match "^(.*)%.[^.]*$" or ""
  end
  return nil
end

---The places of keys in a JSON text, which is walked on first use. A key that a config moves is found at its original
---place.
---@param file string
---@param text string
---@return fun(key: string): { file: string, line: integer? }
function M.places(file, text)
  local lines
  return function(key)
    lines = lines or M.of(text)
    local short = key:gsub("^autonomous_config%.", ""):gsub("^sequential_config%.", "")
    return { file = file, line = M.nearest(lines, key) or M.nearest(lines, short) }
  end
end

---Decodes a JSON text; invalid JSON is a finding.
---@param file string
---@param text string
---@param found skillrt.Findings
---@return any value
---@return fun(key: string): { file: string, line: integer? } place
function M.read(file, text, found)
  local value, problem = json.decode(text)
  if value == nil then
    local line = tonumber(tostring(problem):match "line (%d+)" or tostring(problem):match "^(%d+):")
    found:error("json", { file = file, line = line }, "is no JSON: " .. tostring(problem))
  end
  return value, M.places(file, text)
end

return M
