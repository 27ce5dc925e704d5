-- schemas.lua: `make schemas`: docs/schema/*.json of documents in YAML from the one table that their readers use
-- (lua/skillrt/document/load/keys.lua), and catalog.json, which lists the schema of each kind in SchemaStore's form.
--
-- skill-config and workflow are written by hand; a spec holds them against the code. A url is relative to the catalog:
-- whoever puts the folder on a server puts its address before it. Run from the top of the tree.
local M = {}

local WHAT = {
  name = "How it is called.",
  description = "What it does and when it is of use.",
  license = "The licence, or the file that holds it.",
  compatibility = "What it needs: hosts, programs, network.",
  metadata = "Texts by name, for whoever reads them.",
  ["allowed-tools"] = "The tools it may use: a list, or a text such as `Read, Bash(git:*)`.",
  tools = "The tools it may use; for a tool set an empty list stands for all.",
  model = "The model that performs it.",
  color = "How hosts show it.",
  llm = "The model; an API key belongs into the environment: ${env:NAME}.",
  workflow = "Limits of the flow.",
  interactive = "Whether people take part.",
  bind = "By a name in tool sets: a built-in tool, or a list of them.",
  optional_tools = "Names in tool sets that may be missing.",
  optional = "Of its tools: what may be missing.",
  prompt = "What is said besides while it is active.",
  switching = "How a run goes from set to set.",
  by = "Who switches.",
  start = "The set that a run begins with.",
  next = "By set: what may follow it.",
  rules = "By set: when to go on from it, in words.",
  map = "By tool: the set that a call of it speaks for.",
  window = "How many calls are looked at.",
  lead = "How many more of them must speak for another set.",
  fallback = "The set that a call to an absent tool leads to.",
  summary = "Bytes of what is told of the phases before.",
  order = "The sets that are steps, in their order.",
  verify = "The set that verifies.",
  repair = "The set that repairs.",
  batch = "For other programs.",
  incremental = "For other programs.",
  dependencies = "For other programs.",
  prompts = "For other programs.",
  mcp = "For other programs.",
  skills = "Tool sets; each is a step.",
  ["max-retries"] = "How often repair and verification alternate at most.",
  ["max-stale-iterations"] = "Steps without progress until the run stops.",
}

local TOOLS <const> = { anyOf = { { type = "string" }, { type = "array", items = { type = "string" } } } }

local function property(key, more)
  local out = {}
  for name, value in pairs(key[2] == "tools" and TOOLS or { type = key[2] }) do
    out[name] = value
  end
  out.description = assert(WHAT[key[1]], key[1])
  out.maxLength, out.minimum = key.max, key.from
  out.minLength = key[2] == "string" and key.required and 1 or nil
  for name, value in pairs(more or {}) do
    out[name] = value
  end
  return out
end

local function object_of(keys, more)
  local properties, required = {}, {}
  for _, key in ipairs(keys) do
    properties[key[1]] = property(key, more and more[key[1]])
    required[#required + 1] = key.required and key[1] or nil
  end
  return { type = "object", properties = properties, required = #required > 0 and required or nil }
end

local NAME <const> = { pattern = "^[a-z0-9][a-z0-9-]*$", ["not"] = { anyOf = { { pattern = "--" }, { pattern = "-$" } } } }

-- The kinds of documents: name of the schema, title, what it is, the files it is for.
local function kinds(keys)
  local sets = { items = object_of(keys.TOOL_SET, { tools = { items = { type = "string" } } }), minItems = 1 }
  return {
    { "skill-config", "skill-config.json", "What a skill is made of: its phases, its actions.", { "skill-config.json" } },
    { "workflow", "workflow.json", "The phases of a skill in their order.", { "workflow.json" } },
    { "agent-yml", "agent.yml", "Tool sets as the steps of a skill.", { "agent.yml", "agent.yaml" },
      object_of(keys.AGENT_YML, { skills = sets, workflow = object_of(keys.WORKFLOW),
        switching = object_of(keys.SWITCHING, { by = { enum = require("skillrt.skill.tool_sets").BY } }) }) },
    { "skill-md", "SKILL.md", "The front matter of a skill.", { "SKILL.md" }, object_of(keys.SKILL, { name = NAME }) },
    { "command", "slash command", "The front matter of a slash command.", { "**/commands/**/*.md" },
      object_of(keys.COMMAND) },
    { "agent", "agent's file", "The front matter of an agent's file.", { "**/agents/*.md" }, object_of(keys.AGENT) },
  }
end

---The files as they have to be: path and text.
---@return table<string, string>
function M.pages()
  local json = require "skillrt.base.json"
  local ordered = require "skillrt.document.generate.ordered"
  local out, listed = {}, json.array {}
  local function text_of(value, kind)
    return ordered.encode(value, kind) .. "\n"
  end
  for i, kind in ipairs(kinds(require "skillrt.document.load.keys")) do
    local name, title, what, files, schema = table.unpack(kind, 1, 5)
    listed[i] = { name = title, description = what, fileMatch = json.array(files), url = name .. ".schema.json" }
    if schema then
      schema["$schema"], schema.title, schema.description = "https://json-schema.org/draft/2020-12/schema", title, what
      out[("docs/schema/%s.schema.json"):format(name)] = text_of(schema, "schema")
    end
  end
  out["docs/schema/catalog.json"] = text_of({ ["$schema"] = "https://json.schemastore.org/schema-catalog.json",
    version = 1, schemas = listed }, "catalog")
  return out
end

if arg and arg[0] and arg[0]:find "docs/schemas.lua$" then
  for path, text in pairs(M.pages()) do
    local file <close> = assert(io.open(path, "wb"))
    assert(file:write(text))
  end
end

return M
