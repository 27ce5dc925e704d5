-- document/load/machine/route.lua: what a routing function returns in which state, and under which test, read from
-- its code: switch and case, `if (state === 'x')`, return of a text or of Action.NAME, throw.
--
-- Not a parser of the language: what it cannot tell it leaves out. Called by prose.lua.
local M = {}

local MAX_DEEP <const> = 16 -- tests inside tests
local MAX_TEST <const> = 400 -- bytes of the brackets behind an if

---@class skillrt.load.Case
---@field line integer
---@field to { action: string, when: string?, line: integer }[]  in the order they are asked
---@field throws boolean

---@class skillrt.load.Route
---@field cases table<string, skillrt.load.Case>
---@field order string[]
---@field default skillrt.load.Case?

local Reader = {}
Reader.__index = Reader

function Reader:case(name)
  local route = self.route
  local one = name and route.cases[name] or not name and route.default
  if not one then
    one = { to = {}, throws = false, line = self.line }
    if name then
      route.cases[name], route.order[#route.order + 1] = one, name
    else
      route.default = one
    end
  end
  return one
end

-- The cases that a statement here belongs to, and the tests it stands behind.
function Reader:where()
  local states, tests = #self.labels > 0 and self.labels or { false }, {}
  for _, guard in ipairs(self.guards) do
    states = guard.state and { guard.state } or states
    tests[#tests + 1] = guard.test
  end
  return states, #tests > 0 and table.concat(tests, " && ") or nil
end

function Reader:answer(action, test, throws)
  local states, when = self:where()
  for _, name in ipairs(states) do
    local case = self:case(name or nil)
    case.throws = case.throws or throws or false
    if action then
      local both = when and test and when .. " && " .. test or when or test
      case.to[#case.to + 1] = { action = action, when = both, line = self.line }
    end
  end
  self.answered = true
  while #self.guards > 0 and self.guards[#self.guards].once do -- an if without braces is over
    self.last = table.remove(self.guards)
  end
end

-- The action that is named at a place: Action.NAME or a text.
local function action_at(text, at)
  local name, after = text:match("^%s*%u%w*%.(%u[%u%d_]*)()", at)
  if name then
    return name:lower(), after
  end
  return text:match("^%s*['\"]([%w_.-]+)['\"]()", at)
end

local WORDS = {}

function WORDS.case(self, text, at)
  local name, after = text:match("^case%s+['\"]([%w_.-]+)['\"]%s*:()", at)
  if not name then
    return nil
  end
  self.labels = self.answered and {} or self.labels
  self.labels[#self.labels + 1], self.answered = name, false
  self:case(name)
  return after
end

function WORDS.default(self, text, at)
  local after = text:match("^default%s*:()", at)
  if after then
    self.labels, self.answered = {}, false
    self:case(nil)
  end
  return after
end

-- What stands behind an if is guarded: to the end of its braces, or its one statement.
local function guard(self, one, text, at)
  if #self.guards >= MAX_DEEP then
    return at -- what stands deeper is behind the tests so far
  end
  one.depth, one.once = self.depth, not text:find("^%s*{", at)
  self.guards[#self.guards + 1] = one
  return at
end

WORDS["if"] = function(self, text, at)
  local inside = text:sub(at, at + MAX_TEST):match "^if%s*(%b())"
  if not inside then
    return nil
  end
  local after = text:match("^if%s*()", at) + #inside
  local test = inside:sub(2, -2):match "^%s*(.-)%s*$"
  local state = test:match "^[%w_.]*[sS]tate%s*===?%s*['\"]([%w_.-]+)['\"]$"
  if state then
    self:case(state)
  end
  return guard(self, { state = state, test = not state and test or nil }, text, after)
end

WORDS["else"] = function(self, text, at)
  local last, after = self.last, at + 4
  if last and last.test and not text:find("^%s+if%f[%W]", after) then
    return guard(self, { test = ("!(%s)"):format(last.test) }, text, after)
  end
  return after
end

WORDS["return"] = function(self, text, at)
  local after = at + 6
  local action, behind = action_at(text, after)
  local test, rest = text:sub(after, after + MAX_TEST):match "^%s*([^;?\n]+)%s*%?()"
  local one, colon = action_at(text, test and after + rest - 1 or #text + 1)
  local other, stop = action_at(text, one and text:match("^%s*:()", colon) or #text + 1)
  if one and other then
    local guards = self.guards
    self.guards = { table.unpack(guards) }
    self:answer(one, test:match "^(.-)%s*$")
    self.guards = guards
    self:answer(other)
    return stop
  end
  self:answer(action)
  return behind or after
end

function WORDS.throw(self, _, at)
  self:answer(nil, nil, true)
  return at + 5
end

-- One function's body, from its first brace on; gives the place behind it.
function Reader:body(text, at)
  self.depth = 0
  while true do
    local start = text:find("[%a_{}'\"`\n]", at)
    if not start then
      return #text + 1
    end
    local c = text:sub(start, start)
    at = start + 1
    if c == "\n" then
      self.line = self.line + 1
    elseif c == "{" then
      self.depth = self.depth + 1
    elseif c == "}" then
      self.depth = self.depth - 1
      while #self.guards > 0 and self.guards[#self.guards].depth >= self.depth do
        self.last = table.remove(self.guards)
      end
      if self.depth <= 0 then
        return at
      end
    elseif c:find "['\"`]" then
      at = text:match("^[^" .. c .. "\n]*" .. c .. "()", at) or at
    else
      local word, after = text:match("^([%w_]+)()", start)
      local read = WORDS[word]
      at = read and read(self, text, start) or after
    end
  end
end

---Reads the functions of a piece of code that route by a state.
---@param code string
---@param first_line integer  of its first line in the file
---@return skillrt.load.Route?
function M.read(code, first_line)
  if not code:find("function", 1, true) then
    return nil
  end
  local text = code:gsub("//[^\n]*", "")
  local self = setmetatable({ route = { cases = {}, order = {} }, line = first_line }, Reader)
  local at, counted = 1, 1
  while true do
    local start, name, after = text:match("()%f[%w_]function%s+([%w_]+)%s*()", at)
    if not start then
      break
    end
    at = after
    if name:lower():find "route" or name:find "[nN]ext" or name:find "[sS]elect" then
      local brace = text:find("{", after, true) or #text + 1
      self.line = self.line + select(2, text:sub(counted, brace - 1):gsub("\n", ""))
      self.labels, self.guards, self.answered = {}, {}, false
      at = self:body(text, brace)
      counted = at
    end
  end
  return #self.route.order > 0 and self.route or nil
end

return M
