-- report/text.lua: untrusted text made safe for a terminal, and measured in columns.
--
-- Whatever an agent, a file name or an error says is shown, never obeyed: control characters,
-- ESC, C1, bidi controls and broken UTF-8 become visible escapes. Knows no terminal. Called by
-- whatever prints.

local M = {}

-- Characters that change how the text around them is shown, or that cannot be seen.
local HIDDEN = {
  { 0x7F, 0x9F }, -- DEL, C1
  { 0xAD, 0xAD }, -- soft hyphen
  { 0x34F, 0x34F }, -- a joiner of marks
  { 0x61C, 0x61C }, -- Arabic letter mark
  { 0x115F, 0x1160 }, -- letters that are blank, here and below
  { 0x17B4, 0x17B5 },
  { 0x180B, 0x180F },
  { 0x200B, 0x200F }, -- zero width, left-to-right and right-to-left marks
  { 0x2028, 0x202E }, -- line and paragraph separators, bidi embeddings and overrides
  { 0x2060, 0x206F }, -- word joiner, bidi isolates
  { 0x2800, 0x2800 },
  { 0x3164, 0x3164 },
  { 0xFEFF, 0xFEFF },
  { 0xFFA0, 0xFFA0 },
  { 0xFFF9, 0xFFFB },
  { 0x1D173, 0x1D17A },
  { 0xE0000, 0xE0FFF }, -- tags, invisible selectors
}

-- Two columns: East Asian wide and fullwidth, emoji.
local WIDE = {
  { 0x1100, 0x115F },
  { 0x231A, 0x231B },
  { 0x2329, 0x232A },
  { 0x23E9, 0x23EC },
  { 0x23F0, 0x23F0 },
  { 0x23F3, 0x23F3 },
  { 0x25FD, 0x25FE },
  { 0x2614, 0x2615 },
  { 0x2648, 0x2653 },
  { 0x267F, 0x267F },
  { 0x2693, 0x2693 },
  { 0x26A1, 0x26A1 },
  { 0x26AA, 0x26AB },
  { 0x26BD, 0x26BE },
  { 0x26C4, 0x26C5 },
  { 0x26CE, 0x26CE },
  { 0x26D4, 0x26D4 },
  { 0x26EA, 0x26EA },
  { 0x26F2, 0x26F3 },
  { 0x26F5, 0x26F5 },
  { 0x26FA, 0x26FA },
  { 0x26FD, 0x26FD },
  { 0x2705, 0x2705 },
  { 0x270A, 0x270B },
  { 0x2728, 0x2728 },
  { 0x274C, 0x274C },
  { 0x274E, 0x274E },
  { 0x2753, 0x2755 },
  { 0x2757, 0x2757 },
  { 0x2795, 0x2797 },
  { 0x27B0, 0x27B0 },
  { 0x27BF, 0x27BF },
  { 0x2B1B, 0x2B1C },
  { 0x2B50, 0x2B50 },
  { 0x2B55, 0x2B55 },
  { 0x2E80, 0x303E },
  { 0x3041, 0x33FF },
  { 0x3400, 0x4DBF },
  { 0x4E00, 0xA4CF },
  { 0xA960, 0xA97F },
  { 0xAC00, 0xD7A3 },
  { 0xF900, 0xFAFF },
  { 0xFE10, 0xFE19 },
  { 0xFE30, 0xFE6F },
  { 0xFF00, 0xFF60 },
  { 0xFFE0, 0xFFE6 },
  { 0x16FE0, 0x18CFF },
  { 0x1AFF0, 0x1B2FF },
  { 0x1F004, 0x1F004 },
  { 0x1F0CF, 0x1F0CF },
  { 0x1F18E, 0x1F18E },
  { 0x1F191, 0x1F19A },
  { 0x1F1E6, 0x1F320 },
  { 0x1F32D, 0x1F64F },
  { 0x1F680, 0x1F6FF },
  { 0x1F7E0, 0x1F7EB },
  { 0x1F90C, 0x1FAFF },
  { 0x20000, 0x3FFFD },
}

-- No column: marks that stand on the character before them.
local ZERO = {
  { 0x300, 0x36F },
  { 0x483, 0x489 },
  { 0x591, 0x5BD },
  { 0x610, 0x61A },
  { 0x64B, 0x65F },
  { 0x6D6, 0x6DC },
  { 0x900, 0x902 },
  { 0x93C, 0x93C },
  { 0x941, 0x948 },
  { 0x94D, 0x94D },
  { 0xE31, 0xE31 },
  { 0xE34, 0xE3A },
  { 0xE47, 0xE4E },
  { 0x1AB0, 0x1AFF },
  { 0x1DC0, 0x1DFF },
  { 0x20D0, 0x20FF },
  { 0xFE00, 0xFE0F },
  { 0xFE20, 0xFE2F },
}

local function within(ranges, code)
  local low, high = 1, #ranges
  while low <= high do
    local middle = (low + high) // 2
    local range = ranges[middle]
    if code < range[1] then
      high = middle - 1
    elseif code > range[2] then
      low = middle + 1
    else
      return true
    end
  end
  return false
end

local SHORT = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local function escaped_byte(byte)
  return SHORT[byte] or ("\\x%02X"):format(byte:byte())
end

-- One run of bytes above 127: whole characters are kept or named, the rest shown as bytes.
local function escaped_run(run)
  local out, at = {}, 1
  while at <= #run do
    local size = 1
    if not utf8.len(run, at, at) then
      out[#out + 1] = escaped_byte(run:sub(at, at))
    else
      local code = utf8.codepoint(run, at)
      size = #utf8.char(code)
      out[#out + 1] = within(HIDDEN, code) and ("\\u{%X}"):format(code) or run:sub(at, at + size - 1)
    end
    at = at + size
  end
  return table.concat(out)
end

---The text on one line, with everything a terminal would obey shown as an escape.
---@param text string
---@return string
function M.escape(text)
  if not text:find("[%c\127-\255]") then
    return text
  end
  text = text:gsub("%c", escaped_byte)
  return (text:gsub("[\128-\255]+", escaped_run))
end

---The columns an escaped text takes.
---@param text string
---@return integer
function M.width(text)
  if not text:find("[\128-\255]") then
    return #text
  end
  local columns = 0
  for _, code in utf8.codes(text) do
    if code < 0x300 then
      columns = columns + 1
    elseif not within(ZERO, code) then
      columns = columns + (within(WIDE, code) and 2 or 1)
    end
  end
  return columns
end

---An escaped text cut to so many columns; what was cut ends in "...".
---@param text string
---@param columns integer
---@return string
function M.cut(text, columns)
  if #text <= columns or M.width(text) <= columns then
    return text
  end
  local room, used, stop = math.max(0, columns - 3), 0, 1
  for at, code in utf8.codes(text) do
    local width = (code >= 0x300 and within(ZERO, code)) and 0 or (within(WIDE, code) and 2 or 1)
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

---A word as a shell reads it back.
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
