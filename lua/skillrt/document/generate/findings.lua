-- document/generate/findings.lua: what is wrong with a config: a list of errors and warnings, each with its key.
--
-- Knows nothing of what is checked. Called by generate.config and its parts.
local names = require("skillrt.base.names")

local M = {}

local MAX_TOLD <const> = 20

---@class skillrt.generate.Finding
---@field level "error"|"warning"
---@field code string e.g. "config.duplicate-id"
---@field key string the key it is about, e.g. "autonomous_config.actions[2].id"
---@field message string begins with the key and says what to do

---@class skillrt.generate.Findings
---@field [integer] skillrt.generate.Finding
local Findings = {}
Findings.__index = Findings

---@return skillrt.generate.Findings
function M.new()
  return setmetatable({}, Findings)
end

local function add(self, level, code, key, message, ...)
  local text = select("#", ...) > 0 and message:format(...) or message
  self[#self + 1] = { level = level, code = code, key = key, message = key .. ": " .. text }
end

---@param code string
---@param key string
---@param message string
function Findings:error(code, key, message, ...)
  add(self, "error", "config." .. code, key, message, ...)
end

---@param code string
---@param key string
---@param message string
function Findings:warn(code, key, message, ...)
  add(self, "warning", "config." .. code, key, message, ...)
end

---The messages of all errors, or nil when there are none.
---@return string?
function Findings:errors()
  local lines = {}
  for _, finding in ipairs(self) do
    if finding.level == "error" then
      lines[#lines + 1] = finding.message
    end
  end
  return #lines > 0 and names.lines(lines, MAX_TOLD) or nil
end

return M
