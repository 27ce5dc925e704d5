-- test/asserts.lua: what a spec may assert, by busted's words: `assert.same(expected, value)`, `assert.is_not.equal`,
-- `assert.are_equal`, and `assert(value, message)` as Lua has it.
--
-- A failed assertion raises { failure = text }. Pure; knows no runs.

local M = {}

local function sorted(map)
  local keys = {}
  for key in pairs(map) do
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    if type(a) ~= type(b) then
      return type(a) == "number"
    end
    return type(a) == "number" and a < b or tostring(a) < tostring(b)
  end)
  return keys
end

---A value as people read it.
---@param value any
---@param indent string?
---@return string
function M.show(value, indent)
  indent = indent or ""
  if type(value) == "string" then
    return ("%q"):format(value):gsub("\\\n", "\\n"):sub(1, 2000)
  elseif type(value) ~= "table" or #indent > 20 then
    return tostring(value)
  end
  local lines = {}
  for _, key in ipairs(sorted(value)) do
    local name = type(key) == "string" and key or ("[%s]"):format(tostring(key))
    lines[#lines + 1] = ("%s  %s = %s"):format(indent, name, M.show(value[key], indent .. "  "))
  end
  return lines[1] and ("{\n%s\n%s}"):format(table.concat(lines, "\n"), indent) or "{}"
end

local function deeper(way, key)
  return ("%s%s"):format(way, math.type(key) and ("[%d]"):format(key) or "." .. tostring(key))
end

-- The first difference of two values: nil, or the path to it.
local function difference(a, b, way)
  if a == b or a ~= a and b ~= b then
    return nil
  elseif type(a) ~= "table" or type(b) ~= "table" then
    return way
  end
  for _, key in ipairs(sorted(a)) do
    local found = difference(a[key], b[key], deeper(way, key))
    if found then
      return found
    end
  end
  for _, key in ipairs(sorted(b)) do
    if a[key] == nil then
      return deeper(way, key)
    end
  end
end

local function two(expected, value)
  return ("expected: %s\ngot: %s"):format(M.show(expected), M.show(value))
end

local function raised(fn)
  local ok, problem = pcall(fn)
  return not ok, problem
end

local function text_of(problem)
  return type(problem) == "table" and tostring(problem.message or problem) or tostring(problem)
end

-- Each returns whether it is true, and the message if it is not.
local WORDS = {}

function WORDS.same(expected, value)
  local way = difference(expected, value, "it")
  return way == nil, ("are not the same: differ at %s\n%s"):format(way, two(expected, value))
end

function WORDS.equal(expected, value)
  return expected == value, "are not equal\n" .. two(expected, value)
end
WORDS.equals = WORDS.equal

function WORDS.near(expected, value, tolerance)
  return type(value) == "number" and math.abs(expected - value) <= tolerance,
    ("is not near, within %s\n%s"):format(tostring(tolerance), two(expected, value))
end

function WORDS.truthy(value)
  return value and true or false, "is not truthy: " .. M.show(value)
end

function WORDS.falsy(value)
  return not value, "is not falsy: " .. M.show(value)
end

for name, wanted in pairs({ ["true"] = true, ["false"] = false }) do
  WORDS[name] = function(value)
    return value == wanted, ("is not %s: %s"):format(name, M.show(value))
  end
end

for _, name in ipairs({ "nil", "string", "number", "table", "function", "boolean" }) do
  WORDS[name] = function(value)
    return type(value) == name, ("is no %s: %s"):format(name, M.show(value))
  end
end

function WORDS.error(fn, expected)
  local was, problem = raised(fn)
  if expected == nil or not was then
    return was, was and "raised: " .. text_of(problem) or "did not raise"
  end
  problem = type(expected) == "string" and text_of(problem) or problem
  return difference(expected, problem, "") == nil, "raised something else\n" .. two(expected, problem)
end
WORDS.errors = WORDS.error

function WORDS.error_matches(fn, pattern)
  local was, problem = raised(fn)
  return was and text_of(problem):find(pattern) ~= nil,
    was and "raised something else\n" .. two(pattern, text_of(problem)) or "did not raise"
end

function WORDS.matches(pattern, value, init, plain)
  return type(value) == "string" and value:find(pattern, init, plain) ~= nil,
    "does not match\n" .. two(pattern, value)
end
WORDS.match = WORDS.matches

local FILLERS <const> = { is = true, are = true, was = true, has = true, have = true, be = true, does = true, a = true,
  an = true, message = true }
local NOT <const> = { ["not"] = true, no = true, ["Not"] = true }

local Chain = {}

local function chain(words, negated)
  return setmetatable({ words, negated }, Chain)
end

-- The words of a chain plus one or several: "is_not_nil".
function Chain.__index(self, name)
  local words, negated = self[1], self[2]
  for word in tostring(name):gmatch("[^_]+") do
    if NOT[word] then
      negated = not negated
    elseif not FILLERS[word] then
      words = words == "" and word or words .. "_" .. word
    end
  end
  return chain(words, negated)
end

function Chain.__call(self, ...)
  local words = self[1]
  if words == "" then
    local value, message = ...
    if not value then
      error({ failure = message == nil and "assertion failed!" or text_of(message) }, 0)
    end
    return ...
  end
  local word = WORDS[words] or WORDS[words:lower()]
  if not word then
    error(("assert.%s: is no assertion of skillrt test%s"):format(words,
      require("skillrt.base.names").suggest(words, WORDS)), 2)
  end
  local holds, why = word(...)
  holds = holds or false
  if holds == self[2] then
    local at = debug.getinfo(2, "Sl")
    local where = at and at.currentline > 0 and ("%s:%d: "):format(at.short_src, at.currentline) or ""
    error({ failure = where .. (self[2] and ("must not be so (%s): %s"):format(words, M.show((...))) or why) }, 0)
  end
  return ...
end

---The replacement of `assert` in a spec.
M.assert = chain("", false)

return M
