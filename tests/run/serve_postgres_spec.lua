-- serve_postgres_spec.lua: `skillrt serve` over the runs of a database: what it does with a folder.
local C = require "tests.support.serve_client"
local K = require "tests.support.cli_kit"
local postgres = require "tests.support.postgres"

local database, why = postgres.start()

local SKILL <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "hello", description = "Says hello", state = {}, actions = {
  { id = "ask", run = function(_, ctx) return { said = ctx.ask { question = "Who?", options = { "Ada", "Grace" } } } end } } }
]]

local JOB <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "job", description = "Does it", inputs = { does = { type = "string" }, gate = { type = "string",
  default = "" } }, limits = { max_retries = 0, max_errors = 1 }, actions = { { id = "work", run = function(_, ctx)
    local does, out = ctx.input.does, { done = true }
    if does == "sleep" then ctx.await { kind = "command", argv = { "sleep", "60" }, idempotent = true } end
    if does == "fail" and not ctx.await { kind = "command", argv = { "test", "-e", ctx.input.gate }, idempotent = true } then
      return nil, "no", "permanent"
    end
    if does == "ask" then out.said = ctx.ask { question = "Go?", options = { "yes", "no" } } end
    if does == "event" then out.said = ctx.wait { event = "deploy" } end
    return out
  end } } }
]]

-- Takes webhooks: each is a line of the file.
local RECEIVER <const> = [=[
import { appendFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
const server = createServer((request, response) => {
  let body = '';
  request.on('data', (part) => { body += part; });
  request.on('end', () => { appendFileSync('took', body + '\n'); response.writeHead(200).end(); });
});
server.listen(0, '127.0.0.1', () => writeFileSync('port', String(server.address().port)));
setTimeout(() => process.exit(), 120000);
]=]

describe("skillrt serve over a database", function()
  lazy_teardown(function()
    if database then getmetatable(database).__close() end
  end)

  it("starts, lists, answers, follows and shows runs there", function()
    if not database then return pending("PostgreSQL: " .. why) end
    local folder <close> = K.folder()
    os.execute(("mkdir -p '%s/skills/hello'"):format(folder.path))
    folder.file("skills/hello/skill.lua", SKILL)
    assert.equal(0, K.run(folder, { "fleet", "init", database.url }).code)
    local server <close> = C.start(folder, { runs = database.url, "--socket", folder.path .. "/s", "--trust", "skills" })
    local status, value = server:post("/runs", { skill = "hello" })
    assert.equal(201, status, value.error and value.error.message)
    local run = value.run
    assert.equal("Who?", server:until_it(run, "paused").questions[1].question.question)
    local _, list = server:ask "/runs?waiting=true"
    assert.same({ 1, run, "paused" }, { #list.runs, list.runs[1].run, list.runs[1].status })
    assert.is_true((server:post("/runs/" .. run .. "/answer", { question = 1, value = "Ada" })) < 300)
    server:until_it(run, "completed")
    assert.equal("Ada", select(2, server:ask("/runs/" .. run .. "/data")).state.said)
    assert.is_true(#server:follow(run, 2) > 2)
    for _ = 1, 300 do
      _, list = server:ask "/runs?status=completed"
      if list.runs[1] then break end
      os.execute "sleep 0.03"
    end
    assert.equal(run, list.runs[1].run)
    assert.equal(404, (server:ask "/runs/none"))
  end)

  it("stops, resumes, retries, rolls back, forks, sends to and aborts runs there, and webhooks work both ways", function()
    if not database then return pending("PostgreSQL: " .. why) end
    local folder <close> = K.folder()
    os.execute(("mkdir -p '%s/skills/job'"):format(folder.path))
    folder.file("skills/job/skill.lua", JOB)
    folder.file("receiver.mjs", RECEIVER)
    os.execute(("cd '%s'; node receiver.mjs >node.out 2>&1 & echo $! >'%s/node.pid'"):format(folder.path, folder.path))
    for _ = 1, 400 do
      if folder.read "port" then break end
      os.execute "sleep 0.05"
    end
    assert.equal(0, K.run(folder, { "fleet", "init", database.url }).code)
    local server <close> = C.start(folder, { runs = database.url, "--listen", "127.0.0.1:0", "--trust", "skills", "--webhook",
      ("http://127.0.0.1:%s/"):format(folder.read "port") })
    local _ <close> = setmetatable({}, { __close = function()
      os.execute(("kill $(cat '%s/node.pid')"):format(folder.path))
    end })
    local function begin(does)
      local status, value = server:post("/runs", { skill = "job", input = { does = does, gate = folder.path .. "/gate" } })
      assert.equal(201, status, value.error and value.error.message)
      return value.run
    end
    local function act(run, what, body, wanted)
      local status, value = server:post(("/runs/%s/%s"):format(run, what), body or {})
      assert.truthy(status >= 200 and status < 300, value.error and value.error.message)
      return wanted and server:until_it(run, wanted) or value
    end
    local function state(run) return select(2, server:ask("/runs/" .. run .. "/data")).state end

    local sleeper = begin "sleep"
    server:until_it(sleeper, "running")
    act(sleeper, "stop", nil, "paused")
    act(sleeper, "abort", nil, "aborted")

    local fails = begin "fail"
    server:until_it(fails, "failed")
    folder.file("gate", "")
    act(fails, "retry", nil, "completed")

    local waits = begin "event"
    server:until_it(waits, "paused")
    act(waits, "resume", nil, "paused")
    act(waits, "send", { event = "deploy", value = { n = 1 } })
    act(waits, "resume", nil, "completed")
    assert.equal(1, state(waits).said.n)

    local hooked = begin "event"
    server:until_it(hooked, "paused")
    local webhook = require "skillrt.cli.webhook"
    local found = server.process.output():match "token in ([^\n]+)token\n" .. "secret"
    local at, body, key = require("skillrt.core").wall_ms() // 1000, '{"n":2}', assert(webhook.key(found))
    assert.equal(202, (server:ask("/hooks/" .. hooked .. "/deploy", { token = false, body = body, headers = {
      ["webhook-id"] = "a", ["webhook-timestamp"] = tostring(at),
      ["webhook-signature"] = webhook.signature(key, "a", at, body) } })))
    server:until_it(hooked, "completed")
    assert.equal(2, state(hooked).said.n)

    local asks = begin "ask"
    server:until_it(asks, "paused")
    act(asks, "answer", { question = 1, value = "yes" }, "completed")
    local fork = act(asks, "fork", { at = 2, set = { note = "new" } }).run
    assert.not_equal(asks, fork)
    assert.same({ "paused", "new" }, { server:until_it(fork, "paused").status, state(fork).note })
    act(asks, "rollback", { to = 2 }, "paused")
    assert.is_nil(state(asks).said)
    for _, one in ipairs { asks, fork } do
      act(one, "resume", nil, "paused")
      act(one, "answer", { question = server:until_it(one, "paused").questions[1].q, value = "no" }, "completed")
      assert.equal("no", state(one).said)
    end

    local took -- who retries at once may be faster than the message that it failed
    for _ = 1, 600 do
      took = folder.read "took" or ""
      if took:find(fork, 1, true) and took:find("skillrt.run.aborted", 1, true) then break end
      os.execute "sleep 0.05"
    end
    for _, one in ipairs { fork, asks, sleeper, "skillrt.run.aborted", "skillrt.run.completed" } do
      assert.truthy(took:find(one, 1, true), one)
    end
  end)

  it("commands stop, retry, resume, and answer several of its runs", function()
    if not database then return pending("PostgreSQL: " .. why) end
    local folder <close> = K.folder()
    folder.file("skill.lua", (JOB:gsub('"job"', '"several"')))
    assert.equal(0, K.run(folder, { "fleet", "init", database.url }).code)
    local function run(...) return K.run(folder, { ... }) end
    local function several(expected, ...)
      local done = run(...)
      assert.same(expected, { done.code, select(2, done.out:gsub("== ", "")) }, done.out .. done.err)
    end
    for i = 1, 2 do
      local gate = "gate=" .. folder.path .. "/gate2"
      assert.equal(1, run("skill.lua", "--trust", "--work-dir", database.run("f" .. i), "--set", "does=fail", "--set", gate,
        "--quiet").code)
      assert.equal(3, run("skill.lua", "--trust", "--work-dir", database.run("a" .. i), "--set", "does=ask", "--quiet").code)
    end
    local refused = run("retry", database.url, "--failed", "--skill", "several", "--since", "1h")
    assert.truthy(refused.code ~= 0 and refused.err:find("2 runs would be chosen", 1, true), refused.err)
    folder.file("gate2", "")
    several({ 0, 2 }, "retry", database.url, "--failed", "--skill", "several", "--since", "1h", "--all", "--quiet")
    several({ 3, 2 }, "resume", database.url, "--waiting", "--skill", "several", "--all", "--quiet")
    several({ 0, 2 }, "answer", "--waiting", "--skill", "several", "--all", "--quiet", database.url, "yes")
    local listed = run("list", database.url, "--waiting", "--skill", "several")
    assert.same({ 0, "" }, { listed.code, listed.out })
    local sleepers = {}
    for i = 1, 2 do
      sleepers[i] = K.start(folder, { "skill.lua", "--trust", "--work-dir", database.run("s" .. i), "--set", "does=sleep", "--quiet" })
    end
    for _ = 1, 400 do
      if select(2, run("list", database.url, "--status", "running").out:gsub("\n", "")) == 2 then break end
      os.execute "sleep 0.05"
    end
    several({ 0, 2 }, "stop", database.url, "--status", "running", "--all")
    for i = 1, 2 do assert.equal(143, sleepers[i].wait().code) end
  end)
end)
