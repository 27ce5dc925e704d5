-- expr/value.lua: what JavaScript's operators mean for Lua values.
-- nil is undefined, lightuserdata NULL is null, integers and floats are both doubles, a table is an
-- array or an object. Tables are only read by indexing, `#` and pairs, so read-only views work.
-- Texts are counted and ordered by characters, not by UTF-16 code units. Knows nothing of syntax.
-- Called by compile.lua, explain.lua and expr/init.lua.
local json = require "skillrt.base.json"
local number = require "skillrt.expr.number"

local M = {}

local type, find, match, sub = type, string.find, string.match, string.sub
local number_to_string, string_to_number = number.to_string, number.from_string
local fmod, tointeger = math.fmod, math.tointeger

---Raised where a JavaScript program would throw; the condition is then false.
---@class skillrt.expr.Thrown
---@field reason string
local Thrown = {}
M.Thrown = Thrown

---@param reason string
function M.throw(reason)
  error(setmetatable({ reason = reason }, Thrown), 0)
end
local throw = M.throw

-- the longest string that + may build, and the deepest array that may become a string
local MAX_STRING <const> = 1 << 20
local MAX_DEPTH <const> = 64

-- What is left of the step budget of the evaluation that runs now; set before each by expr.lua.
local meter = { left = 0 }
M.meter = meter

---Takes `steps` from the budget; loops and long strings pay, so that every evaluation ends.
---@param steps integer
local function charge(steps)
  local left = meter.left - steps
  meter.left = left
  if left < 0 then throw "it needs more steps than a condition may take" end
end
M.charge = charge

local function charge_string(s)
  if #s > 256 then charge(#s >> 4) end
end

---@param v any
---@return boolean
local function is_null(v)
  return type(v) == "userdata"
end
M.is_null = is_null

local is_array = json.is_array

---The length of an array, nil for anything else. `{}` without a mark is an object.
---@param v any
---@return integer?
function M.array_length(v)
  if type(v) ~= "table" then return nil end
  local n = #v
  if n > 0 then return n end
  return is_array(v) and 0 or nil
end

---@param v any
---@return "undefined"|"object"|"boolean"|"number"|"string"|"function"
function M.typeof(v)
  local t = type(v)
  if t == "nil" then return "undefined" end
  if t == "table" or t == "userdata" or t == "thread" then return "object" end
  return t
end

---The word for a value in messages.
---@param v any
---@return string
function M.kind(v)
  if v == nil then return "undefined" end
  if is_null(v) then return "null" end
  if type(v) == "table" then return is_array(v) and "an array" or "an object" end
  return "a " .. M.typeof(v)
end

---@param v any
---@return boolean
function M.truthy(v)
  if not v then return false end
  if v == true then return true end
  local t = type(v)
  if t == "number" then return v ~= 0 and v == v end
  if t == "string" then return v ~= "" end
  return not is_null(v)
end

local to_string

local function join(list, depth)
  if depth > MAX_DEPTH then throw "an array is nested too deeply to become a string" end
  local parts, size = {}, 0
  for i = 1, #list do
    charge(1)
    local item = list[i]
    local text = (item == nil or is_null(item)) and "" or to_string(item, depth + 1)
    size = size + #text + 1
    if size > MAX_STRING then throw "an array becomes a string of more than 1 MiB" end
    parts[i] = text
  end
  return table.concat(parts, ",")
end

---@param v any
---@param depth? integer
---@return string
function to_string(v, depth)
  local t = type(v)
  if t == "string" then return v end
  if t == "number" then return number_to_string(v) end
  if t == "boolean" then return v and "true" or "false" end
  if v == nil then return "undefined" end
  if is_null(v) then return "null" end
  if t == "table" and is_array(v) then return join(v, depth or 1) end
  return t == "function" and "function" or "[object Object]"
end
M.to_string = to_string

local function to_primitive(v)
  local t = type(v)
  if t == "table" or t == "function" or t == "thread" then return to_string(v) end
  return v
end

---@param v any
---@return number
local function to_number(v)
  local t = type(v)
  if t == "number" then return v - 0.0 end -- not + 0.0, which would make 0 of -0
  if v == nil then return 0 / 0 end
  if t == "boolean" then return v and 1.0 or 0.0 end
  if t == "string" then
    charge_string(v)
    return string_to_number(v)
  end
  if is_null(v) then return 0.0 end
  return to_number(to_primitive(v))
end

---`a === b`
---@param a any
---@param b any
---@return boolean
function M.strict_equal(a, b)
  if type(a) == "number" and type(b) == "number" then return a + 0.0 == b + 0.0 end
  return a == b or (is_null(a) and is_null(b))
end
local strict_equal = M.strict_equal

---`a == b`
---@param a any
---@param b any
---@return boolean
function M.loose_equal(a, b)
  local no_a, no_b = a == nil or is_null(a), b == nil or is_null(b)
  if no_a or no_b then return no_a and no_b end
  local ta, tb = type(a), type(b)
  if ta == tb then return strict_equal(a, b) end
  if ta == "boolean" then return M.loose_equal(to_number(a), b) end
  if tb == "boolean" then return M.loose_equal(a, to_number(b)) end
  local x, y = to_primitive(a), to_primitive(b)
  if type(x) == type(y) then return strict_equal(x, y) end
  return to_number(x) == to_number(y)
end

-- By their bytes, which is the order of their characters; Lua's own `<` follows the locale.
local function less(x, y)
  local at = 1
  while at <= #x and x:byte(at) == y:byte(at) do at = at + 1 end
  return (x:byte(at) or -1) < (y:byte(at) or -1)
end

---`a < b`, or `a <= b` when `or_equal`; anything against NaN is false.
---@param a any
---@param b any
---@param or_equal boolean
---@return boolean
local function before(a, b, or_equal)
  local x, y = to_primitive(a), to_primitive(b)
  if type(x) == "string" and type(y) == "string" then
    charge_string(x)
    return less(x, y) or (or_equal and x == y)
  end
  local p, q = to_number(x), to_number(y)
  if or_equal then return p <= q end
  return p < q
end

---`a + b`
---@param a any
---@param b any
---@return number|string
local function add(a, b)
  if type(a) == "number" and type(b) == "number" then return (a - 0.0) + (b - 0.0) end
  local x, y = to_primitive(a), to_primitive(b)
  if type(x) ~= "string" and type(y) ~= "string" then return to_number(x) + to_number(y) end
  x, y = to_string(x), to_string(y)
  if #x + #y > MAX_STRING then throw "+ builds a string of more than 1 MiB" end
  charge_string(x)
  charge_string(y)
  return x .. y
end

-- An operator of two doubles; what is a number already is not asked what it is.
local function arithmetic(operate)
  return function(a, b)
    if type(a) == "number" and type(b) == "number" then return operate(a - 0.0, b - 0.0) end
    return operate(to_number(a), to_number(b))
  end
end

---The binary operators, by the way they are written.
---@type table<string, fun(a: any, b: any): any>
M.binary = {
  ["==="] = M.strict_equal,
  ["!=="] = function(a, b)
    if type(a) == "number" and type(b) == "number" then return a + 0.0 ~= b + 0.0 end
    return not strict_equal(a, b)
  end,
  ["=="] = M.loose_equal,
  ["!="] = function(a, b) return not M.loose_equal(a, b) end,
  ["<"] = function(a, b)
    if type(a) == "number" and type(b) == "number" then return a - 0.0 < b - 0.0 end
    return before(a, b, false)
  end,
  [">"] = function(a, b)
    if type(a) == "number" and type(b) == "number" then return a - 0.0 > b - 0.0 end
    return before(b, a, false)
  end,
  ["<="] = function(a, b)
    if type(a) == "number" and type(b) == "number" then return a - 0.0 <= b - 0.0 end
    return before(a, b, true)
  end,
  [">="] = function(a, b)
    if type(a) == "number" and type(b) == "number" then return a - 0.0 >= b - 0.0 end
    return before(b, a, true)
  end,
  ["+"] = add,
  ["-"] = arithmetic(function(a, b) return a - b end),
  ["*"] = arithmetic(function(a, b) return a * b end),
  ["/"] = arithmetic(function(a, b) return a / b end),
  ["%"] = function(a, b)
    if type(a) == "number" and type(b) == "number" and a >= 0 and b > 0 then return (a - 0.0) % b end
    return fmod(to_number(a), to_number(b))
  end,
}

---The operators before one part.
---@type table<string, fun(a: any): any>
M.unary = {
  ["!"] = function(a) return not M.truthy(a) end,
  ["-"] = function(a) return -to_number(a) end,
  ["+"] = to_number,
  ["typeof"] = M.typeof,
}

---`v.length` of a table or a string; nil when there is none.
---@param v any
---@return any
function M.length(v)
  local t = type(v)
  if t == "string" then
    charge_string(v)
    return utf8.len(v) or #v
  end
  if t ~= "table" then return nil end
  local n = #v
  if n > 0 or is_array(v) then return n end
  return v.length
end

local function index_of(key)
  if type(key) == "number" then return key >= 0 and key < 2 ^ 53 and tointeger(key) or nil end
  if type(key) == "string" and (key == "0" or match(key, "^[1-9]%d*$")) and #key < 16 then
    return tointeger(tonumber(key))
  end
  return nil
end

---`object[key]` for an object that is neither undefined nor null.
---@param object any
---@param key any
---@return any
function M.get(object, key)
  key = to_primitive(key)
  if key == "length" then return M.length(object) end
  local t = type(object)
  if t == "string" then
    local index = index_of(key)
    if not index then return nil end
    charge_string(object)
    local at = utf8.len(object) and utf8.offset(object, index + 1)
    return at and at <= #object and object:sub(at, utf8.offset(object, 2, at) - 1) or nil
  end
  if t ~= "table" then return nil end
  local index = index_of(key)
  if index and is_array(object) then return object[index + 1] end
  return object[to_string(key)]
end

---`list.includes(wanted)`: like ===, but NaN is found.
---@param list table
---@param count integer
---@param wanted any
---@return boolean
function M.list_includes(list, count, wanted)
  charge(count)
  if type(wanted) == "string" then -- by far the most common
    for i = 1, count do
      if list[i] == wanted then return true end
    end
    return false
  end
  local is_nan = wanted ~= wanted
  for i = 1, count do
    local item = list[i]
    if strict_equal(item, wanted) or (is_nan and item ~= item) then return true end
  end
  return false
end

---The methods of strings.
---@type table<string, fun(s: string, part: string): boolean>
M.string_methods = {
  includes = function(s, part)
    charge_string(s)
    if #part > 256 then charge((#s * #part) >> 12) end -- the search may compare each with each
    return find(s, part, 1, true) ~= nil
  end,
  startsWith = function(s, part) return sub(s, 1, #part) == part end,
  endsWith = function(s, part) return part == "" or sub(s, -#part) == part end,
}

return M
