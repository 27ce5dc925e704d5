-- mcp_stateless_spec.lua: servers that speak the protocol of 2026-07-28, which has no handshake: found out, told the
-- version with each request, answered where a result asks for something.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"
local stateless = require "skillrt.tool.mcp.stateless"

local META <const> = "io.modelcontextprotocol/"
local folder

local function server(mode, more)
  local one = { command = { "lua5.4", "tests/support/mcp_stateless_server.lua", mode, folder }, timeout = 5,
    cwd = io.popen("pwd"):read "l" }
  for key, value in pairs(more or {}) do one[key] = value end
  if one.url then one.command, one.cwd = nil, nil end
  return one
end

local function skill_of(fn, mode, more)
  return R.skill { mode = "sequential", mcp = { far = server(mode or "good", more) },
    limits = { max_errors = 1, max_retries = 0 }, phases = { { id = "a", output_free = true, run = fn } } }
end

local function run(fn, mode, more)
  return assert(skill_of(fn, mode, more):run { work_dir = folder .. "/run" })
end

-- What the server was sent.
local function log()
  local list = {}
  for line in io.lines(folder .. "/log") do
    list[#list + 1] = json.decode(line)
  end
  return list
end

local function methods()
  local out = {}
  for i, message in ipairs(log()) do out[i] = message.method end
  return table.concat(out, " ")
end

describe("a server of MCP without a handshake", function()
  before_each(function() folder = R.folder() end)
  after_each(R.clean)

  it("is found by the handshake that it refuses, asked what it speaks, and told the version each time", function()
    local said
    run(function(_, ctx) said = { (ctx.tool("mcp__far__echo", { text = "one" })), (ctx.tool("mcp__far__echo", { text = "two" })) } end)
    assert.same({ "one", "two" }, said)
    assert.equal("initialize notifications/initialized tools/call server/discover tools/call tools/call", methods())
    local last = log()[6].params
    assert.equal("2026-07-28", last._meta[META .. "protocolVersion"])
    assert.equal("skillrt", last._meta[META .. "clientInfo"].name)
    assert.equal("table", type(last._meta[META .. "clientCapabilities"]))
    assert.same({ text = "two" }, last.arguments)
  end)

  it("is asked anew for a list that may be no more, and for what an answer decided", function()
    local web = R.server "/echo\n"
    local P, GOOD = require "tests.support.providers", '{"status":"completed","stateUpdates":{},"summary":"x"}'
    R.write(folder .. "/1", P.bytes(P.anthropic({ { type = "tool_use", id = "t", name = "mcp__far__echo", input = {} } },
      { stop_reason = "tool_use" })))
    R.write(folder .. "/2", P.bytes(P.anthropic(GOOD)))
    web.plan(("/raw?file=%s/1\n/raw?file=%s/2\n"):format(folder, folder))
    local result = assert(R.run({ mcp = { far = server("moves", { trusted = true }) }, limits = { max_errors = 1, max_retries = 0 },
      agents = { model = skillrt.agent.anthropic { url = web.url .. "/plan", tools = { "mcp__far" } } },
      actions = { { id = "a", agent = "model", prompt = "p p" } } }, { work_dir = folder .. "/talk" }))
    local sent = {}
    for n = 1, 2 do
      for _, tool in ipairs(select(2, web.request(n)).tools) do sent[#sent + 1] = tool.name end
    end
    require("skillrt.agent.gate").forget()
    web.stop()
    assert.equal("completed", result.status, result.message)
    assert.equal("mcp__far__echo read ask_user read ask_user mcp__far__later", table.concat(sent, " "))
    local live = { changed = 3, kept = { ['["tools/list",{}]'] = { changed = 3, till = os.time() + 60 } } }
    assert.equal(3, stateless.changed(live))
    live.kept['["tools/list",{}]'].till = os.time() - 1
    assert.same({ 4, 4 }, { stateless.changed(live), stateless.changed(live) })
    os.remove(folder .. "/log")
    local said
    run(function(_, ctx) said = { (ctx.mcp("far"):read "x://1"), (ctx.mcp("far"):read "x://1") } end, "good",
      { roots = { "src" }, protocol = "2026-07-28" })
    assert.same({ "src", "src" }, said)
    assert.equal("server/discover resources/read resources/read resources/read resources/read", methods())
  end)

  it("is spared the handshake where its author says what it speaks", function()
    local said
    run(function(_, ctx) said = ctx.tool("mcp__far__echo", { text = "one" }) end, "good", { protocol = "2026-07-28" })
    assert.equal("one", said)
    assert.equal("server/discover tools/call", methods())
  end)

  it("is left where it speaks a version that is not known", function()
    local message
    run(function(_, ctx) message = select(2, ctx.tool("mcp__far__echo", {})) end, "newer")
    assert.equal("mcp far: uses the protocol version 2031-01-01, which is not supported; supported are 2026-07-28 and older", message)
  end)

  it("is sent the request again with what it asked for", function()
    local text, why
    local paused = run(function(_, ctx)
      text = ctx.tool("mcp__far__ask", {}, { idempotent = true })
      return { text = text }
    end, "good", { elicitation = true })
    for _, answer in ipairs { "accept", "Ada" } do
      assert.equal("waiting_for_person", paused.reason)
      paused = assert(skillrt.resume(folder .. "/run", { skill = skill_of(function(_, ctx)
        text = ctx.tool("mcp__far__ask", {}, { idempotent = true })
        return { text = text }
      end, "good", { elicitation = true }), answer = answer }))
    end
    assert.equal("completed", paused.status, paused.message)
    assert.equal("state-1 said Ada", text)
    assert.same({ form = {}, url = {} }, log()[#log()].params._meta[META .. "clientCapabilities"].elicitation)
    folder = R.folder()
    local last = run(function(_, ctx) why = select(2, ctx.tool("mcp__far__ask", {})) end, "good", { elicitation = false })
    assert.equal("completed", last.status, last.message)
    assert.equal('mcp far: asks for "elicitation/create", which is not answered here', why)
  end)

  it("is stopped where it keeps asking without an end, or gives a result that is of no known kind", function()
    local said = {}
    run(function(_, ctx)
      said = { (select(2, ctx.tool("mcp__far__odd", {}))), (select(2, ctx.tool("mcp__far__again", {}))) }
    end)
    assert.same({ 'mcp far: gives a result of the kind "later", which is not known here',
      "mcp far: keeps asking without an end" }, said)
  end)

  it("is resumed behind every record: no call that is over is made again", function()
    local function acts(_, ctx)
      local first = ctx.tool("mcp__far__echo", { text = "a" }, { idempotent = true })
      return { first = first, last = (ctx.tool("mcp__far__echo", { text = "b" }, { idempotent = true })) }
    end
    run(acts)
    local dir, resumes = folder .. "/run", 0
    for keep, record in ipairs(R.records(dir)) do
      if record.t == "stop" then break end
      local copy = R.folder() .. "/cut"
      R.cut(dir, copy, keep)
      os.remove(folder .. "/log")
      local over = #R.records(copy, "result")
      local resumed = assert(skillrt.resume(copy, { skill = skill_of(acts) }))
      assert.equal("completed", resumed.status, resumed.message)
      assert.same({ "a", "b" }, { resumed.state.outputs.a.first, resumed.state.outputs.a.last })
      local again = R.read(folder .. "/log") or ""
      local _, a = again:gsub('"text":"a"', "")
      assert.equal(over < 3 and 2 - math.min(over, 1) or 0, a, "record " .. keep) -- refused once, then made
      resumes = resumes + 1
    end
    assert.is_true(resumes >= 6)
  end)

  it("is asked for a list once while that holds", function()
    for mode, count in pairs { good = 1, fleeting = 2 } do
      folder = R.folder()
      local found
      run(function(_, ctx)
        local client = ctx.mcp "far"
        client:tools()
        found = client:tools()
      end, mode, { protocol = "2026-07-28" })
      assert.equal("echo", found[1].name)
      local _, asked = methods():gsub("tools/list", "")
      assert.equal(count, asked, mode)
    end
  end)

  -- A server behind a URL that gives these replies, one after the other, those that begin with another message as a
  -- stream; before them it refuses the handshake, and says what it speaks.
  local function web_of(replies)
    local web, plan, files = R.server "/echo\n", {}, 0
    local function http(id, code, fields)
      files = files + 1
      local before, form = fields.before, fields.before and "text/event-stream" or "application/json"
      fields.jsonrpc, fields.id, fields.before = "2.0", id, nil
      local path, text = ("%s/raw%d"):format(folder, files), json.encode(fields)
      text = before and ("event: message\ndata: %s\n\ndata:\n\ndata: %s\n\n"):format(json.encode(before), text) or text
      R.write(path, ("HTTP/1.1 %d X\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s")
        :format(code, form, #text, text))
      plan[files] = "/raw?file=" .. path .. "\n"
    end
    http("1-0-open", 400, { error = { code = -32022, message = "too old" } })
    http("1-1", 200, { result = { supportedVersions = { "2026-07-28" } } })
    for i, reply in ipairs(replies) do http("1-" .. i + 1, reply.error and 400 or 200, reply) end
    web.plan(table.concat(plan))
    return setmetatable({ it = web }, { __close = function() web.stop() end })
  end

  local function said(text) return { result = { resultType = "complete", content = { { type = "text", text = text } } } } end

  local function listed(name, input)
    return { result = { resultType = "complete", ttlMs = 60000, cacheScope = "private",
      tools = { { name = "other", inputSchema = { type = "object" } }, { name = name, inputSchema = input or { type = "object" } } } } }
  end

  it("behind a URL is told in headers what the request is, and by a bad status why it is refused", function()
    local web <close> = web_of { said "hi", { error = { code = -32602, message = "Unknown tool" } } }
    local result, why
    run(function(_, ctx)
      result = ctx.mcp("far"):call("grüße", { where = { city = "Köln" }, n = 3 },
        { idempotent = true, input = { properties = { n = { ["x-mcp-header"] = "Count" },
          where = { properties = { city = { ["x-mcp-header"] = "City" } } } } } })
      why = select(2, ctx.tool("mcp__far__none", {}, { idempotent = true }))
    end, "good", { url = web.it.url .. "/plan" })
    assert.equal("hi", result, json.encode { why = why })
    local head = web.it.request(3)
    for _, line in ipairs { "MCP%-Protocol%-Version: 2026%-07%-28", "Mcp%-Method: tools/call",
      "Mcp%-Name: =%?base64%?Z3LDvMOfZQ==%?=", "Mcp%-Param%-City: =%?base64%?S8O2bG4=%?=", "Mcp%-Param%-Count: 3" } do
      assert.matches("\r\n" .. line .. "\r\n", head)
    end
    assert.is_nil(head:find "Session")
    assert.equal("mcp far: Unknown tool", why)
  end)

  it("behind a URL may answer with a stream: other messages in it are heard; without an answer its outcome is unknown", function()
    local streamed, lacking = said "streamed", { before = { jsonrpc = "2.0", method = "a" }, method = "b" }
    streamed.before = { jsonrpc = "2.0", method = "notifications/tools/list_changed" }
    local web <close> = web_of { listed "first", streamed, listed "second", lacking, lacking }
    local names, result, why = {}, nil, nil
    local ended = run(function(_, ctx)
      local far = ctx.mcp("far")
      names[1] = far:tools()[2].name
      result = far:call("echo", {}, { idempotent = true })
      names[2] = far:tools()[2].name
      why = select(2, far:call("echo", {}, { idempotent = true, retries = 0 }))
      far:call("echo", {})
    end, "good", { url = web.it.url .. "/plan" })
    assert.same({ "first", "streamed", "second" }, { names[1], result, names[2] })
    assert.equal("mcp far: its stream ended without the answer", why)
    assert.same({ "paused", "mcp far: its stream ended without the answer; tools/call echo may have been executed. "
      .. "Send it again?" }, { ended.status, ended.message })
  end)

  it("that wants arguments in headers is asked for its tools where it says so, and sent the call once more", function()
    local input = { type = "object", properties = { n = { type = "integer", ["x-mcp-header"] = "Count" } } }
    local wants = { error = { code = -32020, message = "headers and body differ" } }
    local web <close> = web_of { wants, listed("count", input), said "counted", wants, wants }
    local result, why
    run(function(_, ctx)
      result = ctx.mcp("far"):call("count", { n = 3 }, { idempotent = true })
      why = select(2, ctx.mcp("far"):call("other", { n = 3 }, { idempotent = true }))
    end, "good", { url = web.it.url .. "/plan" })
    assert.equal("counted", result)
    assert.is_nil(web.it.request(3):find "Mcp%-Param")
    assert.matches("\r\nMcp%-Param%-Count: 3\r\n", web.it.request(5))
    assert.equal("mcp far: headers and body differ", why) -- it wants none that its tool names: once is enough
  end)

  it("makes headers of any text, and of arguments that a schema wants there", function()
    for text, header in pairs { plain = "plain", ["a b"] = "a b", [" a"] = "=?base64?IGE=?=", [""] = "=?base64??=",
      ["ä"] = "=?base64?w6Q=?=", ["=?base64?x?="] = "=?base64?PT9iYXNlNjQ/eD89?=", ["a\r\nX: 1"] = "=?base64?YQ0KWDogMQ==?=" } do
      assert.equal(header, stateless.header(text))
    end
  end)
end)
