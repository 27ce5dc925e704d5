-- document/check/route.lua: which actions a routing function returns in which state, read from its code.
--
-- Reads the shapes that orchestrators use: switch with cases, `if (state === 'x')`, return of a
-- text or of Action.NAME, throw. Not a parser of the language: what it cannot tell it leaves out.
-- Called by machine.lua.
local M = {}

---@class skillrt.check.Route
---@field cases table<string, { to: { action: string, line: integer }[], throws: boolean, line: integer }>
---@field order string[]
---@field default { to: { action: string, line: integer }[], throws: boolean, line: integer }?

local STATE_WORD = "[%w_.]*[sS]tate"

local function case_of(route, name, line)
  if name == "default" then
    route.default = route.default or { to = {}, throws = false, line = line }
    return route.default
  end
  if not route.cases[name] then
    route.cases[name] = { to = {}, throws = false, line = line }
    route.order[#route.order + 1] = name
  end
  return route.cases[name]
end

local function returned(text)
  local constant = text:match "return%s+%u[%w]*%.([%u][%u%d_]*)"
  if constant then
    return constant:lower()
  end
  return text:match "return%s+['\"]([%w_.-]+)['\"]"
end

local function braces(text)
  local plain = text:gsub("'[^']*'", ""):gsub('"[^"]*"', ""):gsub("//.*$", "")
  local _, opened = plain:gsub("{", "")
  local _, closed = plain:gsub("}", "")
  return opened - closed
end

local function names_in(text)
  local out = {}
  for name in text:gmatch("case%s+['\"]([%w_.-]+)['\"]%s*:") do
    out[#out + 1] = name
  end
  return out
end

-- One line inside the function; `now` is what the states of the moment are.
local function read_line(self, text, line)
  local cases = names_in(text)
  if #cases > 0 then
    if self.answered then
      self.now = {}
    end
    table.move(cases, 1, #cases, #self.now + 1, self.now)
    self.answered, self.scope = false, nil
    for _, name in ipairs(cases) do
      case_of(self.route, name, line)
    end
  elseif text:find "%f[%w]default%s*:" then
    self.now, self.answered = { "default" }, false
    case_of(self.route, "default", line)
  end
  local compared = text:match("if%s*%(%s*" .. STATE_WORD .. "%s*===?%s*['\"]([%w_.-]+)['\"]%s*%)")
  local target = self.now
  if compared then
    case_of(self.route, compared, line)
    target = { compared }
    if braces(text) > 0 then
      self.now, self.scope = target, self.depth
    end
  end
  local action, throws = returned(text), text:find "%f[%w]throw%f[%W]" ~= nil
  if action or throws then
    local owners = #target > 0 and target or { "default" }
    for _, name in ipairs(owners) do
      local case = case_of(self.route, name, line)
      case.throws = case.throws or throws
      if action then
        case.to[#case.to + 1] = { action = action, line = line }
      end
    end
    self.answered = true
  end
end

---Reads the functions of a piece of code that route by a state.
---@param code string
---@param first_line integer  of its first line in the file
---@return skillrt.check.Route?
function M.read(code, first_line)
  if not code:find("function", 1, true) then
    return nil
  end
  local self = { route = { cases = {}, order = {} }, now = {}, depth = 0 }
  local line, inside = first_line - 1, false
  for text in (code .. "\n"):gmatch "(.-)\n" do
    line = line + 1
    local name = text:match "function%s+([%w_]+)%s*%("
    if name then
      inside = name:lower():find "route" ~= nil or name:find "[nN]ext" ~= nil or name:find "[sS]elect" ~= nil
      self.depth, self.now, self.scope = 0, {}, nil
    end
    if inside then
      read_line(self, text, line)
      self.depth = self.depth + braces(text)
      if self.scope and self.depth <= self.scope then
        self.now, self.scope = {}, nil
      end
      inside = self.depth > 0 or name ~= nil
    end
  end
  return (#self.route.order > 0) and self.route or nil
end

return M
