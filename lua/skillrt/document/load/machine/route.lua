-- document/load/machine/route.lua: what a routing function returns in which state, and under which test, read from
-- its code: switch and case, `if (state === 'x')`, return of a text or of Action.NAME, throw.
--
-- Not a parser of the language: what it cannot tell it leaves out. Called by prose.lua.
local js = require "skillrt.document.load.js"
local lpeg = require "skillrt.base.system".require "lpeg"

local M = {}

local P, R, S, V = lpeg.P, lpeg.R, lpeg.S, lpeg.V
local C, Cc, Cg, Cp, Ct = lpeg.C, lpeg.Cc, lpeg.Cg, lpeg.Cp, lpeg.Ct

---@class skillrt.load.Case
---@field line integer
---@field to { action: string, when: string?, line: integer }[]  in the order they are asked
---@field throws boolean

---@class skillrt.load.Route
---@field cases table<string, skillrt.load.Case>
---@field order string[]
---@field default skillrt.load.Case?

local letter = R("az", "AZ", "09") + "_"
local blank, at = S " \t\r\n" ^ 0, Cg(Cp(), "at")
local name = C((letter + S ".-") ^ 1)
local text = P "'" * name * "'" + P '"' * name * '"'
-- the action that is named: Action.NAME or a text
local action = R "AZ" * R("az", "AZ", "09") ^ 0 * "." * C(R "AZ" * (R("AZ", "09") + "_") ^ 0) / string.lower + text
local test = C((1 - S ";?\n") ^ 1) * blank

local function word(one)
  return P(one) * -letter * blank
end

local statements = Ct((V "one" + V "other") ^ 0)
local BODY <const> = P {
  "block",
  block = "{" * statements * (P "}" + -1),
  one = V "label" + V "guard" + V "answer" + Ct(Cg(V "block", "block")),
  label = Ct(at * (word "case" * Cg(text, "label") + word "default" * Cg(Cc(false), "label")) * blank * ":"),
  guard = Ct(at * word "if" * "(" * Cg(C(V "inside"), "test") * ")" * blank * Cg(V "guarded", "yes")
    * (blank * word "else" * (Cg(Ct(V "guard"), "chain") + Cg(V "guarded", "no"))) ^ -1),
  guarded = V "block" + Ct(V "one" + (V "other" - S ";\n") ^ 1),
  inside = ("(" * V "inside" * ")" + (1 - S "()")) ^ 0,
  answer = Ct(at * (word "return" * (Cg(test, "test") * "?" * blank * Cg(action, "action") * blank * ":" * blank
    * Cg(action, "other") + Cg(action, "action") + true) + word "throw" * Cg(Cc(true), "throws"))),
  other = letter ^ 1 + js.SKIPPED + 1 - S "{}",
}

local Reader = {}
Reader.__index = Reader

function Reader:case(state, place)
  local route = self.route
  local one = state and route.cases[state] or not state and route.default
  if not one then
    one = { to = {}, throws = false, line = self.line_of(place) }
    if state then
      route.cases[state], route.order[#route.order + 1] = one, state
    else
      route.default = one
    end
  end
  return one
end

function Reader:answer(one, states, when)
  for _, state in ipairs(states) do
    local case = self:case(state, one.at)
    case.throws = case.throws or one.throws or false
    for i, id in ipairs { one.action, one.other } do
      local own = i == 1 and one.test and one.test:match "^(.-)%s*$" or nil
      case.to[#case.to + 1] = { action = id, when = when and own and when .. " && " .. own or when or own,
        line = self.line_of(one.at) }
    end
  end
end

-- `states`: the cases that the statements belong to; `when`: the tests that they are behind.
function Reader:read(list, states, when)
  local is_over = true -- else the next label is one more of the same case
  for _, one in ipairs(list) do
    local state = one.yes and one.test:match "^%s*[%w_.]*[sS]tate%s*===?%s*['\"]([%w_.-]+)['\"]%s*$"
    if one.label ~= nil then
      states, is_over = is_over and {} or states, false
      states[#states + 1] = one.label
      self:case(one.label, one.at)
    elseif one.yes then
      local own = not state and one.test:match "^%s*(.-)%s*$"
      local function both(more)
        return own and (when and when .. " && " or "") .. more or when
      end
      if state then
        self:case(state, one.at)
      end
      self:read(one.yes, state and { state } or states, both(own))
      self:read(one.no or one.chain or {}, states, one.no and both(("!(%s)"):format(own)) or when)
    elseif one.block then
      self:read(one.block, states, when)
    else
      self:answer(one, states, when)
    end
    is_over = is_over or one.label == nil
  end
end

---Reads the functions of a piece of code that route by a state.
---@param code string
---@param line_of fun(at: integer): integer  the line of a place in it
---@return skillrt.load.Route?
function M.read(code, line_of)
  local self = setmetatable({ route = { cases = {}, order = {} }, line_of = line_of }, Reader)
  for called, brace in code:gmatch "%f[%w_]function%s+([%w_]+)%s*%b()[^{}]*(){" do
    if called:lower():find "route" or called:find "[nN]ext" or called:find "[sS]elect" then
      local ok, list = pcall(BODY.match, BODY, code, brace) -- nested too deep for a match, it cannot be read
      self:read(ok and list or {}, { false })
    end
  end
  return #self.route.order > 0 and self.route or nil
end

return M
