-- skill/formula.lua: conditions taken apart for whoever plans: what all must hold, what one of must, and the leaves,
-- each with the keys that it reads.
--
-- Pure. Called by planner.lua.

local expr = require("skillrt.expr")
local tables = require("skillrt.base.tables")
local when = require("skillrt.skill.when")

local M = {}

---@class skillrt.Formula
---@field all skillrt.Formula[]?  all of these must hold
---@field any skillrt.Formula[]?  one of these
---@field holds (fun(state: table): boolean)?  a leaf
---@field reads table<string, boolean>?  its keys; nil: unknown
---@field text string?

local build

local function leaf(condition)
  local reads = tables.set(condition.reads)
  return {
    text = condition.text,
    reads = not condition.reads_all and reads or nil,
    holds = function(state)
      return condition(state) == true
    end,
  }
end

-- A part of a condition.
function build(node, text)
  local part = expr.compile(text:sub(node.from, node.to))
  if not part then
    return nil
  elseif node.type ~= "logical" or node.operator ~= "&&" and node.operator ~= "||" then
    return leaf(part)
  end
  local terms = {}
  for i, one in ipairs(node.terms) do
    terms[i] = build(one, text)
    if not terms[i] then
      return leaf(part)
    end
  end
  return node.operator == "&&" and { all = terms } or { any = terms }
end

---What a list of conditions asks for, all together.
---@param conditions (skillrt.Condition|function)[]
---@return skillrt.Formula
function M.of(conditions)
  local terms = {}
  for i, condition in ipairs(conditions) do
    if type(condition) == "table" then
      terms[i] = build(condition.ast, condition.text) or leaf(condition)
    else
      terms[i] = { text = when.text(condition), holds = function(state)
        return (when.test(condition, state))
      end }
    end
  end
  return #terms == 1 and terms[1] or { all = terms }
end

---@param formula skillrt.Formula
---@param state table
---@return boolean
function M.holds(formula, state)
  if formula.all then
    for _, one in ipairs(formula.all) do
      if not M.holds(one, state) then
        return false
      end
    end
    return true
  elseif formula.any then
    for _, one in ipairs(formula.any) do
      if M.holds(one, state) then
        return true
      end
    end
    return false
  end
  return formula.holds(state)
end

---Each leaf of a formula.
---@param formula skillrt.Formula
---@param visit fun(leaf: skillrt.Formula)
function M.each_leaf(formula, visit)
  for _, one in ipairs(formula.all or formula.any or {}) do
    M.each_leaf(one, visit)
  end
  if formula.holds then
    visit(formula)
  end
end

return M
