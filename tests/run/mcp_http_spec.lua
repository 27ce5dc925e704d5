-- mcp_http_spec.lua: servers of the Model Context Protocol behind a URL: sessions, streams that break off and are taken
-- up again, what is refused, and secrets.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

local web, folder, files

local function http(code, body, more)
  files = files + 1
  local path = ("%s/raw%d"):format(folder, files)
  local text = body == nil and "" or type(body) == "table" and json.encode(body) or body
  local lines = { ("HTTP/1.1 %d X"):format(code), "Content-Length: " .. #text, "Connection: close" }
  for _, line in ipairs(more or { "Content-Type: application/json" }) do
    lines[#lines + 1] = line
  end
  R.write(path, table.concat(lines, "\r\n") .. "\r\n\r\n" .. text)
  return "/raw?file=" .. path
end

local function opened(place, session, version)
  local body = { jsonrpc = "2.0", id = ("1-%s-open"):format(place),
    result = { protocolVersion = version or "2025-11-25", capabilities = { tools = {} } } }
  return http(200, body, { "Content-Type: application/json", session and "Mcp-Session-Id: " .. session or "X-None: 1" })
end

local function said(place, text)
  return { jsonrpc = "2.0", id = "1-" .. place, result = { content = { { type = "text", text = text } } } }
end

local function stream(events)
  return http(200, table.concat(events, "\n\n") .. "\n\n", { "Content-Type: text/event-stream" })
end

local function definition(fn, more)
  local server = { url = web.url .. "/plan" }
  for key, value in pairs(more or {}) do server[key] = value end
  return { mcp = { far = server }, actions = { { id = "a", run = fn } }, limits = { max_errors = 1, max_retries = 0 } }
end

local function run(plan, fn, more)
  web.plan(("/status/500\n"):rep(#web.log()) .. table.concat(plan, "\n") .. "\n")
  local dir = R.folder() .. "/run"
  return assert(R.run(definition(fn, more), { work_dir = dir })), dir
end

local function echo(_, ctx)
  local text, message, class = ctx.tool("mcp__far__echo", { text = "x" }, { idempotent = true })
  return { text = text, message = text == nil and message or nil, class = class }
end

describe("a server of MCP behind a URL", function()
  before_each(function()
    folder, files = R.folder(), 0
    web = R.server "/echo\n"
  end)
  after_each(function()
    web.stop()
    R.clean()
  end)

  it("is greeted once, and told its session and the protocol from then on", function()
    local plan = { opened("0", "s-1", "2025-06-18"), http(202), http(200, said("0", "one")),
      http(200, said("3", "two")) }
    local result = run(plan, function(_, ctx)
      return { one = (ctx.tool("mcp__far__echo", {})), two = (ctx.tool("mcp__far__echo", {})) }
    end)
    assert.same({ "one", "two" }, { result.state.one, result.state.two }, json.encode(result.state.errors))
    for n = 2, 4 do
      local head = web.request(n)
      assert.matches("\r\nMcp%-Session%-Id: s%-1\r\n", head)
      assert.matches("\r\nMCP%-Protocol%-Version: 2025%-06%-18\r\n", head)
      assert.matches("\r\nAccept: application/json, text/event%-stream\r\n", head)
    end
    assert.is_nil(web.request(1):find "Mcp%-Session%-Id")
  end)

  it("may leave its stream open behind the answer", function()
    local path = R.folder() .. "/open"
    local head = "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
      .. "id: e1\ndata: " .. json.encode(said("0", "here")) .. "\n\n"
    R.write(path, head .. ": still here\n\n")
    local began = os.time()
    local result = run({ opened "0", http(202), ("/raw?file=%s&piece=%d&ms=20000"):format(path, #head) }, echo)
    assert.equal("here", result.state.text, result.state.message)
    assert.is_true(os.time() - began < 10)
  end)

  it("answers with a stream; one that ends early is taken up behind its last event", function()
    local note = 'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}'
    local result = run({ opened "0", http(202), stream { "id: e1\nretry: 10\ndata:", note },
      stream { "id: e2\n" .. note }, stream { "data: " .. json.encode(said("0", "late")) } }, echo)
    assert.equal("late", result.state.text, result.state.message)
    assert.matches("^GET .*\r\nLast%-Event%-ID: e1\r\n", web.request(4))
    assert.matches("^GET .*\r\nLast%-Event%-ID: e2\r\n", web.request(5))
  end)

  it("that forgot the session is greeted anew, once", function()
    local result = run({ opened("0", "s-1"), http(202), http(404, "gone"), opened("0", "s-2"), http(202),
      http(200, said("0", "again")) }, echo)
    assert.equal("again", result.state.text, result.state.message)
    assert.matches("Mcp%-Session%-Id: s%-2", (web.request(6)))
    result = run({ http(404, "nothing here") }, echo)
    assert.matches("HTTP 404", result.state.message)
  end)

  it("is refused where it redirects, and where it says what is no answer", function()
    assert.matches("30[27]", run({ http(307, "", { "Location: http://127.0.0.1:1/" }) }, echo).state.message)
    assert.matches("speaks the protocol 1999", run({ opened("0", nil, "1999-01-01") }, echo).state.message)
    assert.matches("ended without the answer", run({ http(200, "[1, 2") }, echo).state.message)
    assert.matches("HTTP 401", run({ http(401, '{"error":"who?"}') }, echo, { oauth = false }).state.message)
  end)

  it("is asked about where nobody knows whether it acted", function()
    local result = run({ opened "0", http(202), http(500, "oh") }, function(_, ctx) ctx.tool("mcp__far__act", {}) end)
    assert.same({ "paused", "needs_decision" }, { result.status, result.reason })
    result = run({ opened "0", http(202), stream { "data: 1" } }, function(_, ctx) ctx.tool("mcp__far__act", {}) end)
    assert.same("paused", result.status)
    assert.matches("its stream ended without the answer; tools/call act may have been executed", result.question.question)
  end)

  it("has its token from the environment, and the journal never", function()
    local token = os.getenv "PATH" -- any that is there
    local result, dir = run({ opened "0", http(202), http(200, said("0", "your token is " .. token)) }, echo,
      { headers = { Authorization = "Bearer ${PATH}" } })
    assert.truthy((web.request(1)):find("Authorization: Bearer " .. token, 1, true))
    assert.matches("^your token is ", result.state.text)
    assert.is_nil(result.state.text:find(token, 1, true))
    for _, record in ipairs(R.records(dir)) do
      assert.is_nil(json.encode(record):find(token, 1, true), record.t)
    end
    assert.matches("the environment has no NO_SUCH", run({}, echo, { headers = { A = "${NO_SUCH}" } }).state.message)
    result, dir = run({ opened "0", http(202), http(200, said("0", "home")) }, echo,
      { url = "${NO_SUCH:-" .. web.url .. "}/plan?key=${PATH}" })
    assert.equal("home", result.state.text, result.state.message)
    for _, record in ipairs(R.records(dir)) do
      assert.is_nil(json.encode(record):find(token, 1, true), record.t)
    end
    assert.matches("no NO_SUCH", run({}, echo, { url = "${NO_SUCH}/x" }).state.message)
  end)

  it("is resumed behind every record: what is over is not sent again", function()
    local plan = { opened("0", "s-1"), http(202), http(200, said("0", "one")) }
    local result, dir = run(plan, echo)
    assert.equal("one", result.state.text)
    for keep, record in ipairs(R.records(dir)) do
      if record.t == "stop" then break end
      local copy, done = R.folder() .. "/cut", 0
      R.cut(dir, copy, keep)
      for _, one in ipairs(R.records(copy, "result")) do done = math.max(done, tonumber(one.c)) end
      local before = #web.log()
      web.plan(("/status/500\n"):rep(before) .. table.concat(plan, "\n", done + 1) .. "\n")
      local resumed = assert(skillrt.resume(copy, { skill = R.skill(definition(echo)) }))
      assert.equal("one", resumed.state.text, ("%d: %s"):format(keep, json.encode(resumed.state)))
      assert.equal(3 - done, #web.log() - before)
    end
  end)
end)
