-- mcp_client.lua: a client of MCP over stdio for tests: the real program behind two pipes, requests and what comes
-- back, notifications kept, questions of the server answered.
local K = require "tests.support.cli_kit"
local json = require "skillrt.base.json"

local M = {}

local Client = {}
Client.__index = Client

---Starts `skillrt mcp` with these words in a folder.
function M.start(folder, words)
  local name = folder.path .. "/.mcp" .. tostring(math.random(1 << 30))
  assert(os.execute(("mkfifo %s.in %s.out"):format(name, name)))
  local parts = {}
  for i, word in ipairs(words) do parts[i] = K.quoted(word) end
  folder.file(name:match "[^/]+$" .. ".sh", ("cd %s; echo $$ >%s.pid; export HOME=$PWD XDG_STATE_HOME=$PWD/.state\n"
    .. "exec %s mcp --runs runs %s <%s.in >%s.out 2>%s.err\n"):format(K.quoted(folder.path), name, K.quoted(K.program),
    table.concat(parts, " "), name, name, name))
  assert(os.execute(("(timeout -s KILL 60 sh %s.sh; echo $? >%s.code) &"):format(name, name)))
  local self = setmetatable({ name = name, last = 0, told = {}, asked = {}, replies = {} }, Client)
  self.to = assert(io.open(name .. ".in", "w"))
  self.from = assert(io.open(name .. ".out", "r"))
  self.to:setvbuf "no"
  return self
end

function Client:write(text) self.to:write(text, "\n") end

function Client:notify(method, params) self:write(json.encode { jsonrpc = "2.0", method = method, params = params }) end

---Sends a request; gives its id.
function Client:send(method, params)
  self.last = self.last + 1
  self:write(json.encode { jsonrpc = "2.0", id = self.last, method = method, params = params })
  return self.last
end

---The next message; questions of the server are answered by `self.answer(params)`.
function Client:next()
  local line = self.from:read "l"
  if not line then return nil end
  local message = assert(json.decode(line))
  assert(message.jsonrpc == "2.0")
  if message.method and message.id then
    self.asked[#self.asked + 1] = message
    if self.answer then
      self:write(json.encode { jsonrpc = "2.0", id = message.id, result = self.answer(message.params) })
    end
  elseif message.method then
    self.told[#self.told + 1] = message
  end
  return message
end

---Waits for the answer to a request.
function Client:wait(id)
  while not self.replies[id] do
    local message = self:next() or error("the server has gone: " .. K.read(self.name .. ".err"))
    if message.id ~= nil and not message.method then self.replies[message.id] = message end
  end
  return self.replies[id]
end

function Client:request(method, params) return self:wait(self:send(method, params)) end

---The result of a tool, and the text that it gave.
function Client:call(name, given, meta)
  local reply = self:request("tools/call", { name = name, arguments = given, _meta = meta })
  local result = assert(reply.result, reply.error and reply.error.message)
  return result.structuredContent, result, result.content and result.content[1].text
end

function Client:begin(capabilities, version)
  local reply = self:request("initialize", { protocolVersion = version or "2025-11-25",
    capabilities = capabilities or {}, clientInfo = { name = "test", version = "1" } })
  self:notify "notifications/initialized"
  return reply.result
end

---Ends the server by signal 9.
function Client:kill() os.execute("kill -9 " .. K.read(self.name .. ".pid")) end

---Goes away; the exit code of the server.
function Client:close()
  self.to:close()
  repeat until not self.from:read "l"
  self.from:close()
  local code
  repeat
    code = K.read(self.name .. ".code")
  until code and code:find "\n" or not os.execute "sleep 0.01"
  return tonumber(code), K.read(self.name .. ".err")
end

return M
