-- expr/analyse.lua: what can be said about a condition without a state: the keys it reads, whether it may fail, and
-- whether it is provably always true or never true (nil: unknown). Called by expr/init.lua.
local tree = require "skillrt.expr.tree"

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
---@param evaluate fun(node: skillrt.expr.Node): boolean  of a node that reads nothing
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
M.constant = truth

return M
