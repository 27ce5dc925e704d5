-- mode/hybrid.lua: what choose() does in hybrid mode: leading phases, the loop, trailing phases.
--
-- Made of the other two; has no rules of its own but the order, and whether the trailing
-- phases still run when the loop failed. Called by policy.lua.

local autonomous = require("skillrt.mode.autonomous")
local sequential = require("skillrt.mode.sequential")

local M = {}

---@class skillrt.Hybrid
local Hybrid = {}
Hybrid.__index = Hybrid

---@param skill table  normal form; phases with trailing = true run after the loop
---@param ledger skillrt.Ledger
---@param files table
---@param ctx table
---@return skillrt.Hybrid
function M.new(skill, ledger, files, ctx)
  local before, after = {}, {}
  for _, phase in ipairs(skill.phases) do
    local part = phase.trailing and after or before
    part[#part + 1] = phase
  end
  return setmetatable({
    skill = skill,
    trails = #after > 0,
    ledger = ledger,
    before = sequential.new(skill, ledger, files, before),
    loop = autonomous.new(skill, ledger, ctx),
    after = sequential.new(skill, ledger, files, after),
  }, Hybrid)
end

---@return string kind
---@return any what
---@return string? why
---@return string? message
function Hybrid:choose()
  local kind, what, why, message = self.before:choose()
  if kind ~= "stop" or what ~= "completed" then
    return kind, what, why, message
  end
  local over = self.ledger.loop_end
  if not over then
    local loop_kind, status, reason, text = self.loop:choose()
    if loop_kind ~= "stop" then
      return loop_kind, status, reason, text
    end
    local failed = status ~= "completed"
    if status == "paused" or (failed and self.skill.on_loop_failed ~= "run_finalize") or not self.trails then
      return "stop", status, reason, text
    end
    return "loop", status, reason, text -- recorded: what trailing phases change does not reopen it
  end
  kind, what, why, message = self.after:choose()
  if kind ~= "stop" or what ~= "completed" then
    return kind, what, why, message
  end
  return "stop", over.status, over.reason, over.message
end

function Hybrid:finished(id)
  self.loop:finished(id)
end

---@param id string
---@return table|nil definition
---@return string kind
function Hybrid:find(id)
  local one = self.before:find(id) or self.after:find(id)
  if one then
    return one, "phase"
  end
  return self.loop:find(id)
end

return M
