-- webhook_spec.lua: webhooks of `skillrt serve`, both ways, and the links of questions: judged by cryptography of
-- Node.js, and by the official library of Standard Webhooks where make test-serve has installed it.
local C = require "tests.support.serve_client"
local K = require "tests.support.cli_kit"
local json = require "skillrt.base.json"

local SKILL <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "hello", inputs = { does = { type = "string", default = "" } }, actions = { { id = "work",
  run = function(_, ctx)
    local does, out = ctx.input.does, {}
    if does == "ask" then out.said = ctx.ask { question = "More <b>?", options = { "yes", "no" } } end
    if does == "text" then out.said = ctx.ask { question = "What?" } end
    if does == "event" then out.got = ctx.wait { event = "deploy" } end
    return out
  end } } } ]]

-- Takes webhooks: each that holds is a line of the file; it refuses the first of each with 500.
local RECEIVER <const> = [=[
import { createHmac, timingSafeEqual } from 'node:crypto';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
const [secret, official] = [readFileSync('secret', 'utf8').trim(), process.argv[2]];
const seen = {};
function verify(body, headers) {
  if (official) {
    const { Webhook } = createRequire(official + '/x.js')('standardwebhooks');
    return new Webhook(secret).verify(body, headers);
  }
  const key = Buffer.from(secret.slice(6), 'base64');
  const text = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const want = Buffer.from('v1,' + createHmac('sha256', key).update(text).digest('base64'));
  const got = Buffer.from(headers['webhook-signature']);
  if (want.length !== got.length || !timingSafeEqual(want, got)) throw new Error('wrong signature');
  return JSON.parse(body);
}
const server = createServer((request, response) => {
  let body = '';
  request.on('data', (part) => { body += part; });
  request.on('end', () => {
    const id = request.headers['webhook-id'];
    seen[id] = (seen[id] ?? 0) + 1;
    let line;
    try { line = { ok: true, event: verify(body, request.headers), id, type: request.headers['content-type'] }; }
    catch (error) { line = { ok: false, error: String(error) }; }
    appendFileSync('took', JSON.stringify({ ...line, times: seen[id] }) + '\n');
    response.writeHead(seen[id] === 1 ? 500 : 200).end();
  });
});
server.listen(0, '127.0.0.1', () => writeFileSync('port', String(server.address().port)));
setTimeout(() => process.exit(), 120000);
]=]

local folder, server

local function begin(does)
  local status, value = server:post("/runs", { skill = "hello", input = { does = does } })
  assert.equal(201, status, json.encode(value))
  return value.run
end

-- The webhook of a run, once it was taken.
local function webhook_of(run, status)
  for _ = 1, 1200 do
    for line in (folder.read "took" or ""):gmatch "[^\n]+\n" do
      local one = json.decode(line)
      assert.is_true(one.ok, line)
      if one.event.data.work_dir:find(run, 1, true) and one.event.data.status == status and one.times == 2 then return one end
    end
    os.execute "sleep 0.05"
  end
  error("no webhook came: " .. tostring(folder.read "took"))
end

-- A signed request, as a stranger's program sends it.
local function signed(path, id, body, changes)
  local webhook = require "skillrt.cli.webhook"
  local key = assert(webhook.key(folder.path .. "/runs/serve.secret"))
  changes = changes or {}
  local at = (changes.at or 0) + require("skillrt.core").wall_ms() // 1000
  return server:ask(path, { token = false, body = changes.body or body, headers = { ["webhook-id"] = id,
    ["webhook-timestamp"] = tostring(at), ["webhook-signature"] = changes.signature or webhook.signature(key, id, at, body) } })
end

describe("webhooks", function()
  before_each(function()
    folder = K.folder()
    os.execute(("mkdir -p %s/skills/hello"):format(folder.path))
    folder.file("skills/hello/skill.lua", SKILL)
  end)
  after_each(function()
    if server then server:close() end
    server = nil
    os.execute(("kill $(cat %s/node.pid 2>/dev/null) 2>/dev/null"):format(folder.path))
    getmetatable(folder).__close()
  end)

  it("(F94) tell a server of each run that ended or asks, signed, again until it takes it, with a link that answers once", function()
    folder.file("secret", "whsec_" .. ("c2VjcmV0"):rep(6) .. "\n")
    os.execute(("chmod 600 %s/secret"):format(folder.path))
    folder.file("receiver.mjs", RECEIVER)
    os.execute(("cd %s; node receiver.mjs %s >node.out 2>&1 & echo $! >%s/node.pid"):format(folder.path,
      os.getenv "SKILLRT_OFFICIAL" or "", folder.path))
    for _ = 1, 400 do
      if folder.read "port" then break end
      os.execute "sleep 0.05"
    end
    server = C.start(folder, { "--listen", "127.0.0.1:0", "--trust", "skills", "--secret-file", "secret", "--webhook",
      ("http://127.0.0.1:%s/"):format(folder.read "port") })
    local done, asks = begin "", begin "ask"
    local first = webhook_of(done, "completed")
    assert.same({ "1.0", "skillrt.run.completed", "application/cloudevents+json", first.id }, { first.event.specversion,
      first.event.type, first.type, first.event.id })
    local link = webhook_of(asks, "paused").event.data.questions[1].link:match "^http://[^/]+(/answer/.+)$"
    local none = { token = false }
    local status, html, head = server:ask(link, none)
    assert.equal(200, status)
    assert.truthy(html:find("More &lt;b&gt;?", 1, true) and html:find('value="yes"', 1, true), html)
    assert.truthy(head:find("default-src 'none'", 1, true) and head:find("no-referrer", 1, true))
    assert.equal("paused", server:until_it(asks, "paused").status) -- looking answers nothing
    local form = { ["Content-Type"] = "application/x-www-form-urlencoded", Origin = "https://elsewhere.example" }
    local function post(path, body) return (server:ask(path, { token = false, body = body, headers = form })) end
    for _, path in ipairs { link:sub(1, -2), link .. "A", link:gsub("/1/", "/2/"), (link:gsub("[^/]+(/1/)", done .. "%1")) } do
      assert.equal(404, post(path, "value=yes"), path)
      assert.equal(404, (server:ask(path, none)), path)
    end
    assert.equal(422, post(link, "odd=yes"))
    assert.equal(422, post(link, "value=perhaps"))
    assert.equal("paused", server:until_it(asks, "paused").status)
    assert.is_true(post(link, "value=y%65s") < 300)
    server:until_it(asks, "completed")
    assert.equal(404, post(link, "value=no"))
    assert.equal("yes", select(2, server:ask("/runs/" .. asks .. "/data")).state.said)
    webhook_of(asks, "completed")
    for _, name in ipairs { "/runs", "/runs/" .. done } do assert.equal(401, (server:ask(name, none))) end
  end)

  it("(F94) that come are events of a run: signed by who has the secret, just now, and each id once", function()
    server = C.start(folder, { "--listen", "127.0.0.1:0", "--trust", "skills" })
    local run = begin "event"
    server:until_it(run, "paused")
    local path, body = "/hooks/" .. run .. "/deploy", '{"specversion":"1.0","id":"a","source":"x","type":"y","data":{"n":7}}'
    local function refused(expected, ...)
      local status, value = signed(...)
      assert.same(expected, { status, value.error and value.error.code })
    end
    refused({ 401, "signature" }, path, "a", body, { signature = "v1,AAAA" })
    refused({ 401, "signature" }, path, "a", body, { body = body .. " " })
    refused({ 401, "signature" }, path, "a", body, { at = -301 })
    refused({ 401, "signature" }, path, "a", body, { at = 900 }) -- far ahead: a slow machine comes to it later
    refused({ 422, "invalid" }, path, "a", "odd")
    refused({ 422, "invalid" }, "/hooks/" .. run .. "/-x", "a", body)
    refused({ 404, "missing" }, "/hooks/none/deploy", "a", body)
    assert.same({ 401, "signature" }, { server:ask(path, { token = false, body = body }), "signature" })
    assert.equal("paused", server:until_it(run, "paused").status)
    assert.equal(202, (signed(path, "a", body)))
    server:until_it(run, "completed")
    assert.equal(7, select(2, server:ask("/runs/" .. run .. "/data")).state.got.n)
    refused({ 409, "invalid" }, path, "a", body)
  end)

  it("are for a run that is seen late to have ended, and for one that is interrupted long after its last record", function()
    local since, started, listed = 1000000000000, {}, {}
    folder.file("serve.notified", since .. "\n")
    local runs = { folder = folder.path, version = 1 }
    function runs:news() return self.version end
    function runs.each(_, filter, take)
      for _, one in ipairs(listed) do
        if one.at >= filter.since or filter.gone and one.status.status == "interrupted" then take(one) end
      end
      return not runs.fails
    end
    function runs.start(_, words)
      started[#started + 1] = words[2]
      return { code = 0 }
    end
    local deliveries = require("skillrt.cli.serve.deliveries").new { runs = runs, urls = { "http://x/" }, secret_file = "s" }
    local function told(...)
      listed, started = { ... }, {}
      runs.version = runs.version + 1
      deliveries:advance(0)
      return table.concat(started, " ")
    end
    local function run(dir, at, status, held) return { dir = dir, at = at, status = { status = status, held_by = held } } end
    local old, works = run("old", 5, "interrupted"), run("works", 7, "running", "1")
    assert.equal("new", told(old, works, run("new", since + 100000, "completed")))
    assert.equal("late", told(old, works, run("new", since + 100000, "completed"), run("late", since + 99000, "failed")))
    assert.equal("works", told(old, run("works", 7, "interrupted")))
    assert.equal("", told(old, run("works", 7, "interrupted"), run("late", since + 99000, "failed")))
    runs.fails = true -- the list, once: who was interrupted before is known, and who ended now is not missed
    assert.equal("", told())
    runs.fails, listed = nil, { old, run("works", 7, "interrupted"), run("missed", since + 98000, "failed") }
    deliveries:advance(0)
    assert.same({ "missed" }, started)
  end)

  it("are tried 24 times, each time later, an hour at most; then they are given up, and it is said", function()
    local output, said, tries, at = require "skillrt.report.output", nil, 0, {}
    local runs, now = { folder = folder.path }, 0
    function runs.news() return 1 end
    function runs.patience() return 1 << 50 end
    function runs.each(_, _, take) take { dir = "r", at = require "skillrt.core".wall_ms(), status = { status = "failed" } } return true end
    function runs.start()
      tries = tries + 1
      at[tries] = now
      return { code = 1 }
    end
    local deliveries = require("skillrt.cli.serve.deliveries").new { runs = runs, urls = { "http://x/" }, secret_file = "s" }
    local say = output.say
    output.say = function(...) said = table.concat({ ... }, " ") end
    for _ = 1, 100 do
      deliveries:advance(now)
      now = now + math.min(deliveries:patience(now), 1 << 40)
    end
    output.say = say
    assert.same({ 24, 0, 5000, 15000, 35000 }, { tries, table.unpack(at, 1, 4) })
    assert.equal(3600000, at[24] - at[23])
    assert.equal("warning webhook: http://x/ got no message about r: given up after 24 tries", said)
    assert.same({}, deliveries.open)
  end)

  it("are looked for at once after a rest: what changed during it wakes nobody", function()
    local runs = require("skillrt.cli.serving.runs").new { folder = folder.path }
    runs.rests = require("skillrt.core").mono_ms() + 3600000
    local version = runs:news()
    assert.same({ 1, 0, 0 }, { runs:patience(runs.rests - 1), runs:patience(runs.rests), runs:patience(runs.rests + 9) })
    runs.rests = 0
    assert.same({ version + 1, 60000 }, { runs:news(), runs:patience(1) })
  end)

  it("are signed as the published example is", function()
    local webhook, base64 = require "skillrt.cli.webhook", require "skillrt.base.base64"
    local key = assert(base64.decode "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    assert.equal("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
      webhook.signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, '{"test": 2432232314}'))
    for _, text in ipairs { "a", "abc", "ab=c", "a===", "YQ=", "YR==", "Y Q=" } do
      assert.is_nil(base64.decode(text), text)
    end
    for length = 0, 40 do
      local bytes = ("\0\255x\1"):rep(10):sub(1, length)
      assert.equal(bytes, base64.decode(base64.encode(bytes)))
    end
  end)
end)
