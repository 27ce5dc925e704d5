-- document/check/found.lua: what a check found: a list of findings, each with code, place, what, why and fix.
--
-- Knows the codes, not the checks. Called by document/check/init.lua, document/graph/init.lua and
-- document/simulate.lua.
local codes = require "skillrt.document.check.codes"
local findings = require "skillrt.document.findings"
local taken = require "skillrt.document.check.taken"

local M = {}

---@class skillrt.check.Finding
---@field code string    e.g. "reach.blocked"; docs/checks.md lists them
---@field level "error"|"warning"|"note"
---@field file string?   relative to what was checked, or the path that was given
---@field line integer?
---@field what string    what is wrong
---@field why string     what happens when nobody mends it
---@field fix string     what to do
---@field steps string[]?  the shortest sequence of actions that shows it

---@class skillrt.check.Place
---@field file string?
---@field line integer?

---@class skillrt.check.Found
---@field [integer] skillrt.check.Finding
local Found

---@type fun(): skillrt.check.Found
M.new = nil
Found, M.new = findings.class(function() return { seen = {} } end)

---Adds a finding; one that is there already is left out.
---@param code string
---@param place skillrt.check.Place?
---@param what string
---@param more { why: string?, fix: string?, level: string?, steps: string[]? }?
function Found:add(code, place, what, more)
  local known = codes.CODES[code]
  if not known then
    error("no such code: " .. tostring(code), 2)
  end
  more, place = more or {}, place or {}
  local key = table.concat({ code, place.file or "", place.line or 0, what }, "\0")
  if self.seen[key] then
    return
  end
  self.seen[key] = true
  self[#self + 1] = {
    code = code,
    level = more.level or known.level,
    file = place.file,
    line = place.line,
    what = what,
    why = more.why or known.why,
    fix = more.fix or known.fix,
    steps = more.steps,
  }
end

---Takes over a finding of the loader or the generator, with its own code.
---@param finding skillrt.check.Finding
function Found:take(finding)
  local key = table.concat({ finding.code, finding.file or "", finding.line or 0, finding.what }, "\0")
  if not self.seen[key] then
    self.seen[key] = true
    taken.fill(finding)
    self[#self + 1] = finding
  end
end

return M
