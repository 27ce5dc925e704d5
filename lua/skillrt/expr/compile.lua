-- expr/compile.lua: compiles a tree into closures f(state, frame), so that nothing walks the tree at run time.
-- `frame` holds the parameters of arrow functions by slot; it is nil when there are none. Knows no syntax. Called by
-- explain.lua and expr/init.lua.
local json = require "skillrt.base.json"
local value = require "skillrt.expr.value"

local M = {}

local type = type
local truthy, throw = value.truthy, value.throw
local get, is_null, meter = value.get, value.is_null, value.meter

---@alias skillrt.expr.Closure fun(state: table, frame: table?): any

-- what a `?.` that found nothing passes to the rest of its chain
local SKIP <const> = setmetatable({}, { __name = "skip" })

-- the longest piece of the condition's text that a reason quotes
local MAX_QUOTE <const> = 60

local build

---@param node skillrt.expr.Node
---@param text string
---@return string
function M.quote(node, text)
  local piece = text:sub(node.from, node.to):gsub("%s+", " ")
  if #piece <= MAX_QUOTE then return piece end
  return piece:sub(1, utf8.offset(piece, 0, MAX_QUOTE) - 1) .. "..."
end

local builders, method_builders = {}, {}

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

---How to get a member of an object; the object is known not to be SKIP.
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

---Adds a step after its object; passes on a `?.` that found nothing.
local function put_behind(node, text, step)
  local object, optional = build(node.object, text), node.optional
  return function(state, frame)
    local found = object(state, frame)
    if rawequal(found, SKIP) or (optional and (found == nil or is_null(found))) then return SKIP end
    return step(found, state, frame)
  end
end

function builders.member(node, text) return put_behind(node, text, member_step(node, text)) end
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
  local body, slot = build(node.argument.body, text), node.argument.slot
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
      if truthy(body(state, frame)) == wanted then return wanted end
    end
    return not wanted
  end
end
method_builders.some, method_builders.every = quantifier, quantifier

-- operators --------------------------------------------------------------------------------------

function builders.unary(node, text)
  local operand = build(node.operand, text)
  local operate = value.unary[node.operator]
  return function(state, frame) return operate(operand(state, frame)) end
end

-- Whether `v === constant` is what Lua's own == says of any v: not for null, which comes in several forms, nor for a
-- number so large that another one may become the same double.
local function is_compared_by_lua(constant)
  if type(constant) == "number" then return constant > -2^53 and constant < 2^53 end
  return not is_null(constant)
end

function builders.binary(node, text)
  local operator, left, right = node.operator, build(node.left, text), build(node.right, text)
  local operate = value.binary[operator]
  if node.right.type == "literal" then -- as most are
    local constant = right()
    local compare = is_compared_by_lua(constant) and operator
    if compare == "===" then return function(state, frame) return left(state, frame) == constant end end
    if compare == "!==" then return function(state, frame) return left(state, frame) ~= constant end end
    return function(state, frame) return operate(left(state, frame), constant) end
  end
  return function(state, frame) return operate(left(state, frame), right(state, frame)) end
end

function builders.logical(node, text)
  local terms, op = {}, node.operator
  for i, term in ipairs(node.terms) do terms[i] = build(term, text) end
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
  local test, yes, no = build(node.test, text), build(node.yes, text), build(node.no, text)
  return function(state, frame)
    if truthy(test(state, frame)) then return yes(state, frame) end
    return no(state, frame)
  end
end

---@param node skillrt.expr.Node
---@param text string
---@return skillrt.expr.Closure
function build(node, text)
  return builders[node.type](node, text)
end
M.build = build

-- operators that give true or false
local IS_TEST <const> = {
  ["==="] = true, ["!=="] = true, ["=="] = true, ["!="] = true, ["<"] = true, [">"] = true,
  ["<="] = true, [">="] = true,
}

---The same, but only true or false is wanted.
---@param node skillrt.expr.Node
---@param text string
---@return fun(state: table, frame: table?): boolean
function M.build_test(node, text)
  local run = build(node, text)
  if node.type == "binary" and IS_TEST[node.operator] then return run end
  return function(state, frame) return truthy(run(state, frame)) end
end

return M
