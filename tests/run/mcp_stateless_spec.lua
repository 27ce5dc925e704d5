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

  it("behind a URL is told in headers what the request is, and by a bad status why it is refused", function()
    local web <close> = setmetatable({ it = R.server "/echo\n" }, { __close = function(self) self.it.stop() end })
    local files = 0
    local function http(code, body)
      files = files + 1
      local path, text = ("%s/raw%d"):format(folder, files), json.encode(body)
      R.write(path, ("HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s")
        :format(code, #text, text))
      return "/raw?file=" .. path .. "\n"
    end
    local function refused(id) return http(400, { jsonrpc = "2.0", id = id, error = { code = -32022, message = "too old" } }) end
    local function said(id, result) return http(200, { jsonrpc = "2.0", id = id, result = result }) end
    web.it.plan(refused "1-0-open" .. said("1-1", { supportedVersions = { "2026-07-28" } })
      .. said("1-2", { resultType = "complete", content = { { type = "text", text = "hi" } } })
      .. http(400, { jsonrpc = "2.0", id = "1-3", error = { code = -32602, message = "Unknown tool" } }))
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

  it("makes headers of any text, and of arguments that a schema wants there", function()
    for text, header in pairs { plain = "plain", ["a b"] = "a b", [" a"] = "=?base64?IGE=?=", [""] = "=?base64??=",
      ["ä"] = "=?base64?w6Q=?=", ["=?base64?x?="] = "=?base64?PT9iYXNlNjQ/eD89?=", ["a\r\nX: 1"] = "=?base64?YQ0KWDogMQ==?=" } do
      assert.equal(header, stateless.header(text))
    end
  end)
end)
