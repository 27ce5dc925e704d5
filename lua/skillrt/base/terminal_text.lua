-- base/terminal_text.lua: untrusted text made safe for a terminal, and measured in columns.
--
-- What an agent, a file name or an error says is shown and never obeyed by the terminal: control characters, ESC, C1,
-- bidi controls and broken UTF-8 become visible escapes. Knows no terminal. Called by whatever prints.

local is_plain = require("skillrt.core").terminal.is_plain
local regex = require("skillrt.base.regex")

local M = {}

-- Returns a function that tells whether a character matches an expression of Unicode properties; results are cached.
local function of_kind(expression)
  local find, known = nil, {}
  return function(code)
    if known[code] == nil then
      find = find or assert(regex.compile(expression))
      known[code] = find(utf8.char(code)) or false
    end
    return known[code]
  end
end

-- characters that are invisible or change how the text around them is shown
local is_hidden = of_kind("^(?![\u{FE00}-\u{FE0F}])[\\p{DI}\\p{Cf}\\p{Zl}\\p{Zp}\u{7F}-\u{9F}\u{2800}]")
-- no column: marks that combine with the character before them
local is_mark = of_kind("^[\\p{Mn}\\p{Me}]")
-- two columns: East Asian wide and fullwidth, emoji
local is_wide = of_kind("^(?![\u{1160}-\u{11FF}\u{D7B0}-\u{D7FF}\u{FF61}-\u{FFDC}])"
  .. "[\\p{EPres}\\p{Han}\\p{Hangul}\\p{Hira}\\p{Kana}\\p{Bopo}\\p{Yi}\\p{Tang}"
  .. "\u{2E80}-\u{303E}\u{FE10}-\u{FE19}\u{FE30}-\u{FE6F}\u{FF00}-\u{FF60}\u{FFE0}-\u{FFE6}]")

local function columns_of(code)
  return code < 0x300 and 1 or is_mark(code) and 0 or is_wide(code) and 2 or 1
end

local SHORT = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local function escaped_byte(byte)
  return SHORT[byte] or ("\\x%02X"):format(byte:byte())
end

-- A run of bytes above 127: valid characters are kept or named, the rest is shown as bytes.
local function escaped_run(run)
  local out, at = {}, 1
  while at <= #run do
    local size = 1
    if not utf8.len(run, at, at) then
      out[#out + 1] = escaped_byte(run:sub(at, at))
    else
      local code = utf8.codepoint(run, at)
      size = #utf8.char(code)
      out[#out + 1] = is_hidden(code) and ("\\u{%X}"):format(code) or run:sub(at, at + size - 1)
    end
    at = at + size
  end
  return table.concat(out)
end

---The text on one line, with everything a terminal would obey shown as an escape.
---@param text string
---@return string
function M.escape(text)
  if is_plain(text) then
    return text
  end
  text = text:gsub("%c", escaped_byte)
  return (text:gsub("[\128-\255]+", escaped_run))
end

---The number of columns of an escaped text.
---@param text string
---@return integer
function M.width(text)
  if not text:find("[\128-\255]") then
    return #text
  end
  local columns = 0
  for _, code in utf8.codes(text) do
    columns = columns + columns_of(code)
  end
  return columns
end

---An escaped text cut to a number of columns; a cut one ends in "...".
---@param text string
---@param columns integer
---@return string
function M.cut(text, columns)
  if #text <= columns or M.width(text) <= columns then
    return text
  end
  local room, used, stop = math.max(0, columns - 3), 0, 1
  for at, code in utf8.codes(text) do
    local width = columns_of(code)
    if used + width > room then
      stop = at
      break
    end
    used = used + width
  end
  return text:sub(1, stop - 1) .. ("."):rep(math.min(3, columns))
end

---The lines of a text of many lines, each escaped.
---@param text string
---@return string[]
function M.lines(text)
  local list = {}
  for line in (text:gsub("\r?\n$", "") .. "\n"):gmatch("(.-)\r?\n") do
    list[#list + 1] = M.escape((line:gsub("\t", "  ")))
  end
  return list
end

---A duration for people: "12 ms", "1.4 s", "12 s", "3:07", "1:02:03".
---@param ms number
---@return string
function M.duration(ms)
  local seconds = ms / 1000
  if seconds < 1 then
    return ("%d ms"):format(ms // 1)
  elseif seconds < 10 then
    return ("%.1f s"):format(seconds)
  elseif seconds < 60 then
    return ("%d s"):format(seconds // 1)
  end
  local whole = math.tointeger(seconds // 1) --[[@as integer]]
  if whole < 3600 then
    return ("%d:%02d min"):format(whole // 60, whole % 60)
  end
  return ("%d:%02d:%02d h"):format(whole // 3600, whole // 60 % 60, whole % 60)
end

---Quotes a word so that a shell reads it back.
---@param word string
---@return string
function M.shell(word)
  if word:find("^[%w@%%+=:,./_-]+$") then
    return word
  end
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

---A path as people would type it here.
---@param path string
---@param current string  the folder they are in
---@return string
function M.path(path, current)
  if path:sub(1, #current + 1) == current .. "/" and #path > #current + 1 then
    return path:sub(#current + 2)
  end
  return path
end

return M
