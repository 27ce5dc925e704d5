-- expr/complaint.lua: says what is wrong with a condition's text, where, and what was probably meant. Knows habits
-- from Lua, Python, SQL or word processors; does not parse. Called by grammar.lua, expr/init.lua and tree.lua.
local cut = require("skillrt.base.text").cut
local terminal_text = require "skillrt.base.terminal_text"

local M = {}

---@class skillrt.expr.Complaint
---@field at integer byte position in the text
---@field message string
---@field hint string?
local Complaint = {}
M.Complaint = Complaint

---@param at integer
---@param message string
---@param hint? string
function M.raise(at, message, hint)
  error(setmetatable({ at = at, message = message, hint = hint }, Complaint), 0)
end
local raise = M.raise

local METHODS <const> = ".includes() .startsWith() .endsWith() .some() .every()"
local ASSIGNMENT <const> = "assignments are not allowed: a condition only reads the state"
local ARROW <const> = "an arrow function may stand only inside .some() or .every()"
local CALL <const> = "function calls are not allowed, but for the methods " .. METHODS

-- The words of a text in pairs.
local function pairs_of(text)
  local list = {}
  for word, other in text:gmatch "(%S+)%s+(%S+)" do list[word] = other end
  return list
end

local ASSIGNS <const> = {}
for op in (":= ++ -- += -= *= /= %= &= |= ^= &&= ||= ??="):gmatch "%S+" do ASSIGNS[op] = true end

-- Spellings from other languages, and the spelling here.
local MEANT <const> = pairs_of [[= === =< <= ~= !== <> !== & && | || and && AND && or || OR || is === eq === not !
  in list.includes(value) contains list.includes(value) =~ .includes() .. +
  “ ' ” ' ‘ ' ’ ' 「 ' 」 ' （ ( ） ) ［ [ ］ ] 【 [ 】 ] ＝ === ！ ! ＜ < ＞ > ≤ <= ≥ >= ≠ !== ＆ && ｜ || ， , ． . 。 .
  – - — - − - × * ÷ / ＋ + ？ ? ： :]]

---The spelling here of something else; nil: unknown.
---@param token string
---@return string?
local function hint_of(token)
  if token == "," or token == ";" then return "a condition is one expression" end
  local meant = MEANT[token]
  return meant and ("did you mean %s%s%s?"):format(meant == "'" and '"' or "'", meant, meant == "'" and '"' or "'")
end

---The token at `at`, as the text has it; "" at the end.
---@param text string
---@param at integer
---@return string
local function token_at(text, at)
  return text:match("^[%w_$]+", at) or text:match("^//", at) or text:match("^/%*", at) or text:match("^%.%.%.?", at)
    or text:match("^[=<>~:&|^?*%%+-]+", at) or text:match("^[%z\1-\x7F\xC2-\xFD][\x80-\xBF]*", at) or ""
end

---@param token string
---@return string
local function name_of(token)
  if token == "" then return "the end" end
  if token:find "^%c" then return ("character 0x%02x"):format(token:byte()) end
  return "'" .. cut(token, 24) .. "'"
end

local REFUSED <const> = { -- by the first characters of a value
  ["`"] = "template literals are not allowed: join strings with +",
  ["{"] = "object literals are not allowed",
  ["/"] = "regular expressions are not allowed: use .includes(), .startsWith() or .endsWith()",
  ["//"] = "comments are not allowed", ["/*"] = "comments are not allowed",
  ["..."] = "spreading is not allowed", ["=>"] = ARROW, ["#"] = "comments are not allowed",
}

---@param text string
---@param at integer
---@param reserved table<string, boolean>
function M.no_value(text, at, reserved)
  local token = token_at(text, at)
  local before = text:sub(at - 1, at)
  if before == "<>" then raise(at - 1, "expected an operator, found '<>'", hint_of "<>") end
  if REFUSED[token] then raise(at, REFUSED[token]) end
  if ASSIGNS[token] or token == "=" and before:find "[-+*/%%&|?]=" then raise(at, ASSIGNMENT) end
  if reserved[token] then raise(at, ("'%s' is not allowed in a condition"):format(token), hint_of(token)) end
  raise(at, "expected a value, found " .. name_of(token), hint_of(token))
end

---@param text string
---@param at integer
---@param open? {at: integer, char: string, close: string} the innermost bracket that is open
function M.no_operator(text, at, open)
  local token = token_at(text, at)
  local negation = text:sub(1, at - 1):match "()%f[%w_$]not[ \t\r\n]+$"
  if negation then raise(negation, "expected an operator after 'not'", hint_of "not") end
  if ASSIGNS[token] then raise(at, ASSIGNMENT) end
  if token == "=>" then raise(at, ARROW) end
  if token == "`" or token == "//" or token == "/*" then raise(at, REFUSED[token]) end
  if token == "(" then raise(at, CALL) end
  if token == "" and open then
    raise(open.at, ("'%s' is not closed"):format(open.char), ("expected '%s' before the end"):format(open.close))
  end
  if token == "" then raise(at, "expected an operator, found the end") end
  if not open and (token == ")" or token == "]" or token == "}") then
    raise(at, ("'%s' closes nothing"):format(token))
  end
  local wanted = open and ("an operator or '%s'"):format(open.close) or "an operator"
  raise(at, ("expected %s, found %s"):format(wanted, name_of(token)), hint_of(token))
end

---@param text string
---@param at integer where the method's name stands
function M.no_method(text, at)
  local name = text:match("^[%w_$\x80-\xff]+", at) or ""
  if name == "length" then raise(at, "'.length' is not a method", "write it without ()") end
  if #name > 24 then name = name:sub(1, utf8.offset(name, 0, 21) - 1) .. "..." end
  raise(at, ("'.%s()' is not available: the methods are %s"):format(name, METHODS))
end

---@param at integer
function M.no_arrow(_, at)
  raise(at, ".some() and .every() take one arrow function of one parameter, such as x => x.done")
end

---@param text string
---@param at integer
function M.no_name(text, at)
  local token = token_at(text, at)
  if token == "(" then raise(at, CALL) end
  if token == "." then raise(at - 1, "expected an operator, found '..'", hint_of "..") end
  raise(at, "expected a name after '.', found " .. name_of(token))
end

local WIDTH <const> = 72

---The line that holds byte `at`, cut to a window around it and made safe to print; the blanks below it.
local function excerpt(line, column)
  local from = column > WIDTH - 12 and column - WIDTH // 2 or 1
  local function part(first, behind)
    local start, stop = utf8.offset(line, first), utf8.offset(line, math.min(behind, utf8.len(line) + 1))
    return terminal_text.escape((line:sub(start, stop - 1):gsub("\t", " ")))
  end
  local head, tail = from > 1 and "..." or "", utf8.len(line) >= from + WIDTH and "..." or ""
  return head .. part(from, from + WIDTH) .. tail, (" "):rep(#head + terminal_text.width(part(from, column)))
end

---Line and column (in characters, both from 1) of a byte position.
---@param text string valid UTF-8
---@param at integer
---@return integer line
---@return integer column
---@return string line_text
function M.place(text, at)
  local line, start = 1, 1
  for stop, next_start in text:gmatch "()\r?\n()" do
    if stop >= at then break end
    line, start = line + 1, next_start
  end
  local line_text = (text .. "\n"):match("^(.-)\r?\n", start)
  return line, utf8.len(text, start, math.max(at - 1, start - 1)) + 1, line_text
end

---@param text string valid UTF-8
---@param complaint skillrt.expr.Complaint
---@return string
function M.render(text, complaint)
  local line, column, line_text = M.place(text, complaint.at)
  local excerpt_of, blanks = excerpt(line_text, column)
  return ("%d:%d: %s\n  %s\n  %s^%s"):format(line, column, complaint.message, excerpt_of, blanks,
    complaint.hint and " " .. complaint.hint or "")
end

return M
