-- document/load/findings.lua: what a loader has to say about what it read: each with a code, a level, a place,
-- what is the case, why it matters and what to do.
--
-- Knows nothing of what is read. Called by all of load/*; shown by cli/command/.
local findings = require("skillrt.document.findings")

local M = {}

---@class skillrt.load.Finding
---@field code string        e.g. "load.condition-unread"
---@field level "error"|"warning"|"note"
---@field file string        relative to the folder, or the path that was given
---@field line integer?
---@field what string
---@field why string?
---@field fix string?
---@field key string?        of a config: the key it is about

---@class skillrt.load.Findings
---@field [integer] skillrt.load.Finding
local Findings

---@type fun(): skillrt.load.Findings
M.new = nil
Findings, M.new = findings.class(function() return {} end)

-- Texts of others are shown on one line, without what a terminal would obey.
local function printable(text)
  local out = text:gsub("[%z\1-\31\127]+", " ")
  return utf8.len(out) and out or (out:gsub("[\128-\255]", "?"))
end

---@param level "error"|"warning"|"note"
---@param code string  without "load."; "config." where it is told of a config's keys
---@param place { file: string, line: integer? }
---@param told { what: string, why: string?, fix: string?, key: string? }
function Findings:add(level, code, place, told)
  self[#self + 1] = {
    code = code:find("%.") and code or "load." .. code,
    level = level,
    file = place.file,
    line = place.line,
    what = printable(told.what),
    why = told.why and printable(told.why),
    fix = told.fix and printable(told.fix),
    key = told.key,
  }
end

---@param place { file: string, line: integer? }
function Findings:error(code, place, what, why, fix)
  self:add("error", code, place, { what = what, why = why, fix = fix })
end

---@param place { file: string, line: integer? }
function Findings:warn(code, place, what, why, fix)
  self:add("warning", code, place, { what = what, why = why, fix = fix })
end

---@param place { file: string, line: integer? }
function Findings:note(code, place, what, why, fix)
  self:add("note", code, place, { what = what, why = why, fix = fix })
end

---Takes over what generate.config found, each with the place of its key.
---@param list skillrt.generate.Finding[]?
---@param place_of fun(key: string): { file: string, line: integer? }
function Findings:take(list, place_of)
  for _, one in ipairs(list or {}) do
    local place = place_of(one.key)
    self[#self + 1] = {
      code = one.code,
      level = one.level,
      file = place.file,
      line = place.line,
      what = printable(one.message),
      key = one.key,
    }
  end
end

---Makes notes of all findings of a code, as something else takes care of them.
---@param code string
---@param why string
function Findings:soften(code, why)
  for _, one in ipairs(self) do
    if one.code == code then
      one.level, one.why = "note", why
    end
  end
end

---Errors first, then by file and line.
function Findings:sort()
  table.move(self:sorted(), 1, #self, 1, self)
end

---A finding as people read it: "file:line: level: what; why; to do".
---@param one skillrt.load.Finding
---@return string
function M.text(one)
  local parts = { ("%s: %s"):format(one.level, one.what) }
  parts[#parts + 1] = one.why
  parts[#parts + 1] = one.fix
  local where = one.line and ("%s:%d"):format(one.file, one.line) or one.file
  return ("%s: %s [%s]"):format(where, table.concat(parts, "; "), one.code)
end

---All errors, one a line; nil when there are none.
---@return string?
function Findings:errors()
  return self:told_errors(M.text)
end

return M
