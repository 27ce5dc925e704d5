-- tool/mcp/methods.lua: what a script may ask of a server beside its tools: what ctx.mcp(NAME) can do.
--
-- Loaded when a script asks. Knows clients.

local content = require("skillrt.tool.mcp.content")
local tools = require("skillrt.tool.mcp.tools")

local M = {}

---The tools of the server, as it lists them.
function M.tools(client)
  return tools.list(client)
end

---Calls a tool by the server's own name: its text and whole result; or nil, message, class.
function M.call(client, name, arguments, options)
  return tools.call(client, name, arguments or {}, options)
end

---The resources of the server: { uri, name, description, mimeType } each.
function M.resources(client)
  return tools.pages(client, "resources/list", "resources")
end

---The text of a resource, and its contents as they came.
function M.read(client, uri)
  local result, message, class = client:request("resources/read", { uri = uri }, tools.READS)
  if not result then
    return nil, message, class
  end
  local parts = {}
  for i, one in ipairs(type(result.contents) == "table" and result.contents or {}) do
    parts[i] = content.of_resource(one)
  end
  return table.concat(parts, "\n"), result.contents
end

---The prompts of the server: { name, description, arguments } each.
function M.prompts(client)
  return tools.pages(client, "prompts/list", "prompts")
end

---A prompt filled in: its text, and its messages as they came.
function M.prompt(client, name, arguments)
  local params = { name = name, arguments = arguments or {} }
  local result, message, class = client:request("prompts/get", params, tools.READS)
  if not result then
    return nil, message, class
  end
  local parts = {}
  for i, one in ipairs(type(result.messages) == "table" and result.messages or {}) do
    parts[i] = type(one) == "table" and content.text({ one.content }) or ""
  end
  return table.concat(parts, "\n\n"), result.messages
end

return M
