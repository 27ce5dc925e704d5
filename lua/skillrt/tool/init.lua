-- tool/init.lua: a tool: one object with a name, a description, a JSON Schema of its arguments, and a function that
-- performs it; and how one is made from a skill's declaration.
--
-- A kind of tool is a file next to this one: { FIELDS, make(given, where, name) }. loop.lua offers tools to a model
-- and performs its calls. Knows no agents, no providers, no runs.

local json_schema = require("skillrt.base.json_schema")
local names = require("skillrt.base.names")
local schema = require("skillrt.skill.schema")
local tables = require("skillrt.base.tables")

local M = {}

---@class skillrt.Tool
---@field name string           for the model: letters, digits, _ and -, at most 64
---@field description string
---@field input table           JSON Schema of its arguments, checked, of type object
---@field judged table?         the schema that they are checked by, if it is another
---@field acts boolean          it may change something
---@field idempotent boolean    performing it twice has the effect of performing it once
---@field alone boolean         nothing else of the same reply is performed in parallel
---@field approval string|function|nil  "always", "ask", "never" or a condition; nil: the skill's interaction decides
---@field max_result integer?   bytes of its result that the model gets at once
---@field outside boolean?      its result was written by others: it is marked as data
---@field source string         "skill", "built in", or another origin: "mcp:NAME"
---@field wrote (fun(tool: skillrt.Tool, task: table, arguments: table): string?)?  the file that a use has written
---@field perform fun(tool: skillrt.Tool, ctx: table, arguments: table, task: table): string|nil, string?

---The fields that every tool may have.
M.COMMON = {
  description = { type = "text" },
  approval = { type = { "text", "function" } },
  acts = { type = "boolean" },
  idempotent = { type = "boolean" },
  alone = { type = "boolean" },
  outside = { type = "boolean" },
  max_result = { type = "positive" },
  input = { type = "table" },
}

---The built-in tools, each in its file next to this one.
M.BUILT_IN = {
  read = "resources", ask_user = "ask_user",
  read_file = "reading", list_dir = "reading", glob = "reading", grep = "reading",
  write_file = "writing", edit = "writing",
  git_diff = "git_diff", run = "run", http_get = "http_get",
}

---Those that every bare model gets.
M.OF_ALL = { read = true, ask_user = true }

local NAME <const> = "^[%w_-]+$"
local MAX_NAME <const> = 64

---What is wrong with a tool's name; nil: nothing.
---@param name any
---@return string?
function M.problem_of_name(name)
  if type(name) ~= "string" or not name:find(NAME) or #name > MAX_NAME then
    return ("must be letters, digits, _ and -, at most %d, not %s"):format(MAX_NAME, names.show(name))
  end
end

local EMPTY_INPUT <const> = { type = "object", properties = {}, additionalProperties = false }

-- The schema of its arguments: providers take objects only.
local function input_of(given, where)
  if given == nil then
    return EMPTY_INPUT
  end
  local ok, why = json_schema.check(given, where .. ": input")
  if not ok then
    return nil, why
  end
  local input = json_schema.normal(given)
  if input.type ~= "object" then
    return nil, ('%s: input must be a JSON Schema with type = "object"'):format(where)
  end
  return input
end

---Checks a tool made from its parts: for modules that make tools, such as the MCP client.
---@param parts table  a skillrt.Tool; missing fields are filled in
---@param where string
---@return skillrt.Tool|nil tool
---@return string? message
function M.new(parts, where)
  local problem = M.problem_of_name(parts.name)
  if problem then
    return nil, ("%s: the name of a tool %s"):format(where, problem)
  elseif type(parts.perform) ~= "function" then
    return nil, ("%s: a tool needs a function that performs it"):format(where)
  end
  local input, message = input_of(parts.input, where)
  if input then
    message = require("skillrt.tool.approval").check(parts.approval, where)
  end
  if message then
    return nil, message
  end
  local tool = tables.fill({}, parts)
  tool.input, tool.description = input, parts.description or parts.name
  tool.acts = parts.acts == true
  if parts.idempotent == nil then
    tool.idempotent = not tool.acts
  end
  tool.alone, tool.source = parts.alone == true, parts.source or "skill"
  return tool
end

local function kind_of(name, definition)
  if definition.run ~= nil then
    return "lua"
  elseif definition.command ~= nil then
    return "command"
  end
  return M.BUILT_IN[definition.builtin or name]
end

-- The fields of a kind, with those of all tools.
local fields_of = setmetatable({}, {
  __index = function(all, kind)
    local fields = { builtin = { type = "text" } }
    for _, list in ipairs({ M.COMMON, require("skillrt.tool." .. kind).FIELDS }) do
      tables.fill(fields, list)
    end
    all[kind] = fields
    return fields
  end,
})

---A tool from a skill's declaration: `true` and the name of a built-in one, or a table.
---@param name string
---@param definition any
---@param where string  names it in messages
---@return skillrt.Tool|nil tool
---@return string? message
function M.check(name, definition, where)
  where = ("%s: tool %s"):format(where, names.show(name))
  definition = definition == true and {} or definition
  if type(definition) ~= "table" then
    return nil, ("%s: must be true or a table, not %s"):format(where, names.show(definition))
  end
  local kind = kind_of(name, definition)
  if not kind then
    local asked = tostring(definition.builtin or name)
    return nil, ("%s: is not built in%s; a tool of your own has `run` (a function) or `command` (a list)"):format(
      where, names.suggest(asked, M.BUILT_IN))
  end
  local given, message = schema.record(definition, fields_of[kind], where)
  if not given then
    return nil, message
  end
  local built_in = given.builtin or name
  given.name, given.builtin = name, nil
  local parts
  parts, message = require("skillrt.tool." .. kind).make(given, where, built_in)
  if not parts then
    return nil, message
  end
  return M.new(parts, where)
end

---The tools of a skill, by name.
---@param definitions table<string, any>
---@param where string
---@param roots table?  the folders of its tools for files, for those that name none
---@param agents table<string, table>?  its agents: the tools that a model among them names must exist
---@param servers table<string, skillrt.McpServer>?  theirs are named mcp__SERVER__TOOL, and known when the server is
---  asked
---@return table<string, skillrt.Tool>|nil tools
---@return string? message
function M.check_all(definitions, where, roots, agents, servers)
  local tools = {}
  if roots then
    local message
    roots, message = schema.record(roots, require("skillrt.tool.roots").FIELD.fields, where .. ": roots")
    if not roots then
      return nil, message
    end
  end
  for _, name in ipairs(names.sorted(definitions)) do
    local tool, problem = M.check(name, definitions[name], where)
    if not tool then
      return nil, problem
    elseif tool.roots and not (tool.roots.read[1] or tool.roots.write[1]) then
      tool.roots = roots
    end
    tools[name] = tool
  end
  for _, id in ipairs(names.sorted(agents or {})) do
    local agent = agents[id]
    for _, name in ipairs(agent.wire and agent.tools or {}) do -- others name the tools of their own program
      local server = servers and name:match("^mcp__(.*)$")
      if not (server and servers[server:gsub("__.*$", "")]) and not tools[name] and not M.OF_ALL[name] then
        return nil, ('%s: agent "%s": tool %s is not in tools%s'):format(where, id, names.show(name),
          names.suggest(name, tools))
      end
    end
  end
  return tools
end

---A skill's declarations of tools, checked: its own, and those of servers.
---@param skill table
---@param where string
---@return string? problem
function M.check_skill(skill, where)
  local tools, message = skill.tools, nil
  if skill.mcp ~= nil then
    skill.mcp, message = require("skillrt.tool.mcp.server").check_all(skill.mcp, where, skill.dir or ".", skill.agents)
  end
  if tools and not message then
    tools, message = M.check_all(tools, where, skill.roots, skill.agents, skill.mcp)
  end
  skill.tools = tools
  return message and message:sub(#where + 3)
end

return M
