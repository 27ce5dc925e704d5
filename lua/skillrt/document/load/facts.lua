-- document/load/facts.lua: what readers found in documents, before anything is decided: facts about a thing, with a
-- value, a weight and a place. The weightiest fact about a thing counts; a difference is reported once.
--
-- Knows no documents and no skills. Called by the readers of load/ and by their resolver.
local names = require "skillrt.base.names"

local M = {}

---@class skillrt.load.Fact
---@field value any
---@field weight integer
---@field at { file: string, line: integer? }

---@class skillrt.load.Facts
local Facts = {}
Facts.__index = Facts

---@return skillrt.load.Facts
function M.new()
  return setmetatable({ by = {} }, Facts)
end

---@param about any     the thing: an action's id, a phase's position
---@param says string   which property of it
---@param value any     nil adds nothing
---@param weight integer
---@param at { file: string, line: integer? }
function Facts:add(about, says, value, weight, at)
  if value == nil then
    return
  end
  local of = self.by[about] or {}
  self.by[about], of[says] = of, of[says] or {}
  local list, i = of[says], 1
  while list[i] and list[i].weight >= weight do
    i = i + 1
  end
  table.insert(list, i, { value = value, weight = weight, at = at })
end

---All facts of one kind about a thing, the weightiest first.
---@param about any
---@param says string
---@return skillrt.load.Fact[]
function Facts:all(about, says)
  return self.by[about] and self.by[about][says] or {}
end

---@param about any
---@param says string
---@return any value
---@return skillrt.load.Fact?
function Facts:best(about, says)
  local one = self:all(about, says)[1]
  return one and one.value, one
end

---Reports each fact that differs from the weightiest.
---@param about any
---@param says string
---@param name string  the thing's name in findings
---@param found skillrt.Findings
---@param how { code: string, agree: function, show: function }?  for facts that are no texts: whether two of them
---  agree, and how a value is shown
function Facts:tell(about, says, name, found, how)
  local list, show = self:all(about, says), how and how.show or names.show
  local best = list[1]
  for i = 2, #list do
    local other = list[i]
    local same = how and how.agree(best, other) or not how and other.value == best.value
    if not same then
      local what = ("%s: its %s here: %s; but %s:%d has %s"):format(name, says, show(other.value), best.at.file,
        best.at.line or 1, show(best.value))
      found:warn(how and how.code or "fact-differs", other.at, what, ("%s is what runs"):format(best.at.file),
        "say it in one place, or the same in both")
    end
  end
end

return M
