-- document/generate/findings.lua: what is wrong with a config: a list of errors and warnings, each with its key.
--
-- Knows nothing of what is checked. Called by generate.config and its parts.
local findings = require("skillrt.document.findings")

local M = {}

---@class skillrt.generate.Finding
---@field level "error"|"warning"
---@field code string e.g. "config.duplicate-id"
---@field key string the key it is about, e.g. "autonomous_config.actions[2].id"
---@field message string begins with the key and says what to do

---@class skillrt.generate.Findings
---@field [integer] skillrt.generate.Finding
local Findings

---@type fun(): skillrt.generate.Findings
M.new = nil
Findings, M.new = findings.class(function() return {} end)

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
  return self:told_errors(function(one)
    return one.message
  end)
end

return M
