-- mcp_url_spec.lua: what a server of the Model Context Protocol behind a URL asks in between, on the stream of a call or
-- on the standing one, and what becomes of it where a stream, the session or this process ends.
local K = require "tests.support.mcp_kit"
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

local web

local function definition(fn, more, all)
  local server = { url = web.url, roots = { "src" } }
  for key, value in pairs(more or {}) do server[key] = value end
  return K.definition(fn, { far = server }, all)
end

local function run(fn, more, all)
  local dir = R.folder() .. "/run"
  return assert(R.run(definition(fn, more, all), { work_dir = dir })), dir
end

local function once(_, ctx)
  local text, message, class = ctx.tool("mcp__far__echo", {}, { idempotent = true })
  return { text = text, message = text == nil and message or nil, class = class }
end

local function act(_, ctx)
  local text, message = ctx.tool("mcp__far__act", {})
  return { text = text or message }
end

local function asks(id, method, params)
  return "event " .. json.encode { jsonrpc = "2.0", id = id, method = method or "roots/list", params = params }
end

local FORM <const> = { message = "Who?", requestedSchema = { type = "object", required = { "name" },
  properties = { name = { type = "string" } } } }

-- How many messages of calls left in a run.
local function calls(dir)
  local count = 0
  for _, record in ipairs(R.records(dir, "call")) do
    count = count + (record.kind == "session" and 1 or 0)
  end
  return count
end

-- What the server was told, by its own ids.
local function answers()
  local out = {}
  for n = 1, 200 do
    local _, body = web.request("answer." .. n)
    if not body then break end
    local answer = json.decode(body)
    out[answer.id] = answer.result or answer.error
  end
  return out
end

describe("a server of MCP behind a URL", function()
  before_each(function()
    web = K.web()
  end)
  after_each(function()
    web.stop()
    R.clean()
  end)

  it("asks on the stream of a call, again and again, and answers behind it", function()
    web.script("tools_call", { "sse", asks "q1", "await answer.1", asks("q2", "sampling/createMessage", { maxTokens = 9,
      messages = { { role = "user", content = { type = "text", text = "6 times 7?" } } } }), "await answer.2",
      asks("q3", "no/such"), asks("p", "ping"), "await answer.4", "say done" })
    local result, dir = run(once, { sampling = "wise" }, { agents = { wise = { kind = "lua", run = function()
      return { status = "completed", output = "42" }
    end } } })
    assert.equal("done", result.state.text, result.state.message)
    local told = answers()
    assert.matches("/src$", told.q1.roots[1].uri)
    assert.matches("42", told.q2.content.text)
    assert.equal(-32601, told.q3.code)
    assert.same({}, told.p)
    for _, line in ipairs { "Mcp%-Session%-Id: s%-1", "MCP%-Protocol%-Version: 2025%-11%-25" } do
      assert.matches("\r\n" .. line .. "\r\n", (web.request "answer.1"))
    end
    assert.equal(4, calls(dir)) -- of a ping nothing is kept
  end)

  it("asks on the standing stream, before, between and while nobody waits; it is there before a call leaves", function()
    web.script("GET", { "sse", asks "g1", "await tools_call.1", asks "g2", "await tools_call.2", asks "g3", "hang" })
    web.script("tools_call.1", { "await answer.1", 'json 200 {"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}' })
    web.script("tools_call.2", { "sse", "await answer.3", "say two" })
    local result = run(function(_, ctx)
      ctx.tool("mcp__far__one", {})
      ctx.sleep(0.2)
      return { text = (ctx.tool("mcp__far__two", {})) }
    end)
    assert.equal("two", result.state.text, json.encode(result.state))
    for _, id in ipairs { "g1", "g2", "g3" } do
      assert.truthy(answers()[id].roots, id)
    end
    assert.matches("^initialize.1 notifications_initialized.1 GET.1 .*tools_call.1", web.order())
    assert.matches("DELETE.1$", web.order())
  end)

  it("asks the call whose stream it is, of two under way", function()
    local got
    web.script("tools_call", { "sse", "await tools_call.2", asks("of $N"), "await answer.2", "say $N" })
    local result, dir = run(function(_, ctx)
      got = ctx.map({ "a", "b" }, function(name) return (ctx.tool("mcp__far__" .. name, {})) end)
    end)
    assert.equal("completed", result.status, result.message)
    table.sort(got)
    assert.same({ "1", "2" }, got)
    local asked = {}
    for _, record in ipairs(R.records(dir, "result")) do
      local id = record.reply and record.reply.body:match '"id":"of (%d)"'
      if id then asked[id] = "1-" .. record.c:match "^.*%." end
    end
    for _, n in ipairs { "1", "2" } do
      assert.equal(json.decode(select(2, web.request("tools_call." .. n))).id:match "^.*%.", asked[n]) -- of one branch
    end
  end)

  it("may answer while it is asked for the answer to its question", function()
    web.script("tools_call", { "sse", asks "q", "say early" })
    assert.equal("early", run(once).state.text)
    web.script("tools_call", { "sse", asks "q" }) -- and its stream may end
    assert.matches("its stream ended without the answer", run(once).state.message)
    web.script("tools_call", { "sse", asks "q", "await answer.3", "reset" })
    assert.truthy(run(once).state.message)
    web.script("tools_call", { "sse", asks "q", "await answer.4", "hang" })
    web.script("answer.4", { "json 500 no" })
    assert.matches("HTTP 500", run(once).state.message)
  end)

  it("asks a person, who may take days: what was answered is kept, and told again in a session begun anew", function()
    for _, one in ipairs { { once }, { act, "retry" } } do
      web.forget()
      web.script("tools_call.1", { "sse", asks("q1", "elicitation/create", FORM), "hang" })
      web.script("tools_call.2", { "sse", asks("q2", "elicitation/create", FORM), "await answer.1", "say known" })
      local result, dir = run(one[1])
      for _, answer in ipairs { "accept", "Ada", one[2] } do
        assert.equal("paused", result.status, result.message)
        result = assert(skillrt.resume(dir, { skill = R.skill(definition(one[1])), answer = answer }))
      end
      assert.equal("known", result.state.text, result.message)
      assert.same({ q2 = { action = "accept", content = { name = "Ada" } } }, answers())
      assert.equal("initialize.1 notifications_initialized.1 GET.1 tools_call.1 DELETE.1 initialize.2 "
        .. "notifications_initialized.2 GET.2 tools_call.2 answer.1 DELETE.2", web.order())
    end
  end)

  it("that forgot the session meanwhile is begun anew, and answered there", function()
    web.script("tools_call.1", { "sse", asks "q1", "hang" })
    web.script("answer.1", { "json 404 gone" })
    web.script("tools_call.2", { "sse", asks "q2", "await answer.2", "say again" })
    assert.equal("again", run(once).state.text)
    web.forget()
    assert.equal("needs_decision", (function()
      local result = run(act)
      return result.reason == "waiting_for_person" and "needs_decision" or result.reason
    end)())
  end)

  it("offers no standing stream, or one that says nothing, or never answers for it", function()
    for _, lines in ipairs { { "json 405 none" }, { "json 404 none" }, { "json 200 [Content-Type: text/html] <p>" },
      { "json 307 [Location: http://127.0.0.1:1/] " }, { "json 400 what" }, { "reset" }, { "hang" } } do
      web.forget()
      web.script("GET", lines)
      local began = os.time()
      assert.equal("ok 1", run(once).state.text, lines[1])
      assert.is_true(os.time() - began < 6, lines[1])
    end
  end)

  it("may close the standing stream, which is asked for again when it says, behind its last event", function()
    web.script("GET.1", { "sse", "raw retry: 300\\nid: g7\\n", asks "q1" })
    web.script("GET.2", { "sse", asks "q2", "hang" })
    web.script("tools_call", { "sse", "await GET.2", "await answer.2", "say both" })
    assert.equal("both", run(once).state.text)
    assert.truthy(answers().q1 and answers().q2)
    assert.matches("\r\nLast%-Event%-ID: g7\r\n", (web.request "GET.2"))
  end)

  it("says much, and more at once than is kept; its answer comes all the same", function()
    local note = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}'
    web.script("GET", { "sse", "flood 20000 " .. note, "hang" })
    web.script("tools_call", { "chunked 1000", "flood 20000 " .. note, "big 300000", "sleep 50", "say through", "end" })
    local result, dir = run(once, { max_reply = 1 << 20 })
    assert.equal("through", result.state.text, result.state.message)
    assert.is_true(#R.records(dir) < 20)
    web.script("tools_call", { "sse", "big 3000000", "say never" })
    assert.matches("more than 1048576 bytes", run(once, { max_reply = 1 << 20 }).state.message)
    web.script("GET", { "sse", "big 3000000", "hang" })
    web.script("tools_call", { "sse", "say here" })
    assert.equal("here", run(once, { max_reply = 1 << 20 }).state.text)
  end)

  it("pings while nobody talks to it, for long: that is answered and keeps nothing", function()
    web.script("GET", { "sse", "flood 300 " .. '{"jsonrpc":"2.0","id":"p","method":"ping"}', "hang" })
    web.script("tools_call.2", { "await answer.300", 'json 200 {"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}' })
    local result, dir = run(function(_, ctx)
      ctx.tool("mcp__far__one", {})
      ctx.sleep(0.3)
      ctx.tool("mcp__far__two", {})
    end)
    assert.equal("completed", result.status, result.message)
    assert.equal(2, calls(dir))
  end)

  it("is told that the session is over, and need not say a word to it", function()
    web.script("DELETE", { "hang" })
    local began = os.time()
    assert.equal("ok 1", run(once).state.text)
    assert.is_true(os.time() - began < 5)
    assert.matches("DELETE.1$", web.order())
    web.forget()
    web.script("DELETE", { "json 405 no" })
    assert.equal("completed", run(once).status)
    web.forget()
    web.script("initialize", { 'json 200 {"id":$ID,"result":{"protocolVersion":"2025-11-25"}}' })
    assert.equal("completed", run(once).status)
    assert.is_nil(web.order():find "DELETE") -- it gave no session
  end)

  it("that does not answer in time is withdrawn from", function()
    web.script("tools_call", { "sse", "hang" })
    assert.equal("timeout", run(once, { timeout = 0.3 }).state.class)
    local _, body = web.request "notifications_cancelled.1"
    assert.equal("1-0", json.decode(body).params.requestId)
    web.forget()
    web.script("initialize", { "hang" })
    assert.equal("timeout", run(once, { timeout = 0.3 }).state.class)
  end)

  it("says that its tools changed: on either stream", function()
    local changed = 'event {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
    web.script("GET", { "sse", changed, "hang" })
    web.script("tools_call", { "sse", changed, "sleep 100", "say x" })
    local client_of, client = require "skillrt.tool.mcp.client", nil
    local new = client_of.new
    client_of.new = function(...)
      client = new(...)
      return client
    end
    run(function(_, ctx) ctx.tool("mcp__far__echo", {}) end)
    client_of.new = new
    assert.equal(2, client.live.changed)
  end)
end)
