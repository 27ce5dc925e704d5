-- document/open.lua: a skill from a path: what kind of thing lies there, and who reads it.
--
-- Knows who reads what, and no run.

local files = require("skillrt.base.files")
local script = require("skillrt.document.script")

local M = {}

---A skill from whatever lies at `path`.
---@param path string
---@param options skillrt.load.Options?  agents for what is no script
---@return skillrt.Skill|table|nil skill
---@return string? message
---@return string? code
---@return any more  findings about what was read, or a script's traceback
function M.load(path, options)
  if type(path) ~= "string" then
    error(("skillrt.load: the path must be a text, not %s"):format(path == nil and "nothing" or "a " .. type(path)), 2)
  end
  if path:find("%.m?js$") and files.stat(path) then
    local agent = options and options.agent and require("skillrt.document.load.config_agents").from_text(options.agent)
    return require("skillrt.skill.workflow").load(path, { agent = agent })
  end
  local info = files.stat(path)
  local ours = info and (files.is_folder(path) or path:find("%.[jm][sd]o?n?$") or path:find("%.ya?ml$"))
  if not ours and options and (options.agent or options.agents) then
    return require("skillrt.document.load").script(path, options)
  elseif not ours then
    return script.run(path, options and options.drawn)
  end
  return require("skillrt.document.load").load(path, options)
end

require("skillrt.skill").open = M.load

return M
