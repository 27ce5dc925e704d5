-- expr/compile.lua: turns a tree into closures f(state, frame) once, so that nothing walks it at run time. `frame`
-- holds the parameters of arrow functions by slot; it is nil when there are none. What is read most
-- (`name`, `x.length`, an operator and a literal) gets closures of its own. Knows no syntax. Called by explain.lua and
-- expr/init.lua.
local json = require "skillrt.base.json"
local value = require "skillrt.expr.value"

local M = {}

local type = type
local truthy, throw, typeof = value.truthy, value.throw, value.typeof
local get, is_null, meter = value.get, value.is_null, value.meter

---@alias skillrt.expr.Closure fun(state: table, frame: table?): any

-- what a `?.` that found nothing hands to the rest of its chain
local SKIP <const> = setmetatable({}, { __name = "skip" })

-- the longest piece of the condition's text that a reason quotes
local MAX_QUOTE <const> = 60

local build, build_test

---@param node skillrt.expr.Node
---@param text string
---@return string
function M.quote(node, text)
  local piece = text:sub(node.from, node.to):gsub("%s+", " ")
  if #piece <= MAX_QUOTE then return piece end
  return piece:sub(1, utf8.offset(piece, 0, MAX_QUOTE) - 1) .. "..."
end

local builders, test_builders, method_builders = {}, {}, {}

function builders.literal(node)
  if node.kind == "null" then return function() return json.null end end
  local constant = node.value
  return function() return constant end
end

function builders.name(node)
  local name = node.name
  return function(state) return state[name] end
end

function builders.state()
  return function(state) return state end
end

function builders.parameter(node)
  local slot = node.slot
  return function(_, frame) return frame[slot] end
end

function builders.array(node, text)
  local items, count = {}, #node.items
  for i = 1, count do items[i] = build(node.items[i], text) end
  local mark = { __is_json_array = true, __len = function() return count end }
  return function(state, frame)
    local list = {}
    for i = 1, count do list[i] = items[i](state, frame) end
    return setmetatable(list, mark)
  end
end

-- members ----------------------------------------------------------------------------------------

local function cannot_read(node, text, found, key)
  throw(("%s is %s: cannot read %s"):format(M.quote(node.object, text), value.kind(found), key))
end

---How to get from an object to its member, object known not to be SKIP.
local function member_step(node, text)
  local key = node.key
  local shown = key:find "^[%a_$][%w_$]*$" and "." .. key or ("[%q]"):format(key)
  return function(object)
    if object == nil or is_null(object) then cannot_read(node, text, object, shown) end
    return get(object, key)
  end
end

local function index_step(node, text)
  local index = build(node.index, text)
  return function(object, state, frame)
    if object == nil or is_null(object) then
      cannot_read(node, text, object, "[" .. M.quote(node.index, text) .. "]")
    end
    return get(object, index(state, frame))
  end
end

local function call_step(node, text)
  local method = method_builders[node.method](node, text)
  local shown = "." .. node.method .. "()"
  return function(object, state, frame)
    if object == nil or is_null(object) then
      throw(("%s is %s: cannot call %s"):format(M.quote(node.object, text), value.kind(object), shown))
    end
    return method(object, state, frame)
  end
end

local function may_skip(node)
  while node.type == "member" or node.type == "index" or node.type == "call" do
    if node.optional then return true end
    node = node.object
  end
  return false
end

---Puts a step behind its object, with the detour of `?.` only where the chain has one.
local function put_behind(node, text, step)
  local object = build(node.object, text)
  if not may_skip(node) then
    return function(state, frame) return step(object(state, frame), state, frame) end
  end
  local optional = node.optional
  return function(state, frame)
    local found = object(state, frame)
    if rawequal(found, SKIP) or (optional and (found == nil or is_null(found))) then return SKIP end
    return step(found, state, frame)
  end
end

---The members that conditions read most, in one closure with their object: tables first, the rest by `step`.
local function read_directly(object, key, step)
  if key == "length" then
    return function(state, frame)
      local found = object(state, frame)
      local count = type(found) == "table" and #found or 0
      return count > 0 and count or step(found)
    end
  end
  return function(state, frame)
    local found = object(state, frame)
    if type(found) == "table" then return found[key] end
    return step(found)
  end
end

function builders.member(node, text)
  local step = member_step(node, text)
  if may_skip(node) or node.key:find "^%d+$" then return put_behind(node, text, step) end
  return read_directly(build(node.object, text), node.key, step)
end

function builders.index(node, text) return put_behind(node, text, index_step(node, text)) end
function builders.call(node, text) return put_behind(node, text, call_step(node, text)) end

function builders.chain(node, text)
  local expression = build(node.expression, text)
  return function(state, frame)
    local found = expression(state, frame)
    if rawequal(found, SKIP) then return nil end
    return found
  end
end

-- methods ----------------------------------------------------------------------------------------

local function wrong_object(node, text, object, needed)
  throw(("%s is %s: .%s() needs %s"):format(M.quote(node.object, text), value.kind(object), node.method, needed))
end

local function string_method(node, text)
  local argument, run = build(node.argument, text), value.string_methods[node.method]
  return function(object, state, frame)
    if type(object) ~= "string" then wrong_object(node, text, object, "a string") end
    return run(object, value.to_string(argument(state, frame)))
  end
end
method_builders.startsWith, method_builders.endsWith = string_method, string_method

function method_builders.includes(node, text)
  local argument, in_string = build(node.argument, text), value.string_methods.includes
  return function(object, state, frame)
    if type(object) == "string" then return in_string(object, value.to_string(argument(state, frame))) end
    local count = value.array_length(object)
    if not count then wrong_object(node, text, object, "an array or a string") end
    return value.list_includes(object, count, argument(state, frame))
  end
end

local function quantifier(node, text)
  local body, slot = build_test(node.argument.body, text), node.argument.slot
  local wanted = node.method == "some"
  local cost = 1 + (node.argument.to - node.argument.from) // 8 -- about one step a token
  return function(object, state, frame)
    local count = value.array_length(object)
    if not count then wrong_object(node, text, object, "an array") end
    for i = 1, count do
      local left = meter.left - cost
      meter.left = left
      if left < 0 then value.charge(0) end -- which says so
      frame[slot] = object[i]
      if body(state, frame) == wanted then return wanted end
    end
    return not wanted
  end
end
method_builders.some, method_builders.every = quantifier, quantifier

-- operators --------------------------------------------------------------------------------------

function builders.unary(node, text)
  if node.operator == "!" then return build_test(node, text) end
  local operand = build(node.operand, text)
  if node.operator == "typeof" then return function(state, frame) return typeof(operand(state, frame)) end end
  local to_number = value.to_number
  if node.operator == "+" then return function(state, frame) return to_number(operand(state, frame)) end end
  return function(state, frame) return -to_number(operand(state, frame)) end
end

-- Operators between a part and a literal, as most conditions are: of numbers without a call of the operator.
local OF_NUMBERS <const> = {
  ["<"] = function(left, literal, general)
    return function(state, frame)
      local v = left(state, frame)
      if type(v) == "number" then return v < literal end
      return general(v, literal)
    end
  end,
  [">"] = function(left, literal, general)
    return function(state, frame)
      local v = left(state, frame)
      if type(v) == "number" then return v > literal end
      return general(v, literal)
    end
  end,
  ["<="] = function(left, literal, general)
    return function(state, frame)
      local v = left(state, frame)
      if type(v) == "number" then return v <= literal end
      return general(v, literal)
    end
  end,
  [">="] = function(left, literal, general)
    return function(state, frame)
      local v = left(state, frame)
      if type(v) == "number" then return v >= literal end
      return general(v, literal)
    end
  end,
  ["%"] = function(left, literal, general)
    return function(state, frame)
      local v = left(state, frame)
      if type(v) == "number" and v >= 0 and literal > 0 then return (v - 0.0) % literal end
      return general(v, literal)
    end
  end,
}
local EQUALITIES <const> = { ["==="] = true, ["!=="] = false, ["=="] = true, ["!="] = false }

-- Values of one type are equal as Lua has it.
local function equal_to(left, literal, general, wanted)
  local kind = type(literal)
  return function(state, frame)
    local v = left(state, frame)
    if type(v) == kind then return (v == literal) == wanted end
    return general(v, literal)
  end
end

-- `== null`, which undefined is, too.
local function loosely_null(left, wanted)
  return function(state, frame)
    local v = left(state, frame)
    return (v == nil or is_null(v)) == wanted
  end
end

-- The closure of an operator between a part, which is built already, and a literal; nil: it has none of its own.
local function with_literal(left, operator, literal)
  local general, wanted, kind = value.binary[operator], EQUALITIES[operator], type(literal)
  if literal == nil then return (operator == "==" or operator == "!=") and loosely_null(left, wanted) or nil end
  local is_exact = kind ~= "number" or literal < 2 ^ 53 -- NaN is not
  if not is_exact then return nil end
  if wanted ~= nil then return equal_to(left, literal, general, wanted) end
  local make = kind == "number" and OF_NUMBERS[operator]
  return make and make(left, literal, general)
end

function builders.binary(node, text)
  local left = build(node.left, text)
  local special = node.right.type == "literal" and with_literal(left, node.operator, node.right.value)
  if special then return special end
  local right, operate = build(node.right, text), value.binary[node.operator]
  return function(state, frame) return operate(left(state, frame), right(state, frame)) end
end

---@return skillrt.expr.Closure[]
local function build_all(nodes, text, how)
  local built = {}
  for i, node in ipairs(nodes) do built[i] = how(node, text) end
  return built
end

function builders.logical(node, text)
  local terms, op = build_all(node.terms, text, build), node.operator
  local count = #terms
  local function stops(v)
    if op == "??" then return not (v == nil or is_null(v)) end
    return truthy(v) == (op == "||")
  end
  return function(state, frame)
    for i = 1, count - 1 do
      local v = terms[i](state, frame)
      if stops(v) then return v end
    end
    return terms[count](state, frame)
  end
end

function builders.conditional(node, text)
  local test, yes, no = build_test(node.test, text), build(node.yes, text), build(node.no, text)
  return function(state, frame)
    if test(state, frame) then return yes(state, frame) end
    return no(state, frame)
  end
end

-- tests: the same, but only true or false is wanted -----------------------------------------------

function test_builders.name(node)
  local name = node.name
  return function(state)
    local v = state[name]
    if v == nil or v == false then return false end
    return v == true or truthy(v)
  end
end

function test_builders.unary(node, text)
  if node.operator ~= "!" then return nil end
  local operand = build_test(node.operand, text)
  return function(state, frame) return not operand(state, frame) end
end

function test_builders.logical(node, text)
  if node.operator == "??" then return nil end
  local terms, stop = build_all(node.terms, text, build_test), node.operator == "||"
  if #terms == 2 then
    local first, second = terms[1], terms[2]
    return function(state, frame)
      if first(state, frame) == stop then return stop end
      return second(state, frame)
    end
  end
  return function(state, frame)
    for i = 1, #terms do
      if terms[i](state, frame) == stop then return stop end
    end
    return not stop
  end
end

function test_builders.conditional(node, text)
  local test, yes, no = build_test(node.test, text), build_test(node.yes, text), build_test(node.no, text)
  return function(state, frame)
    if test(state, frame) then return yes(state, frame) end
    return no(state, frame)
  end
end

local BOOLEAN <const> = {
  ["==="] = true, ["!=="] = true, ["=="] = true, ["!="] = true,
  ["<"] = true, [">"] = true, ["<="] = true, [">="] = true,
}

---@param node skillrt.expr.Node
---@param text string
---@return skillrt.expr.Closure
function build(node, text)
  return builders[node.type](node, text)
end

---@param node skillrt.expr.Node
---@param text string
---@return skillrt.expr.Closure
function build_test(node, text)
  local special = test_builders[node.type]
  local test = special and special(node, text)
  if test then return test end
  local run = build(node, text)
  if node.type == "binary" and BOOLEAN[node.operator] then return run end
  if node.type == "call" and not may_skip(node) then return run end
  return function(state, frame) return truthy(run(state, frame)) end
end

M.build, M.build_test = build, build_test

return M
