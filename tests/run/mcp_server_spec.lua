-- mcp_server_spec.lua: `skillrt mcp` from outside: a client over two pipes, real runs in processes of their own.
local C = require "tests.support.mcp_client"
local K = require "tests.support.cli_kit"
local json = require "skillrt.base.json"

local HELLO <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "hello", description = "Says hello", limits = { calls = 20 },
  inputs = { who = { type = "string", required = true, about = "whom" }, slow = { type = "boolean", default = false },
    asks = { type = "boolean", default = false } },
  state = { said = "" }, actions = {
  { id = "greet", when = "said === ''", run = function(_, ctx) return { said = "hello " .. ctx.input.who } end },
  { id = "ask", when = "said !== '' && !more", run = function(_, ctx)
    return { more = ctx.input.asks and ctx.ask { question = "More?", options = { "yes", "no" } } or "none" }
  end },
  { id = "sleep", when = "more && !slept", run = function(_, ctx)
    for _ = 1, ctx.input.slow and 100 or 1 do
      ctx.await { kind = "command", idempotent = true, argv = { "sleep", ctx.input.slow and "0.3" or "0" } }
    end
    return { slept = true }
  end },
} }
]]

local PLAIN <const> = "---\nname: plain\ndescription: Sums up a text\n---\nSum up what you are given.\n"

local META <const> = { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28",
  ["io.modelcontextprotocol/clientCapabilities"] = { elicitation = { form = {} } } }

local folder, client

local function start(words, capabilities)
  client = C.start(folder, words or { "--trust", "skills" })
  client:begin(capabilities)
  return client
end

-- Until a run of another process is where it should be.
local function until_it(id, status)
  for _ = 1, 400 do
    local told = client:call("status", { run = id })
    if told and told.status == status then return told end
    os.execute "sleep 0.02"
  end
  error("the run never was " .. status)
end

describe("skillrt mcp", function()
  before_each(function()
    folder = K.folder()
    os.execute(("mkdir -p %s/skills/hello %s/skills/plain"):format(folder.path, folder.path))
    folder.file("skills/hello/skill.lua", HELLO)
    folder.file("skills/plain/SKILL.md", PLAIN)
  end)
  after_each(function()
    if client then client:close() end
    client = nil
    getmetatable(folder).__close()
  end)

  it("agrees on a version, and offers its newest where it does not know the client's", function()
    for given, taken in pairs { ["2025-11-25"] = "2025-11-25", ["2024-11-05"] = "2024-11-05",
      ["2025-06-18"] = "2025-06-18", ["1999-01-01"] = "2025-11-25", ["2026-07-28"] = "2025-11-25" } do
      local one = C.start(folder, { "skills" })
      local result = one:begin(nil, given)
      assert.equal(taken, result.protocolVersion)
      assert.equal("skillrt", result.serverInfo.name)
      assert.equal(0, one:close())
    end
  end)

  it("lists skills with what they take", function()
    local told = start():call("list", {})
    assert.equal(2, #told.skills)
    local hello, plain = told.skills[1], told.skills[2]
    assert.equal("hello", hello.name)
    assert.equal("Says hello", hello.description)
    assert.same({ "who" }, hello.input.required)
    assert.same({ type = "string", description = "whom" }, hello.input.properties.who)
    assert.equal("Sums up a text", plain.description)
    assert.truthy(plain.input == nil and plain.problem or plain.input.properties.task)
  end)

  it("runs a skill to its end, and tells of its progress where a token was given", function()
    local told, result = start():call("run", { skill = "hello", input = { who = "you" } }, { progressToken = "t" })
    assert.is_nil(result.isError)
    assert.equal("completed", told.status)
    assert.equal("hello you", told.state.said)
    assert.truthy(#client.told > 5)
    for i, one in ipairs(client.told) do
      assert.equal("notifications/progress", one.method)
      assert.same({ "t", i }, { one.params.progressToken, one.params.progress })
    end
    assert.truthy(folder.read("runs/" .. told.run .. "/state.json"))
    local before = #client.told
    client:call("run", { skill = "hello", input = { who = "you" } })
    assert.equal(before, #client.told) -- no token, no progress
    local all = client:call("status", {})
    assert.equal(2, #all.runs)
    assert.equal("completed", all.runs[1].status)
    assert.matches("Completed: greet", select(3, client:call("log", { run = told.run })))
    assert.matches("greet was chosen", select(3, client:call("explain", { run = told.run, action = "greet" })))
  end)

  it("answers a question by a tool, with what the question offers only", function()
    local told = start():call("run", { skill = "hello", input = { who = "you", asks = true } })
    assert.same({ "paused", "waiting_for_person" }, { told.status, told.reason })
    assert.equal("More?", told.questions[1].question.question)
    local _, result, text = client:call("answer", { run = told.run, value = "perhaps" })
    assert.is_true(result.isError)
    assert.matches("there is no option", text)
    told = client:call("answer", { run = told.run, value = "yes" })
    assert.equal("completed", told.status)
    assert.equal("yes", told.state.more)
  end)

  it("asks the client's person where the client can, and leaves the question open where that one declines", function()
    start(nil, { elicitation = {} })
    client.answer = function() return { action = "decline" } end
    local told = client:call("run", { skill = "hello", input = { who = "you", asks = true } })
    assert.equal("paused", told.status)
    assert.equal("More?", client.asked[1].params.message:match "More%?")
    assert.same({ "yes", "no" }, client.asked[1].params.requestedSchema.properties.answer.enum)
    client.answer = function() return { action = "accept", content = { answer = "no" } } end
    told = client:call("resume", { run = told.run })
    assert.equal("completed", told.status)
    assert.equal("no", told.state.more)
  end)

  it("loses no run when its client goes away, nor when it is killed", function()
    local told = start():call("run", { skill = "hello", input = { who = "you", slow = true }, wait = 0 })
    assert.equal("running", told.status)
    client:send("tools/call", { name = "status", arguments = { run = told.run, wait = 60 } })
    assert.equal(0, (client:close()))
    start()
    local after = until_it(told.run, "running")
    assert.equal(told.run, after.run)
    after = client:call("stop", { run = told.run })
    assert.same({ "paused", "user_exit" }, { after.status, after.reason })
    after = client:call("resume", { run = told.run, wait = 0.2 })
    assert.equal("running", after.status)
    client:kill()
    client:close()
    start()
    assert.equal("running", until_it(told.run, "running").status)
    after = client:call("stop", { run = told.run })
    assert.equal("paused", after.status)
    assert.is_true(select(2, client:call("stop", { run = told.run })).isError)
  end)

  it("pauses the run that a canceled request drives", function()
    local one = start()
    local id = one:send("tools/call", { name = "run", _meta = { progressToken = 1 },
      arguments = { skill = "hello", input = { who = "you", slow = true }, wait = 60 } })
    repeat one:next() until one.told[#one.told] and one.told[#one.told].params.message:find "Executing: sleep"
    one:notify("notifications/cancelled", { requestId = id })
    local run = one:call("status", {}).runs[1].run
    assert.equal("user_exit", until_it(run, "paused").reason)
    assert.is_nil(one.replies[id])
  end)

  it("answers what is no request by the protocol's errors, and goes on", function()
    local one = start()
    for _, case in ipairs {
      { "{", -32700 }, { "[]", -32600 }, { '"x"', -32600 }, { '{"jsonrpc":"1.0","id":9,"method":"ping"}', -32600 },
      { '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600 }, { '{"jsonrpc":"2.0","id":9,"method":"ping","params":[1]}', -32600 },
      { '{"jsonrpc":"2.0","id":9,"method":"resources/list"}', -32601 },
      { '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"rm"}}', -32602 },
      { '{"jsonrpc":"2.0","id":9,"id":9,"method":"ping"}', -32700 }, { ("x"):rep(5 << 20), -32600 },
    } do
      one:write(case[1])
      local reply = one:next()
      assert.equal(case[2], reply.error.code, case[1]:sub(1, 80))
    end
    for _ = 1, 2000 do one:write '{"jsonrpc":"2.0","method":"notifications/nothing"}' end
    one:write '{"jsonrpc":"2.0","id":"late","result":{}}'
    assert.same({}, one:request("ping").result)
    local _, result, text = one:call("run", { skill = 1 })
    assert.is_true(result.isError)
    assert.matches("skill", text)
  end)

  it("takes a flood of requests, and no more at once than it can", function()
    local one, refused = start(), 0
    local told = one:call("run", { skill = "hello", input = { who = "you", slow = true }, wait = 0 })
    for _ = 1, 100 do one:send("tools/call", { name = "status", arguments = { run = told.run, wait = 50 } }) end
    for _ = 1, 36 do
      local message = one:next()
      refused = refused + (message.error and message.error.code == -32603 and 1 or 0)
    end
    assert.equal(36, refused)
    one:call("stop", { run = told.run })
  end)

  it("starts no more runs at once than its operator says", function()
    start { "--trust", "--at-once", "1", "skills" }
    local told = client:call("run", { skill = "hello", input = { who = "you", slow = true }, wait = 0 })
    local _, result, text = client:call("run", { skill = "hello", input = { who = "you" } })
    assert.is_true(result.isError)
    assert.matches("which is the maximum", text)
    client:call("stop", { run = told.run })
  end)

  it("runs no stranger's code that no person has trusted, whatever a client says", function()
    local told = start { "skills" }:call("list", {})
    assert.is_false(told.skills[1].trusted)
    local _, result, text = client:call("run", { skill = "hello", input = { who = "you" } })
    assert.is_true(result.isError)
    assert.matches("has not been approved", text)
    assert.is_true(select(2, client:call("run", { skill = "hello", trust = true })).isError)
  end)

  it("lets a client lower limits, and not raise them", function()
    start { "--trust", "--limit", "calls=5", "skills" }
    local function calls(limits)
      local told = client:call("run", { skill = "hello", input = { who = "you", slow = true }, limits = limits, wait = 0.1 })
      client:call("stop", { run = told.run })
      local first = json.decode(K.run(folder, { "log", "runs/" .. told.run, "--json" }).out:match "[^\n]+")
      return first.bounds and first.bounds.calls or first.limits.calls, told.run
    end
    assert.equal(5, (calls(nil)))
    assert.equal(2, (calls { calls = 2 }))
    local most, run = calls { calls = 50 }
    assert.equal(5, most)
    local _, result, text = client:call("resume", { run = run, add = { calls = 10 } })
    assert.is_true(result.isError)
    assert.matches("%-%-raise", text)
  end)

  it("says why a run cannot go on", function()
    local told = start():call("run", { skill = "hello", input = { who = "you", asks = true } })
    folder.file("skills/hello/skill.lua", (HELLO:gsub("hello ", "HELLO ")))
    local _, result, text = client:call("answer", { run = told.run, value = "yes" })
    assert.is_true(result.isError)
    assert.matches("skill.lua", text)
    assert.equal("paused", client:call("status", { run = told.run }).status)
  end)

  it("reaches no run outside of its folder", function()
    local one = start()
    for _, name in ipairs { "../skills", "/etc", ".", "..", "", "a/b", "no-such" } do
      for _, tool in ipairs { "status", "stop", "resume", "log", "explain" } do
        assert.is_true(select(2, one:call(tool, { run = name })).isError, tool .. " " .. name)
      end
    end
  end)

  it("says why a run could not begin", function()
    local _, result, text = start():call("run", { skill = "hello", input = {} })
    assert.is_true(result.isError)
    assert.matches("needs the input who", text)
    _, result, text = client:call("run", { skill = "helo" })
    assert.is_true(result.isError)
    assert.matches('there is no skill "helo"', text)
  end)

  it("speaks the revision without sessions: each request says its version, and a question comes as a result", function()
    client = C.start(folder, { "--trust", "skills" })
    local found = client:request("server/discover", { _meta = META }).result
    assert.equal("2026-07-28", found.supportedVersions[1])
    assert.same({ "complete", "private" }, { found.resultType, found.cacheScope })
    local list = client:request("tools/list", { _meta = META }).result
    assert.same({ "complete", "public", 8 }, { list.resultType, list.cacheScope, #list.tools })
    local wanted = { name = "run", arguments = { skill = "hello", input = { who = "you", asks = true } }, _meta = META }
    local asks = client:request("tools/call", wanted).result
    assert.equal("input_required", asks.resultType)
    assert.equal("elicitation/create", asks.inputRequests.answer.method)
    wanted.requestState = asks.requestState
    wanted.inputResponses = { answer = { action = "accept", content = { answer = "yes" } } }
    local over = client:request("tools/call", wanted).result
    assert.same({ "complete", "completed" }, { over.resultType, over.structuredContent.status })
    assert.equal(1, #client:request("tools/call", { name = "status", arguments = {}, _meta = META }).result.structuredContent.runs)
    assert.equal(-32601, client:request("ping", { _meta = META }).error.code)
    local other = { ["io.modelcontextprotocol/protocolVersion"] = "2031-01-01" }
    assert.equal(-32022, client:request("tools/list", { _meta = other }).error.code)
    assert.equal(-32600, client:request("tools/list", {}).error.code) -- no session was begun
  end)
end)
