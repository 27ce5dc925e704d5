-- serve_spec.lua: `skillrt serve` from outside: a real server, real runs in processes of their own, asked by curl.
local C = require "tests.support.serve_client"
local K = require "tests.support.cli_kit"
local json = require "skillrt.base.json"
local operations = require "skillrt.cli.serve.operations"

local HELLO <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "hello", description = "Says hello", limits = { calls = 500 },
  inputs = { who = { type = "string", default = "you" }, does = { type = "string", default = "" } },
  state = { said = "" }, actions = {
  { id = "greet", when = "said === ''", run = function(_, ctx) return { said = "hello " .. ctx.input.who } end },
  { id = "ask", when = "said !== '' && !more", run = function(_, ctx)
    return { more = ctx.input.does == "ask" and ctx.ask { question = "More?", options = { "yes", "no" } } or "none" }
  end },
  { id = "parts", when = "more && !parts", run = function(_, ctx)
    return { parts = ctx.input.does == "choose"
      and ctx.ask { question = "Which?", options = { "api", "docs", "tests" }, multiple = true } or { "none" } }
  end },
  { id = "event", when = "parts && !got", run = function(_, ctx)
    return { got = ctx.input.does == "event" and ctx.wait { event = "deploy" } or "none" }
  end },
  { id = "work", when = "got && !slept", max_retries = 0, run = function(_, ctx)
    if ctx.input.does == "fail" and not ctx.glob("mended")[1] then return nil, "broken" end
    for _ = 1, ctx.input.does == "sleep" and 200 or 1 do
      ctx.await { kind = "command", idempotent = true, argv = { "sleep", ctx.input.does == "sleep" and "0.1" or "0" } }
    end
    return { slept = true }
  end },
} }
]]

local folder, server

local function start(words)
  server = C.start(folder, words or { "--trust", "skills" })
  return server
end

local function begin(does)
  local status, value = server:post("/runs", { skill = "hello", input = { does = does } })
  assert.equal(201, status, json.encode(value))
  return value.run
end

local function error_of(status, value)
  assert.is_true(status >= 400, json.encode(value))
  return status, value.error.code
end

describe("skillrt serve", function()
  before_each(function()
    folder = K.folder()
    os.execute(("mkdir -p %s/skills/hello"):format(folder.path))
    folder.file("skills/hello/skill.lua", HELLO)
  end)
  after_each(function()
    if server then server:close() end
    server = nil
    getmetatable(folder).__close()
  end)

  it("starts a run, and shows it as a row, as its status and as the data of its page", function()
    start()
    local status, value, head = server:post("/runs", { skill = "hello", input = { who = "Ada" } })
    assert.equal(201, status, json.encode(value))
    assert.truthy(head:find("Location: /runs/" .. value.run, 1, true))
    local done = server:until_it(value.run, "completed")
    assert.equal(5, done.steps)
    local _, list = server:ask "/runs"
    assert.same({ value.run, "hello", "completed" }, { list.runs[1].run, list.runs[1].skill, list.runs[1].status })
    local _, data = server:ask("/runs/" .. value.run .. "/data")
    local again, kept = server:ask("/runs/" .. value.run .. "/data")
    assert.same({ 200, data }, { again, kept })
    assert.equal("hello Ada", data.state.said)
    assert.equal(5, #data.steps)
    local _, skills = server:ask "/skills"
    assert.same({ "hello", "Says hello" }, { skills.skills[1].name, skills.skills[1].description })
  end)

  it("filters the list as skillrt list does, and refuses what is no filter", function()
    start()
    server:until_it(begin "", "completed")
    local asks = begin "ask"
    server:until_it(asks, "paused")
    for query, count in pairs { [""] = 2, ["?status=completed"] = 1, ["?status=completed,paused"] = 2, ["?waiting=true"] = 1,
      ["?skill=other"] = 0, ["?since=1h"] = 2, ["?older_than=1h"] = 0, ["?limit=1"] = 1 } do
      local status, list = server:ask("/runs" .. query)
      assert.same({ 200, count }, { status, #list.runs }, query)
    end
    assert.equal(1, select(2, server:ask "/runs?limit=1").more)
    for _, query in ipairs { "?status=odd", "?odd=1", "?since=odd", "?limit=0", "?waiting=perhaps" } do
      assert.same({ 400, "invalid" }, { error_of(server:ask("/runs" .. query)) }, query)
    end
  end)

  it("gives the receipt of a run, which skillrt and the script in Python of its page verify", function()
    start()
    local run = begin ""
    server:until_it(run, "completed")
    local status, text, head = server:ask("/runs/" .. run .. "/receipt", { more = { "-o", folder.path .. "/run.receipt" } })
    assert.same({ 200, "" }, { status, text })
    assert.truthy(head:lower():find("content-type: application/x-ndjson", 1, true))
    folder.file("verify.py", K.read("docs/run/receipts.md"):match "```python\n(.-)```")
    local script = ("cd %s && python3 verify.py run.receipt .state/skillrt/receipt.key.pub >.said 2>&1"):format(folder.path)
    assert.is_true(os.execute(script), folder.read ".said")
    assert.truthy(folder.read(".said"):find(": completed, 1 acts", 1, true), folder.read ".said")
    local verified = K.run(folder, { "verify", "--key", ".state/skillrt/receipt.key.pub", "run.receipt", "runs/" .. run })
    assert.equal(0, verified.code, verified.err)
    local whole = folder.read "run.receipt"
    folder.file("run.receipt", whole:gsub("Ij", "Ik", 1))
    assert.is_nil(os.execute(script))
    assert.same({ 404, "missing" }, { error_of(server:ask "/runs/none/receipt") })
  end)

  it("refuses to retry a step that has not failed, although the run could be advanced", function()
    start()
    local run = begin "fail"
    server:until_it(run, "failed")
    for _ = 1, 5 do
      assert.same({ 422, "invalid" }, { error_of(server:post("/runs/" .. run .. "/retry", { step = "nope" })) })
    end
  end)

  it("answers a question once, and takes no answer that is none", function()
    start()
    local run = begin "ask"
    local paused = server:until_it(run, "paused")
    local number = paused.questions[1].q
    local row = select(2, server:ask "/runs").runs[1]
    assert.same({ "paused", 1 }, { row.status, row.questions })
    assert.same({ 422, "invalid" }, { error_of(server:post("/runs/" .. run .. "/answer", { question = number, value = "odd" })) })
    local status, value = server:post("/runs/" .. run .. "/answer", { question = number, value = "yes" })
    assert.is_true(status == 200 or status == 202, json.encode(value))
    server:until_it(run, "completed")
    assert.same({ 422, "invalid" }, { error_of(server:post("/runs/" .. run .. "/answer", { question = number, value = "no" })) })
    row = select(2, server:ask "/runs").runs[1] -- what is kept of a list is not what has passed
    assert.same({ "completed", 5 }, { row.status, row.steps })
    assert.equal("yes", select(2, server:ask("/runs/" .. run .. "/data")).state.more)
  end)

  it("takes a list where several options may be chosen", function()
    start()
    local run = begin "choose"
    local number = server:until_it(run, "paused").questions[1].q
    local path = "/runs/" .. run .. "/answer"
    assert.same({ 422, "invalid" }, { error_of(server:post(path, { question = number, value = { "api", "code" } })) })
    assert.is_true((server:post(path, { question = number, value = { "tests", "api" } })) < 300)
    server:until_it(run, "completed")
    assert.same({ "tests", "api" }, select(2, server:ask("/runs/" .. run .. "/data")).state.parts)
  end)

  it("stops a run, resumes it and ends it for good", function()
    start()
    local run = begin "sleep"
    assert.equal("running", server:until_it(run, "running").status)
    assert.same({ 409, "busy" }, { error_of(server:post("/runs/" .. run .. "/resume", {})) })
    local status, value = server:post("/runs/" .. run .. "/stop", {})
    assert.same({ 200, "paused" }, { status, value.status })
    assert.same({ 409, "invalid" }, { error_of(server:post("/runs/" .. run .. "/stop", {})) })
    assert.equal(202, (server:post("/runs/" .. run .. "/resume", {})))
    server:until_it(run, "running")
    server:post("/runs/" .. run .. "/stop", {})
    server:post("/runs/" .. run .. "/abort", {})
    server:until_it(run, "aborted")
  end)

  it("retries what failed, rolls a run back and forks it", function()
    start()
    local run = begin "fail"
    server:until_it(run, "failed")
    folder.file("mended", "")
    local status, value = server:post("/runs/" .. run .. "/retry", { step = "work" })
    assert.is_true(status == 200 or status == 202, json.encode(value))
    server:until_it(run, "completed")
    local made, fork = server:post("/runs/" .. run .. "/fork", { at = 3, set = { said = "forked" } })
    assert.equal(201, made, json.encode(fork))
    assert.equal("forked", select(2, server:ask("/runs/" .. fork.run .. "/data")).state.said)
    local rolled, back = server:post("/runs/" .. run .. "/rollback", { to = 3 })
    assert.same({ 200, "paused" }, { rolled, back.status }, json.encode(back))
  end)

  it("sends an event whose id is the key of the request, so that the run takes it once", function()
    start()
    local run = begin "event"
    server:until_it(run, "paused")
    for _ = 1, 2 do
      local status, value = server:post("/runs/" .. run .. "/send", { event = "deploy", value = { at = -1 } },
        { ["Idempotency-Key"] = "deploy-7" })
      assert.equal(200, status, json.encode(value))
    end
    server:post("/runs/" .. run .. "/resume", {})
    server:until_it(run, "completed")
    assert.equal(-1, select(2, server:ask("/runs/" .. run .. "/data")).state.got.at)
    assert.same({ 422, "invalid" }, { error_of(server:post("/runs/" .. run .. "/send", { event = "deploy" })) })
  end)

  it("(F93) gives the reply of a key again, acts once, and takes the key for nothing else", function()
    start()
    local key = { ["Idempotency-Key"] = "one" }
    local command = server:words("/runs", { body = { skill = "hello" }, headers = key })
    os.execute(("cd %s; for i in 1 2 3 4; do %s >k$i & done; wait"):format(folder.path, command))
    for i = 2, 4 do assert.equal(folder.read "k1", folder.read("k" .. i)) end
    assert.equal(json.decode(folder.read "k1").run, select(2, server:post("/runs", { skill = "hello" }, key)).run)
    assert.equal(1, #select(2, server:ask "/runs").runs)
    assert.same({ 422, "key" }, { error_of(server:post("/runs", { skill = "hello", args = { "b" } }, key)) })
  end)

  it("acts at last under a key whose request was refused because too much was under way", function()
    start { "--trust", "--at-once", "1", "skills" }
    local run, key = begin "sleep", { ["Idempotency-Key"] = "busy" }
    assert.same({ 503, "busy" }, { error_of(server:post("/runs", { skill = "hello" }, key)) })
    assert.same({ 503, "busy" }, { error_of(server:post("/runs", { skill = "hello" }, key)) })
    server:post("/runs/" .. run .. "/stop", {})
    server:until_it(run, "paused")
    local status, value
    for _ = 1, 100 do
      status, value = server:post("/runs", { skill = "hello" }, key)
      if status ~= 503 then break end
      os.execute "sleep 0.03"
    end
    assert.equal(201, status, json.encode(value))
    assert.equal(value.run, select(2, server:post("/runs", { skill = "hello" }, key)).run)
  end)

  it("(F93) follows a run by its records: from any of them on, nothing twice, nothing left out", function()
    start()
    local run = begin "sleep"
    local first = server:follow(run, 1.0)
    assert.is_true(#first > 3, json.encode(first))
    local rest = server:follow(run, 0.7, first[#first])
    assert.is_true(#rest > 1, json.encode(rest))
    server:post("/runs/" .. run .. "/stop", {})
    local last = server:follow(run, 0.4, rest[#rest])
    local all, text = server:follow(run, 0.5)
    local joined = table.move(last, 1, #last, #first + #rest + 1, table.move(rest, 1, #rest, #first + 1, first))
    assert.same(all, joined)
    for i, id in ipairs(all) do assert.equal(i, id) end
    assert.equal(run, select(2, server:ask("/runs/" .. run)).run)
    local record = json.decode(text:match "data: ([^\n]+)")
    assert.equal("run", record.t)
    assert.same({ 400, "invalid" }, { error_of(server:ask("/runs/" .. run .. "/events", { headers = { ["Last-Event-ID"] = "x" } })) })
  end)

  it("shows a run to several at once, of whom one reads nothing, and who leaves is forgotten", function()
    start()
    local run = begin "sleep"
    local stuck = folder.file("stuck.js", ([[
      const socket = require("net").connect(%q);
      socket.write("GET /runs/%s/events HTTP/1.1\r\nHost: x\r\n\r\n");
      socket.pause();
      setTimeout(() => process.exit(), 15000);
    ]]):format(server.socket, run))
    os.execute(("timeout 15 node %s & echo $! >%s/stuck.pid"):format(stuck, folder.path))
    local words = server:words("/runs/" .. run .. "/events", { seconds = 1.5, more = { "-N" } })
    os.execute(("cd %s; %s >a 2>/dev/null & cd %s; %s >b 2>/dev/null; wait $!; kill $(cat stuck.pid)"):format(folder.path,
      words, folder.path, words))
    local a, b = folder.read "a", folder.read "b"
    local least = math.min(#a, #b)
    assert.is_true(least > 1000)
    assert.equal(a:sub(1, least - 300), b:sub(1, least - 300))
    assert.equal(200, (server:ask "/runs"))
    server:post("/runs/" .. run .. "/stop", {})
  end)

  it("(F92) listens at a port for who has the token and comes from here, and shows nothing to others", function()
    start { "--listen", "127.0.0.1:0", "--trust", "skills" }
    local run = begin ""
    local paths = { "/runs", "/skills", "/openapi.json", "/runs/" .. run, "/runs/" .. run .. "/events", "/odd" }
    for _, path in ipairs(paths) do
      for _, token in ipairs { false, "", server.token:sub(1, -2), server.token .. "x" } do
        assert.same({ 401, "token" }, { error_of(server:ask(path, { token = token })) })
      end
    end
    for name, value in pairs { Host = "evil.example", Origin = "http://evil.example" } do
      local status, reply = server:ask("/runs", { headers = { [name] = value } })
      assert.same({ 403, name:lower() }, { error_of(status, reply) })
      assert.equal(403, (server:ask("/", { headers = { [name] = value } })))
    end
    assert.equal(403, (server:ask("/runs", { headers = { Origin = "null" } })))
    local port = server.url:match ":(%d+)$"
    assert.equal(200, (server:ask("/runs", { headers = { Host = "localhost:" .. port, Origin = "http://localhost:" .. port } })))
    assert.equal(401, (server:ask("/runs", { token = false, body = { skill = "hello" } })))
    assert.equal(1, #select(2, server:ask "/runs").runs)
    assert.same({ 415, "invalid" }, { error_of(server:ask("/runs", { body = { skill = "hello" },
      headers = { ["Content-Type"] = "text/plain" } })) })
  end)

  it("gives everybody the page, which holds no data, and allows its own script and style alone", function()
    start { "--listen", "127.0.0.1:0", "skills" }
    local status, html, head = server:ask("/", { token = false })
    assert.equal(200, status)
    local policy = head:match "Content%-Security%-Policy: ([^\r\n]+)"
    assert.truthy(policy:find("default-src 'none'", 1, true) and policy:find("connect-src 'self'", 1, true))
    local core = require "skillrt.core"
    local base64 = require "skillrt.base.base64"
    for _, tag in ipairs { "style", "script" } do
      local text = html:match(("<%s>(.-)</%s>"):format(tag, tag))
      local digest = base64.encode(base64.of_hex(core.sha256(text)))
      assert.truthy(policy:find(("%s-src 'sha256-%s'"):format(tag, digest), 1, true), tag)
    end
    assert.is_nil(html:find('id="data"', 1, true))
    assert.is_nil(html:find(server.token, 1, true))
  end)

  it("describes each operation in a document of OpenAPI 3.1, and what is no operation is refused", function()
    start()
    local status, document = server:ask "/openapi.json"
    assert.equal(200, status)
    assert.equal("3.1.0", document.openapi)
    local names, count = {}, 0
    for path, methods in pairs(document.paths) do
      for method, one in pairs(methods) do
        local found = operations.find(method:upper(), (path:gsub("{%l+}", "x")))
        assert.equal(found.id, one.operationId)
        assert.is_nil(names[one.operationId])
        names[one.operationId], count = true, count + 1
        assert.truthy(one.responses.default and one.responses["2XX"])
        for _, parameter in ipairs(one.parameters) do assert.truthy(parameter.name and parameter["in"] and parameter.schema) end
        assert.equal(path:find("{id}", 1, true) ~= nil, (one.parameters[1] or {})["in"] == "path")
        assert.equal(found.body ~= nil, one.requestBody ~= nil)
        if found.acts then assert.equal(405, (server:ask((path:gsub("{%l+}", "x")), { method = "DELETE" }))) end
      end
    end
    assert.equal(#operations.LIST, count)
    for ref in json.encode(document):gmatch '"#/components/schemas/(%w+)"' do
      assert.truthy(document.components.schemas[ref], ref)
    end
    local official = os.getenv "SKILLRT_OFFICIAL"
    if official then
      folder.file("openapi.json", json.encode(document))
      folder.file("judge.mjs", [[
        const [file, place] = process.argv.slice(2);
        const { Validator } = await import(place + '/node_modules/@seriousme/openapi-schema-validator/index.js');
        const result = await new Validator().validate(file);
        if (!result.valid) { console.log(JSON.stringify(result.errors)); process.exit(1); }
      ]])
      local said <close> = io.popen(("cd %s && node judge.mjs openapi.json %s 2>&1"):format(folder.path, official))
      assert.equal("", said:read "a")
    end
    assert.same({ 404, "missing" }, { error_of(server:ask "/odd") })
    for _, run in ipairs { "odd", "..", "%2e%2e", "a%2fb", "%00", "%ff" } do
      assert.equal(404, (server:ask("/runs/" .. run, { more = { "--path-as-is" } })), run)
    end
  end)

  it("refuses a body that is too long, no JSON or none of the operation's", function()
    start()
    local big = folder.file("big", ('{"skill":"%s"}'):format(("x"):rep(1 << 20)))
    assert.same({ 413, "too_large" }, { error_of(server:ask("/runs", { body = "@" .. big })) })
    local unsaid = server:ask("/runs", { body = "@" .. big, headers = { ["Transfer-Encoding"] = "chunked",
      ["Content-Type"] = "application/json" } })
    assert.is_true(unsaid < 200, "its connection is closed")
    assert.same({ 400, "invalid" }, { error_of(server:ask("/runs", { body = "{" })) })
    for _, body in ipairs { {}, { skill = 1 }, { skill = "hello", odd = 1 }, "[]", "7" } do
      assert.same({ 422, "invalid" }, { error_of(server:ask("/runs", { body = body })) })
    end
    assert.same({ 404, "missing" }, { error_of(server:post("/runs", { skill = "odd" })) })
    assert.equal(431, (server:ask("/runs", { headers = { ["X-Long"] = ("x"):rep(40000) } })))
    assert.equal(0, #select(2, server:ask "/runs").runs)
  end)

  it("listens at a socket of its owner's, replaces one that was left, and leaves a server's and a file alone", function()
    start()
    assert.equal("srw-------", io.popen(("ls -l %s | cut -c1-10"):format(server.socket)):read "l")
    local again = K.run(folder, { "serve", "--runs", "runs", "skills" })
    assert.equal(2, again.code)
    assert.truthy(again.err:find("another process listens there", 1, true), again.err)
    server:close "KILL"
    start()
    assert.equal(200, (server:ask "/runs"))
    folder.file("file", "mine")
    assert.equal(2, K.run(folder, { "serve", "--socket", "file" }).code)
    assert.equal("mine", folder.read "file")
    local socket = server.socket
    server:close()
    assert.is_nil(K.read(socket))
    assert.is_falsy(os.execute("test -e " .. socket))
    server = nil
  end)

  it("takes no token that others can read, and no address of another machine", function()
    folder.file("t", ("x"):rep(40))
    os.execute(("chmod 644 %s/t"):format(folder.path))
    for _, words in ipairs { { "--token-file", "t", "--listen", "127.0.0.1:0" }, { "--listen", "0.0.0.0:0" },
      { "--listen", "8700" }, { "--listen", "127.0.0.1:0", "--socket", "s" } } do
      assert.equal(2, K.run(folder, { "serve", table.unpack(words) }).code, words[2])
    end
    os.execute(("chmod 600 %s/t"):format(folder.path))
    start { "--token-file", folder.path .. "/t", "--listen", "127.0.0.1:0" }
    assert.equal(("x"):rep(40), server.token)
    assert.equal(200, (server:ask "/runs"))
  end)

  it("ends at once by a signal, with viewers and a slow client; its runs go on", function()
    start()
    local run = begin "sleep"
    os.execute(server:words("/runs/" .. run .. "/events", { more = { "-N" } }) .. " >/dev/null 2>&1 &")
    os.execute(("timeout 10 node -e 'require(\"net\").connect(%q).write(\"GET /ru\")' >/dev/null 2>&1 &"):format(server.socket))
    os.execute "sleep 0.3"
    local ended = server:close()
    assert.equal(143, ended.code, ended.err)
    assert.is_true(ended.ms < 1500, tostring(ended.ms))
    start()
    assert.equal("running", server:until_it(run, "running").status)
    assert.equal(200, (server:post("/runs/" .. run .. "/stop", {})))
  end)
end)
