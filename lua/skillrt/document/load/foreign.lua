-- document/load/foreign.lua: recognizes documents of other programs by their typical keys, and names them: "this is a
-- GitHub agentic workflow; skillrt does not run these".
--
-- Looks at keys, runs and opens nothing.
local files = require "skillrt.base.files"
local form = require "skillrt.document.form"
local front_matter = require "skillrt.document.load.front_matter"
local json = require "skillrt.base.json"

local M = {}

-- Any of these keys shows that a JSON object is meant for us.
local CONFIG_KEYS = { "skill_name", "execution_mode", "sequential_config", "autonomous_config", "context_strategy",
  "phases_to_run", "x_skillrt", "termination_conditions", "state_schema" }

local JSON_KINDS = {
  { "chain_id", "a chain of nodes" },
  { "graphs", "a configuration of LangGraph" },
  { "dependencies", "a package.json" },
  { "devDependencies", "a package.json" },
  { "scripts", "a package.json" },
  { "compilerOptions", "a tsconfig.json" },
  { "mcpServers", "a list of MCP servers" },
  { "plugins", "a list of plugins" },
  { "openapi", "an OpenAPI document" },
  { "properties", "a JSON Schema" },
  { "nodes", "a graph of another program" },
}

-- A key that it has, its name, and another key that it has, too.
local YAML_KINDS = {
  { "services", "a compose file" },
  { "jobs", "a GitHub workflow" },
  { "apiVersion", "a Kubernetes document" },
  { "openapi", "an OpenAPI document" },
  { "repos", "a pre-commit configuration" },
  { "runs", "a GitHub action" },
  { "graphs", "a configuration of LangGraph" },
  { "schema_version", "a document of spec-kit", "requires" },
  { "persona", "an agent of BMAD" },
  { "sequence", "a workflow of BMAD" },
  { "installed_path", "a workflow of BMAD", "instructions" },
  { "sections", "a template of BMAD", "template" },
  { "agents", "a team of another program" },
}

-- What an entry has whose keys are an author's own names.
local ENTRY_KINDS = {
  { "backstory", "a list of CrewAI's agents" },
  { "expected_output", "a list of CrewAI's tasks" },
}

local function first_of(value, kinds)
  for _, kind in ipairs(kinds) do
    if value[kind[1]] ~= nil and (not kind[3] or value[kind[3]] ~= nil) then
      return kind[2]
    end
  end
  return nil
end

---What a decoded JSON value is, if it is not ours.
---@param value any
---@return string? kind
function M.json(value)
  if type(value) ~= "table" or json.is_array(value) or next(value) == nil then
    return nil -- the reader of a config reports what an empty or wrong one lacks
  end
  if value.team_name ~= nil and value.execution_mode == nil then
    return "a team's configuration"
  end
  for _, key in ipairs(CONFIG_KEYS) do
    if value[key] ~= nil then
      return nil
    end
  end
  for _, key in ipairs { "phases", "actions" } do -- a list of things with ids
    local list = value[key]
    if type(list) == "table" and type(list[1]) == "table" and list[1].id ~= nil then
      return nil
    end
  end
  return first_of(value, JSON_KINDS) or "data of another program"
end

-- What one of the entries is, each of which has its own name.
local function of_entries(value, kinds)
  for _, entry in pairs(value) do
    local kind = type(entry) == "table" and first_of(entry, kinds)
    if kind then
      return kind
    end
  end
  return nil
end

---What a decoded YAML mapping is, if it is not ours.
---@param value table
---@param path string  one called agent.yml is ours, unless it is known to be another's
---@return string? kind
function M.yaml(value, path)
  if value.skills ~= nil or value.llm ~= nil then
    return nil
  end
  local inner = { value.agent, value.workflow }
  local kind = first_of(value, YAML_KINDS) or of_entries(inner, YAML_KINDS) or of_entries(value, ENTRY_KINDS)
  return kind or not path:find "agent%.ya?ml$" and "data of another program" or nil
end

---@param found skillrt.Findings
---@param place { file: string, line: integer? }
---@param kind string
function M.tell(found, place, kind)
  found:error("foreign", place, ("this is %s; skillrt does not run these"):format(kind))
end

-- What an agent's file has in addition to its name, and a command does not.
local OF_AGENTS <const> = { "model", "color" }
for _, row in ipairs(form.KINDS.agent_md) do
  OF_AGENTS[#OF_AGENTS + 1] = row.mark ~= "!" and not form.KINDS.command.rank[row.key] and row.key or nil
end

---The kind of a Markdown text: "agent", "command" or a foreign kind, by its front matter, which one below commands/ may
---lack.
---@param text string
---@param path string
---@return "agent"|"command"|nil ours
---@return string? foreign
function M.markdown(text, path)
  if not front_matter.begins(text) then
    local is_command = files.join(files.current(), path):find("/commands/", 1, true)
    return is_command and "command" or nil, "a document without front matter, neither a command nor an agent's file"
  end
  local block = text:sub(1, (text:find("\n%-%-%-", 4) or #text))
  local function has(key)
    return block:find("\n['\"]?" .. key .. "['\"]?:") ~= nil
  end
  if has "on" and (has "permissions" or has "safe%-outputs" or has "engine" or has "tools" or has "network") then
    return nil, "a GitHub agentic workflow"
  elseif has "redirect" then
    return nil, "a redirect to another document"
  end
  for _, key in ipairs(OF_AGENTS) do
    if has "name" and has(key) then
      return "agent"
    end
  end
  return "command"
end

---Reports known documents of a folder that is no skill's.
---@param tree skillrt.load.Tree
---@param found skillrt.Findings
---@return boolean told
function M.folder(tree, found)
  local documents = {}
  for _, path in ipairs(tree:within("", "%.md$")) do
    local ours = M.markdown(tree:read(path) or "", files.join(tree.dir, path))
    documents[#documents + 1] = ours and path or nil
  end
  local workflow = #documents == 0 and tree:within("", "%.md$")[1]
  local _, kind = M.markdown(workflow and tree:read(workflow) or "---\n---\n", workflow or "")
  if #documents > 0 then
    found:error("foreign", { file = "." }, "holds commands or agents' files, and no skill",
      "each of them is one by itself", ("give one: %s"):format(documents[1]))
  elseif kind and kind:find "GitHub" then
    M.tell(found, { file = workflow, line = 1 }, kind)
  end
  return #documents > 0 or kind ~= nil and kind:find "GitHub" ~= nil
end

---Reports chains next to a SKILL.md: they lead where none of our steps does.
---@param tree skillrt.load.Tree
---@param found skillrt.Findings
function M.chains(tree, found)
  local chains = {}
  for _, path in ipairs(tree:within("chains", "%.json$")) do
    local value = json.decode(tree:read(path) or "")
    chains[#chains + 1] = type(value) == "table" and type(value.nodes) == "table" and path or nil
  end
  if #chains > 0 then
    local more = #chains > 1 and (", with %d more in chains/"):format(#chains - 1) or ""
    found:warn("foreign", { file = chains[1], line = 1 },
      ("this is a chain of nodes; skillrt does not run these%s"):format(more), "SKILL.md is what runs",
      "write its nodes as actions or phases")
  end
end

return M
