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
---@field unread string?  why skillrt does not read it
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

---agent.yml, at its top; `unread`: what other programs make of it.
M.AGENT_YML = { { "name", "string" }, { "description", "string" },
  { "llm", "object", unread = "who performs the steps is said by --agent" }, { "workflow", "object" },
  { "batch", "object", unread = "one run is of one target" },
  { "incremental", "object", unread = "what has changed is a tool's to say" },
  { "dependencies", "object", unread = "it tells versions of libraries of the target" },
  { "prompts", "object", unread = "what is said in a phase is the prompt of its set" },
  { "mcp", "object", unread = "servers are declared in a skill" },
  { "skills", "array", required = true }, { "bind", "object" }, { "optional_tools", "array" },
  { "switching", "object" } }

---What of `workflow` is obeyed.
M.WORKFLOW = { { "max-retries", "integer", from = 0 }, { "max-stale-iterations", "integer", from = 1 },
  { "interactive", "boolean" } }

---A tool set of `skills`.
M.TOOL_SET = { { "name", "string", required = true }, { "description", "string" }, { "tools", "array" },
  { "optional", "array" }, { "bind", "object" }, { "prompt", "string" } }

---How tool sets are switched.
M.SWITCHING = { { "by", "string" }, { "start", "string" }, { "next", "object" }, { "rules", "object" },
  { "map", "object" }, { "window", "integer", from = 1 }, { "lead", "integer", from = 1 }, { "fallback", "string" },
  { "summary", "integer", from = 0 }, { "order", "array" }, { "verify", "string" }, { "repair", "string" } }

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
