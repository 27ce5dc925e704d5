-- tool/mcp/tools.lua: the tools of a server as tools of ours: mcp__SERVER__TOOL, with the settings of the skill's
-- author.
--
-- A server's statements about its tools (`readOnlyHint`, `idempotentHint`) count if the author trusts it. Models get
-- its descriptions and schemas unchanged; its results are data from others. Knows clients and tools.

local client_of = require("skillrt.tool.mcp.client")
local cut = require("skillrt.base.text").cut
local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local privileges = require("skillrt.base.privileges")
local record = require("skillrt.base.record")
local schema = require("skillrt.tool.mcp.schema")
local tool_of = require("skillrt.tool")

local M = {}

-- ---- the tools a server offered at first use: kept in $XDG_STATE_HOME/skillrt/mcp; a change needs an approval ----

local MAX_FILE <const>, MAX_SHOWN <const> = 4 << 20, 20

local function path_of(server)
  local base = files.state_home()
  return base and ("%s/mcp/%s.json"):format(base, server.digest), base and base .. "/mcp"
end

-- What is remembered of a list: each tool's annotations, and the digest of all that a model gets of it.
local function summary(list)
  local out = {}
  for _, one in ipairs(list) do
    local sent = { one.description or json.null, one.inputSchema or json.null, one.annotations or json.null }
    local text = assert(json.encode(sent, { sorted = true }))
    local said = type(one.description) == "string" and one.description or ""
    out[one.name] = out[one.name] or { digest = files.digest(text), description = cut(said, 500) }
  end
  return out
end

local function remember(server, tools)
  local path, folder = path_of(server)
  local text = json.encode({ server = server.name, tools = tools }, { sorted = true })
  return path and text and files.make_folders(folder) and files.write(path, text) and true or false
end

local function shown(text)
  return names.show(record.printable(text))
end

-- What has changed, in words; "": nothing.
local function changes(old, new)
  local out, more = {}, 0
  local all = {}
  for _, list in ipairs({ old, new }) do
    for name in pairs(list) do
      all[name] = true
    end
  end
  for _, name in ipairs(names.sorted(all)) do
    local before, now = old[name], new[name]
    local text = not before and "%s is new, and says %s" or not now and "%s is gone"
      or before.description ~= now.description and "%s says %s, and said %s"
      or before.digest ~= now.digest and "the schema of %s, or the end of its description, has changed" or nil
    if text and #out < MAX_SHOWN then
      out[#out + 1] = text:format(shown(name), now and shown(now.description), before and shown(before.description))
    elseif text then
      more = more + 1
    end
  end
  out[#out + 1] = more > 0 and ("%d more"):format(more) or nil
  return table.concat(out, "; ")
end

-- How the list compares to the remembered one: "", what has changed, "first", or "lost": it cannot be remembered.
local function compared(server, new)
  local path = path_of(server)
  if not path then
    return "lost"
  end
  local text, message, code = files.read(path, MAX_FILE)
  if code == "missing" then
    return remember(server, new) and "first" or "lost"
  end
  local known = text and json.decode(text)
  if type(known) ~= "table" or type(known.tools) ~= "table" then
    return "those of then cannot be read: " .. (message or path .. ": is no such list")
  end
  return changes(known.tools, new)
end

local function started(server)
  local url = server.url and server.url:gsub("[?#].*$", ""):gsub("^(%w+://)[^/@]*@", "%1") -- possible secrets are not
  return url or table.concat(server.argv, " ")
end

---Whether the tools that a server lists may be used: if they are unchanged since the first time, or a person
---approves.
---@param client skillrt.McpClient
---@param list table[]
---@return boolean|nil ok
---@return string? message
---@return string? class
local function check_pin(client, list)
  local server, ctx = client.server, client.ctx
  local new = summary(list)
  local found = privileges.of(ctx).drawn(function() return compared(server, new) end)
  local is_first = found == "first" or found == "lost"
  if is_first then
    ctx.log(("mcp %s is used for the first time: %s; its tools: %s%s"):format(server.name, started(server),
      table.concat(names.sorted(new), ", "), found == "lost" and "; a later change of them will not be noticed" or ""))
  end
  if is_first or found == "" or server.trusted then
    return true
  end
  local answer, message, class = ctx.ask({
    header = "mcp " .. server.name,
    question = ("The tools of server %s (%s) have changed since its first use: %s. Use them as they are now?")
      :format(server.name, started(server), found),
    options = { { id = "yes", description = "use them, and remember them" }, { id = "no", description = "fail" } },
  })
  if answer == "yes" then
    return privileges.of(ctx).drawn(function() return remember(server, new) and 1 or 0 end) and true
  end
  return nil, message or ("mcp %s: its tools have changed, and a person did not accept them"):format(
    server.name), class or "denied"
end

local PREFIX <const> = "mcp__"
local MAX_DESCRIPTION <const> = 16384

---The server that a tool's name contains, and the tool's name there, as far as the name tells.
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

-- Providers accept shorter and simpler names than servers may give.
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
  return cut(record.printable(text and text:find("%S") and text or one.name), MAX_DESCRIPTION)
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
    tool.judged, tool.input = tool.input, input -- a model gets the server's own
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

---Adds the tools of a server to a registry; reports those left out.
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
    ok, message, class = check_pin(client, list)
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
