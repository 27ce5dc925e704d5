-- document/findings.lua: lists of findings, whoever collects them: the loader, the generator, a check. Counted,
-- put in order, and told.
--
-- Knows levels and places, no codes: what a finding says give the collectors, which are classes over this one.
local names = require("skillrt.base.names")

local M = {}

local MAX_TOLD <const> = 20
local RANK <const> = { error = 1, warning = 2, note = 3 }

---@class skillrt.Findings  a list; each finding has at least a level
local Findings = {}

---A class of lists of findings, with methods of its own to add to it.
---@param fields fun(): table  what a new list holds besides
---@return table class
---@return fun(): table new
function M.class(fields)
  local class = setmetatable({}, { __index = Findings })
  class.__index = class
  return class, function()
    return setmetatable(fields(), class)
  end
end

---@param level "error"|"warning"|"note"
---@return integer
function Findings:count(level)
  local count = 0
  for _, one in ipairs(self) do
    count = count + (one.level == level and 1 or 0)
  end
  return count
end

---@return { error: integer, warning: integer, note: integer }
function Findings:counts()
  return { error = self:count("error"), warning = self:count("warning"), note = self:count("note") }
end

---A list in order: errors first, then by file and line, and by code if wanted; what came first stays first.
---@param by_code boolean?
---@return table[]
function Findings:sorted(by_code)
  local list, place = table.move(self, 1, #self, 1, {}), {}
  for i, one in ipairs(list) do
    place[one] = i
  end
  table.sort(list, function(a, b)
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
  return list
end

---All errors, one a line; nil when there are none.
---@param text_of fun(finding: table): string
---@return string?
function Findings:told_errors(text_of)
  local lines = {}
  for _, one in ipairs(self) do
    if one.level == "error" then
      lines[#lines + 1] = text_of(one)
    end
  end
  return #lines > 0 and names.lines(lines, MAX_TOLD) or nil
end

return M
