-- run/runner/http.lua: where the module lies that sends HTTP tasks; libcurl is not in the program.
--
-- A skill that cannot do without it is refused before its first step where it is missing. It is
-- loaded with the first task that needs it. Knows the skill's agents, no run. Called by runner.lua.

local names = require("skillrt.base.names")

local M = {}

local function first_user(skill)
  for _, name in ipairs(names.sorted(skill.agents)) do
    if skill.agents[name]:needs_http() then
      return name
    end
  end
  return nil
end

local function places_of(cpath)
  local lines = {}
  for place in cpath:gmatch("[^;]*%?[^;]*") do
    lines[#lines + 1] = "looked for as " .. place:gsub("%?", "skillrt/http")
  end
  return table.concat(lines, "\n")
end

---@param skill skillrt.Skill
---@param given string|nil  its path, if somebody knows better
---@return string|nil path  nil without a message: there is none, and no agent needs it
---@return string? message
---@return string? code
function M.module(skill, given)
  local path = given or package.searchpath("skillrt.http", package.cpath)
  local user = first_user(skill)
  if not user then
    return path
  elseif not path then
    local message = 'skillrt/http.so: is missing, and agent "%s" needs it\n%s\n'
      .. "put lib/skillrt/http.so beside the program, or install skillrt (make install)"
    return nil, message:format(user, places_of(package.cpath)), "missing"
  end
  return path
end

return M
