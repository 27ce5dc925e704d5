-- expr/tree.lua: makes the nodes that grammar.lua documents: precedence, extents, scopes, depth.
-- Knows no text patterns and no values. Called by grammar.lua while it parses.
local complaint = require "skillrt.expr.complaint"

local M = {}

-- the deepest a tree may be; closures and walks recurse no deeper than this
M.MAX_DEPTH = 64

---@class skillrt.expr.Node
---@field type string
---@field from integer first byte in the text
---@field to integer last byte in the text
---@field depth integer

---@param at integer
function M.too_deep(at)
  complaint.raise(at, ("nested more than %d levels deep"):format(M.MAX_DEPTH))
end

---Whether a character beyond ASCII may stand in a name: letters and marks, not punctuation or symbols.
---@param code integer
---@return boolean
function M.is_letter(code)
  if code < 0xC0 then return code == 0xAA or code == 0xB5 or code == 0xBA end
  if code == 0xD7 or code == 0xF7 then return false end
  if code >= 0x2000 and code < 0x2C00 then return code == 0x2071 or code == 0x207F end
  if code >= 0x3000 and code < 0x3040 then
    return code == 0x3005 or code == 0x3007
  end
  if code >= 0xD800 and code < 0xF900 then return false end
  if code >= 0xFE10 and code < 0xFE70 then return false end
  if code >= 0xFF00 then
    return (code >= 0xFF10 and code <= 0xFF19) or (code >= 0xFF21 and code <= 0xFF3A)
      or (code >= 0xFF41 and code <= 0xFF5A) or (code >= 0xFF66 and code <= 0xFFDC)
      or (code >= 0x20000 and code <= 0x3FFFF)
  end
  return code ~= 0xFEFF and code ~= 0x30FB
end

---@return skillrt.expr.Node
local function node(kind, from, to, fields, ...)
  local depth = 0
  for i = 1, select("#", ...) do
    local child = select(i, ...)
    if child.depth > depth then depth = child.depth end
  end
  if depth >= M.MAX_DEPTH then M.too_deep(from) end
  fields.type, fields.from, fields.to, fields.depth = kind, from, to, depth + 1
  return fields
end

-- the last byte before `stop` that is not white space
local function last_before(parse, stop)
  local text, at = parse.text, stop - 1
  while at > 1 and text:find("^[\t-\r ]", at) do at = at - 1 end
  return at
end

function M.literal(from, kind, value, stop)
  return node("literal", from, stop - 1, { kind = kind, value = value })
end

---A name, or one of the words that are values (`constant` is then { kind, value }).
function M.name(from, name, constant, stop)
  if constant then return M.literal(from, constant[1], constant[2], stop) end
  return node("name", from, stop - 1, { name = name })
end

function M.array(from, items, stop)
  return node("array", from, stop - 1, { items = items }, table.unpack(items))
end

function M.arrow(from, name, body, stop, parse)
  return node("arrow", from, last_before(parse, stop), { name = name, body = body }, body)
end

local function put_suffix(object, from, optional, suffix)
  local kind, stop = suffix[1], suffix[#suffix]
  local to = stop - 1
  if kind == "call" then
    local fields = { object = object, method = suffix[2], argument = suffix[3], optional = optional }
    return node("call", from, to, fields, object, suffix[3])
  end
  local index = suffix[2]
  if kind == "index" and index.type == "literal" and index.kind == "string" then kind, index = "member", index.value end
  if kind == "member" then
    return node("member", from, to, { object = object, key = index, optional = optional }, object)
  end
  return node("index", from, to, { object = object, index = index, optional = optional }, object, index)
end

---@param suffixes table optional, suffix, optional, suffix ...
function M.postfixed(from, _, object, suffixes)
  local skips = false
  for i = 1, #suffixes, 2 do
    skips = skips or suffixes[i]
    object = put_suffix(object, from, suffixes[i], suffixes[i + 1])
  end
  if skips then object = node("chain", from, object.to, { expression = object }, object) end
  return object
end

---@param prefixes table position, operator, position, operator ...
function M.operand(from, prefixes, parse, expression, stop)
  local to = last_before(parse, stop)
  for i = #prefixes - 1, 1, -2 do
    expression = node("unary", prefixes[i], to, { operator = prefixes[i + 1], operand = expression }, expression)
  end
  return { from = from, to = to, node = expression }
end

local POWER <const> = {
  ["??"] = 1, ["||"] = 1, ["&&"] = 2, ["==="] = 3, ["!=="] = 3, ["=="] = 3, ["!="] = 3,
  ["<"] = 4, ["<="] = 4, [">"] = 4, [">="] = 4, ["+"] = 5, ["-"] = 5, ["*"] = 6, ["/"] = 6, ["%"] = 6,
}
local LOGICAL <const> = { ["&&"] = true, ["||"] = true, ["??"] = true }

local function refuse_mixing(list)
  local seen
  for i = 3, #list, 3 do
    local op = list[i]
    if LOGICAL[op] then
      if seen and seen ~= op and (seen == "??" or op == "??") then
        complaint.raise(list[i - 1], ("'%s' and '%s' may not be mixed without parentheses"):format(seen, op))
      end
      if not seen or op == "??" then seen = op end
    end
  end
end

-- Terms of one logical operator become one node, so a long `a && b && c ...` is wide, not deep.
local function join_logical(op, left, right)
  local function is_same(this) return this.type == "logical" and this.operator == op end
  local joined = left.node
  if not is_same(joined) then
    joined = node("logical", left.from, right.to, { operator = op, terms = { joined } }, joined)
  end
  local added = is_same(right.node) and right.node.terms or { right.node }
  table.move(added, 1, #added, #joined.terms + 1, joined.terms)
  for _, term in ipairs(added) do
    if term.depth >= M.MAX_DEPTH then M.too_deep(right.from) end
    joined.depth = math.max(joined.depth, term.depth + 1)
  end
  joined.from, joined.to = left.from, right.to
  return joined
end

local function join_two(op, left, right)
  local joined
  if LOGICAL[op] then
    joined = join_logical(op, left, right)
  else
    joined = node("binary", left.from, right.to, { operator = op, left = left.node, right = right.node },
      left.node, right.node)
  end
  return { from = left.from, to = right.to, node = joined }
end

---Precedence climbing over operand, position, operator, operand, position, operator ...
function M.binary(_, list)
  if #list > 1 then refuse_mixing(list) end
  local operands, operators = { list[1] }, {}
  local function reduce()
    local right, left = table.remove(operands), table.remove(operands)
    operands[#operands + 1] = join_two(table.remove(operators), left, right)
  end
  for i = 3, #list, 3 do
    local op = list[i]
    while #operators > 0 and POWER[operators[#operators]] >= POWER[op] do reduce() end
    operators[#operators + 1], operands[#operands + 1] = op, list[i + 1]
  end
  while #operators > 0 do reduce() end
  return operands[1].node
end

---With one expression it is that one; with three it is `test ? yes : no`.
function M.conditional(from, parse, test, ...)
  if select("#", ...) == 1 then return test end
  local yes, no, stop = ...
  return node("conditional", from, last_before(parse, stop), { test = test, yes = yes, no = no }, test, yes, no)
end

local resolve

-- where each type keeps the nodes right below it, in the order of the text; lists are items and terms
local BELOW <const> = {
  literal = {}, name = {}, state = {}, parameter = {}, array = {}, logical = {},
  member = { "object" }, index = { "object", "index" }, call = { "object", "argument" }, arrow = { "body" },
  chain = { "expression" }, unary = { "operand" }, binary = { "left", "right" }, conditional = { "test", "yes", "no" },
}

---Calls `visit` on the nodes right below a node, in the order of the text.
---@param this skillrt.expr.Node
---@param visit fun(node: skillrt.expr.Node, extra: any)
---@param extra? any handed on to visit
function M.each_below(this, visit, extra)
  local fields = BELOW[this.type]
  for i = 1, #fields do visit(this[fields[i]], extra) end
  local list = this.items or this.terms
  for i = 1, list and #list or 0 do visit(list[i], extra) end
end

local function find_parameter(scope, name)
  while scope do
    if scope.name == name then return scope end
    scope = scope.outer
  end
  return nil
end

local function resolve_below(this, scope)
  for _, field in ipairs(BELOW[this.type]) do this[field] = resolve(this[field], scope) end
  local list = this.items or this.terms
  for i = 1, list and #list or 0 do list[i] = resolve(list[i], scope) end
end

---Tells parameters from state keys and drops the `state.` in front of a key.
---@param this skillrt.expr.Node
---@param scope? {name: string, slot: integer, outer: table?}
---@return skillrt.expr.Node
function resolve(this, scope)
  if this.type == "name" then
    local parameter = find_parameter(scope, this.name)
    if parameter then
      this.type, this.slot = "parameter", parameter.slot
    elseif this.name == "state" then
      this.type, this.name = "state", nil
    end
    return this
  elseif this.type == "arrow" then
    this.slot = scope and scope.slot + 1 or 1
    this.body = resolve(this.body, { name = this.name, slot = this.slot, outer = scope })
    return this
  end
  resolve_below(this, scope)
  if this.type == "member" and this.object.type == "state" then
    return { type = "name", name = this.key, from = this.from, to = this.to, depth = 1 }
  end
  if this.type == "chain" and this.expression.type == "name" then return this.expression end
  return this
end

---@param ast skillrt.expr.Node
---@return skillrt.expr.Node
function M.resolve(ast)
  return resolve(ast, nil)
end

return M
