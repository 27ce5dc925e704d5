-- serve_mcp_spec.lua: MCP over HTTP in `skillrt serve`, with runs as tasks: asked by curl, and by the official client
-- where make test-serve has installed it.
local C = require "tests.support.serve_client"
local K = require "tests.support.cli_kit"
local json = require "skillrt.base.json"

local SKILL <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "hello", inputs = { does = { type = "string", default = "" } }, actions = { { id = "work",
  run = function(_, ctx)
    local does = ctx.input.does
    if does == "sleep" then ctx.sleep(60) end
    if does == "fail" then return nil, "broken", "permanent" end
    return { said = does == "ask" and ctx.ask { question = "More?", options = { "yes", "no" } } or "none" }
  end } }, limits = { max_errors = 1, max_retries = 0 } } ]]

local folder, server, session, number

-- A request of MCP: the status of HTTP, what came (of a stream the last message), headers.
local function ask(method, params, options)
  options = options or {}
  number = number + 1
  local headers = { Accept = "application/json, text/event-stream", ["Mcp-Session-Id"] = session }
  for name, value in pairs(options.headers or {}) do headers[name] = value or nil end
  local status, value, head = server:ask("/mcp", { token = options.token, headers = headers, method = options.method,
    seconds = 20, body = options.body or { jsonrpc = "2.0", id = not options.notifies and number or nil, method = method,
      params = params or json.decode "{}" } })
  if type(value) == "string" then
    for data in value:gmatch "data: ([^\n]+)" do value = assert(json.decode(data)) end
  end
  return status, value, head
end

local function begin(capabilities)
  session = nil
  local status, value, head = ask("initialize", { protocolVersion = "2025-11-25", capabilities = capabilities or json.decode "{}",
    clientInfo = { name = "t", version = "1" } })
  assert.equal(200, status)
  session = assert(head:match "[Mm]cp%-[Ss]ession%-[Ii]d: ([^\r\n]+)", head)
  assert.equal(202, (ask("notifications/initialized", nil, { notifies = true })))
  return value.result
end

local function task_of(does)
  local status, value = ask("tools/call", { name = "run", arguments = { skill = "hello", input = { does = does } },
    task = { ttl = 1000 } })
  assert.equal(200, status, json.encode(value))
  return value.result.task.taskId, value.result.task
end

local function until_it(task, status)
  local value
  for _ = 1, 400 do
    value = select(2, ask("tasks/get", { taskId = task })).result
    if value.status == status then return value end
    os.execute "sleep 0.03"
  end
  error(json.encode(value))
end

describe("MCP over HTTP", function()
  before_each(function()
    folder, number = K.folder(), 0
    os.execute(("mkdir -p %s/skills/hello"):format(folder.path))
    folder.file("skills/hello/skill.lua", SKILL)
    server = C.start(folder, { "--listen", "127.0.0.1:0", "--trust", "skills" })
  end)
  after_each(function()
    server:close()
    getmetatable(folder).__close()
  end)

  it("(F95) has a run as a task: it works, needs input, and has its result when a person answered", function()
    local about = begin()
    assert.truthy(about.capabilities.tasks.requests.tools.call)
    local task, first = task_of "ask"
    assert.truthy(({ working = true, input_required = true })[first.status], first.status)
    assert.equal("More?", until_it(task, "input_required").statusMessage)
    local paused = select(2, ask("tasks/result", { taskId = task })).result
    assert.same({ "paused", "More?" }, { paused.structuredContent.status, paused.structuredContent.questions[1].question.question })
    local _, answered = ask("tools/call", { name = "answer", arguments = { run = task, value = "yes" } })
    assert.equal("completed", answered.result.structuredContent.status)
    until_it(task, "completed")
    local result = select(2, ask("tasks/result", { taskId = task })).result
    assert.equal("yes", result.structuredContent.state.said)
    assert.equal(task, result._meta["io.modelcontextprotocol/related-task"].taskId)
    assert.equal(task, select(2, ask "tasks/list").result.tasks[1].taskId)
    until_it(task_of "fail", "failed")
  end)

  it("cancels a task, and knows none that is no run", function()
    begin()
    local task = task_of "sleep"
    until_it(task, "working")
    server:until_it(task, "running")
    assert.equal("cancelled", select(2, ask("tasks/cancel", { taskId = task })).result.status)
    assert.equal("cancelled", until_it(task, "cancelled").status)
    for _, name in ipairs { "tasks/get", "tasks/result", "tasks/cancel" } do
      for _, id in ipairs { "none", "../x", 7, "" } do
        assert.equal(-32602, select(2, ask(name, { taskId = id })).error.code, name)
      end
    end
  end)

  it("(F92) serves nobody without the token, no page of another origin, and no session that is none", function()
    begin()
    assert.equal(401, (ask("tools/list", nil, { token = false })))
    assert.equal(403, (ask("tools/list", nil, { headers = { Origin = "http://elsewhere.example" } })))
    assert.equal(403, (ask("tools/list", nil, { headers = { Host = "elsewhere.example" } })))
    assert.equal(404, (ask("tools/list", nil, { headers = { ["Mcp-Session-Id"] = "odd" } })))
    assert.equal(405, (server:ask "/mcp"))
    for _, body in ipairs { "{", "[]", "7", '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","id":{},"method":"ping"}' } do
      assert.equal(400, (ask(nil, nil, { body = body })), body)
    end
    assert.equal(200, (ask "tools/list"))
    assert.equal(200, (server:ask("/mcp", { method = "DELETE", headers = { ["Mcp-Session-Id"] = session } })))
    assert.equal(404, (ask "tools/list"))
    session = nil
    assert.equal(-32600, select(2, ask "tools/list").error.code) -- the revision without sessions says its version
    local status, value = ask("tools/list", { _meta = { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28",
      ["io.modelcontextprotocol/clientCapabilities"] = json.decode "{}" } })
    assert.same({ 200, 8 }, { status, #value.result.tools })
  end)

  it("keeps a bounded number of sessions, and forgets a client that left", function()
    begin()
    local first = session
    local words = server:words("/mcp", { headers = { Accept = "application/json, text/event-stream" }, body = { jsonrpc = "2.0",
      id = 1, method = "initialize", params = { protocolVersion = "2025-11-25", capabilities = json.decode "{}" } } })
    os.execute(("cd %s; for i in $(seq 64); do %s >/dev/null; done"):format(folder.path, words))
    session = first
    assert.equal(404, (ask "tools/list"))
    begin()
    local run = task_of "sleep"
    local waits = server:words("/mcp", { seconds = 0.5, headers = { ["Mcp-Session-Id"] = session }, body = { jsonrpc = "2.0",
      id = 77, method = "tasks/result", params = { taskId = run } } })
    os.execute(waits .. " >/dev/null 2>&1")
    until_it(run, "working")
    assert.equal(200, (server:post("/runs/" .. run .. "/stop", {})))
  end)

  it("serves the official client: tools, progress, questions, a run as a task", function()
    local official = os.getenv "SKILLRT_OFFICIAL"
    if not official then return end -- make test-serve
    os.execute(("cp tests/support/mcp/official_http_client.mjs %s/"):format(official))
    local pipe <close> = io.popen(("timeout 60 node %s/official_http_client.mjs %s %s 2>&1"):format(official, server.url, server.token))
    local text = pipe:read "a"
    local seen = assert(json.decode(text:match "[^\n]+\n?$" or ""), text)
    assert.same({ "skillrt", 8, "hello", 2, "completed" }, { seen.server, #seen.tools, seen.skills[1], seen.asked, seen.status })
    assert.equal("input_required", seen.states[#seen.states])
    assert.same({ "completed", "yes", "completed", 2 }, { seen.result.status, seen.result.state.said, seen.last, seen.listed })
    assert.is_true(seen.progress > 3)
  end)
end)
