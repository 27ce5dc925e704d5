-- run/runner/specs.lua: the documents that a skill demands to be read before anything starts (Phase 0):
-- read whole, pinned with the run, and handed to its agents. No run starts without them (F15).
--
-- Knows no journal. Called by runner/prepare.lua.

local files = require("skillrt.base.files")
local outline = require("skillrt.base.outline")

local M = {}

local MAXIMUM = 4 << 20 -- bytes of one document

local function refused(skill, path, problem, code)
  local message = "%s: %s; %s demands it to be read before its first step: write it, or take it out of its specs"
  return nil, message:format(path, problem, skill.name), code
end

---Reads the specs and the config a skill was made from; their texts go to `keep`.
---@param skill skillrt.Skill
---@param keep fun(name: string, text: string)
---@return boolean|nil ok
---@return string? message
---@return string? code
function M.read(skill, keep)
  for _, path in ipairs(skill.specs or {}) do
    local there = files.join(skill.dir, path)
    local text, message, code = files.kept(skill.dir, path, MAXIMUM)
    if not text then
      local absent = not files.stat(there)
      return refused(skill, there, absent and "is missing" or message:sub(#there + 3), absent and "missing" or code)
    elseif not text:find("%S") then
      return refused(skill, there, "is empty", "invalid")
    elseif outline.is(text) then
      return refused(skill, there, "is an outline that nobody has filled in", "invalid")
    end
    keep(path, text)
  end
  if skill.config then
    local text, message, code = files.kept(files.dirname(skill.config), skill.config:match("[^/]+$"))
    if not text then
      return nil, message, code
    end
    keep(skill.config:match("[^/]+$"), text)
  end
  return true
end

return M
