-- mcp_http_spec.lua: servers of the Model Context Protocol behind a URL: the session, streams that break off and are
-- taken up again, what is refused, and secrets. What they ask in between: mcp_url_spec.lua.
local K = require "tests.support.mcp_kit"
local R = require "tests.support.runs"
local json = require "skillrt.base.json"

local web

local function definition(fn, more)
  local server = { url = web.url }
  for key, value in pairs(more or {}) do server[key] = value end
  return K.definition(fn, { far = server })
end

local function run(fn, more)
  local dir = R.folder() .. "/run"
  return assert(R.run(definition(fn, more), { work_dir = dir })), dir
end

local function echo(_, ctx)
  local text, message, class = ctx.tool("mcp__far__echo", { text = "x" }, { idempotent = true })
  return { text = text, message = text == nil and message or nil, class = class }
end

local function act(_, ctx)
  ctx.tool("mcp__far__act", {})
end

describe("a server of MCP behind a URL", function()
  before_each(function()
    web = K.web()
  end)
  after_each(function()
    web.stop()
    R.clean()
  end)

  it("is greeted once, told its session and the protocol from then on, and that the session is over", function()
    web.script("initialize", { 'json 200 [Mcp-Session-Id: s-1|Content-Type: application/json] {"jsonrpc":"2.0","id":$ID,'
      .. '"result":{"protocolVersion":"2025-06-18","capabilities":{}}}' })
    local result = run(function(_, ctx)
      return { one = (ctx.tool("mcp__far__echo", {})), two = (ctx.tool("mcp__far__echo", {})) }
    end)
    assert.same({ "ok 1", "ok 2" }, { result.state.one, result.state.two }, json.encode(result.state.errors))
    assert.equal("initialize.1 notifications_initialized.1 GET.1 tools_call.1 tools_call.2 DELETE.1", web.order())
    for name in web.order():gmatch "%S+" do
      local head = web.request(name)
      local is_first = name == "initialize.1"
      assert.equal(not is_first, head:find("\r\nMcp-Session-Id: s-1\r\n", 1, true) ~= nil, name)
      assert.equal(not is_first, head:find("\r\nMCP-Protocol-Version: 2025-06-18\r\n", 1, true) ~= nil, name)
      assert.matches(name:find "%u" and "\r\nAccept: text/event%-stream\r\n"
        or "\r\nAccept: application/json, text/event%-stream\r\n", head)
    end
  end)

  it("may leave its stream open behind the answer, and break off its JSON anywhere", function()
    web.script("tools_call", { "sse", "say here", "hang" })
    local began = os.time()
    assert.equal("here", run(echo).state.text)
    assert.is_true(os.time() - began < 10)
    web.script("tools_call", { "chunked 1 [X: y]", "say split", "end" })
    assert.equal("split", run(echo).state.text)
    web.script("tools_call", { "json 200 " })
    assert.matches("its stream ended without the answer", run(echo).state.message)
    web.script("tools_call", { 'json 200 [Content-Type: application/json] '
      .. '[{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}},'
      .. '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"both"}]}}]' })
    assert.equal("both", run(echo).state.text)
  end)

  it("answers with a stream; one that ends early is taken up behind its last event", function()
    local note = 'event {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}'
    web.script("GET.1", { "json 405 none" })
    web.script("tools_call", { "sse", "raw id: e1\\nretry: 10\\ndata:\\n\\n", note })
    web.script("GET.2", { "sse", "raw id: e2\\n", note, "sleep 30", "reset" })
    -- the answer has the id of the call, and not of the request that asks for it
    web.script("GET.3", { "sse", 'event {"jsonrpc":"2.0","id":"1-0","result":{"content":[{"type":"text","text":"late"}]}}' })
    local result = run(echo)
    assert.equal("late", result.state.text, result.state.message)
    assert.matches("^GET .*\r\nLast%-Event%-ID: e1\r\n", (web.request "GET.2"))
    assert.matches("^GET .*\r\nLast%-Event%-ID: e2\r\n", (web.request "GET.3"))
  end)

  it("is given up where a stream is taken up in vain, and is not asked for ever", function()
    web.script("tools_call", { "sse", "raw id: e1\\nretry: 1\\ndata:\\n\\n" })
    web.script("GET", { "sse", "raw id: e1\\nretry: 1\\ndata:\\n\\n" })
    web.script("GET.1", { "json 405 none" })
    assert.matches("its stream ended without the answer", run(echo).state.message)
    assert.equal(51, select(2, web.order():gsub("GET", "")))
    web.forget()
    web.script("GET", { "json 405 none" })
    assert.matches("its stream ended without the answer", run(echo).state.message)
  end)

  it("that forgot the session is greeted anew", function()
    web.script("tools_call.1", { "json 404 gone" })
    local result = run(echo)
    assert.equal("ok 2", result.state.text, result.state.message)
    assert.equal("initialize.1 notifications_initialized.1 GET.1 tools_call.1 initialize.2 notifications_initialized.2 "
      .. "GET.2 tools_call.2 DELETE.1", web.order())
    assert.matches("Mcp%-Session%-Id: s%-2", (web.request "tools_call.2"))
    web.forget()
    web.script("tools_call", { "json 404 gone" }) -- it knows no session of its own: not for ever
    assert.matches("HTTP 404", run(echo).state.message)
    assert.equal(2, select(2, web.order():gsub("tools_call", "")))
    web.script("initialize", { "json 404 nothing here" })
    assert.matches("HTTP 404", run(echo).state.message)
  end)

  it("is refused where it redirects, and where it says what is no answer", function()
    web.script("initialize.1", { "json 307 [Location: http://127.0.0.1:1/] " })
    assert.matches("redirect 307", run(echo).state.message)
    web.script("initialize.2", { 'json 200 {"id":$ID,"result":{"protocolVersion":"1999-01-01"}}' })
    assert.matches("uses the protocol version 1999", run(echo).state.message)
    web.script("initialize.3", { 'json 200 {"id":$ID,"error":{"code":-1,"message":"not today"}}' })
    assert.matches("refuses the handshake: not today", run(echo).state.message)
    web.script("initialize.4", { "json 401 who?" })
    assert.matches("HTTP 401", run(echo, { oauth = false }).state.message)
    web.script("initialize.5", { "json 200 [Content-Type: text/html] <html>" })
    assert.matches("its stream ended without the answer", run(echo).state.message)
    web.script("notifications_initialized.2", { "json 400 no" })
    assert.matches("HTTP 400", run(echo).state.message)
    web.script("tools_call", { "json 200 [Content-Type: application/json] [1, 2" })
    assert.matches("ended without the answer", run(echo).state.message)
    web.script("tools_call", { "json 200 [Content-Type: text/event-stream] data: 1" })
    assert.matches("ended without the answer", run(echo).state.message)
    web.script("tools_call", { "json 308 [Location: http://127.0.0.1:1/] " })
    assert.matches("redirect 308", run(echo).state.message)
  end)

  it("is asked about where nobody knows whether it acted", function()
    web.script("tools_call.1", { "json 500 oh" })
    local result = run(act)
    assert.same({ "paused", "needs_decision" }, { result.status, result.reason })
    web.script("tools_call.2", { "sse", "event 1" })
    result = run(act)
    assert.same("paused", result.status)
    assert.matches("mcp far: tools/call act may have been executed: its stream ended without the answer",
      result.question.question)
    web.script("tools_call.3", { "reset" })
    assert.equal("needs_decision", run(act).reason)
    web.script("tools_call.4", { "json 503 [Retry-After: 1] busy" }) -- it says that it did not
    local dir
    result, dir = run(act)
    assert.same({ "completed", 0 }, { result.status, #R.records(dir, "doubt") })
  end)

  it("has its token from the environment, and the journal never", function()
    local token = os.getenv "PATH" -- any that is there
    web.script("tools_call", { 'json 200 {"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"your token '
      .. 'is ' .. token .. '"}]}}' })
    local result, dir = run(echo, { headers = { Authorization = "Bearer ${PATH}", ["mcp-session-id"] = "own" } })
    for name in web.order():gmatch "%S+" do
      local head = web.request(name)
      assert.truthy(head:find("Authorization: Bearer " .. token, 1, true), name)
      assert.is_nil(head:find("own", 1, true))
    end
    assert.matches("^your token is ", result.state.text)
    assert.is_nil(result.state.text:find(token, 1, true))
    for _, record in ipairs(R.records(dir)) do
      assert.is_nil(json.encode(record):find(token, 1, true), record.t)
    end
    assert.matches("the environment has no NO_SUCH", run(echo, { headers = { A = "${NO_SUCH}" } }).state.message)
    result, dir = run(echo, { url = "${NO_SUCH:-" .. web.url .. "}?key=${PATH}" })
    assert.matches("^your token is ", result.state.text, result.state.message)
    for _, record in ipairs(R.records(dir)) do
      assert.is_nil(json.encode(record):find(token, 1, true), record.t)
    end
    assert.matches("no NO_SUCH", run(echo, { url = "${NO_SUCH}/x" }).state.message)
  end)
end)
