-- mcp_stateless_server.lua: a server of MCP over standard input and output that speaks 2026-07-28 alone: what the tests
-- of the client talk to.
--
-- lua mcp_stateless_server.lua MODE FOLDER: FOLDER/log has a line for each message it was sent.
local json = require "cjson"

local mode, folder = arg[1] or "good", arg[2]
local VERSION <const> = mode == "newer" and "2031-01-01" or "2026-07-28"
local META <const> = "io.modelcontextprotocol/"

local function note(text)
  local file <close> = assert(io.open(folder .. "/log", "a"))
  file:write(text, "\n")
end

local METHOD = {}

METHOD["server/discover"] = function()
  return { resultType = "complete", supportedVersions = { VERSION }, capabilities = { tools = { x = true } }, ttlMs = 0,
    cacheScope = "private" }
end

local moved = false

METHOD["resources/read"] = function(params)
  if not params.inputResponses then
    return { resultType = "input_required", requestState = "r", inputRequests = { where = { method = "roots/list" } } }
  end
  return { resultType = "complete", ttlMs = 60000, cacheScope = "private",
    contents = { { uri = params.uri, text = params.inputResponses.where.roots[1].name } } }
end

METHOD["tools/list"] = function()
  if moved then
    return { resultType = "complete", ttlMs = 60000, cacheScope = "private",
      tools = { { name = "later", description = "Came later", inputSchema = { type = "object" } } } }
  end
  return { resultType = "complete", ttlMs = mode == "fleeting" and 0 or 60000, cacheScope = "private",
    tools = { { name = "echo", description = "Says it again", inputSchema = { type = "object" } } } }
end

local function text(words) return { resultType = "complete", content = { { type = "text", text = words } } } end

METHOD["tools/call"] = function(params)
  if mode == "moves" and params.name == "echo" then
    moved = true
    return nil
  end
  local name, given = params.name, params.inputResponses
  if name == "ask" and not given then
    return { resultType = "input_required", requestState = "state-1",
      inputRequests = { who = { method = "elicitation/create", params = { mode = "form", message = "Who?",
        requestedSchema = { type = "object", properties = { name = { type = "string" } } } } } } }
  elseif name == "ask" then
    return text(("%s said %s"):format(params.requestState, given.who.content.name))
  elseif name == "odd" then
    return { resultType = "later" }
  elseif name == "again" then
    return { resultType = "input_required", requestState = "x", inputRequests = json.decode "{}" }
  end
  return text(params.arguments.text or "")
end

for line in io.lines() do
  note(line)
  local message = json.decode(line)
  local meta = message.params and message.params._meta or {}
  local answer = { jsonrpc = "2.0", id = message.id }
  if message.id and meta[META .. "protocolVersion"] ~= "2026-07-28" then
    answer.error = { code = -32022, message = "unsupported", data = { supported = { VERSION }, requested = "none" } }
  elseif message.id then
    answer.result = METHOD[message.method] and METHOD[message.method](message.params)
    local code = METHOD[message.method] and -32602 or -32601
    answer.error = not answer.result and { code = code, message = "there is none" } or nil
  end
  if message.id then
    io.write(json.encode(answer), "\n")
    io.flush()
  end
end
