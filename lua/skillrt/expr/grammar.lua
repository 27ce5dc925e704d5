-- expr/grammar.lua: the text of a condition to a tree, in one pass of LPeg. Each choice is settled by the next
-- token, and a place where nothing fits raises at once, so parsing is linear and its depth is bounded; it knows
-- nothing of states or values. Called by expr/init.lua.
--
-- A node is { type, from, to, depth, ... }: the bytes text:sub(from, to), and by type
--   literal      kind ("undefined" "null" "boolean" "number" "string"), value
--   name         name            a key of the state: `files`, `state.files`
--   state                        the whole state: `state`
--   parameter    name, slot      of the arrow function around it
--   member       object, key, optional          .key, ?.key, ["key"]
--   index        object, index, optional        [index], ?.[index]
--   call         object, method, argument, optional    argument: a node, an arrow for some and every
--   arrow        name, slot, body
--   chain        expression      the extent that a `?.` in it may skip
--   array        items
--   unary        operator ("!" "-" "+" "typeof"), operand
--   binary       operator, left, right
--   logical      operator ("&&" "||" "??"), terms      two or more, nested ones of one kind flattened
--   conditional  test, yes, no
local lpeg = require "skillrt.base.system".require "lpeg"
local complaint = require "skillrt.expr.complaint"
local number = require "skillrt.expr.number"
local tree = require "skillrt.expr.tree"

local M = {}

local P, R, S, V = lpeg.P, lpeg.R, lpeg.S, lpeg.V
local C, Carg, Cc, Cmt, Cp, Cs, Ct = lpeg.C, lpeg.Carg, lpeg.Cc, lpeg.Cmt, lpeg.Cp, lpeg.Cs, lpeg.Ct
local raise = complaint.raise

-- what the grammar needs when brackets stand MAX_DEPTH deep; LPeg's own 400 is too little
lpeg.setmaxstack(10000)

-- words that are no names
local RESERVED <const> = {}
for word in ([[break case catch class const continue debugger default delete do else enum export extends
  finally for function if import in instanceof new return super switch this throw try var void while with
  await async let yield static]]):gmatch "%S+" do RESERVED[word] = true end

-- words that are values
local CONSTANTS <const> = {
  ["true"] = { "boolean", true }, ["false"] = { "boolean", false }, null = { "null" },
  undefined = { "undefined" }, NaN = { "number", 0 / 0 }, Infinity = { "number", math.huge },
}

-- A step that consumes nothing and calls `act(text, at, parse)`; used to raise, and to count brackets.
local function does(act)
  return Cmt(Carg(1), function(text, at, parse)
    act(text, at, parse)
    return true
  end)
end

local function refuse(message, back)
  return does(function(_, at) raise(at - (back or 0), message) end)
end

-- tokens ------------------------------------------------------------------------------------------

-- behind the first byte: LPeg refuses to repeat a function that might take nothing
local high_byte = R "\x80\xff"
local function letter_beyond_ascii(text, at)
  return tree.is_letter(utf8.codepoint(text, at - 1)) and utf8.offset(text, 2, at - 1)
end
-- white space of JavaScript beyond ASCII
local wide_space = P "\u{A0}" + "\u{1680}" + "\xE2\x80" * R "\x80\x8A" + "\u{2028}" + "\u{2029}" + "\u{202F}"
  + "\u{205F}" + "\u{3000}" + "\u{FEFF}"
-- rules of the grammar, not copies in each place: that makes it load in half the time
local sp, word, name_char = V "sp", V "word", V "name_char"
local sp_rule = (S " \t\r\n\v\f" + wide_space) ^ 0
local digit, hex = R "09", R("09", "af", "AF")
local name_start = R("az", "AZ") + S "_$" + high_byte * P(letter_beyond_ascii)
local name_char_rule = name_start + digit
local word_rule = C(name_start * name_char_rule ^ 0)

local function keyword(text) return P(text) * -name_char end

local digits = digit * (P "_" ^ -1 * digit) ^ 0
local whole = P "0" * (#(digit + "_") * refuse("a number may not begin with 0", 1)) ^ -1 + #digit * digits
local decimal = (whole * ("." * digits ^ -1) ^ -1 + "." * digits) * (S "eE" * S "+-" ^ -1 * digits) ^ -1
local based = "0" * (S "xX" * hex ^ 1 + S "bB" * S "01" ^ 1 + S "oO" * R "07" ^ 1)
local numeral = C(based + decimal) * (#name_char * refuse "a letter or digit too much in a number") ^ -1

-- 1_000 too
local function literal(text) return number.unsigned((text:gsub("_", ""))) end

local ESCAPES <const> = { n = "\n", t = "\t", r = "\r", b = "\b", f = "\f", v = "\v", ["0"] = "\0" }
local function character(at, code)
  if code > 0x10FFFF then raise(at, "\\u{...} ends at 10FFFF") end
  if code >= 0xD800 and code < 0xE000 then raise(at, "half of a pair of \\u escapes is no character") end
  return utf8.char(code)
end
local function from_hex(pattern)
  return Cmt(pattern, function(_, at, text)
    return true, character(at - #text, text:find "^0*%x?%x?%x?%x?%x?%x?$" and tonumber(text, 16) or math.huge)
  end)
end
-- a character beyond U+FFFF, written as JSON writes it
local high_half, low_half = C(S "dD" * S "89abAB" * hex * hex), C(S "dD" * S "cdefCDEF" * hex * hex)
local pair = Cmt(high_half * "\\u" * low_half, function(_, _, high, low)
  return true, utf8.char(0x10000 + ((tonumber(high, 16) & 0x3FF) << 10 | tonumber(low, 16) & 0x3FF))
end)
local escape = P "\\" * (
  "u" * (pair + from_hex(C(hex * hex * hex * hex)) + "{" * from_hex(C(hex ^ 1)) * "}"
    + refuse("\\u needs four hex digits or {...}", 2))
  + "x" * (from_hex(C(hex * hex)) + refuse("\\x needs two hex digits", 2))
  + C(S "ntrbfv" + P "0" * -digit) / ESCAPES
  + #digit * refuse("octal escapes are not allowed: use \\x", 1)
  + (P "\r\n" + S "\r\n" + "\u{2028}" + "\u{2029}") * Cc ""
  + C(P(1))) / function(text) return text end

local function quoted(quote)
  local body = Cs((escape + (1 - S("\\\r\n" .. quote))) ^ 0)
  return quote * body * (quote + does(function(text, at, parse)
    raise(parse.quote, "the string is not closed", "expected " .. quote .. (at > #text and "" or " on the same line"))
  end))
end
local text_token = #S "'\"" * does(function(_, at, parse) parse.quote = at end)
  * (quoted "'" + quoted '"')

-- brackets: the innermost open one is named when it is not closed ------------------------------------

local function open(char, close)
  return P(char) * does(function(_, at, parse)
    parse.open[#parse.open + 1] = { at = at - #char, char = char:sub(-1), close = close }
  end) * sp
end

local no_operator = does(function(text, at, parse) complaint.no_operator(text, at, parse.open[#parse.open]) end)

local function close(char)
  return (P(char) + no_operator) * does(function(_, _, parse) parse.open[#parse.open] = nil end)
end

local enter = does(function(_, at, parse)
  parse.depth = parse.depth + 1
  if parse.depth > tree.MAX_DEPTH then tree.too_deep(at) end
end)
local leave = does(function(_, _, parse) parse.depth = parse.depth - 1 end)

-- operators ----------------------------------------------------------------------------------------

local operator = C(
  P "===" + "!==" + (P "==" + "!=") + (P "&&" + "||" + "??") * -P "="
  + P "<=" + ">=" + P "<" * -S "<" + P ">" * -S ">"
  + P "+" * -S "+=" + P "-" * -S "-=" + P "*" * -S "*=" + P "/" * -S "/*=" + P "%" * -P "=")
local prefix = C("!" + P "-" * -P "-" + P "+" * -P "+" + keyword "typeof") * sp
local question = P "?" * -P "?" * sp

local no_value = does(function(text, at) complaint.no_value(text, at, RESERVED) end)
local no_name = does(function(text, at) complaint.no_name(text, at) end)

local no_arrow = does(complaint.no_arrow)
local parameter = Cmt(word, function(_, _, name) return not RESERVED[name] and CONSTANTS[name] == nil, name end)

-- postfixes, each a table { kind, ... } that tree.postfix puts onto what stands before it
local arrow_call = C(P "some" + "every") * -name_char * sp * open("(", ")") * V "arrow"
local value_call = C(P "includes" + "startsWith" + "endsWith") * -name_char * sp * open("(", ")")
  * (#P ")" * refuse "expected a value between ( and )" + V "expression")
local after_dot = Ct(Cc "call" * arrow_call * close ")" * Cp()) * sp
  + Ct(Cc "call" * value_call * close ")" * Cp()) * sp
  + #(word * sp * "(") * does(complaint.no_method)
  + Ct(Cc "member" * word * Cp()) * sp
  + no_name
local in_brackets = Ct(Cc "index" * open("[", "]") * V "expression" * close "]" * Cp()) * sp
local suffix = (P "?." * -digit * Cc(true) * sp * (in_brackets + after_dot)
  + P "." * Cc(false) * sp * after_dot
  + Cc(false) * in_brackets)

local no_colon = does(function(text, at)
  if at > #text then raise(at, "expected ':' and a value, found the end") end
  complaint.no_operator(text, at, { at = at, char = "?", close = ":" })
end)

-- Makes the node as soon as it is matched: captures that wait for the end may nest only 200 deep in LPeg.
local function at_once(pattern, make)
  return Cmt(pattern, function(_, _, ...) return true, make(...) end)
end

local grammar = P {
  "condition",
  sp = sp_rule,
  word = word_rule,
  name_char = name_char_rule,
  condition = sp * V "expression" * (P(-1) + no_operator),
  expression = enter * at_once(Cp() * Carg(1) * V "binary"
    * (question * V "expression" * (P ":" * sp + no_colon) * V "expression") ^ -1 * Cp(), tree.conditional) * leave,
  binary = Carg(1) * Ct(V "operand" * (Cp() * operator * sp * V "operand") ^ 0) / tree.binary,
  operand = Cp() * Ct((Cp() * prefix) ^ 0) * Carg(1) * (V "postfixed" + no_value) * Cp() / tree.operand,
  postfixed = Cp() * Carg(1) * V "primary" * Ct(suffix ^ 0) / tree.postfixed,
  primary = Cp() * Cc "number" * (numeral / literal) * Cp() * sp * Carg(1) / tree.literal
    + Cp() * Cc "string" * text_token * Cp() * sp * Carg(1) / tree.literal
    + Cp() * V "name" * Cp() * sp * Carg(1) / tree.name
    + open("(", ")") * V "expression" * close ")" * sp
    + Cp() * Ct(open("[", "]") * V "items" * close "]") * Cp() * sp * Carg(1) / tree.array,
  name = Cmt(word, function(_, _, name)
    return not RESERVED[name], name, CONSTANTS[name] or false
  end),
  items = (-P "]" * V "expression" * (P "," * sp * (-P "]" * V "expression")) ^ 0 * (P "," * sp) ^ -1) ^ -1,
  arrow = Cp() * (parameter * sp + "(" * sp * parameter * sp * ")" * sp + no_arrow)
    * (P "=>" + no_arrow) * sp
    * (#P "{" * refuse "the body of an arrow function must be an expression") ^ -1
    * V "expression" * Cp() * Carg(1) / tree.arrow,
}

---@param text string valid UTF-8
---@return table? ast
---@return skillrt.expr.Complaint? complaint
function M.parse(text)
  local parse = { text = text, depth = 0, open = {} }
  local ok, result = pcall(function() return tree.resolve(lpeg.match(grammar, text, 1, parse)) end)
  if ok then return result, nil end
  if getmetatable(result) ~= complaint.Complaint then error(result, 0) end
  return nil, result
end

return M
