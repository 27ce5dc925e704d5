-- tool/mcp/server.lua: a skill's declaration of an MCP server: a program, or a URL; what it may be told and may ask;
-- how its tools may be used. Also from a file `.mcp.json`, in the format of other programs.
--
-- Starts nothing.

local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
require("skillrt.skill.sandbox") -- a type of fields
local schema = require("skillrt.skill.schema")
local tables = require("skillrt.base.tables")

local M = {}

---@class skillrt.McpServer
---@field name string
---@field argv string[]?      a program that exchanges lines
---@field env table<string, string>
---@field cwd string?
---@field url string?         an endpoint of streamable HTTP
---@field headers table<string, string>
---@field oauth table|false|nil  how to get tokens for it: see OAUTH; false: not at all
---@field protocol string?    "2026-07-28": no handshake is tried
---@field timeout number      seconds for an answer
---@field trusted boolean     its statements about its tools (`readOnlyHint` ...) are believed
---@field tools table<string, table>?  those that are used, by their own name: settings of each; nil: all
---@field approval string?    for its tools that say nothing themselves
---@field roots string[]?      folders that it gets when it asks
---@field elicitation boolean it may ask a person
---@field sampling string?    the agent that answers when it asks for a model
---@field resources boolean   models may read its resources
---@field max_restarts integer
---@field max_reply integer   bytes of one message
---@field dir string?          the skill's
---@field digest string       of the program that is started, or of the address

-- The settings of one tool.
local OF_TOOL = {
  approval = { type = { "text", "function" } },
  acts = { type = "boolean" },
  idempotent = { type = "boolean" },
  alone = { type = "boolean" },
  max_result = { type = "positive" },
  timeout = { type = "seconds" },
}

-- How tokens are obtained for a server behind a URL that requires them.
local OAUTH <const> = {
  client_id = { type = "text" }, -- our client identity; a URL: a Client ID Metadata Document
  client_secret = { type = "text" },
  scope = { type = "text" },
  grant = { enum = { "authorization_code", "client_credentials" }, default = "authorization_code" },
  port = { type = "positive" }, -- of the redirect, if the client is registered with one
  addresses = { type = "text", list = true, default = {} }, -- networks in which its authorization server may be
}

local FIELDS = {
  command = { type = "string", list = true },
  args = { type = "string", list = true, default = {} },
  env = { type = "string", map = true, default = {} },
  cwd = { type = "text" },
  sandbox = { type = "sandbox" },
  sandbox_default = { type = "sandbox" },
  url = { type = "text" },
  headers = { type = "string", map = true, default = {} },
  oauth = { type = { "table", "boolean" } },
  protocol = { enum = { "2025-11-25", "2026-07-28" } },
  type = { enum = { "stdio", "http", "streamable-http" } },
  timeout = { type = "seconds", default = 120 },
  trusted = { type = "boolean", default = false },
  tools = { type = "table" },
  approval = { type = { "text", "function" } },
  roots = { type = "text", list = true },
  elicitation = { type = "boolean", default = true },
  sampling = { type = "text" },
  resources = { type = "boolean", default = false },
  max_restarts = { type = "count", default = 5 },
  ca_file = { type = "text" },
  max_reply = { type = "positive", default = 16 << 20 },
}

-- Bytes of a possible secret: shorter texts occur everywhere.
local LEAST_SECRET <const> = 8

-- { "read", "list" } or { read = { approval = "ask" } }
local function check_tools(given, where)
  local out = {}
  for key, value in pairs(given) do
    local name = math.type(key) == "integer" and value or key
    local said = type(key) == "string" and value ~= true and value or {}
    if type(name) ~= "string" then
      return nil, ("%s: field \"tools\" must hold names of its tools, not %s"):format(where, names.show(name))
    end
    local at = ("%s: tool %s"):format(where, names.show(name))
    local checked, message = schema.record(said, OF_TOOL, at)
    message = message or require("skillrt.tool.approval").check(checked.approval, at)
    if message then
      return nil, message
    end
    out[name] = checked
  end
  return out
end

local function check_oauth(server, where)
  local oauth, message = schema.record(server.oauth, OAUTH, where .. ": oauth")
  if oauth and not server.url then
    message = where .. ": oauth is for a server behind a url"
  elseif oauth and oauth.grant == "client_credentials" and not (oauth.client_id and oauth.client_secret) then
    message = where .. ": oauth: client_credentials need client_id and client_secret"
  end
  for _, one in ipairs(oauth and oauth.addresses or {}) do
    if not one:find("^[%x:.]+/?%d*$") then
      message = ('%s: oauth: addresses are networks such as "10.1.0.0/16", not %s'):format(where, names.show(one))
    end
  end
  return not message and oauth or nil, message
end

---A server as a skill declares it.
---@param name string
---@param definition any
---@param where string
---@return skillrt.McpServer|nil server
---@return string? message
function M.check(name, definition, where)
  where = ("%s: mcp %s"):format(where, names.show(name))
  if type(name) ~= "string" or not name:find("^[%w_-]+$") or #name > 32 or name:find("__", 1, true) then
    return nil, where .. ": a name is letters, digits, - and single _, at most 32"
  end
  local server, message = schema.record(definition, FIELDS, where)
  if not server then
    return nil, message
  elseif (server.command == nil) == (server.url == nil) then
    return nil, where .. ": needs either command (a program) or url"
  elseif server.url and not server.url:find("^https?://[^%s%c]+$") and not server.url:find("^%${[^%s%c]+$") then
    return nil, ("%s: url must begin with http:// or https://, not %s"):format(where, names.show(server.url))
  elseif server.command and (server.command[1] or "") == "" then
    return nil, where .. ": command names no program"
  end
  if type(server.oauth) == "table" then
    server.oauth, message = check_oauth(server, where)
    if message then
      return nil, message
    end
  elseif server.oauth then
    server.oauth = nil
  end
  if server.tools then
    server.tools, message = check_tools(server.tools, where)
  end
  message = message or require("skillrt.tool.approval").check(server.approval, where)
  if message then
    return nil, message
  end
  server.name = name
  if server.command then
    server.argv = tables.append(server.command, server.args)
    server.command = nil
  end
  server.digest = files.digest(assert(json.encode({ server.argv or json.null, server.cwd or json.null, server.env,
    server.url or json.null }, { sorted = true })))
  return server
end

---The servers of a file in another program's format, unchecked, and what to report about it.
---@param path string
---@return table<string, table>|nil servers
---@return string|{ level: string, text: string }[] notes  or why there are none
function M.of_file(path)
  return require("skillrt.tool.mcp.file").read(path, FIELDS)
end

---All servers of a skill, by name; `given` may be the path of a file instead.
---@param given table|string
---@param where string
---@param dir string  of the skill
---@param agents table<string, table>?  its agents
---@return table<string, skillrt.McpServer>|nil servers
---@return string? message
function M.check_all(given, where, dir, agents)
  local message
  if type(given) == "string" and given ~= "" then
    given, message = M.of_file(files.join(dir, given))
    message = not given and ("%s: mcp: %s"):format(where, message) or nil
  elseif type(given) ~= "table" or given[1] ~= nil then
    message = ("%s: mcp must be a table of servers by name, or the path of a file, not %s"):format(where,
      type(given) == "table" and "a list" or names.show(given))
  end
  if message then
    return nil, message
  end
  local out = {}
  for _, name in ipairs(names.sorted(given)) do
    local one
    one, message = M.check(name, given[name], where)
    if one and one.sampling and agents and not agents[one.sampling] then
      message = ("%s: mcp %s: sampling: there is no agent %s%s"):format(where, names.show(name),
        names.show(one.sampling), names.suggest(one.sampling, agents))
    end
    if message then
      return nil, message
    end
    one.dir = files.is_absolute(dir) and dir or files.join(files.current() or "", dir) -- "": in a stranger's process
    out[name] = one
  end
  return out
end

---Further names that may be filled in, as other programs call them.
---@param server skillrt.McpServer
---@param cwd string  the run's
---@return table<string, string>
function M.places(server, cwd)
  return { workspaceFolder = cwd, CLAUDE_PROJECT_DIR = cwd, CLAUDE_PLUGIN_ROOT = files.plugin_folder(server.dir),
    userHome = os.getenv("HOME") }
end

---A text with ${NAME}, ${env:NAME} and ${NAME:-default} filled in from the environment.
---@param text string
---@param held string[]?  gets values from the environment that may be secret
---@param places table<string, string>?  further names
---@return string|nil filled
---@return string? message  what is missing
function M.filled(text, held, places)
  local missing
  local out = text:gsub("%${([%a_][%w_]*)(:?%-?)([^}]*)}", function(name, mark, default)
    if name == "env" and mark == ":" then
      name, mark, default = default, "", ""
    elseif name == "input" and mark == ":" then
      missing = missing or ("${input:%s} cannot be asked for here; write ${NAME}, of the environment"):format(default)
    end
    local place = places and places[name]
    local value = place or os.getenv(name)
    if mark == ":-" and (value or "") == "" then
      return default
    elseif mark .. default ~= "" then
      return nil -- another program's
    end
    missing = missing or not value and ("the environment has no %s"):format(name) or nil
    if held and value and not place and #value >= LEAST_SECRET then
      held[#held + 1] = value
    end
    return value or ""
  end)
  if missing then
    return nil, missing
  end
  return out
end

---Fills in each text of a map.
---@param map table<string, string>
---@param held string[]?
---@param places table<string, string>?
---@return table<string, string>|nil filled
---@return string? message
function M.filled_map(map, held, places)
  local out = {}
  for key, text in pairs(map) do
    local filled, message = M.filled(text, held, places)
    if not filled then
      return nil, message
    end
    out[key] = filled
  end
  return out
end

return M
