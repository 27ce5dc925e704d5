-- expr/analyse.lua: what can be said of a condition without a state: the keys it reads, whether it may fail, and
-- whether it is always true or never true. "Provably" is meant: nil is the honest answer to all that is not plain.
-- Called by expr/init.lua.
local tree = require "skillrt.expr.tree"
local json = require "skillrt.base.json"
local value = require "skillrt.expr.value"

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

-- facts: what the terms of an && demand of one path ------------------------------------------------

-- One key for `a.b`, `state.a["b"]` and `a?.b`; nil for what is not a plain path.
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
  return table.concat(keys, "\0")
end

local MIRROR <const> = { ["<"] = ">", [">"] = "<", ["<="] = ">=", [">="] = "<=", ["==="] = "===", ["!=="] = "!==" }

---The path, operator and literal of `path op literal` or `literal op path`.
local function comparison(term)
  if term.type ~= "binary" or not MIRROR[term.operator] then return nil end
  if term.right.type == "literal" then return path_of(term.left), term.operator, term.right end
  if term.left.type == "literal" then return path_of(term.right), MIRROR[term.operator], term.left end
  return nil
end

local function literal_value(node)
  if node.kind == "null" then return json.null end
  return node.value
end

---@class skillrt.expr.Facts
---@field truth boolean? the path must be truthy, or falsy
---@field same skillrt.expr.Node? the literal that it must be
---@field other skillrt.expr.Node[] literals that it must not be
---@field low number
---@field high number
---@field strict_low boolean
---@field strict_high boolean
---@field ordered boolean some term compares its size
local function no_facts()
  return { other = {}, low = -math.huge, high = math.huge, strict_low = false, strict_high = false, ordered = false }
end

local function narrow(facts, op, limit)
  facts.ordered = true
  if op == ">" or op == ">=" then
    local strict = op == ">"
    if limit > facts.low or (limit == facts.low and strict) then facts.low, facts.strict_low = limit, strict end
  else
    local strict = op == "<"
    if limit < facts.high or (limit == facts.high and strict) then facts.high, facts.strict_high = limit, strict end
  end
end

local function outside(facts, number)
  return number ~= number or number < facts.low or number > facts.high
    or (number == facts.low and facts.strict_low) or (number == facts.high and facts.strict_high)
end

---Adds a demand; true when it cannot hold together with the earlier ones.
local function add_truth(facts, truth)
  local clash = facts.truth ~= nil and facts.truth ~= truth
  facts.truth = truth
  return clash
end

local function add_comparison(facts, op, literal)
  local wanted = literal_value(literal)
  if op == "===" then
    local clash = facts.same ~= nil and not value.strict_equal(literal_value(facts.same), wanted)
    facts.same = literal
    return clash or wanted ~= wanted
  elseif op == "!==" then
    facts.other[#facts.other + 1] = literal
    return false
  elseif literal.kind ~= "number" then
    return false
  end
  narrow(facts, op, wanted)
  return wanted ~= wanted
end

local function contradicts(facts)
  if facts.ordered and (facts.low > facts.high
    or (facts.low == facts.high and (facts.strict_low or facts.strict_high))) then
    return true
  end
  if not facts.same then return false end
  local wanted = literal_value(facts.same)
  if facts.truth ~= nil and value.truthy(wanted) ~= facts.truth then return true end
  for _, literal in ipairs(facts.other) do
    if value.strict_equal(literal_value(literal), wanted) then return true end
  end
  return facts.ordered and outside(facts, value.to_number(wanted))
end

---Whether the terms of an && can never hold at once.
local function never_together(terms)
  local by_path = {}
  local function facts_of(path)
    by_path[path] = by_path[path] or no_facts()
    return by_path[path]
  end
  for _, term in ipairs(terms) do
    local negated = term.type == "unary" and term.operator == "!"
    local path = path_of(negated and term.operand or term)
    if path and add_truth(facts_of(path), not negated) then return true end
    local compared, op, literal = comparison(term)
    if compared and add_comparison(facts_of(compared), op, literal) then return true end
  end
  for _, facts in pairs(by_path) do
    if contradicts(facts) then return true end
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
---@param evaluate fun(node: skillrt.expr.Node): boolean the truth of a node that reads nothing
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
---@param evaluate fun(node: skillrt.expr.Node): boolean
---@return boolean?
function M.constant(ast, evaluate)
  local known = truth(ast, evaluate)
  if known ~= nil then return known end
  local terms = ast.type == "logical" and ast.operator == "&&" and ast.terms or { ast }
  if never_together(terms) then return false end
  return nil
end

return M
