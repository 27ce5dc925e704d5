-- document/findings.lua: lists of findings: what is wrong with what was read, generated or checked. Each has a code,
-- a level, a place, the problem, why it matters and what to do. Counts, sorts and shows them.
--
-- Knows the codes, not what is read. Called by all of document/; shown by cli/command/.
local codes = require("skillrt.document.check.codes")
local names = require("skillrt.base.names")
local record = require("skillrt.base.record")

local M = {}

local MAX_LINES <const> = 20
local RANK <const> = { error = 1, warning = 2, note = 3 }

---@class skillrt.Finding
---@field code string        e.g. "load.condition-unread"; docs/reference/checks.md lists them
---@field level "error"|"warning"|"note"
---@field file string?       relative to the folder, or the path that was given
---@field line integer?
---@field key string?        of a config: the key it is about
---@field what string
---@field why string?
---@field fix string?
---@field steps string[]?    the shortest sequence of actions that shows it

---@class skillrt.Findings   a list of them, each once
---@field [integer] skillrt.Finding
local Findings = {}
Findings.__index = Findings

-- For each list: its findings, by their text.
local had = setmetatable({}, { __mode = "k" })

---@return skillrt.Findings
function M.new()
  return setmetatable({}, Findings)
end

-- Texts by others are shown on one line, escaped for a terminal.
local function printable(text)
  return (record.printable(text):gsub("[%z\1-\31\127]+", " "))
end

---@param code string
---@param place { file: string?, line: integer? }|string|nil  of a config: the key
---@param what string
---@param more { level: string?, why: string?, fix: string?, steps: string[]? }?  instead of what its code says
function Findings:add(code, place, what, more)
  local known, key = codes.CODES[code], type(place) == "string" and place or nil
  more, place = more or {}, key and {} or place or {}
  what = printable(key and ("%s: %s"):format(key, what) or what)
  self:take({
    code = code, level = more.level or known.level, file = place.file, line = place.line, key = key, what = what,
    why = more.why and printable(more.why), fix = more.fix and printable(more.fix), steps = more.steps,
  })
end

---Adds a finding of another list.
---@param one skillrt.Finding
function Findings:take(one)
  local said = table.concat({ one.code, one.file or "", one.line or 0, one.what }, "\0")
  had[self] = had[self] or {}
  if not had[self][said] then
    had[self][said] = true
    self[#self + 1] = one
  end
end

---Adds the findings of a config's reader, each with the place of its key.
---@param list skillrt.Finding[]?
---@param place_of fun(key: string): { file: string, line: integer? }, string?  and the key that the document has for it
function Findings:take_all(list, place_of)
  for _, one in ipairs(list or {}) do
    local place, own = place_of(one.key)
    if own and one.what:sub(1, #one.key) == one.key then
      one.what = own .. one.what:sub(#one.key + 1)
    end
    one.file, one.line = place.file, place.line
    self:take(one)
  end
end

-- Adds a loader's finding at a place, with why and fix if its code does not say them; or a generator's finding about
-- a key, with the values for its text.
local function add(self, level, code, place, what, ...)
  if type(place) == "string" then
    return self:add("config." .. code, place, select("#", ...) > 0 and what:format(...) or what, { level = level })
  end
  local why, fix = ...
  local known = codes.CODES["load." .. code] or {}
  self:add(code:find("%.") and code or "load." .. code, place, what, { level = level, why = why or known.why,
    fix = fix or known.fix })
end

---@param code string  without "load.", or "config." where the place is a key
---@param place { file: string, line: integer? }|string
---@param what string
---@param ... any  why and fix; with a key: the values for the text
function Findings:error(code, place, what, ...)
  add(self, "error", code, place, what, ...)
end

---As for error.
function Findings:warn(code, place, what, ...)
  add(self, "warning", code, place, what, ...)
end

---As for error.
function Findings:note(code, place, what, ...)
  add(self, "note", code, place, what, ...)
end

---@return { error: integer, warning: integer, note: integer }
function Findings:counts()
  local counts = { error = 0, warning = 0, note = 0 }
  for _, one in ipairs(self) do
    counts[one.level] = counts[one.level] + 1
  end
  return counts
end

---Sorts the list: errors first, then by file and line; otherwise the order stays.
---@param by_code boolean?  ... and by code before that
---@return skillrt.Findings self
function Findings:sort(by_code)
  local place = {}
  for i, one in ipairs(self) do
    place[one] = i
  end
  table.sort(self, function(a, b)
    if a.level ~= b.level then
      return RANK[a.level] < RANK[b.level]
    elseif (a.file or "") ~= (b.file or "") then
      return (a.file or "") < (b.file or "")
    elseif (a.line or 0) ~= (b.line or 0) then
      return (a.line or 0) < (b.line or 0)
    elseif by_code and a.code ~= b.code then
      return a.code < b.code
    end
    return place[a] < place[b]
  end)
  return self
end

---A finding as people read it: "file:line: level: what; why; to do".
---@param one skillrt.Finding
---@param is_brief boolean?  without why and what to do
---@return string
function M.text(one, is_brief)
  if one.key and not one.file then
    return one.what
  end
  local parts = { ("%s: %s"):format(one.level, one.what) }
  if not is_brief then
    parts[#parts + 1] = one.why
    parts[#parts + 1] = one.fix
  end
  local where = one.line and ("%s:%d"):format(one.file, one.line) or one.file
  return ("%s%s [%s]"):format(where == "." and "" or where .. ": ", table.concat(parts, "; "), one.code)
end

---All errors, one a line; nil when there are none.
---@return string?
function Findings:errors()
  local lines = {}
  for _, one in ipairs(self) do
    if one.level == "error" then
      lines[#lines + 1] = M.text(one)
    end
  end
  return #lines > 0 and names.lines(lines, MAX_LINES) or nil
end

return M
