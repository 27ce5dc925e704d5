-- document/load/one_md.lua: a slash command or an agent's file: front matter and a prompt, loaded as one step.
--
-- Called by document/load/init.lua.
local agent_file = require "skillrt.agent.file"
local agents_of = require "skillrt.document.load.config_agents"
local files = require "skillrt.base.files"
local foreign = require "skillrt.document.load.foreign"
local form = require "skillrt.document.form"
local front_matter = require "skillrt.document.load.front_matter"
local json_lines = require "skillrt.document.load.json_lines"
local markdown = require "skillrt.document.load.markdown"
local names = require "skillrt.base.names"
local skill_md = require "skillrt.document.load.skill_md"

local M = {}

---Reads the document into `document`.
---@param document skillrt.load.Document
---@param text string
---@param agents table<string, table>?
function M.read(document, text, agents)
  local found, path = document.findings, document.path
  local place = { file = path, line = 1 }
  function document.place()
    return place
  end
  local kind, other = foreign.markdown(text, path)
  if not kind then
    foreign.tell(found, place, other)
    return
  end
  local front = { fields = {}, lines = {}, body = text, body_line = 1 }
  if front_matter.begins(text) then
    front = front_matter.read(text, path, found)
  end
  if not front then
    return
  end
  document.kind, document.body_line = kind, front.body_line
  form.check(kind == "agent" and "agent_md" or "command", front.fields, found, function(key)
    return { file = path, line = json_lines.nearest(front.lines, key) or 1 }
  end)
  local base = path:match "([^/]+)%.md$"
  local name = names.id(front.fields.name) or names.id((base:gsub("[^%w._-]", "-"))) or kind
  local description = front.fields.description
  local tools = skill_md.tools(front.fields["allowed-tools"] or front.fields.tools)
  local file = files.current and path:match "[^/]+$"
  document.definition = {
    name = name,
    description = type(description) == "string" and description or nil,
    mode = "sequential",
    dir = document.dir,
    source = path,
    sandbox = front.fields.sandbox,
    documents = { file },
    guide = { body = front.body, is_command = kind == "command", is_plain = true, tools = #tools > 0 and tools or nil,
      placeholders = skill_md.placeholders({ body = front.body, body_line = front.body_line, file = path,
        arguments = front.fields.arguments, hint = front.fields["argument-hint"], is_command = kind == "command",
        is_plain = true },
        found) },
    phases = { { id = "run", name = markdown.title(markdown.parse(front.body)) or name, agent = "default",
      output = "run.md", output_free = true, answer = "text", tools = #tools > 0 and tools or nil,
      prompt = file:find "%s" and front.body .. "\n" or file } },
  }
  document.definition.agents, document.definition.missing = agents_of.only("default", agents)
  agent_file.with_front(document.definition.agents, front.fields)
end

return M
