-- serve_hostile_spec.lua: `skillrt serve` among clients that are slow, silent, endless or lie: others are served meanwhile,
-- the run goes on, nothing is begun, and memory is bounded.
local C = require "tests.support.serve_client"
local K = require "tests.support.cli_kit"

local SKILL <const> = [[
return require("skillrt").skill { name = "hello", limits = { calls = 5000 }, actions = { { id = "work", run = function(_, ctx)
  for _ = 1, 2000 do ctx.await { kind = "command", idempotent = true, argv = { "sleep", "0.05" } } end
end } } } ]]

-- Each kind: what it writes at once, and whether more of the same follows without an end. All stay connected.
local CLIENTS <const> = [==[
import { connect } from 'node:net';
const [socket, run] = process.argv.slice(2);
const HEAD = 'Host: x\r\n', JSON_TYPE = 'Content-Type: application/json\r\n';
const post = (path, head, body) => `POST ${path} HTTP/1.1\r\n${HEAD}${JSON_TYPE}${head}\r\n${body}`;
const start = '{"skill":"hello"}';
const kinds = [
  [''], ['G'], ['GET /runs'], ['GET /runs HTTP/1.1\r\n'], ['GET /runs HTTP/1.1\r\nHost: x'], ['', 'G'], ['', '\r\n'], ['', '\0'],
  ['GET /', 'a'], ['GET /?', 'a=b&'], ['GET / HTTP/1.1\r\n', 'X: y\r\n'], ['GET / HTTP/1.1\r\nX: ', 'y'],
  [post('/runs', 'Content-Length: 99\r\n', start)], [post('/runs', 'Content-Length: 5\r\n', start)],
  [post('/runs', 'Content-Length: -1\r\n', start)], [post('/runs', 'Content-Length: 1e1\r\n', start)],
  [post('/runs', 'Content-Length: 99999999999999999999\r\n', start)], [post('/runs', 'Content-Length: 1048576\r\n', ''), ' '],
  [post('/runs', 'Content-Length: 3\r\nContent-Length: 17\r\n', '{}')],
  [post('/runs', 'Content-Length: 17\r\nTransfer-Encoding: chunked\r\n', 'zz\r\n')],
  [post('/runs', 'Transfer-Encoding: chunked\r\n', ''), '1000\r\n' + ' '.repeat(4096) + '\r\n'],
  [post('/runs', 'Transfer-Encoding: chunked\r\n', 'ffffffffffffffff\r\n')],
  [post('/runs', 'Transfer-Encoding: chunked\r\n', '-1\r\n')], [post('/runs', 'Transfer-Encoding: odd\r\n', start)],
  [post('/runs', 'Expect: 100-continue\r\nContent-Length: 17\r\n', '')],
  [post('/runs', 'Content-Length: 200000\r\n', '['.repeat(200000))], [post('/mcp', 'Content-Length: 200000\r\n', '['.repeat(200000))],
  [post(`/hooks/${run}/x`, 'webhook-id: a\r\nwebhook-timestamp: 1e400\r\nwebhook-signature: v1,\r\nContent-Length: 2\r\n', '{}')],
  [post(`/answer/${run}/1/%00%ff`, 'Content-Length: 7\r\n', 'value=%')],
  ['GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n'], ['GET /runs HTTP/1.1\r\nHo\0st: x\r\n\r\n'], ['GET /runs\r\n\r\n'],
  ['GET /runs HTTP/9.9\r\nHost: x\r\n\r\n'], ['GET /runs HTTP/1.1\r\n\r\n'], ['GET /runs HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n'],
  ['CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n'], ['TRACE / HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'], ['\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03'], ['GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n'],
  [`GET /runs/${run}/events HTTP/1.1\r\n${HEAD}\r\n`], [`GET /runs/${run}/events HTTP/1.1\r\n${HEAD}Last-Event-ID: 9e9\r\n\r\n`],
  ['GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n'],
  ['GET /runs HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(400)],
];
const state = kinds.map(() => 'new');
kinds.forEach(([first, more], i) => {
  const client = connect(socket);
  client.on('connect', () => {
    client.pause(); // it reads nothing
    const endless = () => {
      let room = true;
      for (let n = 0; more && room && n < 100; n++) room = client.write(more, 'latin1');
    };
    client.on('drain', endless);
    client.write(first, 'latin1', () => { state[i] = 'sent'; });
    endless();
  });
  client.on('error', () => { state[i] = 'refused'; });
  client.on('close', () => { state[i] = 'closed'; });
});
const timer = setInterval(() => {
  if (state.every((one) => one !== 'new')) {
    console.log(`${kinds.length} kinds wrote`);
    clearInterval(timer);
  }
}, 20);
setTimeout(() => process.exit(), 60000);
]==]

-- As many as there may be, then one more, which waits until one of them goes.
local CROWD <const> = [==[
import { connect } from 'node:net';
const opened = () => new Promise((resolve) => { const one = connect(process.argv[2], () => resolve(one)); });
const crowd = [];
for (let i = 0; i < 256; i++) crowd.push(await opened());
const last = await opened();
const served = new Promise((resolve) => { last.on('data', resolve); });
const within = (ms) => Promise.race([served, new Promise((resolve) => { setTimeout(resolve, ms); })]);
last.write('GET /runs HTTP/1.1\r\nHost: x\r\n\r\n');
console.log(`before: ${await within(300) ? 'served' : 'waits'}`);
crowd[100].destroy();
console.log(`behind: ${await within(4000) ? 'served' : 'waits'}`);
process.exit();
]==]

describe("skillrt serve", function()
  it("takes who waits as soon as one of as many as there may be has gone", function()
    local folder <close> = K.folder()
    folder.file("crowd.mjs", CROWD)
    local server = C.start(folder, {})
    local pipe <close> = assert(io.popen(("cd %s; timeout 20 node crowd.mjs %s 2>&1"):format(folder.path, server.socket)))
    assert.equal("before: waits\nbehind: served\n", pipe:read "a")
    server:close()
  end)

  it("(F98) serves others and its run goes on among 44 kinds of clients that are slow, silent, endless or lie", function()
    local folder <close> = K.folder()
    os.execute(("mkdir -p %s/skills/hello"):format(folder.path))
    folder.file("skills/hello/skill.lua", SKILL)
    folder.file("clients.mjs", CLIENTS)
    local server = C.start(folder, { "--trust", "skills" })
    local run = select(2, server:post("/runs", { skill = "hello" })).run
    os.execute(("cd %s; node clients.mjs %s %s >wrote 2>&1 & echo $! >%s/pid"):format(folder.path, server.socket, run, folder.path))
    for _ = 1, 600 do
      if (folder.read "wrote" or ""):find "wrote" then break end
      os.execute "sleep 0.05"
    end
    assert.equal("44 kinds wrote\n", folder.read "wrote")
    local before = select(2, server:ask("/runs/" .. run)).records
    local after = before
    for _ = 1, 200 do -- others are served, and the run records what it does
      local status, value = server:ask("/runs/" .. run)
      assert.equal(200, status)
      after = value.records
      if after > before + 4 then break end
    end
    assert.is_true(after > before + 4, ("%d records before, %d after"):format(before, after))
    assert.equal(1, #select(2, server:ask "/runs").runs)
    local status = assert(K.read(("/proc/%d/status"):format(server.process.pid)))
    assert.equal("skillrt", status:match "Name:%s+(%S+)")
    local peak = tonumber(status:match "VmHWM:%s+(%d+)") -- kB
    assert.is_true(peak < 64 << 10, tostring(peak))
    os.execute(("kill $(cat %s/pid)"):format(folder.path))
    assert.equal(200, (server:post("/runs/" .. run .. "/stop", {})))
    server:close()
  end)
end)
