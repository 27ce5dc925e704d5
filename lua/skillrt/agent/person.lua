-- agent/person.lua: a person's own settings, $XDG_CONFIG_HOME/skillrt/config.json or ~/.config/skillrt/config.json:
-- which agent they use, agents by name, models, prices.

local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local prices = require("skillrt.agent.prices")
local schema = require("skillrt.skill.schema")

local M = {}

local MAX_FILE <const> = 1 << 20

local FIELDS <const> = {
  agent = { type = { "text", "table" } },
  agents = { type = "table" },
  prices = { type = "table" },
  models = { type = "table", map = true },
  agent_env = { type = "text", list = true },
}

---Where the settings lie; nil: there is no home.
---@return string?
function M.path()
  local base = files.config_home()
  return base and base .. "/config.json"
end

---The settings; empty where there is no such file.
---@return table|nil settings
---@return string? message
function M.read()
  local path = M.path()
  if not path then
    return {}
  end
  local text, message, code = files.read(path, MAX_FILE)
  if code == "missing" then
    return {}
  elseif not text then
    return nil, message
  end
  local value, why = json.decode(text)
  if value == nil then
    return nil, ("%s: %s"):format(path, why)
  end
  value, message = schema.record(value, FIELDS, path)
  message = message or value.prices and prices.check(value.prices, path)
  return not message and value or nil, message
end

return M
