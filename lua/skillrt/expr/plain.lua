-- expr/plain.lua: reads the short conditions that most skills have without LPeg, whose grammar takes a millisecond
-- to load: names, members, numbers, texts and `!` between operators, as in `files.length > 0 && !reviewed`. Gives
-- the tree that grammar.lua gives, or nil: then that one is asked. Never complains: a text it does not take may be
-- wrong or only richer. Called by grammar.lua and expr/init.lua.
local number = require "skillrt.expr.number"
local tree = require "skillrt.expr.tree"

local M = {}

-- no tree of so short a text is too deep
local MAX_BYTES <const>, MAX_PREFIXES <const> = 120, 2

-- words that are no names; grammar.lua takes them from here
M.RESERVED = {}
for word in ([[break case catch class const continue debugger default delete do else enum export extends
  finally for function if import in instanceof new return super switch this throw try var void while with
  await async let yield static]]):gmatch "%S+" do M.RESERVED[word] = true end

-- words that are values
M.CONSTANTS = {
  ["true"] = { "boolean", true }, ["false"] = { "boolean", false }, null = { "null" },
  undefined = { "undefined" }, NaN = { "number", 0 / 0 }, Infinity = { "number", math.huge },
}

local OPERATORS <const> = {
  ["==="] = true, ["!=="] = true, ["&&"] = true, ["||"] = true, ["<="] = true, [">="] = true,
  ["<"] = true, [">"] = true, ["+"] = true, ["-"] = true, ["*"] = true, ["%"] = true,
}

-- Each reader gives a node and the place behind it, or nil.

local function read_number(text, at)
  local digits = text:match("^[1-9]%d*%.%d+", at) or text:match("^[1-9]%d*", at) or text:match("^0", at)
  if not digits then return nil end
  local stop = at + #digits
  if text:find("^[%w_$.\x80-\xFF]", stop) then return nil end
  return tree.literal(at, "number", number.literal(digits), stop), stop
end

local function read_text(text, at)
  local body = text:match("^'([^'\\%c\x80-\xFF]*)'", at) or text:match('^"([^"\\%c\x80-\xFF]*)"', at)
  if not body then return nil end
  local stop = at + #body + 2
  return tree.literal(at, "string", body, stop), stop
end

local function read_path(text, at)
  local name = text:match("^[%a_$][%w_$]*", at)
  if not name or M.RESERVED[name] or name == "typeof" then return nil end
  local stop = at + #name
  local object, suffixes = tree.name(at, name, M.CONSTANTS[name], stop), {}
  while true do
    local key = text:match("^%.([%a_$][%w_$]*)", stop)
    if not key then break end
    stop = stop + 1 + #key
    suffixes[#suffixes + 1] = false
    suffixes[#suffixes + 1] = { "member", key, stop }
  end
  if text:find("^[\x80-\xFF]", stop) then return nil end
  return tree.postfixed(at, nil, object, suffixes), stop
end

local function skip_space(text, at) return text:match("^[ \t\r\n]*()", at) end

local function read_operand(parse, at)
  local text, prefixes, from = parse.text, {}, at
  while text:find("^!", at) do
    prefixes[#prefixes + 1] = at
    prefixes[#prefixes + 1] = "!"
    at = skip_space(text, at + 1)
  end
  if #prefixes > 2 * MAX_PREFIXES then return nil end
  local node, stop = read_path(text, at)
  if not node then node, stop = read_number(text, at) end
  if not node then node, stop = read_text(text, at) end
  if not node then return nil end
  stop = skip_space(text, stop)
  return tree.operand(from, prefixes, parse, node, stop), stop
end

---@param text string
---@return skillrt.expr.Node? ast
function M.parse(text)
  if #text > MAX_BYTES then return nil end
  local parse, at = { text = text }, skip_space(text, 1)
  local list = {}
  while true do
    local operand
    operand, at = read_operand(parse, at)
    if not operand then return nil end
    list[#list + 1] = operand
    if at > #text then return tree.resolve(tree.binary(parse, list)) end
    local op = text:match("^[-=!&|<>+*%%/?^~]+", at)
    if not OPERATORS[op] then return nil end
    list[#list + 1] = at
    list[#list + 1] = op
    at = skip_space(text, at + #op)
  end
end

return M
