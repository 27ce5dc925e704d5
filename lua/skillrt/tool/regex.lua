-- tool/regex.lua: regular expressions of a model's, matched in time that grows with the text alone: all ways through
-- an expression are followed at once (an automaton of states), none is tried again.
--
-- Known: characters, `.`, classes, `\w \d \s \b`, `^ $`, groups, `|`, `* + ?` and `{n,m}`. Bytes, not characters. Pure.

local M = {}

local MOST_STATES <const> = 2000
local MOST_REPEATED <const> = 100

local CLASS <const> = { d = "%d", w = "[%w_]", s = "%s", D = "%D", W = "[^%w_]", S = "%S" }
local ESCAPED <const> = { n = "\n", t = "\t", r = "\r", f = "\f", v = "\v" }

-- The bytes that fit a class of Lua's.
local function bytes_of(class, set)
  for byte = 0, 255 do
    if string.char(byte):find("^" .. class) then
      set[byte] = true
    end
  end
end

local Reader = {}
Reader.__index = Reader

function Reader:fail(text)
  error({ regex = ("%s at %d"):format(text, self.at) }, 0)
end

function Reader:peek()
  return self.text:sub(self.at, self.at)
end

function Reader:take()
  local char = self:peek()
  self.at = self.at + 1
  return char
end

-- What stands behind a backslash: a set of bytes, or the one byte.
function Reader:escape(set)
  local char = self:take()
  if char == "" then
    self:fail("ends with a backslash")
  elseif CLASS[char] then
    bytes_of(CLASS[char], set)
    return nil
  elseif not ESCAPED[char] and char:find("%w") then -- \1, \x41, \p{L}: not what it says
    self:fail(("has \\%s, which is not known"):format(char))
  end
  local byte = (ESCAPED[char] or char):byte()
  set[byte] = true
  return byte
end

function Reader:class()
  local set, is_not, first = {}, false, true
  if self:peek() == "^" then
    is_not = self:take() ~= nil
  end
  while first or self:peek() ~= "]" do
    first = false
    local char = self:take()
    if char == "" then
      self:fail("has a [ without its ]")
    end
    if char == "[" and self:peek():find("[:.=]") then
      self:fail(("has a class [%s, which is not known"):format(self:peek()))
    end
    local low = char == "\\" and self:escape(set) or char ~= "\\" and char:byte() or nil
    if low and self:peek() == "-" and self.text:sub(self.at + 1, self.at + 1) ~= "]" then
      self:take()
      local high = self:take()
      high = high == "\\" and self:escape({}) or high:byte()
      if not high or high < low then
        self:fail("has a range that does not go from one character to a later one")
      end
      for byte = low, high do
        set[byte] = true
      end
    elseif low then
      set[low] = true
    end
  end
  self:take()
  for byte = 65, self.ignore_case and 90 or 64 do -- A to Z
    local either = set[byte] or set[byte + 32]
    set[byte], set[byte + 32] = either, either
  end
  if is_not then
    local other = {}
    for byte = 0, 255 do
      other[byte] = not set[byte] and byte ~= 10 or nil
    end
    return other
  end
  return set
end

-- ---- the tree ----

function Reader:atom()
  local char = self:take()
  if char == "(" then
    if self.text:find("^%?:", self.at) then
      self.at = self.at + 2
    elseif self:peek() == "?" then
      self:fail("has a group of a kind that is not known")
    end
    local inner = self:choice()
    if self:take() ~= ")" then
      self:fail("has a ( without its )")
    end
    return inner
  elseif char == "[" then
    return { op = "set", set = self:class() }
  elseif char == "." then
    local set = {}
    bytes_of("[^\n]", set)
    return { op = "set", set = set }
  elseif char == "^" or char == "$" then
    return { op = "edge", edge = char }
  elseif char == "\\" and (self:peek() == "b" or self:peek() == "B") then
    return { op = "edge", edge = self:take() }
  elseif char == "\\" then
    local set = {}
    self:escape(set)
    return { op = "set", set = set }
  elseif char == "*" or char == "+" or char == "?" then
    self:fail(("has a %s with nothing before it"):format(char))
  end
  local set = { [char:byte()] = true }
  if self.ignore_case then
    set[char:lower():byte()], set[char:upper():byte()] = true, true
  end
  return { op = "set", set = set }
end

local COUNT <const> = { ["*"] = { 0 }, ["+"] = { 1 }, ["?"] = { 0, 1 } }

function Reader:repeated()
  local one = self:atom()
  while true do
    local count = COUNT[self:peek()]
    local low, comma, high, stop = self.text:match("^{(%d+)(,?)(%d*)}()", self.at)
    if count then
      self:take()
    elseif low then
      self.at = stop
      low = tonumber(low)
      count = { low, tonumber(high) or (comma == "" and low or nil) }
      if math.max(count[1], count[2] or 0) > MOST_REPEATED then
        self:fail(("repeats more than %d times"):format(MOST_REPEATED))
      elseif count[2] and count[2] < count[1] then
        self:fail("repeats at most fewer times than at least")
      end
    else
      return one
    end
    if self:peek() == "?" then -- as few as possible: whether it fits is the same
      self:take()
    end
    one = { op = "repeat", one = one, low = count[1], high = count[2] }
  end
end

function Reader:sequence()
  local list = {}
  while self:peek() ~= "" and self:peek() ~= "|" and self:peek() ~= ")" do
    list[#list + 1] = self:repeated()
  end
  return { op = "sequence", list = list }
end

function Reader:choice()
  self.depth = (self.depth or 0) + 1
  if self.depth > 50 then
    self:fail("is too deep")
  end
  local list = { self:sequence() }
  while self:peek() == "|" do
    self:take()
    list[#list + 1] = self:sequence()
  end
  self.depth = self.depth - 1
  return #list == 1 and list[1] or { op = "choice", list = list }
end

-- ---- the automaton ----

-- A state: { set, to } takes a byte; { to, other } goes on both ways; { edge, to } where the edge holds; `over`.
local build = {}

local function state(machine, one)
  local count = #machine + 1
  if count > MOST_STATES then
    error({ regex = "is too large" }, 0)
  end
  machine[count] = one
  return count
end

local function made(machine, node, to)
  return build[node.op](machine, node, to)
end

function build.set(machine, node, to)
  return state(machine, { set = node.set, to = to })
end

function build.edge(machine, node, to)
  return state(machine, { edge = node.edge, to = to })
end

function build.sequence(machine, node, to)
  for i = #node.list, 1, -1 do
    to = made(machine, node.list[i], to)
  end
  return to
end

function build.choice(machine, node, to)
  local at = made(machine, node.list[#node.list], to)
  for i = #node.list - 1, 1, -1 do
    at = state(machine, { to = made(machine, node.list[i], to), other = at })
  end
  return at
end

build["repeat"] = function(machine, node, to)
  local at = to
  if not node.high then
    local loop = state(machine, { other = to })
    machine[loop].to = made(machine, node.one, loop)
    at = loop
  else
    for _ = node.low + 1, node.high do
      at = state(machine, { to = made(machine, node.one, at), other = to })
    end
  end
  for _ = 1, node.low do
    at = made(machine, node.one, at)
  end
  return at
end

local function is_word(byte)
  return byte ~= nil and (byte == 95 or string.char(byte):find("^%w") ~= nil)
end

local function holds(edge, text, at)
  if edge == "^" then
    return at == 1
  elseif edge == "$" then
    return at == #text + 1
  end
  local is_border = is_word(at > 1 and text:byte(at - 1) or nil) ~= is_word(text:byte(at))
  return is_border == (edge == "b")
end

-- Puts a state and all that it leads to without a byte among those that are followed; true: it is over. And how many
-- were looked at.
local function follow(machine, list, seen, from, text, at)
  local stack, count, looked = { from }, 1, 0
  while count > 0 do
    local one = stack[count]
    count, looked = count - 1, looked + 1
    if seen[one] ~= at then
      seen[one] = at
      local here = machine[one]
      if here.over then
        return true, looked
      elseif here.set then
        list[#list + 1] = here
      elseif not here.edge or holds(here.edge, text, at) then
        stack[count + 1], stack[count + 2] = here.to, here.other
        count = count + (here.other and 2 or 1)
      end
    end
  end
  return false, looked
end

---What tells whether an expression is found in a text, and how many states it looked at for that; or nil and what is
---wrong with it.
---@param expression string
---@param ignore_case boolean?
---@return (fun(text: string): boolean, integer)|nil found
---@return string? message
function M.compile(expression, ignore_case)
  local reader = setmetatable({ text = expression, at = 1, ignore_case = ignore_case }, Reader)
  local machine = { { over = true } }
  local ok, start = pcall(function()
    local tree = reader:choice()
    if reader.at <= #expression then
      reader:fail("has a ) without its (")
    end
    return made(machine, tree, 1)
  end)
  if not ok then
    if type(start) ~= "table" or not start.regex then
      error(start, 0)
    end
    return nil, ("the expression %s"):format(start.regex)
  end
  return function(text)
    local list, seen, work = {}, {}, 0
    for at = 1, #text + 1 do
      local byte, following, next_seen = text:byte(at), {}, {}
      local is_over, looked = follow(machine, list, seen, start, text, at)
      work = work + looked
      if is_over then
        return true, work
      end
      for i = 1, byte and #list or 0 do
        local here = list[i]
        if here.set[byte] then
          is_over, looked = follow(machine, following, next_seen, here.to, text, at + 1)
          work = work + looked
          if is_over then
            return true, work
          end
        end
      end
      list, seen, work = following, next_seen, work + #list
    end
    return false, work
  end
end

return M
