-- document/generate/action.lua: phases/actions/<id>.md, one for each action (R39, R46-R52, R78, F14).
-- Pure. Called by generate.
local config_of = require "skillrt.document.generate.config"
local markdown = require "skillrt.document.generate.markdown"
local ordered = require "skillrt.document.generate.ordered"
local view = require "skillrt.document.generate.view"

local M = {}

-- What the document shows in sections of its own; everything else of an action is shown as settings.
local SHOWN = { id = 1, name = 1, description = 1, purpose = 1, preconditions = 1, effects = 1, priority = 1 }

local function settings_of(action, config)
  local settings, any = {}, false
  for key, value in pairs(action) do
    if not SHOWN[key] then
      settings[key], any = value, true
    end
  end
  for key, value in pairs(config_of.own(config, "actions", action.id)) do
    settings[key], any = value, true
  end
  return any and ordered.encode(settings, "entry") or false
end

---@param config skillrt.generate.Config
---@param shared table
---@param action table the action's view
---@return table
function M.data(config, shared, action)
  local settings = settings_of(action.source, config)
  return view.with(shared, { up = "../../", settings = settings, fence = settings and markdown.fence(settings) },
    action)
end

return M
