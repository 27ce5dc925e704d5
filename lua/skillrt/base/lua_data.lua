-- base/lua_data.lua: a Lua table read as data: texts, numbers, true, false and tables of them. Nothing in it is
-- run, so that a file of settings is never a program.
--
-- Knows nothing of what the data means.

local M = {}

local MAX_DEPTH <const> = 32

local ESCAPES = { n = "\n", t = "\t", r = "\r", ["\\"] = "\\", ['"'] = '"', ["'"] = "'", ["\n"] = "\n" }

local Reader = {}
Reader.__index = Reader

function Reader:fail(what)
  local line = select(2, self.text:sub(1, self.pos - 1):gsub("\n", "")) + 1
  error({ message = ("line %d: %s"):format(line, what) }, 0)
end

-- Past blanks and comments.
function Reader:skip()
  while true do
    local at = self.text:find("%S", self.pos) or #self.text + 1
    self.pos = at
    if self.text:sub(at, at + 1) ~= "--" then
      return
    end
    local marks = self.text:match("^%-%-%[(=*)%[", at)
    local _, stop = self.text:find(marks and "]" .. marks .. "]" or "\n", at, true)
    self.pos = (stop or #self.text) + 1
  end
end

-- What a pattern finds here, taken.
function Reader:take(pattern)
  self:skip()
  local first, last, capture = self.text:find("^" .. pattern, self.pos)
  if not first then
    return nil
  end
  self.pos = last + 1
  return capture or self.text:sub(first, last)
end

function Reader:quoted(quote)
  local out = {}
  while true do
    local at = self.text:find("[\\\n" .. quote .. "]", self.pos)
    local char = at and self.text:sub(at, at)
    if not at or char == "\n" then
      self:fail("a text is not closed")
    end
    out[#out + 1] = self.text:sub(self.pos, at - 1)
    self.pos = at + 1
    if char == quote then
      return table.concat(out)
    end
    local escape = ESCAPES[self.text:sub(self.pos, self.pos)]
    if not escape then
      self:fail("a text holds an escape that is not read here")
    end
    out[#out + 1], self.pos = escape, self.pos + 1
  end
end

function Reader:long(marks)
  local _, stop = self.text:find("]" .. marks .. "]", self.pos, true)
  if not stop then
    self:fail("a text is not closed")
  end
  local out = self.text:sub(self.pos, stop - #marks - 2)
  self.pos = stop + 1
  return (out:gsub("^\n", ""))
end

function Reader:table(depth)
  local out, count = {}, 0
  if depth > MAX_DEPTH then
    self:fail("tables are too deep")
  end
  while not self:take("}") do
    local key = self:take("([%a_][%w_]*)%s*=%f[^=]")
    if not key and self:take("%[%f[^%[=]") then
      key = self:value(depth + 1)
      if not self:take("%]") or not self:take("=") then
        self:fail("a key must be followed by ] and =")
      end
    end
    local value = self:value(depth + 1)
    if key == nil then
      count = count + 1
      key = count
    end
    out[key] = value
    if not self:take("[,;]") then
      if not self:take("}") then
        self:fail("a table's values must be followed by , or }")
      end
      return out
    end
  end
  return out
end

local WORDS = { ["true"] = true, ["false"] = false }

function Reader:value(depth)
  if self:take("{") then
    return self:table(depth)
  end
  local quote = self:take("[\"']")
  if quote then
    return self:quoted(quote)
  end
  local marks = self:take("%[(=*)%[")
  if marks then
    return self:long(marks)
  end
  local word = self:take("[%w_.+-]+")
  local value = word and WORDS[word]
  if value == nil and word then
    value = tonumber(word)
  end
  if value == nil then
    self:fail(word and ("%s is no text, number, true, false or table; nothing is run here"):format(word)
      or "a value is missing")
  end
  return value
end

---The data of a text: `return { ... }`, or the table alone.
---@param text string
---@return any value
---@return string? message
function M.read(text)
  local self = setmetatable({ text = text, pos = 1 }, Reader)
  local ok, value = pcall(function()
    self:take("return%f[^%w_]")
    local value = self:value(1)
    self:skip()
    if self.pos <= #text then
      self:fail("something stands behind the data")
    end
    return value
  end)
  if not ok then
    if type(value) ~= "table" then
      error(value, 0)
    end
    return nil, value.message
  end
  return value
end

return M
