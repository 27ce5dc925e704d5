-- expr/quick.lua: closures f(state) for the shapes that conditions mostly have, which do not ask what a value is. A
-- value that does not suit makes them raise (anything), and then the exact closures of compile.lua are asked: quick
-- ones may give up, but never give another answer. In Lua 5.4 a call of type() costs as much as ten instructions,
-- and conditions are asked most. Called by expr/init.lua.
local compile = require "skillrt.expr.compile"
local value = require "skillrt.expr.value"

local M = {}

local error, type, string = error, type, string
local truthy, length, is_null = value.truthy, value.length, value.is_null

local EQUALITIES <const> = { ["==="] = true, ["!=="] = true, ["=="] = true, ["!="] = true }

-- doubles below this, and their sums, are exact, and neither infinite nor NaN
local SMALL <const> = 2 ^ 53

local values, tests = {}, {}

---@param node skillrt.expr.Node
---@param text string
local function value_of(node, text)
  local special = values[node.type]
  return special and special(node, text) or compile.build(node, text)
end

---@param node skillrt.expr.Node
---@param text string
local function test_of(node, text)
  local special = tests[node.type]
  local test = special and special(node, text)
  if test then return test end
  if not values[node.type] then return compile.build_test(node, text) end
  local run = value_of(node, text)
  return function(state) return truthy(run(state)) end
end

---The value of a literal that Lua's own operators treat as JavaScript's do.
local function plain_literal(node)
  if node.type ~= "literal" or node.kind == "null" or node.kind == "undefined" then return nil end
  if node.kind == "number" and not (node.value > -SMALL and node.value < SMALL) then return nil end
  return node.value
end

local function small_literal(node)
  local literal = plain_literal(node)
  return type(literal) == "number" and literal or nil
end

function values.name(node)
  local name = node.name
  return function(state) return state[name] end
end

local function length_of(object)
  return function(state)
    local found = object(state)
    if type(found) == "table" then
      local count = #found
      return count > 0 and count or length(found)
    elseif type(found) == "string" then
      return length(found)
    end
    error "a length of what has none"
  end
end

-- What cannot be indexed raises by itself, and a string gives no more than what its library holds.
function values.member(node, text)
  local key = node.key
  if node.optional or key:find "^%d+$" then return nil end
  local object = value_of(node.object, text)
  if key == "length" then return length_of(object) end
  return function(state)
    local found = object(state)[key]
    if found ~= nil and found == string[key] then error "a member of a string" end
    return found
  end
end

-- Numbers of either kind are compared with SMALL, which raises for anything else: "5" + 1 is "51".
local arithmetic = {
  ["+"] = function(left, right)
    return function(state)
      local a = left(state)
      if a < SMALL and a > -SMALL then return a + right end
      error "not a small number"
    end
  end,
  ["-"] = function(left, right)
    return function(state)
      local a = left(state)
      if a < SMALL and a > -SMALL then return a - right end
      error "not a small number"
    end
  end,
  ["*"] = function(left, right)
    return function(state)
      local a = left(state)
      if a < SMALL and a > -SMALL then return a * right end
      error "not a small number"
    end
  end,
  ["%"] = function(left, right)
    if right <= 0 then return nil end
    return function(state)
      local a = left(state)
      if a < SMALL and a >= 0 then return a % right end -- below 0 Lua rounds the other way
      error "not a small number"
    end
  end,
}

-- The same of a state's key, by far the most common left side: one closure less to call and to fetch.
local arithmetic_of_key = {
  ["+"] = function(key, right)
    return function(state)
      local a = state[key]
      if a < SMALL and a > -SMALL then return a + right end
      error "not a small number"
    end
  end,
  ["-"] = function(key, right)
    return function(state)
      local a = state[key]
      if a < SMALL and a > -SMALL then return a - right end
      error "not a small number"
    end
  end,
  ["%"] = function(key, right)
    if right <= 0 then return nil end
    return function(state)
      local a = state[key]
      if a < SMALL and a >= 0 then return a % right end
      error "not a small number"
    end
  end,
}

local function calculation(node, text)
  local right = small_literal(node.right)
  if not right then return nil end
  local of_key = node.left.type == "name" and arithmetic_of_key[node.operator]
  if of_key then return of_key(node.left.name, right + 0.0) end
  local make = arithmetic[node.operator]
  return make and make(value_of(node.left, text), right + 0.0)
end

-- undefined is NaN here, so it is neither less nor more than anything
local comparisons = {
  ["<"] = function(left, limit)
    return function(state)
      local v = left(state)
      return v ~= nil and v < limit
    end
  end,
  [">"] = function(left, limit)
    return function(state)
      local v = left(state)
      return v ~= nil and v > limit
    end
  end,
  ["<="] = function(left, limit)
    return function(state)
      local v = left(state)
      return v ~= nil and v <= limit
    end
  end,
  [">="] = function(left, limit)
    return function(state)
      local v = left(state)
      return v ~= nil and v >= limit
    end
  end,
}

local comparisons_of_key = {
  ["<"] = function(key, limit)
    return function(state)
      local v = state[key]
      return v ~= nil and v < limit
    end
  end,
  [">"] = function(key, limit)
    return function(state)
      local v = state[key]
      return v ~= nil and v > limit
    end
  end,
  ["<="] = function(key, limit)
    return function(state)
      local v = state[key]
      return v ~= nil and v <= limit
    end
  end,
  [">="] = function(key, limit)
    return function(state)
      local v = state[key]
      return v ~= nil and v >= limit
    end
  end,
}

local function comparison(node, text)
  local limit = comparisons[node.operator] and small_literal(node.right)
  if not limit then return nil end
  if node.left.type == "name" then return comparisons_of_key[node.operator](node.left.name, limit) end
  return comparisons[node.operator](value_of(node.left, text), limit)
end

-- Every n-th: `key % n === rest` and its opposite, in one closure each.
local function every_nth(left, rest, wanted)
  local n = left.type == "binary" and left.operator == "%" and left.left.type == "name" and small_literal(left.right)
  if not n or n <= 0 then return nil end
  n = math.tointeger(n) or n -- counters are integers, and % of two integers needs no library
  if type(rest) == "number" then rest = math.tointeger(rest) or rest end
  local key = left.left.name
  if wanted then
    return function(state)
      local a = state[key]
      if a < SMALL and a >= 0 then return a % n == rest end
      error "not a small number"
    end
  end
  return function(state)
    local a = state[key]
    if a < SMALL and a >= 0 then return a % n ~= rest end
    error "not a small number"
  end
end

local function equality(node, text)
  local constant, name = plain_literal(node.right), node.left.type == "name" and node.left.name
  if constant == nil then return nil end
  local wanted = node.operator == "==="
  local nth = every_nth(node.left, constant, wanted)
  if nth then return nth end
  if name and wanted then return function(state) return state[name] == constant end end
  if name then return function(state) return state[name] ~= constant end end
  local left = value_of(node.left, text)
  if wanted then return function(state) return left(state) == constant end end
  return function(state) return left(state) ~= constant end
end

-- `==` and `!=`: the same where both are of one kind; null and undefined equal each other only.
local function loose_equality(node, text)
  local right, wanted, left = node.right, node.operator == "==", value_of(node.left, text)
  if right.type == "literal" and (right.kind == "null" or right.kind == "undefined") then
    return function(state)
      local v = left(state)
      return (v == nil or is_null(v)) == wanted
    end
  end
  local constant = plain_literal(right)
  if constant == nil then return nil end
  local kind = type(constant)
  return function(state)
    local v = left(state)
    if v == constant then return wanted end
    if v == nil or type(v) == kind then return not wanted end
    error "values of two kinds"
  end
end

function values.binary(node, text)
  local op = node.operator
  if op == "===" or op == "!==" then return equality(node, text) end
  if op == "==" or op == "!=" then return loose_equality(node, text) end
  return comparison(node, text) or calculation(node, text)
end

function tests.binary(node, text)
  local op = node.operator
  if EQUALITIES[op] or comparisons[op] then return values.binary(node, text) end
  return nil
end

function tests.name(node)
  local name = node.name
  return function(state)
    local v = state[name]
    if v == nil or v == false then return false end
    return v == true or truthy(v)
  end
end

function tests.unary(node, text)
  if node.operator ~= "!" then return nil end
  local operand = test_of(node.operand, text)
  return function(state) return not operand(state) end
end

function tests.logical(node, text)
  if node.operator == "??" then return nil end
  local built, stop = {}, node.operator == "||"
  for i, term in ipairs(node.terms) do built[i] = test_of(term, text) end
  if #built == 2 then
    local first, second = built[1], built[2]
    if stop then return function(state) return first(state) or second(state) end end
    return function(state) return first(state) and second(state) end
  end
  return function(state)
    for i = 1, #built do
      if built[i](state) == stop then return stop end
    end
    return not stop
  end
end

---A closure that gives true or false, or raises where only the exact ones can tell.
---@param ast skillrt.expr.Node without arrow functions, which need a frame
---@param text string
---@return fun(state: table): boolean
function M.test(ast, text)
  return test_of(ast, text)
end

return M
