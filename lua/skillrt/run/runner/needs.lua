-- run/runner/needs.lua: what a skill's agents need from this program: the module that sends HTTP requests, as libcurl
-- is not in the program, and functions of the host.
--
-- A skill is refused before its first step if something is missing. Knows the skill's agents, no run. Called by
-- runner.lua, turn/subs.lua and ctx.lua.

local names = require("skillrt.base.names")

local M = {}

local function places_of(cpath)
  local lines = {}
  for place in cpath:gmatch("[^;]*%?[^;]*") do
    lines[#lines + 1] = "looked for as " .. place:gsub("%?", "skillrt/http")
  end
  return table.concat(lines, "\n")
end

---Why a function cannot be called.
---@param name string
---@param known table<string, boolean>
---@return string
function M.problem(name, known)
  if next(known) == nil then
    return "it is a function of the program that embeds skillrt, and this one has none"
  end
  return "the host has no such function" .. names.suggest(name, known)
end

---The path of the module that sends HTTP requests, loaded with the first request; or what is missing.
---@param skill skillrt.Skill
---@param known table<string, boolean>  the host's functions
---@param given string|nil  the module's path, if the caller knows it
---@return string|nil path  nil without a message: there is none, and no agent needs it
---@return string? message
---@return string? code
function M.check(skill, known, given)
  local path = given or package.searchpath("skillrt.http", package.cpath)
  for _, name in ipairs(names.sorted(skill.agents)) do
    local agent = skill.agents[name]
    if not path and agent:needs_http() then
      local message = 'skillrt/http.so: is missing, and agent "%s" needs it\n%s\n'
        .. "put lib/skillrt/http.so next to the program, or install skillrt (make install)"
      return nil, message:format(name, places_of(package.cpath)), "missing"
    end
    for _, fn in ipairs(agent:functions()) do
      if known[fn] == nil then
        local message = '%s: agent "%s" calls %s: %s'
        return nil, message:format(skill.name, name, names.show(fn), M.problem(fn, known)), "missing"
      end
    end
  end
  return path
end

return M
