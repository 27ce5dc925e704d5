-- run/runner/functions.lua: the functions of the host that a skill's agents call are there before it begins.
--
-- Knows the skill's agents, no run. Called by runner.lua.

local names = require("skillrt.base.names")

local M = {}

---@param skill skillrt.Skill
---@param known table<string, boolean>  the host's functions
---@return string? message  one is missing
function M.missing(skill, known)
  for _, agent in ipairs(names.sorted(skill.agents)) do
    for _, name in ipairs(skill.agents[agent]:functions()) do
      if known[name] == nil then
        return ('agent "%s" calls %s: %s'):format(agent, names.show(name), M.problem(name, known))
      end
    end
  end
  return nil
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

return M
