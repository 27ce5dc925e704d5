-- document/open.lua: a skill from a path: what kind of thing lies there, and who reads it.
--
-- Knows who reads what, and no run.

local files = require("skillrt.base.files")
local script = require("skillrt.document.script")
local is_skill = require("skillrt.skill").is

local M = {}

---What kind of thing lies at a path, for whoever runs, checks or shows it.
---@param path string
---@return "workflow"|"document"|"script" kind
function M.kind(path)
  local is_there, is_folder = files.stat(path) ~= nil, files.is_folder(path)
  if is_there and not is_folder and path:find("%.m?js$") then
    return "workflow"
  end
  local by_name = path:find("%.[jm][sd]o?n?$") or path:find("%.ya?ml$")
  return is_there and (is_folder or by_name) and "document" or "script"
end

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
  local kind = M.kind(path)
  if kind == "workflow" then
    local agent = options and options.agent and require("skillrt.agent.choice").of(options.agent)
    return require("skillrt.skill.workflow").load(path, { agent = agent })
  end
  if kind == "script" and options and (options.agent or options.agents) then
    return require("skillrt.document.load").script(path, options)
  elseif kind == "script" then
    return script.run(path, options and options.drawn)
  end
  local skill, message, code, more = require("skillrt.document.load").load(path, options)
  if is_skill(skill) then
    skill.folder = path -- what was named: a run is resumed only where that may be loaded
  end
  return skill, message, code, more
end

require("skillrt.skill").open = M.load

return M
