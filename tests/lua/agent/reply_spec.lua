-- agent_reply_spec.lua: what replies mean: outcomes, failures and their classes.
require "tests.support.json_shim"
local agent = require "skillrt.agent"
local reply_of = require "skillrt.agent.reply"

local EXPERT = agent.http({ url = "http://user:pw@127.0.0.1:8080/task?key=secret" })
EXPERT.name = "expert"
local CALL = { kind = "action", action = { id = "review" }, work_dir = "/runs/r1" }
local PHASE = { kind = "phase", phase = { id = "scan" }, work_dir = "/runs/r1" }
local GOOD = '{"status":"completed","stateUpdates":{"n":1},"summary":"done it"}'

local function http(body, changes)
  local reply = { status = "ok", code = 200, body = body, extra = "content-type: application/json\n", retry_after_ms = -1 }
  for key, value in pairs(changes or {}) do
    reply[key] = value
  end
  return agent.reply(EXPERT, reply, CALL)
end

local function failure_of(...)
  local outcome, failure = http(...)
  assert.is_nil(outcome)
  return failure
end

describe("a good reply", function()
  it("gives updates and summary (R64)", function()
    assert.same({ status = "completed", updates = { n = 1 }, summary = "done it" }, (http(GOOD)))
  end)

  for name, body in pairs({
    ["in a ```json fence"] = "```json\n" .. GOOD .. "\n```",
    ["in a fence without a language, with words around"] = "Here it is:\n```\n" .. GOOD .. "\n```\nBye {smile}!",
    ["behind code with braces"] = 'I changed `if (x) { y = "a" }` to `{ z }`.\n' .. GOOD,
    ["behind an object that is no answer"] = 'Config: {"a":{"b":[1]}}. Result: ' .. GOOD,
    ["behind an open brace"] = "{ so, " .. GOOD,
    ["behind an odd quote"] = 'He said "hi {\n' .. GOOD,
    ["with white space around"] = "\n\n  " .. GOOD .. "\n",
  }) do
    it("may stand " .. name .. " (F25)", function()
      local outcome = http(body)
      assert.same({ n = 1 }, outcome and outcome.updates)
    end)
  end

  it("may hold braces and escaped quotes in its texts", function()
    assert.equal('a } " { b', http('So: {"status":"done","summary":"a } \\" { b"} ok').summary)
  end)

  it("may come as server-sent events: the last event that holds an answer", function()
    local body = 'event: progress\ndata: {"percent":10}\n\n: ping\n\ndata: {"status":"completed",\ndata: "stateUpdates":{"n":2}}\n\n'
      .. "data: [DONE]\n\n"
    local outcome = http(body, { extra = "content-type: text/event-stream; charset=utf-8\n" })
    assert.same({ n = 2 }, outcome.updates)
    outcome = http(body:gsub("\n", "\r\n"), { extra = "Content-Type: text/event-stream\n" })
    assert.same({ n = 2 }, outcome.updates)
  end)

  it("needs no status beside stateUpdates (R83), and no stateUpdates beside a status", function()
    assert.same({ status = "completed", updates = { n = 1 } }, (http('{"stateUpdates":{"n":1}}')))
    assert.same({ status = "completed" }, (http('{"status":"completed","stateUpdates":null,"summary":null}')))
  end)

  it("keeps output, context and a file below the work directory", function()
    local outcome = http('{"status":"completed","output":[1],"context":{"k":1},"output_file":"/runs/r1/a/b.md"}')
    assert.same({ { 1 }, { k = 1 }, "a/b.md" }, { outcome.output, outcome.context, outcome.output_file })
  end)

  it("has its summary cut to 2000 bytes between two characters", function()
    local summary = http(('{"status":"done","summary":"x%s"}'):format(("é"):rep(2000))).summary
    assert.is_truthy(utf8.len(summary))
    assert.is_true(#summary <= 2003 and #summary > 1990)
  end)

  it("leaves dotted and reserved keys for the state to judge (F34, F36)", function()
    assert.same({ ["a.b"] = 1, errors = "gone" }, http('{"status":"done","stateUpdates":{"a.b":1,"errors":"gone"}}').updates)
  end)
end)

describe("a status", function()
  for _, word in ipairs({ "completed", "success", "done", "DONE", "DONE_WITH_CONCERNS", "ok", "Completed" }) do
    it(word .. " completes (F18)", function()
      assert.equal("completed", http(('{"status":"%s"}'):format(word)).status)
    end)
  end

  it("DONE_WITH_CONCERNS keeps the concerns (F18)", function()
    assert.equal("slow; ugly", http('{"status":"DONE_WITH_CONCERNS","concerns":["slow","ugly"]}').concerns)
    assert.equal("slow", http('{"status":"DONE_WITH_CONCERNS","concerns":"slow"}').concerns)
    assert.is_string(http('{"status":"DONE_WITH_CONCERNS"}').concerns)
  end)

  it("partial is told apart (F18)", function()
    assert.equal("partial", http('{"status":"partial","stateUpdates":{"n":1}}').status)
  end)

  for _, word in ipairs({ "failed", "error", "BLOCKED", "NEEDS_CONTEXT", "weird" }) do
    it(word .. " never completes and is named (F18)", function()
      local failure = failure_of(('{"status":"%s","stateUpdates":{"n":1},"summary":"no disk"}'):format(word))
      assert.equal("permanent", failure.class)
      assert.equal(('agent "expert": status "%s": no disk'):format(word), failure.message)
      assert.is_false(failure.reformat)
    end)
  end

  it("failed says why in the agent's words, on one line, and may ask for another attempt", function()
    local failure = failure_of('{"status":"failed","error":{"message":"out\\n of tokens"},"retryable":true}')
    assert.same({ "transient", 'agent "expert": status "failed": out of tokens' }, { failure.class, failure.message })
  end)
end)

describe("a reply that cannot be read", function()
  for name, case in pairs({
    ["without JSON"] = { "I am done.", "holds no whole JSON object" },
    ["cut in half"] = { GOOD:sub(1, 30), "holds no whole JSON object" },
    ["with two answers"] = { GOOD .. "\nor\n" .. GOOD, "holds 2 JSON objects that could be the answer" },
    ["with another object"] = { '{"result":1}', 'has neither "status" nor "stateUpdates"' },
    ["with other objects only"] = { 'x {"a":1} {"b":2}', 'no JSON object in the reply has "status"' },
    ["of a status that is no text"] = { '{"status":200}', '"status" must be a text, not 200' },
    ["with updates that are a list"] = { '{"status":"done","stateUpdates":[1]}', '"stateUpdates" must be an object, not an array' },
    ["with updates that are a text"] = { '{"status":"done","stateUpdates":"n=1"}', '"stateUpdates" must be an object, not "n=1"' },
    ["with a summary that is a number"] = { '{"status":"done","summary":1}', '"summary" must be a text' },
    ["with a file outside (F13)"] = { '{"status":"done","output_file":"../../etc/passwd"}', '"output_file" must not hold ".."' },
    ["with an absolute file (F13)"] = { '{"status":"done","output_file":"/etc/passwd"}', '"output_file" must not be absolute' },
  }) do
    it(name .. " may be asked for once more, without doing the work again (F25)", function()
      local failure = failure_of(case[1])
      assert.equal("invalid_output", failure.class)
      assert.has_match(case[2], failure.message, 1, true)
      assert.is_true(failure.reformat)
    end)
  end

  it("because it is empty is not asked about", function()
    local failure = failure_of("")
    assert.same({ "invalid_output", false }, { failure.class, failure.reformat })
    assert.has_match("the reply is empty", failure.message, 1, true)
  end)

  it("because the stream held no answer says so", function()
    local failure = failure_of("data: hello\n\n", { extra = "content-type: text/event-stream\n" })
    assert.equal("invalid_output", failure.class)
    assert.has_match("holds no whole JSON object", failure.message, 1, true)
    failure = failure_of(": ping\n\n", { extra = "content-type: text/event-stream\n" })
    assert.has_match("ended without an event", failure.message, 1, true)
  end)

  for name, text in pairs({
    ["open braces"] = ("{"):rep(300000),
    ["open objects"] = ('{"a":'):rep(60000),
    ["braces that close and mean nothing"] = ("{x}"):rep(100000),
    ["nested braces that mean nothing"] = (("{"):rep(150) .. ("}"):rep(150)):rep(300),
    ["quotes and braces"] = ('{"'):rep(100000),
    ["backslashes"] = '{"' .. ("\\"):rep(300000),
  }) do
    it("because it is nothing but " .. name .. " is given up in bounded time", function()
      local started = os.clock()
      assert.equal("invalid_output", failure_of(text).class)
      assert.is_true(os.clock() - started < 2)
    end)
  end
end)

describe("a status code", function()
  for code, class in pairs({
    [408] = "transient", [425] = "transient", [500] = "transient", [502] = "transient", [504] = "transient",
    [520] = "transient", [429] = "rate_limit", [503] = "rate_limit", [400] = "permanent", [401] = "permanent",
    [403] = "permanent", [404] = "permanent", [422] = "permanent", [501] = "permanent", [302] = "permanent",
  }) do
    it(("%d is a failure of class %s, whatever the body says"):format(code, class), function()
      local failure = failure_of(GOOD, { code = code })
      assert.equal(class, failure.class)
      assert.is_false(failure.reformat)
      assert.has_match("HTTP " .. code .. " from http://127.0.0.1:8080/task: {", failure.message, 1, true)
      assert.is_nil(failure.message:find("secret", 1, true) or failure.message:find("pw@", 1, true))
    end)
  end

  it("429 carries what the server asked to wait", function()
    assert.equal(7000, failure_of("", { code = 429, retry_after_ms = 7000 }).retry_after_ms)
    assert.is_nil(failure_of("", { code = 429 }).retry_after_ms)
  end)

  it("201 and 204 are as good as 200", function()
    assert.equal("completed", http(GOOD, { code = 201 }).status)
    assert.equal("invalid_output", failure_of("", { code = 204 }).class)
  end)
end)

describe("an exchange that broke", function()
  for status, class in pairs({
    timeout = "timeout", canceled = "canceled", broken = "transient", refused = "permanent", killed = "transient",
    too_large = "invalid_output",
  }) do
    it(("with %s is a failure of class %s, with the transport's words"):format(status, class), function()
      local failure = failure_of("", { status = status, code = 0, message = "127.0.0.1:8080: it broke" })
      assert.same({ class = class, message = 'agent "expert": 127.0.0.1:8080: it broke', reformat = false }, failure)
    end)
  end

  it("because the program is missing is not tried again", function()
    local one = agent.command({ "no-such-program" })
    local _, failure = agent.reply(one, { status = "broken", message = "no-such-program: No such file or directory" }, CALL)
    assert.equal("permanent", failure.class)
  end)
end)

describe("a command's reply", function()
  local function run(definition, reply, call)
    reply.status = reply.status or "ok"
    reply.code = reply.code or 0
    local outcome, failure = agent.reply(agent.command(definition), reply, call or CALL)
    assert.is_true((outcome == nil) ~= (failure == nil))
    return outcome, failure
  end

  it("is its text, its lines, or what a function makes of it", function()
    assert.equal("a\nb\n", run({ "x" }, { body = "a\nb\n" }).output)
    assert.same({ "a", "b" }, run({ "x", parse = "lines" }, { body = "a\r\nb\n" }).output)
    local parse = function(out, err, code) return { out = out, err = err, code = code } end
    assert.same({ out = "o", err = "e", code = 1 },
      run({ "x", parse = parse, ok_codes = { 0, 1 } }, { body = "o", extra = "e", code = 1 }).updates)
  end)

  it("is the object on its last line, as of a skill's script (R64)", function()
    assert.same({ n = 2 }, run({ "x", parse = "json" }, { body = 'log {"n":1}\n{"n":2}\n' }).updates)
    assert.same({ n = 2 }, run({ "x", parse = "json" }, { body = '{"n":2}\n' }, PHASE).output)
    assert.same({ n = 3 }, run({ "x", parse = "json" }, { body = '{\n"n":\n3 }\nbye\n' }).updates)
  end)

  it("may be an answer like a server's (R64)", function()
    assert.same({ n = 1 }, run({ "x", parse = "json" }, { body = GOOD }).updates)
    local _, failure = run({ "x", parse = "json" }, { body = '{"status":"BLOCKED","message":"no key"}' })
    assert.same({ "permanent", 'agent command: status "BLOCKED": no key' }, { failure.class, failure.message })
  end)

  it("without JSON may be asked for again only where the program reads the prompt (F25)", function()
    local _, failure = run({ "lint", parse = "json" }, { body = "fine" })
    assert.same({ "invalid_output", false }, { failure.class, failure.reformat })
    _, failure = run({ "llm", "{prompt}", parse = "json" }, { body = "fine" })
    assert.same({ "invalid_output", true }, { failure.class, failure.reformat })
  end)

  it("with another exit code fails for good, with its last words on standard error", function()
    local _, failure = run({ "lint" }, { code = 2, extra = "1\n2\n3\nno such option\n" })
    assert.same({ "permanent", "agent command: lint exited with 2: 2; 3; no such option" }, { failure.class, failure.message })
    _, failure = run({ "lint" }, { code = 2, extra = ("x"):rep(9000) })
    assert.is_true(#failure.message < 600)
    _, failure = run({ "lint" }, { code = 2 })
    assert.has_match("exited with 2 and wrote nothing to standard error", failure.message, 1, true)
  end)

  it("with exit code 75 may be tried again; with 1 and BLOCKED it says what blocks it", function()
    local _, failure = run({ "x" }, { code = 75 })
    assert.equal("transient", failure.class)
    _, failure = run({ "x", parse = "json" }, { code = 1, body = 'log\n{"status":"BLOCKED","summary":"needs a key"}\n' })
    assert.has_match('status "BLOCKED": needs a key', failure.message, 1, true)
  end)

  it("whose parser raises, gives nil, or gives a text is a failure that says so", function()
    local _, failure = run({ "x", parse = function() error("bad line 3") end }, {})
    assert.has_match("parse failed: .*bad line 3", failure.message)
    _, failure = run({ "x", parse = function() return nil, "no findings", "transient" end }, {})
    assert.same({ "transient", "agent command: no findings" }, { failure.class, failure.message })
    _, failure = run({ "x", parse = function() return "text" end }, {})
    assert.has_match("must return a table of updates", failure.message, 1, true)
  end)
end)

describe("the search for objects", function()
  it("finds those at the top only, in order", function()
    local found = {}
    reply_of.each_object('{"a":{"b":1}} x {"c":[{"d":1}]} [{"e":1}]', function(o) found[#found + 1] = next(o) end)
    assert.same({ "a", "c", "e" }, found)
  end)
end)
