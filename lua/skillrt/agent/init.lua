-- agent/init.lua: the kinds of agents, which perform all steps that are not functions of the script; each kind is a
-- file in kind/. Also makes an agent from what an author wrote.
--
-- A script's constructors, skillrt.agent.<kind>, are made of the same files. Knows nothing of runs, journals or modes.

local files = require("skillrt.base.files")
local names = require("skillrt.base.names")
local tables = require("skillrt.base.tables")

---@class skillrt.agent
local M = {}

---The kinds of agents by name.
---@type table<string, boolean>
M.KINDS = {}
for _, path in ipairs(files.assets("lua/skillrt/agent/kind/")) do
  M.KINDS[path:match("([^/]+)%.lua$")] = true
end

---A kind, by its name.
---@param name any
---@return skillrt.Agent|nil
function M.kind(name)
  return M.KINDS[name] and require("skillrt.agent.kind." .. name) or nil
end

---All kinds, by name.
---@return skillrt.Agent[]
function M.all()
  local list = names.sorted(M.KINDS)
  for i, name in ipairs(list) do
    list[i] = M.kind(name)
  end
  return list
end

---The kind that an address or a program belongs to, and its row in that kind's table; nil: no kind has it.
---@param to string|nil
---@return skillrt.Agent|nil kind
---@return any[]|nil row  of its SPANS: the longest that fits
function M.behind(to)
  local low, found, best = (to or ""):lower(), nil, nil
  for _, kind in ipairs(M.all()) do
    for _, row in ipairs(kind.SPANS) do
      if (not best or #row[1] > #best[1]) and low:find(row[1], 1, true) then
        found, best = kind, row
      end
    end
  end
  return found, best
end

-- A copy of an agent, as each place that uses it gives it a name.
local function copied(agent)
  local copy = tables.fill({}, agent)
  return setmetatable(copy, getmetatable(agent))
end

---Whether a value is an agent that was checked already.
---@param value any
---@return boolean
function M.is(value)
  local kind = type(value) == "table" and getmetatable(value)
  return type(kind) == "table" and M.kind(rawget(kind, "kind")) == kind
end

---The agent that a value is, or describes.
---@param value any
---@param where string  names it in messages
---@return table? agent
---@return string? message
function M.check(value, where)
  if type(value) ~= "table" then
    return nil, ("%s: must be made by skillrt.agent.%s, not %s"):format(where,
      table.concat(names.sorted(M.KINDS), ", "), names.show(value))
  elseif M.is(value) then
    return copied(value)
  end
  local kind = M.kind(value.kind)
  if not kind then
    return nil, ('%s: field "kind" is %s%s'):format(where, names.show(value.kind), names.suggest(value.kind, M.KINDS))
  end
  return kind:check(kind.normal(value), where, M.check)
end

---The most that one attempt of an agent may use: calls, output tokens, their dollars; nil: unknown.
---@param agent any  as an author wrote it, or checked
---@param agents table<string, any>  by name
---@return { calls: number, tokens: number, dollars: number }|nil
function M.cost(agent, agents)
  agent = type(agent) == "string" and agents[agent] or agent
  local kind = type(agent) == "table" and M.kind(agent.kind)
  return kind and kind.cost(agent, function(other)
    return M.cost(other, agents)
  end) or nil
end

---Called with each agent that a constructor made, its kind and its definition.
---@type nil|fun(agent: table, kind: string, definition: table)
M.made = nil

-- A constructor raises where the script called it.
local function constructor(name)
  return function(given)
    local kind, where = M.kind(name), "agent." .. name
    local definition = kind.normal(given)
    if type(definition) ~= "table" then
      error(("%s: must be a table, not %s"):format(where, names.show(given)), 2)
    end
    local agent, message = kind:check(definition, where, M.check)
    if not agent then
      error(message, 2)
    end
    agent.sandbox_default = nil -- a person's own script decides itself
    if M.made then
      M.made(agent, name, definition)
    end
    return agent
  end
end

for name in pairs(M.KINDS) do
  M[name] = constructor(name)
end

return M
