-- agent/person.lua: a person's own settings, $XDG_CONFIG_HOME/skillrt/config.lua or ~/.config/skillrt/config.lua:
-- which agent they use, agents by name, prices. Plain data: nothing in it is run.

local files = require("skillrt.base.files")
local lua_data = require("skillrt.base.lua_data")
local names = require("skillrt.base.names")
local prices = require("skillrt.agent.prices")

local M = {}

local MAX_FILE <const> = 1 << 20

local KNOWN = { agent = "table or string", agents = "table", prices = "table", agent_env = "table" }

---Where the settings lie; nil: there is no home.
---@return string?
function M.path()
  local base = os.getenv("XDG_CONFIG_HOME")
  if not base or base == "" then
    local home = os.getenv("HOME")
    base = home and home ~= "" and home .. "/.config" or nil
  end
  return base and base .. "/skillrt/config.lua"
end

local function check(value, path)
  if type(value) ~= "table" then
    return nil, path .. ': must hold a table, such as return { agent = "claude" }'
  end
  for _, key in ipairs(names.sorted(value)) do
    if not KNOWN[key] then
      return nil, ("%s: %s is not known%s"):format(path, names.show(key), names.suggest(tostring(key), KNOWN))
    elseif not KNOWN[key]:find(type(value[key]), 1, true) then
      return nil, ("%s: %s must be a %s, not %s"):format(path, key, KNOWN[key], names.show(value[key]))
    end
  end
  local wrong = value.prices and prices.check(value.prices, path)
  if wrong then
    return nil, wrong
  end
  return value
end

---@class skillrt.Person
---@field agent string|table|nil
---@field agents table<string, table>?
---@field prices table?
---@field agent_env string[]?

---The settings; empty where there is no such file.
---@return skillrt.Person|nil
---@return string? message
function M.read()
  local path = M.path()
  if not path or not files.stat(path) then
    return {}
  end
  local text, message = files.read(path, MAX_FILE)
  if not text then
    return nil, message
  end
  local value, why = lua_data.read(text)
  if why then
    return nil, ("%s: %s"):format(path, why)
  end
  return check(value, path)
end

return M
