-- expr/analyse.lua: what can be said of a condition without a state: the keys it reads, whether it may fail, and
-- whether it is always true or never true. "Provably" is meant: nil is the honest answer to all that is not plain.
-- Called by expr/init.lua.
local tree = require "skillrt.expr.tree"
local json = require "skillrt.base.json"

local M = {}

local QUIET <const> = {
  ["==="] = true, ["!=="] = true, ["!"] = true, ["typeof"] = true, ["&&"] = true, ["||"] = true, ["??"] = true,
}
local STEPS <const> = { member = true, index = true, call = true }

---@class skillrt.expr.Needs what a condition depends on
---@field reads string[] the state's keys, sorted
---@field seen table<string, boolean> the same, as a set
---@field reads_all boolean a key is only known at run time
---@field has_arrows boolean
---@field may_throw boolean it can end with a reason instead of a value, or run out of steps

local function note(node, needs)
  local kind, op = node.type, node.operator
  if kind == "name" then
    if not needs.seen[node.name] then
      needs.seen[node.name] = true
      needs.reads[#needs.reads + 1] = node.name
    end
    return
  end
  if kind == "state" then needs.reads_all = true end
  if kind == "arrow" then needs.has_arrows = true end
  if STEPS[kind] or (op and not QUIET[op]) then needs.may_throw = true end
  tree.each_below(node, note, needs)
end

---@param ast skillrt.expr.Node
---@return skillrt.expr.Needs
function M.needs(ast)
  local needs = { reads = {}, seen = {}, reads_all = false, has_arrows = false, may_throw = false }
  note(ast, needs)
  if #needs.reads > 1 then table.sort(needs.reads) end
  return needs
end

---@param ast skillrt.expr.Node
---@return boolean
local function may_throw(ast)
  return M.needs(ast).may_throw
end

-- what the terms of an && ask of one path ----------------------------------------------------------

-- The keys of `a.b`, `state.a["b"]` and `a?.b`, the last first; nil for what is not a plain path.
local function path_of(node)
  local keys = {}
  while node.type ~= "name" do
    if node.type == "member" then
      keys[#keys + 1], node = node.key, node.object
    elseif node.type == "chain" then
      node = node.expression
    else
      return nil
    end
  end
  keys[#keys + 1] = node.name
  return keys
end

local COMPARES <const> = { ["<"] = true, [">"] = true, ["<="] = true, [">="] = true, ["==="] = true, ["!=="] = true }
local EXACT <const> = 2 ^ 53

-- The path that a term is about, and the literal that it is compared with: which is smaller is asked of numbers alone.
local function subject(term)
  if term.type == "unary" and term.operator == "!" then return path_of(term.operand) end
  if term.type ~= "binary" or not COMPARES[term.operator] then return path_of(term) end
  local path, literal = term.left, term.right
  if path.type == "literal" then path, literal = literal, path end
  local value, is_order = literal.value, #term.operator < 3
  if literal.type ~= "literal" or is_order and not (type(value) == "number" and math.abs(value) < EXACT) then
    return nil
  end
  return path_of(path), literal.kind == "null" and json.null or value
end

-- Values of which one makes comparisons with these hold, if any does: they; what is nothing; and by number, alone and
-- in a list, which is equal to no literal and never nothing: they, what lies between each two, and beyond.
local function samples(literals)
  local values, numbers = { {}, true, false, json.null, "", 0 / 0, table.unpack(literals) }, { 0 }
  for _, one in ipairs(literals) do
    if type(one) == "number" then numbers[#numbers + 1] = one end
  end
  local function add(number)
    values[#values + 1] = number
    values[#values + 1] = json.array { number }
  end
  for i, one in ipairs(numbers) do
    add(one)
    add(one - 1)
    add(one + 1)
    for k = 1, i - 1 do add((one + numbers[k]) / 2) end
  end
  return values
end

---Whether the terms of an && can never hold at once: those about one path hold for none of its values.
local function never_together(terms, evaluate)
  local by_path = {}
  for _, term in ipairs(terms) do
    local path, literal = subject(term)
    if path then
      local name = table.concat(path, "\0")
      local asked = by_path[name] or { path = path, literals = {} }
      by_path[name], asked[#asked + 1], asked.literals[#asked.literals + 1] = asked, term, literal
    end
  end
  for _, asked in pairs(by_path) do
    local values, possible = samples(asked.literals), false
    for i = 0, #values do -- at 0 nothing: undefined
      local state, all = values[i], true
      for _, key in ipairs(asked.path) do state = { [key] = state } end
      for _, term in ipairs(asked) do all = all and evaluate(term, state) end
      possible = possible or all
    end
    if not possible then return true end
  end
  return false
end

local truth

-- true: some term decides it and none before it fails; false: all terms are.
local function truth_of_or(terms, evaluate)
  local sure, all_false = true, true
  for _, term in ipairs(terms) do
    local known = truth(term, evaluate)
    if known and sure then return true end
    all_false = all_false and known == false
    sure = sure and not may_throw(term)
  end
  if all_false then return false end
  return nil
end

local function truth_of_and(terms, evaluate)
  local all_true = true
  for _, term in ipairs(terms) do
    local known = truth(term, evaluate)
    if known == false then return false end
    all_true = all_true and known == true
  end
  return all_true or nil
end

local function truth_of_conditional(node, evaluate)
  local test = truth(node.test, evaluate)
  if test == nil then return nil end
  local chosen = truth(test and node.yes or node.no, evaluate)
  if chosen and test == false and may_throw(node.test) then return nil end
  return chosen
end

---true: it holds and cannot fail; false: it never holds, or fails, which is false too.
---@param node skillrt.expr.Node
---@param evaluate fun(node: skillrt.expr.Node, state: table?): boolean  without a state: of a node that reads nothing
---@return boolean?
function truth(node, evaluate)
  local needs = M.needs(node)
  if #needs.reads == 0 and not needs.reads_all then return evaluate(node) end
  if node.type == "conditional" then return truth_of_conditional(node, evaluate) end
  if node.type == "logical" and node.operator == "||" then return truth_of_or(node.terms, evaluate) end
  if node.type == "logical" and node.operator == "&&" then return truth_of_and(node.terms, evaluate) end
  if node.type == "unary" and node.operator == "!" then
    local inner = truth(node.operand, evaluate)
    if inner then return false end
    if inner == false and not needs.may_throw then return true end
  end
  return nil
end

---Whether the condition is the same for every state: true, false, or nil when that cannot be told.
---@param ast skillrt.expr.Node
---@param evaluate fun(node: skillrt.expr.Node, state: table?): boolean
---@return boolean?
function M.constant(ast, evaluate)
  local known = truth(ast, evaluate)
  if known ~= nil then return known end
  local terms = ast.type == "logical" and ast.operator == "&&" and ast.terms or { ast }
  if never_together(terms, evaluate) then return false end
  return nil
end

return M
