-- document/check/machine.lua: names in the documents of a state machine that nothing defines: what conditions compare,
-- what metrics count, what recoveries are returned for (F62, F63).
--
-- The table of documents is joined and judged by the loader, that of a script here. Called by check.
local codes = require "skillrt.document.check.codes"
local machine_check = require "skillrt.skill.machine_check"
local machine_of = require "skillrt.skill.machine"
local names = require "skillrt.base.names"
local tables = require "skillrt.base.tables"

local M = {}

local function words_of(data, out)
  for key, value in pairs(type(data) == "table" and data or {}) do
    if type(key) == "string" then
      out[key] = true
    end
    words_of(value, out)
  end
  return out
end

local PLAIN = tables.words [[in and or not true false null passed checks length context state includes some every
  undefined]]

---What a table that a script declares leads to: it is said of the line that names the action or the state.
---@param subject skillrt.check.Subject
---@param found skillrt.Findings
---@param place fun(text: string?, id: string?, kind: string?): skillrt.check.Place
function M.declared(subject, found, place)
  local given = subject.definition.machine
  local machine = not subject.machine and type(given) == "table" and machine_of.new(given)
  for _, one in ipairs(machine and machine_check.of(machine) or {}) do
    local code = "machine." .. one.code
    if codes.CODES[code] then -- what else there is the search finds
      local word = one.edge and one.edge.action or one.state and one.state.name
      found:add(code, place(word), one.message)
    end
  end
end

---@param subject skillrt.check.Subject
---@param found skillrt.Findings
function M.check(subject, found)
  local parts, known = subject.machine and subject.machine.parts or { data = false }, {}
  if parts.data then
    words_of(parts.data, known)
  end
  for _, one in ipairs(parts.data and parts.conditions or {}) do
    local missing = {}
    for name in one.text:gmatch "[%a_][%w_]*" do
      if not known[name] and not PLAIN[name] then
        missing[#missing + 1] = name
      end
    end
    if #missing > 0 then
      found:add("machine.undefined", one,
        ("%s reads %s, which the state does not hold"):format(one.name, table.concat(missing, ", ")))
    end
  end
  local metrics = parts.data and parts.data.metrics
  for _, one in ipairs(type(metrics) == "table" and parts.metrics or {}) do
    if metrics[one.name] == nil then
      found:add("machine.metric", one,
        ('the state file holds no "%s" (it has %s)'):format(one.name, table.concat(names.sorted(metrics), ", ")))
    end
  end
  local consumed, told = {}, {}
  for _, edge in ipairs(subject.machine and subject.machine.table.edges or {}) do
    consumed[edge.action] = true
  end
  for _, one in ipairs(parts.recoveries or {}) do
    if not consumed[one.name:lower()] and not told[one.name] then
      told[one.name] = true
      found:add("machine.recovery", one, ("the recovery %s is returned and consumed by nothing"):format(one.name))
    end
  end
end

return M
