-- base/names.lua: names that people write: safe ids and paths (F13), the nearest known name to a misspelt one, and a
-- value as messages show it.
--
-- Knows nothing of skills or files. Called by schema.lua and whoever suggests "did you mean".

local core = require("skillrt.core")
local cut = require("skillrt.base.text").cut

local M = {}

local MAX_SHOWN = 60

---A value as messages show it: short, on one line, printable.
---@param value any
---@return string
function M.show(value)
  local kind = type(value)
  if kind == "string" then
    local text = value:gsub("[%c\127]", function(c)
      return c == "\n" and "\\n" or c == "\0" and "\\0" or ("\\x%02X"):format(c:byte())
    end)
    return '"' .. cut(text, MAX_SHOWN) .. '"'
  elseif kind == "number" or kind == "boolean" then
    return tostring(value)
  elseif kind == "nil" then
    return "nothing"
  end
  return "a " .. kind
end

---An error's value as text: a text itself, a table's message, else its tostring. A metatable that raises, loops or
---gives no text does no harm.
---@param value any
---@return string
function M.said(value)
  if type(value) == "string" then
    return value
  end
  local message = type(value) == "table" and rawget(value, "message")
  if type(message) == "string" then
    return message
  end
  local meta = debug.getmetatable(value)
  if meta and rawget(meta, "__tostring") ~= nil then
    local ok, text = pcall(tostring, value)
    return ok and text or M.show(value)
  end
  return M.show(value)
end

-- Edit distance; swapped neighbours count once; `most` where it is not below that. Cells `most` or more off the
-- diagonal are at least that far, so only a band is computed.
---@param a integer[]  bytes
---@param b integer[]
---@param most integer
---@return integer
local function distance(a, b, most)
  local before, last, row = {}, {}, {}
  for j = 0, #b do
    last[j] = j
  end
  for i = 1, #a do
    local byte, above = a[i], a[i - 1]
    local from, to = math.max(1, i - most), math.min(#b, i + most)
    local left = from == 1 and i or most
    local least = left
    row[from - 1] = left
    for j = from, to do
      local there = b[j]
      local best = (last[j - 1] or most) + (byte == there and 0 or 1)
      local up = (last[j] or most) + 1
      best = up < best and up or best
      best = left + 1 < best and left + 1 or best
      if i > 1 and j > 1 and byte == b[j - 1] and above == there and (before[j - 2] or most) + 1 < best then
        best = before[j - 2] + 1
      end
      row[j], left = best, best
      least = best < least and best or least
    end
    row[to + 1] = nil
    if least >= most then
      return most
    end
    before, last, row = last, row, before
  end
  return math.min(last[#b], most)
end

---The names of a list, or the keys of a table, sorted.
---@param names string[]|table<string, any>
---@return string[]
function M.sorted(names)
  local keys = {}
  for key, value in next, names do
    local name = math.type(key) == "integer" and value or key
    keys[#keys + 1] = type(name) == "string" and name or M.show(name)
  end
  table.sort(keys)
  return keys
end

---Joins items to one text, with a count of those after the first `most`.
---@param items (string|integer)[]
---@param most integer
---@param between? string  ", " where nothing is said
---@return string
function M.listed(items, most, between)
  between = between or ", "
  local text = table.concat(items, between, 1, math.min(#items, most))
  return #items > most and ("%s%sand %d more"):format(text, between, #items - most) or text
end

---Joins lines to one text, with a count of those after the first `most`.
---@param lines string[]
---@param most integer
---@return string
function M.lines(lines, most)
  return M.listed(lines, most, "\n")
end

---The known name a person most likely meant.
---@param name string
---@param names string[]|table<string, any>  a list of names, or a table keyed by them
---@return string?
function M.nearest(name, names)
  if name == "" or #name > 64 then
    return nil
  end
  local best, least = nil, math.max(1, #name // 3) + 1
  local bytes = { name:lower():byte(1, -1) }
  for _, known in ipairs(M.sorted(names)) do
    if known ~= "" and math.abs(#known - #name) < least then
      local most = math.min(least, math.max(1, #known // 3) + 1)
      local away = distance(bytes, { known:lower():byte(1, -1) }, most)
      if away < most then
        best, least = known, away
      end
    end
  end
  return best
end

---A suggestion to add after an unknown name: the nearest known one, if one is near.
---@param name any
---@param names string[]|table<string, any>
---@return string  begins with a blank, or is empty
function M.meant(name, names)
  local near = type(name) == "string" and M.nearest(name, names)
  return near and (" (did you mean %s?)"):format(M.show(near)) or ""
end

---A suggestion to add after an unknown name: the nearest known one, else all known ones.
---@param name any
---@param names string[]|table<string, any>
---@return string  begins with a blank
function M.suggest(name, names)
  local near = type(name) == "string" and M.nearest(name, names)
  if near then
    return (' (did you mean "%s"?)'):format(near)
  end
  local all = M.sorted(names)
  if #all == 0 then
    return " (there are none)"
  end
  return (" (there are: %s)"):format(M.listed(all, 30))
end

-- Views in the run's directory: no script and no phase's output may replace them. The store knows the run's other
-- files.
local VIEWS = { ["state.json"] = true, ["execution-state.json"] = true, context = true, sub = true }

-- What file systems ignore in a name: HFS+ some characters, NTFS blanks and dots at the end and everything after a
-- colon.
local IGNORED <const> = { "\u{200B}", "\u{200C}", "\u{200D}", "\u{200E}", "\u{200F}", "\u{FEFF}" }
for code = 0x202A, 0x202E do
  IGNORED[#IGNORED + 1] = utf8.char(code)
end
for code = 0x206A, 0x206F do
  IGNORED[#IGNORED + 1] = utf8.char(code)
end

---Whether a path leads into what git takes for a repository, on any file system (following git's own checks).
---@param path string
---@return boolean
function M.is_git(path)
  for name in path:gmatch("[^/\\]+") do
    local part = name
    for _, ignored in ipairs(IGNORED) do
      part = part:gsub(ignored, "")
    end
    part = part:gsub(":.*$", ""):gsub("[ .]+$", ""):lower()
    if part == ".git" or part == "git~1" then
      return true
    end
  end
  return false
end

---Whether a confined path below the work directory is one of the run's own files.
---@param path string
---@return boolean
function M.is_taken(path)
  local first = path
  for part in path:gmatch("[^/]+") do
    if part ~= "." then
      first = part
      break
    end
  end
  return VIEWS[first] or core.is_own_name(first)
end

---Normalizes a path that stays inside its folder: without "." and doubled slashes (F13).
---@param path any
---@return string? path
---@return string? problem
function M.confined(path)
  if type(path) ~= "string" or path == "" then
    return nil, "must be a path relative to its folder, not " .. M.show(path)
  elseif path:find("[%c\127]") then
    return nil, ("must be a path without control characters, not %s"):format(M.show(path))
  elseif path:sub(1, 1) == "/" then
    return nil, ("must not be absolute: write %s relative to its folder"):format(M.show(path))
  elseif #path > 1024 then
    return nil, "must be a path of at most 1024 bytes"
  end
  local parts = {}
  for part in path:gmatch("[^/]+") do
    if part == ".." then
      return nil, ('must not hold "..": %s would leave its folder'):format(M.show(path))
    elseif #part > 255 then
      return nil, "must be a path with names of at most 255 bytes"
    elseif part ~= "." then
      parts[#parts + 1] = part
    end
  end
  if #parts == 0 or path:sub(-1) == "/" then
    return nil, ("must name a file, not %s"):format(M.show(path))
  end
  return table.concat(parts, "/")
end

---The maximal number of characters of an id.
M.MAX_ID = 64

---Checks a name for use in paths, records and on the terminal (F13).
---@param value any
---@return string? id
---@return string? problem
function M.id(value)
  if type(value) ~= "string" then
    return nil, "must be a text such as \"collect-files\", not " .. M.show(value)
  elseif #value > M.MAX_ID then
    return nil, ("must be at most %d characters long, not %d"):format(M.MAX_ID, #value)
  elseif not value:find("^[A-Za-z0-9][A-Za-z0-9._-]*$") or value:find("..", 1, true) then
    return nil,
      ("must be letters, digits, '.', '_' and '-', begin with a letter or digit and hold no \"..\", not %s"):format(
        M.show(value)
      )
  end
  return value
end

---Whether a text may name a run, a queue or a limit, which are parts of paths and lines.
---@param text any
---@return boolean
function M.is_label(text)
  return type(text) == "string" and #text <= 64 and text:find("^[%w_-][%w._-]*$") ~= nil
end

---An id for a new run: the time in UTC, and what tells it from others of that second.
---@return string
function M.new_run()
  return ("%s-%s"):format(os.date("!%Y%m%d-%H%M%S", core.wall_ms() // 1000), core.uuid():sub(1, 6))
end

---Why a text is no name of an event; nil: it is one.
---@param name any
---@return string?
function M.problem_of_event(name)
  if type(name) ~= "string" or not name:find("^[%w_][%w_.:/-]*$") or #name > 200 then
    return ("%s is not a valid event name: use letters and digits, after the first also _ . : / -"):format(M.show(name))
  end
end

---How the event begins by which a run tells another one that it has ended: no name that anybody else may give.
M.OF_RUN = "@run:"

---What is waited for, in words: "event built", "run child-1".
---@param event string
---@return string
function M.awaited(event)
  local is_run = event:sub(1, #M.OF_RUN) == M.OF_RUN
  return is_run and "run " .. event:sub(#M.OF_RUN + 1) or "event " .. event
end

return M
