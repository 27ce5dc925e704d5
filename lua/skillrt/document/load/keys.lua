-- document/load/keys.lua: the keys that documents in YAML may have, front matters and agent.yml, with their types and
-- bounds: one table for those who read them and for docs/schema (make schemas).
--
-- Data. Called by skill_md.lua, agent_yml.lua and docs/schemas.lua.

local M = {}

---@class skillrt.load.Key
---@field [1] string      its name
---@field [2] string      a type of JSON Schema, or "tools": a list, or a text with commas or blanks
---@field required boolean?
---@field max integer?    characters; "from": the least number
---@field from integer?

---Front matter of SKILL.md, by the Agent Skills specification.
---@type skillrt.load.Key[]
M.SKILL = {
  { "name", "string", required = true, max = 64 },
  { "description", "string", required = true, max = 1024 },
  { "license", "string" },
  { "compatibility", "string", max = 500 },
  { "metadata", "object" },
  { "allowed-tools", "tools" },
}

---Keys that hosts give a meaning of their own; in SKILL.md, commands and agents' files.
---@type string[]
M.OF_HOSTS = {}
for key in ([[version argument-hint model tools color user-invocable disable-model-invocation mode author tags triggers
  category context agent hooks disallowed-tools when_to_use paths effort shell]]):gmatch "%S+" do
  M.OF_HOSTS[#M.OF_HOSTS + 1] = key
end

---Front matter of a slash command.
M.COMMAND = { { "name", "string" }, { "description", "string" }, { "allowed-tools", "tools" } }

---Front matter of an agent's file.
M.AGENT = { { "name", "string", required = true }, { "description", "string" }, { "tools", "tools" },
  { "model", "string" }, { "color", "string" } }

---agent.yml, at its top.
M.AGENT_YML = { { "name", "string" }, { "description", "string" }, { "llm", "object" }, { "workflow", "object" },
  { "batch", "object" }, { "incremental", "object" }, { "dependencies", "object" }, { "prompts", "object" },
  { "mcp", "object" }, { "skills", "array", required = true } }

---What of `workflow` is obeyed.
M.WORKFLOW = { { "max-retries", "integer", from = 0 }, { "max-stale-iterations", "integer", from = 1 } }

---A tool set of `skills`.
M.TOOL_SET = { { "name", "string", required = true }, { "description", "string" }, { "tools", "array" } }

---The names of some keys, as a set.
---@param keys skillrt.load.Key[]
---@return table<string, skillrt.load.Key>
function M.set(keys)
  local out = {}
  for _, key in ipairs(keys) do
    out[type(key) == "table" and key[1] or key] = key
  end
  return out
end

return M
