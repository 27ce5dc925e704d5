-- agent/init.lua: who performs the steps that are not functions of the script: the list of kinds, and how
-- an agent is made.
--
-- An agent is a table of its fields with its kind's module behind it. A kind is one file beside this one and
-- one row in KINDS: { kind, FIELDS, check(definition, where), perform(agent, ctx, task), needs_http(agent),
-- reads_prompt(agent), acts, idempotent }. Knows nothing of runs, journals or modes.

local names = require("skillrt.base.names")

local M = {}

---The kinds of agents: agent/<kind>.lua each.
M.KINDS = {
  command = true, http = true, lua = true, chain = true, anthropic = true, openai = true, host = true, dry = true,
  claude = true, codex = true, gemini = true, skill = true,
}

local MADE <const> = "must be made by skillrt.agent.anthropic, openai, http, command, lua, host, skill or chain"

-- What every agent can be asked besides what its kind says.
local common = {}

---How it is named in messages.
---@return string
function common:label()
  return self.name and ('agent "%s"'):format(self.name) or "agent " .. self.kind
end

---The functions of a host that it calls.
---@return string[]
function common.functions()
  return {}
end

local function module_of(kind)
  local module = require("skillrt.agent." .. kind)
  for name, method in pairs(common) do
    module[name] = module[name] or method
  end
  return module
end

-- An agent as it is, but a table of its own: each place that names it gives it a name.
local function copied(agent)
  local copy = {}
  for key, value in pairs(agent) do
    copy[key] = value
  end
  return setmetatable(copy, getmetatable(agent))
end

---Whether a value is an agent that was checked already.
---@param value any
---@return boolean
function M.is(value)
  local kind = type(value) == "table" and value.kind
  local module = M.KINDS[kind] and package.loaded["skillrt.agent." .. kind]
  return module ~= nil and module ~= false and getmetatable(value) == module
end

---The agent that a value is or describes.
---@param value any
---@param where string  names it in messages
---@return table? agent
---@return string? message
function M.check(value, where)
  if type(value) ~= "table" then
    return nil, ("%s: %s, not %s"):format(where, MADE, names.show(value))
  elseif M.is(value) then
    return copied(value)
  end
  local kind = value.kind
  if not M.KINDS[kind] then
    local hint = type(kind) == "string" and names.suggest(kind, M.KINDS)
      or "; make it with skillrt.agent.anthropic, openai, http, command, lua, host, skill or chain"
    return nil, ('%s: field "kind" is %s%s'):format(where, names.show(kind), hint)
  end
  return module_of(kind).check(value, where, M.check)
end

-- A constructor raises where the script called it.
local function make(kind, definition)
  local where = "agent." .. kind
  if type(definition) ~= "table" then
    error(("%s: must be a table, not %s"):format(where, names.show(definition)), 3)
  end
  local agent, message = module_of(kind).check(definition, where, M.check)
  if not agent then
    error(message, 3)
  end
  return agent
end

---A program: { "prog", "arg", stdin =, env =, cwd =, timeout =, parse =, ok_codes =, max_output = }.
---@param definition table
---@return table agent
function M.command(definition)
  local agent = make("command", definition)
  return agent
end

---A server: { url =, headers =, timeout =, connect_timeout =, idle_timeout =, max_reply =, ca_file =,
---max_redirects =, body =, type = }.
---@param definition table
---@return table agent
function M.http(definition)
  local agent = make("http", definition)
  return agent
end

---Claude Code: { model =, permission =, tools =, args =, env =, output = a JSON Schema, idle_timeout =, ... }.
---@param definition table
---@return table agent
function M.claude(definition)
  local agent = make("claude", definition)
  return agent
end

---Codex: { model =, permission = a sandbox, tools =, args =, env =, output =, ... }.
---@param definition table
---@return table agent
function M.codex(definition)
  local agent = make("codex", definition)
  return agent
end

---Gemini CLI: { model =, permission =, tools =, args =, env =, output =, ... }.
---@param definition table
---@return table agent
function M.gemini(definition)
  local agent = make("gemini", definition)
  return agent
end

---A model behind the Messages API: { model =, url =, key_env =, key_file =, version =, auth =, beta =, headers =,
---max_tokens =, system =, output = a JSON Schema, extra = more of the body, effort =, stream =, cache =, ... }.
---@param definition table
---@return table agent
function M.anthropic(definition)
  local agent = make("anthropic", definition)
  return agent
end

---A model behind Chat Completions or Responses: { api = "chat" | "responses", model =, url =, key_env =, ... }.
---@param definition table
---@return table agent
function M.openai(definition)
  local agent = make("openai", definition)
  return agent
end

---A function of the script: called as an action's run is.
---@param run function|table
---@return table agent
function M.lua(run)
  local agent = make("lua", type(run) == "table" and run or { run = run })
  return agent
end

---A function of the program that embeds skillrt: { "name", timeout =, acts =, idempotent = }.
---@param definition string|table
---@return table agent
function M.host(definition)
  local agent = make("host", type(definition) == "string" and { definition } or definition)
  return agent
end

---Another skill: { "path" or a skill, input = table or function(state), as = a field of the state }.
---@param definition string|table
---@return table agent
function M.skill(definition)
  local is_skill = type(definition) == "table" and getmetatable(definition) ~= nil
  local agent = make("skill", (is_skill or type(definition) == "string") and { definition } or definition)
  return agent
end

---A fallback chain: the next member is asked when one has failed for good.
---@param members table[]
---@return table agent
function M.chain(members)
  local agent = make("chain", members)
  return agent
end

return M
