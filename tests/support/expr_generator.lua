-- expr_generator.lua: random conditions and random states for them, the same for the same seed.
-- Knows the language, not its implementation. Used by expr_node_spec.lua and fuzz_expr.lua.
-- luacheck: no max line length
local M = {}

local random = math.random

local function pick(list) return list[random(#list)] end

---A value as Lua has it, and the same as JSON text.
---@class skillrt.test.Twin
---@field lua any
---@field json string

local STRINGS <const> = {
  "", "a", "b", "abc", "10", "9", "1", "0", " 12 ", "0x1F", "1e3", ".5", "5.", "NaN", "Infinity", "-Infinity", "null",
  "true", "1,2", "[object Object]", "é", "一二", "\u{FF5E}", "-0", "+1",
  "- 1", "0b11", "-0x1", "1_0", "A", "Z", "aa", "ab", "undefined", "\u{E000}",
}
local NUMBERS <const> = {
  0, 1, 2, 3, -1, 10, 9, 0.0, -0.0, 0.1, 0.5, -2.5, 1e21, 1e20, 123456789012345680000.0, 1e-6, 1e-7, 5e-324,
  1.7976931348623157e308, 2.0 ^ 53, 9007199254740993, 2.0 ^ -44, 2.0 ^ 70, 2.0 ^ -1022, 1 / 3, 4294967296, -7, 100.0,
}

---A double of any size, at times a power of two, where printing is hardest.
function M.number()
  local kind = random(10)
  if kind <= 6 then return pick(NUMBERS) end
  if kind == 7 then return 2.0 ^ random(-1074, 1023) end
  if kind == 8 then return random(-1000, 1000) / 8 end
  local x = string.unpack(">d", string.pack(">I8", random(0)))
  if x ~= x or x == math.huge or x == -math.huge then return 7 end
  return x
end

---@return string
local function number_text(x)
  return math.type(x) == "integer" and ("%d"):format(x) or ("%.17g"):format(x)
end

local function json_string(s)
  local out = {}
  for _, code in utf8.codes(s, true) do
    if code >= 0x20 and code < 0x7F and code ~= 0x22 and code ~= 0x5C then
      out[#out + 1] = string.char(code)
    elseif code >= 0x10000 then
      code = code - 0x10000
      out[#out + 1] = ("\\u%04x\\u%04x"):format(0xD800 | code >> 10, 0xDC00 | code & 0x3FF)
    else
      out[#out + 1] = ("\\u%04x"):format(code)
    end
  end
  return '"' .. table.concat(out) .. '"'
end
M.json_string = json_string

local function list_of(count, make)
  local lua, json = {}, {}
  for i = 1, count do
    local twin = make()
    lua[i], json[i] = twin.lua, twin.json
  end
  return { lua = setmetatable(lua, { __is_json_array = true }), json = "[" .. table.concat(json, ",") .. "]" }
end

local function object_of(fields)
  local lua, json = {}, {}
  for key, twin in pairs(fields) do
    lua[key] = twin.lua
    json[#json + 1] = json_string(key) .. ":" .. twin.json
  end
  return { lua = lua, json = "{" .. table.concat(json, ",") .. "}" }
end

---@return skillrt.test.Twin
local function scalar(null)
  local kind = random(10)
  if kind <= 4 then
    local s = pick(STRINGS)
    return { lua = s, json = json_string(s) }
  elseif kind <= 7 then
    local x = M.number()
    return { lua = x, json = number_text(x) }
  elseif kind <= 9 then
    local b = random(2) == 1
    return { lua = b, json = tostring(b) }
  end
  return { lua = null, json = "null" }
end

---A state that has all that the generated texts name, and lacks what they name too.
---@param null any
---@return skillrt.test.Twin
function M.state(null)
  local function any() return scalar(null) end
  local function item() return object_of { name = any(), n = any(), tags = list_of(random(0, 3), any) } end
  return object_of {
    a = any(), b = any(), c = any(), d = any(), s = any(), n = any(), ["k k"] = any(),
    list = list_of(random(0, 4), any),
    mixed = list_of(random(0, 3), function() return random(3) == 1 and list_of(random(0, 2), any) or any() end),
    items = list_of(random(0, 3), item),
    o = object_of { k = any(), s = any(), deep = object_of { list = list_of(random(0, 3), any), x = any() } },
  }
end

-- texts -------------------------------------------------------------------------------------------

local function quoted(s)
  local quote = pick { "'", '"' }
  local out = s:gsub("[\\" .. quote .. "]", "\\%0")
  out = out:gsub("\xED[\xA0-\xBF][\x80-\xBF]", function(c) return ("\\u%04X"):format(utf8.codepoint(c, 1, 1, true)) end)
  if random(4) == 1 then
    out = out:gsub("[ab]", function(c) return pick { "\\x%02x", "\\u%04x", "\\u{%x}" }:format(c:byte()) end)
  end
  return quote .. out .. quote
end

local PATHS <const> = {
  "a", "b", "c", "d", "s", "n", "list", "mixed", "items", "o", "o.k", "o.s", "o.deep.list", "o.deep.x", "state.a",
  "state['k k']", "o?.deep?.x", "missing", "missing?.k.x", "missing?.[0]", "missing.k", "o?.missing.x", "items?.[0].missing.k", "a?.5:s", "o?.s.length", "list.length", "s.length",
  "list[0]", "list[1]", "mixed[0]", "mixed?.[1]", "items[0].name", "items[0]?.n", "items?.[1]?.tags", "s[0]", "s[1]",
  "a.length", "list['0']", "o['k']", "o[s]", "list[n]", "items.length", "o.deep.list.length", "state?.s", "s?.length",
}
local LITERALS <const> = {
  "true", "false", "null", "undefined", "NaN", "Infinity", "0", "1", "2", "10", "0x1F", "1e3", ".5", "5.", "1_000", "1e21",
  "''", "'a'", "[]", "[1, 2]", "['a', s]", "[null]", "[[1], 'b']", "0b101", "0o17", "[undefined, 1,]",
}
local OPERATORS <const> = {
  "===", "!==", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "===", "==", "<", "+",
}

local text

local function leaf(names)
  local kind = random(10)
  if #names > 0 and kind <= 4 then
    return pick(names) .. pick { "", "", ".name", ".n", ".length", "?.tags", ".tags.length", "[0]" }
  elseif kind <= 6 then
    return pick(PATHS)
  elseif kind <= 8 then
    return pick(LITERALS)
  elseif kind == 9 then
    return quoted(pick(STRINGS))
  end
  local x = M.number()
  return x < 0 and "(" .. number_text(x) .. ")" or number_text(x)
end

local function call(depth, names)
  local list = pick { "list", "mixed", "items", "s", "o.deep.list", "[1, 2, 'a']", "'abc'", "missing?", "a", "items[0].tags" }
  local method = pick { "includes", "startsWith", "endsWith", "some", "every", "includes", "some" }
  if method ~= "some" and method ~= "every" then
    return ("%s.%s(%s)"):format(list, method, text(depth - 1, names))
  end
  local name = pick { "x", "y", "item", "s", "state" }
  local inner = table.move(names, 1, #names, 1, {})
  inner[#inner + 1] = name
  return ("%s.%s(%s => %s)"):format(list, method, pick { name, "(" .. name .. ")" }, text(depth - 1, inner))
end

---@param depth integer
---@param names string[] the parameters in scope
---@return string
function text(depth, names)
  if depth <= 0 then return leaf(names) end
  local function sub() return text(depth - random(2), names) end
  local function inside() return "(" .. sub() .. ")" end
  local kind = random(20)
  if kind <= 8 then return pick { sub, inside }() .. " " .. pick(OPERATORS) .. " " .. pick { leaf, inside }(names) end
  if kind <= 11 then return sub() .. pick { " && ", "||", " && " } .. pick { leaf, inside }(names) end
  if kind == 12 then return inside() .. " ?? " .. inside() end
  if kind == 13 then return inside() .. " ? " .. sub() .. " : " .. sub() end
  if kind == 14 then return pick { "!", "-", "+", "typeof " } .. inside() end
  if kind <= 17 then return call(depth, names) end
  if kind == 18 then return inside() .. pick { ".length", "[0]", "?.k", "?.[1]", ".name" } end
  if kind == 19 then return "[" .. sub() .. ", " .. sub() .. "]" end
  return inside()
end

---@return string
function M.text()
  return text(random(0, 4), {})
end

local TOKENS <const> = {
  "a", "b", "list", "s", "o", "state", "x", "1", "0", ".5", "'a'", "null", "true", "(", ")", "[", "]", "(", ")", ".", "?.", ",",
  "!", "-", "+", "--", "typeof", "===", "==", "!=", "<", "<=", ">", "&&", "||", "??", "?", ":", "%", "*", "/", "=", "=>",
  ".length", ".includes(", ".some(x => ", ".k", "[0]", "in", "and", "not", " ", "\n", "undefined", "1.", "0x1", "**", "&", "`", ";",
}

---Tokens in any order: most are nonsense, and what is not must mean the same.
---@return string
function M.soup()
  local out = {}
  for i = 1, random(1, 9) do out[i] = pick(TOKENS) end
  return table.concat(out, pick { " ", "", " " })
end

return M
