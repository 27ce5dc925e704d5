-- document/check/reach/term.lua: the terms of a condition and the variables each depends on.
--
-- `a && b.length > 0` has two terms. A variable is a path of the state ("files", "context.files") or "did X" for
-- completed_actions.includes('X'). A term with unknown variables is opaque: it may be true or false. Knows
-- expressions, no domains. Called by space.lua.
local expr = require "skillrt.expr"
local tree = require "skillrt.expr.tree"
local tables = require "skillrt.base.tables"

local M = {}

---@class skillrt.check.Term
---@field text string
---@field when integer            which condition of the action it belongs to
---@field vars string[]           names of variables, sorted
---@field paths table<string, string[]>  a variable's path
---@field did table<string, string>      a "did" variable's action
---@field literals any[]          literals it compares with
---@field lengths boolean         it reads a length
---@field items table<string, any[]>  literals looked for in a list
---@field opaque boolean
---@field holds fun(state: table): boolean
---@field initially boolean?      whether it is true when a run starts; nil: unknown

local DID = "did "

-- The path of `a`, `state.a.b`, `a?.b`; nil if a key is computed.
local function path_of(node)
  local keys = {}
  while true do
    if node.type == "member" then
      table.insert(keys, 1, node.key)
      node = node.object
    elseif node.type == "chain" then
      node = node.expression
    elseif node.type == "name" then
      table.insert(keys, 1, node.name)
      return keys
    else
      return nil
    end
  end
end

local function add_var(term, name, path, action)
  if not term.paths[name] then
    term.paths[name] = path
    term.did[name] = action
    term.vars[#term.vars + 1] = name
  end
end

local INNER <const> = tables.words "chain unary binary logical conditional"

local walk

local function walk_path(node, term)
  local path = path_of(node)
  if not path then
    term.opaque = true
    return
  end
  if #path > 1 and path[#path] == "length" then
    path[#path] = nil
    term.lengths = true
  end
  add_var(term, table.concat(path, "."), path)
end

local function walk_call(node, term)
  local path = path_of(node.object)
  local argument = node.argument
  if not path or type(argument) ~= "table" or argument.type ~= "literal" then
    term.opaque = true
  elseif node.method == "includes" and #path == 1 and path[1] == "completed_actions"
    and argument.kind == "string" then
    add_var(term, DID .. argument.value, path, argument.value)
  else
    local name = table.concat(path, ".")
    add_var(term, name, path)
    term.items[name] = term.items[name] or {}
    table.insert(term.items[name], argument.value)
    term.literals[#term.literals + 1] = argument.value
  end
end

function walk(node, term)
  local kind = node.type
  if kind == "literal" then
    term.literals[#term.literals + 1] = node.value
  elseif kind == "name" or kind == "member" then
    walk_path(node, term)
  elseif kind == "call" then
    walk_call(node, term)
  elseif INNER[kind] then
    tree.each_below(node, walk, term)
  else
    term.opaque = true -- array, index, arrow, the whole state
  end
end

-- Two variables of which one contains the other cannot be varied independently.
local function overlap(term)
  for _, a in ipairs(term.vars) do
    for _, b in ipairs(term.vars) do
      local long, short = term.paths[a], term.paths[b]
      if a ~= b and not (term.did[a] and term.did[b]) and #long >= #short then
        local inside = true
        for i, key in ipairs(short) do
          inside = inside and long[i] == key
        end
        if inside then
          return true
        end
      end
    end
  end
  return false
end

local MAX_VARS = 4

local function term_of(node, whole, index)
  local text = whole.text
  local condition = node == whole.ast and whole or expr.compile(text:sub(node.from, node.to))
  local term = {
    text = text:sub(node.from, node.to),
    when = index,
    vars = {},
    paths = {},
    did = {},
    literals = {},
    lengths = false,
    items = {},
    opaque = condition == nil,
    holds = condition,
  }
  walk(node, term)
  table.sort(term.vars)
  term.opaque = term.opaque or #term.vars > MAX_VARS or overlap(term)
  return term
end

---The terms of one condition.
---@param condition skillrt.expr.Condition|function
---@param index integer
---@return skillrt.check.Term[]
function M.of(condition, index)
  if type(condition) ~= "table" then
    return { { text = "a function", when = index, vars = {}, paths = {}, did = {}, literals = {}, items = {},
      opaque = true } }
  end
  local ast, out = condition.ast, {}
  local nodes = ast.type == "logical" and ast.operator == "&&" and ast.terms or { ast }
  for i, node in ipairs(nodes) do
    out[i] = term_of(node, condition, index)
  end
  return out
end

return M
