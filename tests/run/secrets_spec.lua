-- secrets_spec.lua: skillrt.secret, and what looks like a known key: in nothing that is kept, shown or sent elsewhere.
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"
local R = require "tests.support.runs"
local secrets = require "skillrt.base.secrets"

local CANARY = 'canary-"quoted\\back-4711'
local KEY = "sk-proj-" .. ("aB3"):rep(12)

local SCRIPT = [[
local skillrt = require "skillrt"
local secret = skillrt.secret "CANARY"
return skillrt.skill { name = "canary", records = "en", state = { early = secret, key = KEY },
  limits = { max_errors = 9, max_retries = 0 },
  agents = { teller = skillrt.agent.command { "sh", "-c", "cat >asked; echo '{\"status\":\"completed\",\"summary\":\"told\"}'",
      stdin = "{prompt}" },
    keeper = skillrt.agent.command { "sh", "-c", "echo \"{\\\"status\\\":\\\"completed\\\",\\\"summary\\\":\\\"$KEPT\\\"}\"",
      env = { KEPT = KEY } } },
  actions = {
    { id = "logs", priority = 9, run = function(_, ctx)
      ctx.log("it is " .. secret)
      local reply = ctx.await { kind = "command", argv = { "sh", "-c", "printf %s \"$S\"" }, env = { S = secret }, label = "sh " .. secret }
      local once = ctx.once("kept", function() return { secret } end)
      ctx.await { kind = "http", url = "SERVER/plan", method = "POST", headers = { authorization = "Bearer " .. secret },
        body = '"open"' }
      return { said = reply.body, once = once,
        [secret:gsub("%W", "") .. secret:sub(1, 0)] = 1, deep = { [1] = { text = "a" .. secret .. "b" } },
        names = { [secret] = { ["is " .. KEY] = 2 } } }
    end },
    { id = "argv", priority = 8, optional = true, run = function(_, ctx) ctx.await { kind = "command", argv = { "echo", secret } } end },
    { id = "raises", priority = 7, optional = true, run = function() error("failed with " .. secret .. " and " .. KEY) end },
    { id = "tells", priority = 6, agent = "teller", prompt = "use " .. secret .. " and\n" .. KEY },
    { id = "keeps", priority = 5, agent = "keeper", prompt = "say\nit" },
    { id = "asks", priority = 4, run = function(_, ctx) return { v = ctx.ask { question = "is it " .. secret .. "?" } } end },
  } }]]

-- What of a folder holds a text: names of files.
local function holding(path, text)
  local pattern = path .. "/.pattern"
  R.write(pattern, text .. "\n")
  local pipe <close> = io.popen(("grep -rlF -f '%s' '%s' 2>/dev/null | grep -v '/.pattern$'"):format(pattern, path))
  local list = {}
  for line in pipe:lines() do list[#list + 1] = line end
  os.remove(pattern)
  return list
end

describe("a secret", function()
  after_each(R.clean)

  it("is in no journal, blob, view, record, log, report, trace or prompt, nor in the argv of a program; nor is a known key", function()
    local server <close> = setmetatable(R.server "/echo\n", { __close = function(self) self.stop() end })
    local folder <close> = kit.folder()
    folder.file("canary.lua", (SCRIPT:gsub("SERVER", server.url):gsub("KEY", function()
      return "('sk-' .. 'proj-' .. ('aB3'):rep(12))" end)))
    local env = ("CANARY=%s OTEL_EXPORTER_OTLP_ENDPOINT=%s/plan"):format(kit.quoted(CANARY), server.url)
    local out = {}
    local function run(words)
      words.env = env
      local one = kit.run(folder, words)
      out[#out + 1] = one.out .. one.err
      return one
    end
    assert.equal(3, run({ "canary.lua", "--work-dir", "w", "--log", "run.log" }).code, out[1])
    run { "log", "w", "--json" }
    run { "log", "w", "--state" }
    run { "explain", "w" }
    run { "metrics", "w" }
    run { "status", "w", "--json" }
    run { "report", "w" }
    assert.equal(0, run({ "answer", "w", "yes, " .. KEY }).code, out[#out])
    run { "report", "w", "--html", "w/second.html" }
    run { "report", "w", "--record", "zh" }
    assert.truthy(folder.read("w/execution-record.md") and folder.read("run.log") and folder.read("asked"))
    assert.truthy(folder.read("asked"):find("{secret CANARY}", 1, true), "agents are told its name")
    local escaped = json.encode(CANARY):sub(2, -2)
    for _, text in ipairs { CANARY, escaped, KEY } do
      assert.same({}, holding(folder.path, text), text)
      assert.is_nil(table.concat(out):find(text, 1, true), text)
    end
    local told = json.decode(folder.read "w/state.json")
    assert.same({ "{secret CANARY}", "{key}", "{secret CANARY}", "{secret CANARY}", "a{secret CANARY}b", "yes, {key}" },
      { told.early, told.key, told.said, told.once[1], told.deep[1].text, told.v })
    assert.same({ ["{secret CANARY}"] = { ["is {key}"] = 2 } }, told.names)
    local errors = {}
    for _, one in ipairs(told.errors) do errors[one.action] = one.message end
    assert.truthy(errors.argv:find("its argv holds a secret", 1, true), errors.argv)
    assert.truthy(errors.raises:find("failed with {secret CANARY} and {key}", 1, true), errors.raises)
    local n, seen = 1, 0
    local head = server.request(n)
    while head do -- it was sent where the script sends it, and nowhere else
      seen = seen + (head:find(CANARY, 1, true) and 1 or 0)
      assert.is_nil(server.body(n):find(escaped, 1, true))
      n = n + 1
      head = server.request(n)
    end
    assert.equal(1, seen)
  end)

  it("that an agent's URL or headers take from the environment comes back in no answer, error, report or journal", function()
    local token, part = 'tok-"en"/4711-canary', "path-of-a-tenant-0815"
    for _, reply in ipairs { { 200, json.encode { status = "completed", summary = "was sent " .. token .. " at " .. part } },
      { 400, json.encode { error = { message = "no such token: " .. token .. " of " .. part } } } } do
      local server <close> = setmetatable(R.server(R.raw(("HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s")
        :format(reply[1], #reply[2], reply[2])) .. "\n"), { __close = function(self) self.stop() end })
      local folder <close> = kit.folder()
      folder.file("s.lua", ([[local skillrt = require "skillrt"
        return skillrt.skill { name = "s", limits = { max_errors = 1, max_retries = 0 }, agents = { far = skillrt.agent.http {
          url = "SERVER/plan?tenant={env.TENANT}", headers = { Authorization = "Bearer {env.FAR}" } } },
          actions = { { id = "a", agent = "far", prompt = "go\nthere" } } }]]):gsub("SERVER", function() return server.url end))
      local run = kit.run(folder, { "s.lua", "--work-dir", "w", env = ("FAR=%s TENANT=%s"):format(kit.quoted(token), part) })
      assert.equal(reply[1] == 200, run.code == 0, run.out .. run.err)
      assert.truthy(server.request(1):find("Bearer " .. token, 1, true))
      run.out = run.out .. run.err .. kit.run(folder, { "log", "w" }).out .. kit.run(folder, { "report", "w" }).out
      for _, text in ipairs { token, json.encode(token):sub(2, -2), part } do
        assert.same({}, holding(folder.path .. "/w", text), text)
        assert.is_nil(run.out:find(text, 1, true), text)
      end
    end
  end)

  it("comes from the environment, or a file that nobody else may read; one that is missing or short is refused", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", 'return require "skillrt".skill { name = "s", state = { has = #require "skillrt".secret "TOKEN_X" }, '
      .. 'actions = { { id = "a", run = function() end } } }')
    local env = "XDG_CONFIG_HOME=" .. folder.path
    local run = kit.run(folder, { "s.lua", "--work-dir", "a", env = env })
    assert.truthy(run.code ~= 0 and run.err:find("TOKEN_X: is not set in the environment, and there is no file", 1, true), run.err)
    os.execute(("mkdir -p %s/skillrt/secrets"):format(folder.path))
    local path = folder.file("skillrt/secrets/TOKEN_X", "from-a-file-9\n")
    os.execute("chmod 644 " .. path)
    run = kit.run(folder, { "s.lua", "--work-dir", "a", env = env })
    assert.truthy(run.err:find("can be read by others; chmod 600 it", 1, true), run.err)
    os.execute("chmod 600 " .. path)
    assert.equal(0, kit.run(folder, { "s.lua", "--work-dir", "b", env = env }).code)
    assert.equal(13, json.decode(folder.read "b/state.json").has)
    run = kit.run(folder, { "s.lua", "--work-dir", "c", env = env .. " TOKEN_X=short" })
    assert.truthy(run.err:find("has 5 bytes; a secret needs at least 8", 1, true), run.err)
  end)

  it("may change between two sessions: the calls that it is part of are the same", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", [[local skillrt = require "skillrt"
      return skillrt.skill { name = "s", state = {}, actions = { { id = "a", run = function(_, ctx)
        ctx.await { kind = "command", argv = { "sh", "-c", "echo x >>count" }, env = { T = skillrt.secret "TOKEN_X" } }
        return { v = ctx.ask "go on?" } end } } }]])
    assert.equal(3, kit.run(folder, { "s.lua", "--work-dir", "w", env = "TOKEN_X=the-first-one" }).code)
    local run = kit.run(folder, { "answer", "w", "yes", env = "TOKEN_X=another-one-now" })
    assert.equal(0, run.code, run.err)
    assert.equal("x\n", folder.read "count")
  end)
end)

describe("what looks like a known key", function()
  it("is told from words that begin so, and found in time that grows with the text", function()
    local function clean(text) return secrets.clean(text) end
    for _, key in ipairs { KEY, "ghp_" .. ("a1B2"):rep(9), "AKIA" .. "IOSFODNN7EXAMPLE", "xoxb-123456789012-abcdefghijkl",
      "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123", "github_pat_" .. ("x9"):rep(20) } do
      assert.equal("a {key}, b", clean("a " .. key .. ", b"))
      assert.equal('"{key}"', clean('"' .. key .. '"'))
    end
    for _, word in ipairs { "sk-fading-circle-of-a-loader-in-css", "disk-usage-of-the-whole-machine-2024-01-01", "AKIA",
      "task-1234567890-1234567890-1234567890", "eyJust.a.word", "npm_config_cache" } do
      assert.equal(word, clean(word))
    end
    local pem = "x -----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- y"
    assert.equal("x {key} y", clean(pem))
    assert.equal("x {key}", clean(pem:sub(1, 40)))
    local began = os.clock()
    clean(("eyJ-"):rep(200000))
    clean(("-----BEGIN "):rep(100000) .. "PRIVATE KEY-----")
    assert.truthy(os.clock() - began < 2)
  end)
end)
