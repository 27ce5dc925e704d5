-- document/load/js.lua: JavaScript literals in documents: `{ status: 'pending', list: [], n: 0 }` becomes values;
-- anything else stays text, marked as code. Runs nothing.
--
-- Called by the readers of states and state updates.
local json = require "skillrt.base.json"
local lpeg = require "skillrt.base.system".require "lpeg"
local trim = require("skillrt.base.text").trim

local M = {}

local P, R, S, V = lpeg.P, lpeg.R, lpeg.S, lpeg.V
local C, Cc, Cg, Cmt, Cp, Cs, Ct = lpeg.C, lpeg.Cc, lpeg.Cg, lpeg.Cmt, lpeg.Cp, lpeg.Cs, lpeg.Ct

local MAX_BYTES <const> = 64 << 10
local Code = {}

---Whether a value is code that could not be read: { code = text }.
---@param value any
---@return boolean
function M.is_code(value)
  return getmetatable(value) == Code
end

local function as_code(text)
  return setmetatable({ code = trim(text) }, Code)
end

local function as_number(_, after, text)
  local number = tonumber(text)
  return number and after, math.tointeger(number) or number
end

local function as_object(list)
  local out = {}
  for i = 1, #list, 2 do
    out[list[i]] = list[i + 1]
  end
  return out
end

local digit, hex = R "09", R("09", "af", "AF")
local comment = P "//" * (1 - P "\n") ^ 0 + P "/*" * (1 - P "*/") ^ 0 * (P "*/" + -1)
local blank = (S " \t\r\n\f\v" + comment) ^ 0
local stop = blank * (S ",]});" + -1)

local escape = P "\\u" * C(hex * hex * hex * hex) / function(code)
  return utf8.char(tonumber(code, 16))
end + P "\\" * C(S "ntrbf") / { n = "\n", t = "\t", r = "\r", b = "\b", f = "\f" } + P "\\" * C(1) / "%1"
local quoted = P "'" * Cs((escape + 1 - S "'\n") ^ 0) * "'" + P '"' * Cs((escape + 1 - S '"\n') ^ 0) * '"'
local text = quoted + P "`" * Cs((escape + 1 - (P "`" + "${")) ^ 0) * "`"
local number = Cmt(C(P "-" ^ -1 * digit * S "0123456789." ^ 0 * S "eE" ^ -1 * S "+-" ^ -1 * digit ^ 0), as_number)
local word = P "true" * Cc(true) + P "false" * Cc(false) + (P "null" + "undefined") * Cc(json.null)
local key = C((R("az", "AZ") + S "_$") * (R("az", "AZ", "09") + S "_$") ^ 0) + quoted + C(digit ^ 1)
local comma = blank * (P "," * blank) ^ -1

-- What holds no code: comments and texts, even unclosed ones: read again from each sign, they would take long.
local line_end = #P "\n" + -1
local skipped = comment + P "'" * (P "\\" * 1 + 1 - S "'\n") ^ 0 * (P "'" + line_end)
  + P '"' * (P "\\" * 1 + 1 - S '"\n') ^ 0 * (P '"' + line_end) + P "`" * (P "\\" * 1 + 1 - P "`") ^ 0 * (P "`" + -1)

-- Parts to skip: brackets, even unclosed ones.
local function inside(open, close)
  return P(open) * (V "part" + 1 - P(close)) ^ 0 * (P(close) + -1)
end

local OBJECT <const> = P {
  "object",
  part = skipped + inside("(", ")") + inside("[", "]") + inside("{", "}"),
  code = C((V "part" + 1 - S ",)]};") ^ 1) / as_code,
  value = V "literal" * #stop + V "code",
  literal = text + number + word + P "[" * blank * Ct((V "literal" * #stop * comma) ^ 0) * "]" / json.array
    + P "{" * blank * Ct((key * blank * ":" * blank * V "literal" * #stop * comma) ^ 0) * "}" / as_object,
  -- a spread and a computed key are entries of code
  entry = Ct(Cg(Cp(), "at") * (Cg(key, "key") * blank * ":" * blank * Cg(V "value", "value")
    + Cg(#(key * stop), "key") ^ -1 * Cg(V "code", "value")) * comma),
  object = P "{" * blank * Ct(V "entry" ^ 0) * (P "}" * Cp()) ^ -1,
}

---The entries of the object that begins at a place, as far as they can be read.
---@param source string
---@param at integer  of its "{"
---@return { key: string?, value: any, line: integer }[] entries  line counts from 0, at the "{"
---@return integer? after  nil if it does not end like an object
function M.entries(source, at)
  local ok, entries, after = pcall(OBJECT.match, OBJECT, source:sub(at, at + MAX_BYTES))
  entries, after = ok and entries or {}, ok and after or nil -- nested too deep for a match, it cannot be read
  local line, last = 0, at
  for _, entry in ipairs(entries) do -- counted on from entry to entry: a text may be long
    line = line + select(2, source:sub(last, at + entry.at - 2):gsub("\n", ""))
    entry.line, last = line, at + entry.at - 1
  end
  return entries, after and after + at - 1
end

return M
