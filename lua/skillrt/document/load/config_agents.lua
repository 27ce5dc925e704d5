-- document/load/config_agents.lua: finds the agent of steps that a config leaves to "universal-executor", a model or
-- another type: in the caller's agents, in x_skillrt.agents, in the environment, or as x_skillrt.agent (F47).
--
-- Starts nothing. Called by load.config only.
local choice = require "skillrt.agent.choice"
local drawn = require "skillrt.base.drawn"
local config_of = require "skillrt.document.generate.config"
local names = require "skillrt.base.names"
local tables = require "skillrt.base.tables"

local M = {}

-- The agents of whoever loads the script that is being loaded. What the script loads uses them if it names none
-- itself, and may be loaded without any: only a run needs them.
---@return table<string, table>|nil
local function ambient()
  local loading = drawn.loading
  return loading and loading.agents
end

local Agents = {}
Agents.__index = Agents

---The agent chosen for all steps (by --agent) while a script is loaded; nil: none was.
---@return table?
function M.chosen()
  return (ambient() or {})["*"]
end

-- An agent that a document declares: its program gets what is granted.
local function of_document(agent)
  agent = tables.fill({}, choice.of(agent))
  agent.sandbox_default = agent.kind == "command" and "strict" or nil
  local links = {}
  for i, link in ipairs(tables.object(agent.links)) do
    links[i] = of_document(link)
  end
  agent.links = agent.links and links
  return agent
end

---@param config skillrt.generate.Config
---@param options skillrt.load.ConfigOptions
function M.new(config, options)
  local own = {}
  for name, agent in pairs(tables.object(config.x_skillrt.agents)) do
    own[name] = type(agent) == "table" and of_document(agent) or agent
  end
  return setmetatable({
    own = config.x_skillrt.agent and of_document(config.x_skillrt.agent),
    given = { options.agents or {}, own, ambient() or {} },
    required = options.agents_required ~= false and not ambient(),
    folder = options.folder,
    found = {},
    missing = {},
  }, Agents)
end

local function absent(name)
  return {
    kind = "lua",
    run = function()
      error(("agent %s: is not configured"):format(names.show(name)), 0)
    end,
  }
end

-- A name that is declared once for all steps that ask for the same agent.
function Agents:need(name, more)
  local id = name:gsub("[^%w._-]", "-"):gsub("^[^%w]", "x"):gsub("%.%.+", "."):sub(1, names.MAX_ID)
  if not self.found[id] then
    local agent, problem = choice.of_step({ name, more }, self.given, self.own, self.folder)
    if not agent then
      self.missing[#self.missing + 1] = problem and ("%s (%s)"):format(name, problem) or name
    end
    self.found[id] = agent or absent(name)
  end
  return id
end

-- A model with others to fall back on is a chain of them (F47).
local function chain_id(self, first, fallback)
  local ids, links = {}, {}
  for _, tool in ipairs { first, table.unpack(fallback) } do
    if not ids[tool] then
      ids[tool] = true
      ids[#ids + 1] = self:need(tool, "llm")
      links[#links + 1] = self.found[ids[#ids]]
    end
  end
  if #ids == 1 then
    return ids[1]
  end
  local id = table.concat(ids, "."):sub(1, names.MAX_ID)
  self.found[id] = { kind = "chain", links = links }
  return id
end

function Agents:of_phase(phase)
  local agent = phase.agent
  if agent.type == "llm" and agent.tool then
    return chain_id(self, agent.tool, agent.fallback_chain or {})
  end
  return self:need(agent.type)
end

function Agents:of_action(action)
  return self:of_phase { agent = config_of.agent(action) }
end

---All agents the steps asked for.
---@return table<string, table>? agents
---@return string|string[]|nil missing  the message; or, if agents may be missing, their names
function Agents:all()
  table.sort(self.missing)
  if self.required and #self.missing > 0 then
    local message = 'no agent is configured for %s: give it in agents = { ["%s"] = ... }, '
      .. "in x_skillrt.agent or .agents of the config, by skillrt run --agent, or set %s to a program or an address"
    return nil, message:format(table.concat(self.missing, ", "), self.missing[1], choice.VARIABLE)
  end
  return self.found, #self.missing > 0 and self.missing or nil
end

---The agents of a definition whose steps all name the same agent.
---@param name string
---@param agents table<string, table>?
---@return table<string, table> agents
---@return string[]? missing
function M.only(name, agents)
  local own = M.new({ x_skillrt = {} }, { agents = agents, agents_required = false })
  own:need(name)
  return own:all()
end

return M
