-- acp_spec.lua: `skillrt acp`: an editor drives runs by the Agent Client Protocol, line by line; and the official client
-- does, where make test-serve has installed it.
local K = require "tests.support.cli_kit"
local json = require "skillrt.base.json"

local SKILL <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "hello", phases = { { id = "work", output = "out.md", run = function(_, ctx)
    local task = ctx.input.task
    if task == "ask" then return "said " .. ctx.ask { question = "More?", options = { "yes", "no" } } end
    if task == "text" then return "said " .. ctx.ask { question = "What?" } end
    if task == "sleep" then
      for i = 1, 12 do ctx.log("nap " .. i) end
      ctx.sleep(60)
    end
    if task == "fail" then return nil, "broken", "permanent" end
    return "did " .. task
  end } }, limits = { max_errors = 1, max_retries = 0 } } ]]

local folder

-- Speaks to a program: lines are written when what comes before them has been seen.
local SPEAKER <const> = [=[
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const [program, ...words] = process.argv.slice(2);
const child = spawn(program, ['acp', ...words], { stdio: ['pipe', 'pipe', 'inherit'] });
const said = [];
let session, asked;
const script = JSON.parse(readFileSync('script.json', 'utf8'));
const fill = (line) => JSON.stringify(line).replaceAll('"SESSION"', JSON.stringify(session ?? '')).replaceAll('"ASKED"',
  JSON.stringify(asked ?? ''));
let at = 0;
function go() {
  while (at < script.length && (script[at].after === undefined || said.some((one) => JSON.stringify(one).includes(
    script[at].after)))) {
    const one = script[at++];
    if (one.text !== undefined) child.stdin.write(one.text + '\n');
    if (one.line) child.stdin.write(fill(one.line) + '\n');
    if (one.end) child.stdin.end();
  }
}
createInterface({ input: child.stdout }).on('line', (line) => {
  const one = JSON.parse(line);
  said.push(one);
  session ??= one.result?.sessionId;
  if (one.method === 'session/request_permission') asked = one.id;
  console.log(line);
  go();
});
child.on('exit', (code) => { process.exitCode = code; });
setTimeout(() => { child.kill(); process.exit(9); }, 60000).unref();
go();
]=]

-- What the agent says to a script of lines; its exit code.
local function speak(script)
  folder.file("speak.mjs", SPEAKER)
  folder.file("run.sh", ("exec node speak.mjs %s --trust skills"):format(K.program))
  folder.file("script.json", json.encode(json.array(script)))
  local pipe = io.popen(("cd %s && HOME=%s timeout 70 sh run.sh 2>err"):format(folder.path, folder.path))
  local text = pipe:read "a"
  local _, _, code = pipe:close()
  return K.objects(text), code
end

local NEW <const> = { line = { jsonrpc = "2.0", id = 1, method = "session/new", params = { cwd = "/", mcpServers = json.array {} } } }

local function prompt(id, text, after)
  return { after = after, line = { jsonrpc = "2.0", id = id, method = "session/prompt", params = { sessionId = "SESSION",
    prompt = json.array { { type = "text", text = text } } } } }
end

local function reply_to(list, id)
  for _, one in ipairs(list) do
    if one.id == id and not one.method then return one.result or one.error end
  end
end

local function said(list)
  local text = ""
  for _, one in ipairs(list) do
    local update = (one.params or {}).update or {}
    text = text .. (update.sessionUpdate == "agent_message_chunk" and update.content.text or "")
  end
  return text
end

describe("skillrt acp", function()
  before_each(function()
    folder = K.folder()
    os.execute(("mkdir -p %s/skills/hello"):format(folder.path))
    folder.file("skills/hello/skill.lua", SKILL)
  end)
  after_each(function() getmetatable(folder).__close() end)

  it("(F96) runs the skill that a prompt names, asks what the run asks, and says what it came to", function()
    local list, code = speak { NEW, prompt(2, "/hello ask", '"sessionId"'),
      { after = "request_permission", line = { jsonrpc = "2.0", id = "ASKED", result = { outcome = { outcome = "selected",
        optionId = "yes" } } } }, prompt(3, "text", '"id":2'), prompt(4, "the words", '"id":3'), prompt(5, "fail", '"id":4'),
      { after = '"id":5', ["end"] = true } }
    assert.equal(0, code, folder.read "err")
    for id = 2, 5 do assert.equal("end_turn", reply_to(list, id).stopReason) end
    local text = said(list)
    for _, part in ipairs { "More?", "said yes", "What?", "said the words", "failed (", "broken" } do
      assert.truthy(text:find(part, 1, true), part .. "\n" .. text)
    end
  end)

  it("stops a run whose turn is canceled; it can be resumed", function()
    local list, code = speak { NEW, prompt(2, "sleep", '"sessionId"'),
      { after = "nap 12", line = { jsonrpc = "2.0", method = "session/cancel", params = { sessionId = "SESSION" } } },
      prompt(3, "ask", '"id":2'), { after = "request_permission", line = { jsonrpc = "2.0", method = "session/cancel",
        params = { sessionId = "SESSION" } } }, { after = '"id":3', ["end"] = true } }
    assert.equal(0, code)
    assert.same({ "cancelled", "cancelled" }, { reply_to(list, 2).stopReason, reply_to(list, 3).stopReason })
    local listed = K.run(folder, { "list" }).out
    assert.truthy(listed:find("paused (user_exit)", 1, true), listed)
    assert.truthy(listed:find("paused (waiting_for_person)", 1, true), listed)
  end)

  it("refuses what is no message, no method, no session and a second prompt, and stays", function()
    local function line(id, method, params)
      return { line = { jsonrpc = "2.0", id = id, method = method, params = params } }
    end
    local list, code = speak { { text = "{" }, { text = "[]" }, { text = "" }, { text = ("x"):rep(5 << 20) }, line(10, "odd"),
      line(11, "session/prompt", { sessionId = "none" }), line(12, "session/prompt", 7),
      { line = { jsonrpc = "2.0", id = "skillrt-9", result = 7 } }, NEW, prompt(13, "sleep", '"sessionId"'),
      prompt(14, "again", "nap 12"), { after = '"id":14', line = { jsonrpc = "2.0", method = "session/cancel",
        params = { sessionId = "SESSION" } } }, { after = '"id":13', ["end"] = true } }
    assert.equal(0, code)
    assert.same({ -32700, -32600, -32700, -32601, -32602, -32602, -32602 }, { list[1].error.code, list[2].error.code,
      list[3].error.code, reply_to(list, 10).code, reply_to(list, 11).code, reply_to(list, 12).code, reply_to(list, 14).code })
    assert.equal("cancelled", reply_to(list, 13).stopReason)
  end)

  it("says what it can do, and of several skills asks which", function()
    os.execute(("mkdir -p %s/skills/other"):format(folder.path))
    folder.file("skills/other/skill.lua", (SKILL:gsub('"hello"', '"other"')))
    local list, code = speak { { line = { jsonrpc = "2.0", id = 9, method = "initialize" } }, NEW, prompt(2, "the words", '"sessionId"'),
      prompt(3, "/hello", '"id":2'), prompt(4, "/other  the words", '"id":3'), { after = '"id":4', ["end"] = true } }
    assert.equal(0, code, folder.read "err")
    local can = reply_to(list, 9)
    assert.same({ 1, "skillrt", "skillrt", false, true, 0 }, { can.protocolVersion, can.agentInfo.name, can.agentInfo.title,
      can.agentCapabilities.loadSession, can.agentCapabilities.promptCapabilities.embeddedContext, #can.authMethods })
    local text = said(list)
    assert.truthy(text:find("Say which skill: /hello, /other", 1, true), text)
    assert.truthy(text:find("local 'task'", 1, true), text) -- of the run without one
    assert.matches("did the words\n\ncompleted %(all_phases_completed%)$", text)
  end)

  it("serves the official client", function()
    local official = os.getenv "SKILLRT_OFFICIAL"
    if not official then return end -- make test-serve
    os.execute(("cp tests/support/official_acp_client.mjs %s/"):format(official))
    local pipe <close> = io.popen(("cd %s && HOME=%s timeout 60 node %s/official_acp_client.mjs %s --trust skills 2>&1"):format(
      folder.path, folder.path, official, K.program))
    local text = pipe:read "a"
    local seen = assert(json.decode(text:match "[^\n]+\n?$" or ""), text)
    assert.same({ 1, "skillrt", { "hello" } }, { seen.version, seen.agent, seen.commands })
    assert.same({ { "More?", "yes", "no" } }, seen.asked)
    assert.same({ "end_turn", "end_turn", "end_turn", "cancelled" }, seen.stops)
    assert.truthy(seen.said:find("said yes", 1, true) and seen.said:find("said the words", 1, true), seen.said)
  end)
end)
