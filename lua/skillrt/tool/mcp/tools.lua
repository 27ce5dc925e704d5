-- tool/mcp/tools.lua: the tools of a server as tools of ours: mcp__SERVER__TOOL, with what the skill's author says
-- of each.
--
-- What a server says of its own tools (`readOnlyHint`, `idempotentHint`) counts where the author trusts it. Its
-- descriptions and schemas are sent to models as they are; its results are data by others. Knows clients and tools.

local client_of = require("skillrt.tool.mcp.client")
local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local record = require("skillrt.base.record")
local schema = require("skillrt.tool.mcp.schema")
local tool_of = require("skillrt.tool")

local M = {}

local PREFIX <const> = "mcp__"
local MAX_DESCRIPTION <const> = 16384

---The server that a tool's name names, and the tool's name there as far as names tell.
---@param name string
---@return string|nil server
---@return string? tool
function M.split(name)
  if name:sub(1, #PREFIX) ~= PREFIX then
    return nil
  end
  local at = name:find("__", #PREFIX + 1, true)
  if not at then
    return name:sub(#PREFIX + 1)
  end
  return name:sub(#PREFIX + 1, at - 1), name:sub(at + 2)
end

-- Names that providers take are shorter and plainer than those that servers may give.
local function name_of(server, remote)
  local name = PREFIX .. server.name .. "__" .. remote:gsub("[^%w_-]", "_")
  return #name <= 64 and name or name:sub(1, 55) .. "_" .. files.digest(remote):sub(1, 8)
end

local function first_of(...)
  for i = 1, select("#", ...) do
    local value = select(i, ...)
    if value ~= nil then
      return value
    end
  end
end

local function description_of(one)
  local text = type(one.description) == "string" and one.description or type(one.title) == "string" and one.title
  text = record.printable(text and text:find("%S") and text or one.name)
  return #text > MAX_DESCRIPTION and text:sub(1, utf8.offset(text, 0, MAX_DESCRIPTION) - 1) .. "..." or text
end

local function perform(tool, ctx, arguments, task)
  local client = client_of.new(ctx, tool.server, task.mcp)
  return client:call(tool.remote, arguments, { timeout = tool.timeout, idempotent = tool.idempotent,
    acts = tool.acts, input = tool.input })
end

---One tool of a server as a tool of ours.
---@param server skillrt.McpServer
---@param one table  as it was listed
---@return skillrt.Tool|nil tool
---@return string? message
function M.tool(server, one)
  local said = server.tools and server.tools[one.name] or {}
  local hints = server.trusted and type(one.annotations) == "table" and one.annotations or {}
  local acts = first_of(said.acts, hints.readOnlyHint ~= true)
  local input = type(one.inputSchema) == "table" and one.inputSchema.type == "object" and one.inputSchema
    or { type = "object" }
  local tool, message = tool_of.new({
    name = name_of(server, one.name), description = description_of(one), input = schema.judged(input),
    acts = acts, idempotent = first_of(said.idempotent, not acts or hints.idempotentHint == true),
    alone = said.alone, approval = first_of(said.approval, server.approval), max_result = said.max_result,
    timeout = said.timeout, outside = true, source = "mcp:" .. server.name,
    perform = perform, server = server, remote = one.name,
  }, "mcp " .. server.name)
  if tool then
    tool.judged, tool.input = tool.input, input -- a model is sent the server's own
  end
  return tool, message
end

-- The server's resources, as two tools.
local function resources(client, registry)
  local server, names_of = client.server, {}
  local function put(name, input, description, fn)
    local tool = assert(tool_of.new({ name = name_of(server, name), description = description .. server.name,
      input = input, acts = false, outside = true, source = "mcp:" .. server.name, perform = fn }, "mcp"))
    names_of[#names_of + 1] = registry:add(tool) and tool.name or nil
  end
  local function of(ctx, task)
    return client_of.new(ctx, server, task.mcp)
  end
  put("list_resources", nil, "Lists the resources of the server ", function(_, ctx, _, task)
    local list, message = of(ctx, task):resources()
    return list and json.encode(list, { sorted = true }), message
  end)
  put("read_resource", { type = "object", properties = { uri = { type = "string" } }, required = { "uri" } },
    "Reads a resource of the server ", function(_, ctx, arguments, task)
      return of(ctx, task):read(arguments.uri)
    end)
  return names_of
end

---Puts the tools of a server into a registry; what is left out is told.
---@param client skillrt.McpClient
---@param registry skillrt.Registry
---@return string[]|nil added  their names, in the server's order
---@return string? message
---@return string? class
function M.add(client, registry)
  local server, added = client.server, {}
  local list, message, class = client:tools()
  local ok = list
  if list then
    ok, message, class = require("skillrt.tool.mcp.pin").check(client, list)
  end
  if not ok then
    return nil, message, class
  end
  for _, one in ipairs(list) do
    if not server.tools or server.tools[one.name] then
      local tool, problem = M.tool(server, one)
      local put = tool
      if tool then
        put, problem = registry:add(tool)
      end
      added[#added + 1] = put and tool.name or nil
      if not put then
        client.ctx.log(("mcp %s: its tool %s is left out: %s"):format(server.name, names.show(one.name), problem))
      end
    end
  end
  if server.resources then
    table.move(resources(client, registry), 1, 2, #added + 1, added)
  end
  return added
end

return M
