-- agent_reply_spec.lua: what replies mean: outcomes, failures and their classes.
require "tests.support.json_shim"
local agent = require "skillrt.agent"
local fake = require "tests.support.fake_ctx"
local found = require "skillrt.agent.extract"

local EXPERT = agent.http({ url = "http://user:pw@127.0.0.1:8080/task?key=secret" })
EXPERT.name = "expert"
local PHASE = { kind = "phase" }
local GOOD = '{"status":"completed","stateUpdates":{"n":1},"summary":"done it"}'

-- The outcome, or nothing and the failure; `asked`: how often the agent was.
local function perform(one, reply, task)
  local outcome, message, class, ctx = fake.perform(one, { reply, reply }, task)
  assert.is_true((outcome == nil) ~= (message == nil))
  return outcome, message and { class = class, message = message, asked = #ctx.asked } or nil, ctx
end

local function http(body, changes, task)
  local reply = { body = body, extra = "content-type: application/json\n", retry_after_ms = -1 }
  for key, value in pairs(changes or {}) do
    reply[key] = value
  end
  return perform(EXPERT, reply, task)
end

-- The same with replies, and with what a person answers.
local function http_with(replies)
  local outcome, message, class, ctx = fake.perform(EXPERT, replies)
  return outcome, message, class, ctx
end

local function failure_of(...)
  local outcome, failure = http(...)
  assert.is_nil(outcome)
  return failure
end

describe("a good reply", function()
  it("gives updates and summary (R64)", function()
    assert.same({ status = "completed", updates = { n = 1 }, summary = "done it", ours = "ours" }, (http(GOOD)))
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
    assert.same({ status = "completed", updates = { n = 1 }, ours = "ours" }, (http('{"stateUpdates":{"n":1}}')))
    assert.same({ status = "completed", ours = "ours" }, (http('{"status":"completed","stateUpdates":null,"summary":null}')))
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

  for _, word in ipairs({ "failed", "error", "BLOCKED", "weird" }) do
    it(word .. " never completes and is named (F18)", function()
      local failure = failure_of(('{"status":"%s","stateUpdates":{"n":1},"summary":"no disk"}'):format(word))
      assert.equal("permanent", failure.class)
      assert.equal(('agent "expert": status "%s": no disk'):format(word), failure.message)
      assert.equal(1, failure.asked)
    end)
  end

  it("NEEDS_CONTEXT asks a person, and the agent once more with the answer", function()
    for body, question in pairs({
      ['{"status":"NEEDS_CONTEXT","summary":"which disk?"}'] = { question = "which disk?" },
      ['{"status":"needs_context","question":"which disk?","options":["a","b"]}'] = { question = "which disk?", first = "a" },
      ['{"question":{"header":"Disk","question":"which disk?","options":[{"id":"a"}]}}'] = {
        question = "which disk?", header = "Disk", first = "a",
      },
    }) do
      local outcome, message, _, ctx = http_with { body, '{"status":"completed","stateUpdates":{"n":1}}', answers = { "b" } }
      assert.same({ n = 1 }, (assert(outcome, message)).updates)
      local asked = ctx.questions[1]
      assert.same({ question.question, question.header or "review", question.first },
        { asked.question, asked.header, asked.options and asked.options[1].id })
      assert.truthy(ctx.asked[2].body:find("You asked this about the task above; a person answered:\\nb", 1, true),
        ctx.asked[2].body)
    end
    local _, message, class = http_with { '{"status":"NEEDS_CONTEXT","summary":"no disk"}' }
    assert.same({ 'agent "expert": nobody answers', "timeout" }, { message, class })
    _, message = http_with { '{"status":"NEEDS_CONTEXT"}' }
    assert.equal('agent "expert": status "NEEDS_CONTEXT": it needs more context', message)
    local body = '{"question":"again?"}'
    local _, told, _, ctx = http_with { body, body, body, body, body, body, answers = { "1", "2", "3", "4", "5" } }
    assert.equal('agent "expert": it asks a question that has no answer here: again?', told)
    assert.equal(5, #ctx.questions)
  end)

  it("failed says why in the agent's words, on one line, and may ask for another attempt", function()
    local failure = failure_of('{"status":"failed","error":{"message":"out\\n of tokens"},"retryable":true}')
    assert.same({ "transient", 'agent "expert": status "failed": out of tokens' }, { failure.class, failure.message })
  end)
end)

describe("a reply that cannot be read", function()
  for name, case in pairs({
    ["without JSON"] = { "I am done.", "contains no complete JSON object" },
    ["cut in half"] = { GOOD:sub(1, 30), "contains no complete JSON object" },
    ["cut behind an answer"] = { "First " .. GOOD .. " then " .. GOOD:sub(1, 30), "contains no complete JSON object" },
    ["with a status of null"] = { '{"status":null}', 'has neither "status" nor "stateUpdates"' },
    ["with two answers"] = { GOOD .. "\nor\n" .. GOOD, "holds 2 JSON objects that could be the answer" },
    ["with another object"] = { '{"result":1}', 'has neither "status" nor "stateUpdates"' },
    ["with other objects only"] = { 'x {"a":1} {"b":2}', 'no JSON object in the reply has "stateUpdates", or "status" with' },
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
      assert.equal(2, failure.asked)
    end)
  end

  it("because it is empty is not asked about", function()
    local failure = failure_of("")
    assert.same({ "invalid_output", 1 }, { failure.class, failure.asked })
    assert.has_match("the reply is empty", failure.message, 1, true)
  end)

  it("because the stream held no answer says so", function()
    local failure = failure_of("data: hello\n\n", { extra = "content-type: text/event-stream\n" })
    assert.equal("invalid_output", failure.class)
    assert.has_match("contains no complete JSON object", failure.message, 1, true)
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
    [520] = "transient", [429] = "rate_limit", [503] = "rate_limit", [529] = "rate_limit", [400] = "permanent", [401] = "permanent",
    [403] = "permanent", [404] = "permanent", [422] = "permanent", [501] = "permanent", [302] = "permanent",
  }) do
    it(("%d is a failure of class %s, whatever the body says"):format(code, class), function()
      local failure = failure_of(GOOD, { code = code })
      assert.equal(class, failure.class)
      assert.equal(1, failure.asked)
      assert.has_match("HTTP " .. code .. " from http://127.0.0.1:8080/task: {", failure.message, 1, true)
      assert.is_nil(failure.message:find("secret", 1, true) or failure.message:find("pw@", 1, true))
    end)
  end

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
      assert.same({ class = class, message = 'agent "expert": 127.0.0.1:8080: it broke', asked = 1 }, failure)
    end)
  end

  it("because the program is missing is not tried again", function()
    local one = agent.command({ "no-such-program" })
    local _, failure = perform(one, { status = "refused", message = "no-such-program: No such file or directory" })
    assert.equal("permanent", failure.class)
  end)
end)

describe("the search for objects", function()
  it("finds those at the top only, in order", function()
    local seen = {}
    found.each_object('{"a":{"b":1}} x {"c":[{"d":1}]} [{"e":1}]', function(o) seen[#seen + 1] = next(o) end)
    assert.same({ "a", "c", "e" }, seen)
  end)
end)

describe("an error", function()
  for body, words in pairs {
    ['{"error":"no credit"}'] = "no credit",
    ['{"error":{"message":"overloaded","type":"x"}}'] = "overloaded",
    ['{"is_error":true,"result":"Credit balance is too low"}'] = "Credit balance is too low",
    ['{"type":"error","message":"bad key"}'] = "bad key",
    ['{"errors":[{"message":"a"},{"message":"b"}],"data":null}'] = "a; b",
    ['{"ok":false}'] = "no reason given",
    ['{"success":false,"message":"no"}'] = "no",
    ['{"status":"completed","stateUpdates":{"n":1},"error":"but no"}'] = "but no",
  } do
    it("is no success, whatever stands beside it: " .. body, function()
      local failure = failure_of(body)
      assert.same({ "permanent", 1 }, { failure.class, failure.asked })
      assert.equal('agent "expert": the reply is an error: ' .. words, failure.message)
      local outcome, message = fake.perform(agent.command { "x", parse = "json" }, { body })
      assert.is_nil(outcome)
      assert.equal("agent command: the reply is an error: " .. words, message)
    end)
  end

  it("may be worth another attempt, and may name its class; one that nobody knows aborts (R148)", function()
    assert.equal("transient", failure_of('{"error":"busy","retryable":true}').class)
    assert.equal("permanent", failure_of('{"error":"busy","retryable":"no"}').class)
    assert.equal("rate_limit", failure_of('{"status":"failed","class":"rate_limit"}').class)
    local failure = failure_of('{"status":"failed","error":"x","class":"transient "}')
    assert.equal("fatal", failure.class)
    assert.has_match('its class is "transient ", which is not known (did you mean "transient"?)', failure.message, 1, true)
  end)

  it("is not what says that there is none", function()
    for _, more in ipairs { '"error":null', '"error":""', '"error":false', '"errors":[]', '"is_error":false', '"ok":true' } do
      assert.same({ n = 1 }, http('{"status":"completed","stateUpdates":{"n":1},' .. more .. "}").updates)
    end
  end)

  it("as the last event of a stream counts, whatever came before", function()
    local failure = failure_of('data: ' .. GOOD .. '\n\nevent: error\ndata: {"type":"error","error":{"message":"cut"}}\n\n',
      { extra = "content-type: text/event-stream\n" })
    assert.same({ "permanent", 'agent "expert": the reply is an error: cut' }, { failure.class, failure.message })
  end)
end)

describe("words with an object in them", function()
  it("count for nothing: only the object's status says how it ended", function()
    assert.equal("completed", http("No test failed, no error: " .. GOOD).status)
    assert.equal("permanent", failure_of('All tests passed, completed! {"status":"failed","summary":"no"}').class)
    assert.equal("invalid_output", failure_of("status: completed. All tests passed.").class)
  end)

  for _, text in ipairs {
    'I asked the server: {"status":"ok"}. I could not finish the work.',
    'The config {"debug":true} is odd.',
    'It printed {"status":"done"} and then crashed',
    '{"status":"failed","steps":[{"status":"done","summary":"one"}],"rest',
    'So: {"status":"failed","steps":[{"status":"done","summary":"one"}],} ok',
  } do
    it("are no answer: " .. text, function()
      assert.same({ "invalid_output", 2 }, { failure_of(text).class, failure_of(text).asked })
    end)
  end
end)

describe("what stands beside an answer", function()
  it("is asked into its place where the answer holds nothing else", function()
    local failure = failure_of('{"status":"completed","reviewed":true}')
    assert.same({ "invalid_output", 2 }, { failure.class, failure.asked })
    assert.has_match('"reviewed" next to "status" is ignored; write it into "stateUpdates"', failure.message, 1, true)
    assert.has_match('write it into "output"', failure_of('{"status":"completed","reviewed":true}', nil, PHASE).message, 1, true)
  end)

  it("is left out with a line otherwise", function()
    local outcome, _, ctx = http('{"status":"completed","stateUpdates":{"n":1},"mood":"fine","b":1}')
    assert.same({ n = 1 }, outcome.updates)
    assert.same({ 'agent "expert": ignored in its answer: b, mood' }, ctx.lines)
  end)
end)

describe("a stream of events", function()
  local STREAM = { extra = "content-type: text/event-stream\n" }

  it("is read as the transport reads it: byte order mark, a bare data line, ends of all kinds", function()
    assert.same({ n = 1 }, http("\239\187\191data: " .. GOOD .. "\r\r", STREAM).updates)
    assert.same({ n = 1 }, http('data\ndata: ' .. GOOD .. "\n\n", STREAM).updates)
    assert.same({ n = 1 }, http("id: 7\nevent: done\ndata:" .. GOOD .. "\n\ndata\n\n", STREAM).updates)
  end)

  it("that was cut inside an event has not said it", function()
    local failure = failure_of("data: " .. GOOD .. "\n", STREAM)
    assert.has_match("the stream was cut inside an event", failure.message, 1, true)
    assert.same({ n = 1 }, http("data: " .. GOOD .. "\n\ndata: [DO", STREAM).updates)
  end)
end)
