-- document/load/js.lua: literals of JavaScript in documents: `{ status: 'pending', list: [], n: 0 }` becomes
-- values; what is no literal stays text, marked as code. Runs nothing.
--
-- Called by the readers of states and state updates.
local json = require "skillrt.base.json"
local trim = require("skillrt.base.text").trim

local M = {}

local MAX_DEPTH = 16
local MAX_BYTES, MAX_WHOLE = 64 << 10, 16 << 20 -- of one object that may hold code; of one literal
local Code = {}

---Whether a value is code that could not be read: { code = text }.
---@param value any
---@return boolean
function M.is_code(value)
  return getmetatable(value) == Code
end

-- Where the comment ends that begins here; one that is not closed goes on to the end.
local function comment_end(text, at)
  return text:match("^//[^\n]*()", at) or text:match("^/%*.-%*/()", at) or text:find("^/%*", at) and #text + 1
end

local function skip(text, at)
  at = text:match("^%s*()", at) or at
  while text:sub(at, at) == "/" do
    local after = comment_end(text, at)
    if not after then
      return at
    end
    at = text:match("^%s*()", after)
  end
  return at
end

local ESCAPES = { n = "\n", t = "\t", r = "\r", b = "\b", f = "\f" }

-- By the quote it begins with: a text without escapes, and where it ends.
local PLAIN = {
  ["'"] = "^'([^'\\\n]*)'()",
  ['"'] = '^"([^"\\\n]*)"()',
  ["`"] = "^`([^`\\$]*)`()",
}

-- The text that begins here and the place behind it; or nil, nil, how far it was looked at.
local function string_at(text, at)
  local quote, out, i = text:sub(at, at), {}, at + 1
  local plain, after = text:match(PLAIN[quote], at)
  if plain then
    return plain, after
  end
  while i <= #text do
    local c = text:sub(i, i)
    if c == quote then
      return table.concat(out), i + 1
    elseif c == "\\" then
      local code = text:match("^u(%x%x%x%x)", i + 1)
      local next_one = text:sub(i + 1, i + 1)
      out[#out + 1] = code and utf8.char(tonumber(code, 16)) or ESCAPES[next_one] or next_one
      i = i + (code and 6 or 2)
    elseif c == "\n" and quote ~= "`" or quote == "`" and text:find("^%${", i) then
      break
    else
      out[#out + 1], i = c, i + 1
    end
  end
  return nil, nil, i
end

local CLOSE = { ["("] = ")", ["["] = "]", ["{"] = "}" }

-- How much may be read twice: brackets that do not close are looked at from each of their levels.
local left

-- The end of an expression: the next comma, closing bracket or semicolon outside all brackets.
local function expression_end(text, at)
  local open, start = {}, at
  while left > 0 do
    at = text:find("[\"'`/(%[{)%]},;]", at)
    if not at then
      break
    end
    local c = text:sub(at, at)
    if c == '"' or c == "'" or c == "`" then
      local _, after, seen = string_at(text, at)
      left = left - (seen and seen - at or 0)
      at = after or text:match("^" .. c .. "[^" .. c .. "\\]*" .. c .. "()", at) or at + 1
    elseif c == "/" then
      at = comment_end(text, at) or at + 1
    elseif CLOSE[c] then
      open[#open + 1], at = CLOSE[c], at + 1
    elseif c == open[#open] then
      open[#open], at = nil, at + 1
    elseif #open == 0 then
      left = left - (at - start)
      return at
    else
      at = at + 1
    end
  end
  left = left - (#text - start)
  return #text + 1
end

local value_at

local function is_end(text, at)
  return at > #text or text:find("^[,%]})%;]", at) ~= nil
end

local function key_at(text, at)
  local key, after = text:match("^([%a_$][%w_$]*)%s*()", at)
  if not key and text:find("^[\"']", at) then
    key, after = string_at(text, at)
    after = key and skip(text, after)
  end
  key, after = key or text:match "^(%d+)%s*()", after
  return key, after
end

-- The entries of an object, in order; a spread and a computed key are code of their own.
local function entries_at(text, at, depth)
  local out = {}
  at = skip(text, at + 1)
  while at <= #text and text:sub(at, at) ~= "}" do
    local start, key, after = at, key_at(text, at)
    local value
    if key and text:sub(after, after) == ":" then
      value, at = value_at(text, skip(text, after + 1), depth + 1)
    else
      at = math.max(expression_end(text, at), at)
      value = setmetatable({ code = trim(text:sub(start, at - 1)) }, Code)
      key = key and is_end(text, after) and key or nil
    end
    out[#out + 1] = { key = key, value = value, at = start }
    at = skip(text, at)
    if text:sub(at, at) == "," then
      at = skip(text, at + 1)
    elseif text:sub(at, at) ~= "}" then
      return out, nil -- what follows is no object: "a: 1 b: 2"
    end
  end
  return out, at <= #text and at + 1 or nil
end

local function array_at(text, at, depth)
  local out = json.array {}
  at = skip(text, at + 1)
  while at <= #text and text:sub(at, at) ~= "]" do
    out[#out + 1], at = value_at(text, at, depth + 1)
    at = skip(text, at)
    if text:sub(at, at) == "," then
      at = skip(text, at + 1)
    elseif text:sub(at, at) ~= "]" then
      return nil, at
    end
  end
  return out, at + 1
end

local WORDS = { ["true"] = true, ["false"] = false, null = json.null, undefined = json.null }

local function literal_at(text, at, depth)
  local c = text:sub(at, at)
  if c == '"' or c == "'" or c == "`" then
    return string_at(text, at)
  elseif c == "{" then
    local entries, after = entries_at(text, at, depth)
    local out = {}
    for _, entry in ipairs(entries) do
      if not entry.key or M.is_code(entry.value) then
        return nil, after
      end
      out[entry.key] = entry.value
    end
    return after and out or nil, after
  elseif c == "[" then
    local list, after = array_at(text, at, depth)
    for _, item in ipairs(list or {}) do
      if M.is_code(item) then
        return nil, after
      end
    end
    return list, after
  end
  local number, after = text:match("^(-?%d[%d.]*[eE]?[-+]?%d*)()", at)
  if number and tonumber(number) then
    return math.tointeger(tonumber(number)) or tonumber(number), after
  end
  local word, behind = text:match("^(%a+)()", at)
  if word and WORDS[word] ~= nil then
    return WORDS[word], behind
  end
  return nil
end

function value_at(text, at, depth)
  local start, stop = at, nil
  if depth <= MAX_DEPTH then
    local value, after = literal_at(text, at, depth)
    if after and is_end(text, skip(text, after)) then
      if value ~= nil then
        return value, after
      end
      stop = after -- brackets that hold code: read already, so not once more from each level
    end
  end
  stop = math.max(stop or expression_end(text, at), start + 1)
  return setmetatable({ code = trim(text:sub(start, stop - 1)) }, Code), stop
end

---The entries of the object that begins at a place, as far as they can be read.
---@param text string
---@param at integer  of its "{"
---@return { key: string?, value: any, line: integer }[] entries  line counts from 0, at the "{"
---@return integer? after  nil where it does not end as an object does
function M.entries(text, at)
  text = text:sub(at, at + MAX_BYTES)
  left = 2 * #text + 4096
  local entries, after = entries_at(text, 1, 0)
  local line, last = 0, 1
  for _, entry in ipairs(entries) do -- counted on from entry to entry: a text may be long
    line = line + select(2, text:sub(last, entry.at - 1):gsub("\n", ""))
    entry.line, last = line, entry.at
  end
  return entries, after and after + at - 1
end

---The list or object that begins at a place, when it is made of literals only.
---@param text string
---@param at integer  of its "{" or "["
---@return any value  nil otherwise
function M.literal(text, at)
  text = text:sub(at, at + MAX_WHOLE)
  left = 2 * #text + 4096
  local value = literal_at(text, 1, 0)
  return value
end

return M
