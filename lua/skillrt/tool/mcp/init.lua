-- tool/mcp/init.lua: the entry to MCP servers: the client of a server for a step, and the tools that an agent gets
-- from servers.
--
-- Loaded if a skill has `mcp`. Knows the files next to it.

local client_of = require("skillrt.tool.mcp.client")
local privileges = require("skillrt.base.privileges")
local names = require("skillrt.base.names")
local stateless = require("skillrt.tool.mcp.stateless")
local tools = require("skillrt.tool.mcp.tools")

local M = { client = client_of.find }

---@class skillrt.McpTask  the part of a task about servers
---@field servers table<string, skillrt.McpServer>
---@field live table<string, skillrt.McpLive>  what this process knows of each
---@field version string

-- The servers of which a list names a tool; without a list, all.
local function wanted(list, servers)
  local out = {}
  for _, name in ipairs(list or {}) do
    out[tools.split(name) or ""] = true
  end
  local all = names.sorted(servers)
  for i = #all, 1, -1 do
    if list and not out[all[i]] then
      table.remove(all, i)
    end
  end
  return all
end

-- How often a server reported that its tools changed.
local function changed(client)
  return privileges.of(client.ctx).drawn(function()
    return client.live.kept and stateless.changed(client.live) or client.live.changed
  end)
end

-- Lists a server's tools again if it reported a change: returns whether it did.
local function renewed(one, registry)
  local count = changed(one.client)
  if count == one.count then
    return false
  end
  local before = {}
  for i, name in ipairs(one.added) do
    before[i] = registry:find(name)
    registry:remove(name)
  end
  local added, message, class = tools.add(one.client, registry)
  if not added then
    one.client.ctx.log(message)
    for _, tool in ipairs(class ~= "denied" and before or {}) do -- it cannot be asked now: keeps its earlier tools
      registry:add(tool)
    end
  end
  one.added, one.count = added or class ~= "denied" and one.added or {}, count
  return true
end

---Adds the tools of servers to those of a conversation.
---@param ctx table
---@param task table
---@param registry skillrt.Registry
---@param list string[]?  names of tools: of the servers that they name; nil: of all
---@return true|nil ok
---@return string? message
---@return (fun(): boolean)|nil renew  called before each request: whether the registry has changed since
function M.add(ctx, task, registry, list)
  local servers = {}
  for i, name in ipairs(wanted(list, task.mcp.servers)) do
    local client = client_of.find(ctx, name, task)
    local one = { client = client, count = changed(client) }
    local message
    one.added, message = tools.add(client, registry)
    if not one.added then
      return nil, message
    end
    servers[i] = one
  end
  return true, nil, servers[1] and function()
    local is_other = false
    for _, one in ipairs(servers) do
      is_other = renewed(one, registry) or is_other
    end
    return is_other
  end or nil
end

---Calls a tool by its name mcp__SERVER__TOOL for a script: without a model or a list; the script must know what the
---tool's annotations mean.
---@param ctx table
---@param task table
---@param name string
---@param arguments table
---@param options table?
---@return string|nil text
---@return any result_or_message
---@return string? class
function M.call(ctx, task, name, arguments, options)
  local server, remote = tools.split(name)
  local client, message = client_of.find(ctx, server, task)
  if not client or not remote or remote == "" then
    return nil, message or ("%s: a tool is named mcp__SERVER__TOOL"):format(name), "definition"
  end
  local all = {}
  for _, list in ipairs({ client.server.tools and client.server.tools[remote] or {}, options or {} }) do
    for _, key in ipairs({ "timeout", "idempotent", "acts" }) do
      all[key] = list[key] == nil and all[key] or list[key]
    end
  end
  return client:call(remote, arguments, all)
end

return M
