-- agent_expect_spec.lua: what a reply has to be, so that it counts as a success.
require "tests.support.json_shim"
local expect = require "skillrt.agent.expect"
local json = require "skillrt.base.json"

local function reply(body, changes)
  local out = { status = "ok", code = 200, body = body, extra = "content-type: application/json\n" }
  for key, value in pairs(changes or {}) do
    out[key] = value
  end
  return out
end

local function judge(wanted, body, changes)
  return expect.judge(wanted, "http", reply(body, changes))
end

local function failure_of(...)
  local good, failure = judge(...)
  assert.is_nil(good)
  return failure
end

local ERRORS = {
  '{"error":"no"}', '{"error":{"code":7}}', '{"is_error":true}', '{"isError":true}', '{"type":"error"}',
  '{"errors":[{"message":"x"}]}', '{"ok":false}', '{"success":false}', '```json\n{"error":"no"}\n```',
}

describe("raw", function()
  it("is a success with 2xx or the right exit code, whatever the body says", function()
    for _, wanted in ipairs { "raw", false } do
      assert.is_true(judge(wanted or nil, '{"error":"no"}'))
      assert.is_true(judge(wanted or nil, "", { code = 204 }))
    end
    assert.is_true(expect.judge("raw", "command", { status = "ok", code = 0 }))
    assert.is_true(expect.judge("raw", "command", { status = "ok", code = 3 }, { ok_codes = { 0, 3 } }))
    assert.is_true(expect.judge("raw", "sleep", { status = "ok", code = 0 }))
  end)

  for code, class in pairs {
    [429] = "rate_limit", [503] = "rate_limit", [529] = "rate_limit", [408] = "transient", [425] = "transient",
    [500] = "transient", [504] = "transient", [302] = "permanent", [400] = "permanent", [404] = "permanent", [501] = "permanent",
    [100] = "permanent",
  } do
    it(("is no success with HTTP %d, of class %s, for every expectation"):format(code, class), function()
      for _, wanted in ipairs { "raw", "text", "json", { status = { "done" } } } do
        local failure = failure_of(wanted, '{"status":"done"}', { code = code })
        assert.same({ class, false }, { failure.class, failure.form })
        assert.equal(("HTTP %d: {\"status\":\"done\"}"):format(code), failure.message)
      end
    end)
  end

  it("is no success with another exit code; 75 may pass", function()
    local _, failure = expect.judge("raw", "command", { status = "ok", code = 75, extra = "a\nb\n" }, { argv = { "sync" } })
    assert.same({ class = "transient", message = "sync exited with 75: a; b", form = false }, failure)
    _, failure = expect.judge("raw", "command", { status = "ok", code = 1 })
    assert.same({ class = "permanent", message = "the program exited with 1 and wrote nothing to standard error", form = false }, failure)
  end)

  it("tells the last lines of a program that ended or was ended, no headers of HTTP", function()
    local said = { status = "killed", code = 9, message = "sync: killed by signal 9 (SIGKILL)",
      extra = "1\n2\n\27[31m3\27[0m\n \n" .. ("x"):rep(600) .. "\n\n" }
    local _, failure = expect.judge("raw", "command", said, { argv = { "sync" } })
    assert.equal("sync: killed by signal 9 (SIGKILL): ..." .. ("x"):rep(500), failure.message)
    said.extra = "1\n2\n\27[31m3\27[0m\n \n4\r\n\n"
    _, failure = expect.judge("raw", "command", said, { argv = { "sync" } })
    assert.equal("sync: killed by signal 9 (SIGKILL): 2; 3; 4", failure.message)
    _, failure = expect.judge("raw", "http", { status = "broken", message = "host: reset", extra = "a: b\n" })
    assert.equal("host: reset", failure.message)
  end)

  it("is permanent where a shell found no program to start", function()
    for code, class in pairs { [126] = "permanent", [127] = "permanent", [1] = "transient" } do
      local _, failure = expect.judge("raw", "session", { status = "broken", code = code, message = "it ended" })
      assert.equal(class, failure.class)
    end
  end)

  for status, class in pairs {
    timeout = "timeout", canceled = "canceled", broken = "transient", refused = "permanent", killed = "transient",
    too_large = "invalid_output",
  } do
    it(("is no success when the exchange ended as %s, of class %s"):format(status, class), function()
      local failure = failure_of("raw", "", { status = status, code = 0, message = "x: it broke" })
      assert.same({ class = class, message = "x: it broke", form = false }, failure)
    end)
  end
end)

describe("text", function()
  it("is what says something", function()
    local good, value = judge("text", " hello {\n")
    assert.same({ true, " hello {\n" }, { good, value })
    local failure = failure_of("text", " \n\t")
    assert.same({ "invalid_output", "the reply is empty", true }, { failure.class, failure.message, failure.form })
    assert.equal("invalid_output", failure_of("text", "").class)
  end)

  it("is no known error", function()
    for _, body in ipairs(ERRORS) do
      assert.equal("permanent", failure_of("text", body).class, body)
    end
    assert.is_true(judge("text", '{"error":null,"text":"fine"}'))
  end)
end)

describe("json", function()
  it("is any JSON, false and null too, in a fence or not", function()
    for text, value in pairs { ["[1]"] = { 1 }, ["false"] = false, [" 7\n"] = 7, ["```json\n{\"a\":1}\n```"] = { a = 1 } } do
      local good, got = judge("json", text)
      assert.same({ true, value }, { good, got })
    end
    assert.equal(json.null, select(2, judge("json", "null")))
  end)

  it("is not what only holds some, or none", function()
    local none = "the reply is not JSON"
    for text, words in pairs { ['x {"a":1}'] = none, ['{"a":1'] = none, [""] = "the reply is empty" } do
      local failure = failure_of("json", text)
      assert.same({ "invalid_output", true }, { failure.class, failure.form })
      assert.has_match(words, failure.message, 1, true)
    end
  end)

  it("is no known error", function()
    for _, body in ipairs(ERRORS) do
      assert.equal("permanent", failure_of("json", body).class, body)
    end
  end)

  it("is what ends a program's output", function()
    local good, value = expect.judge("json", "command", { status = "ok", code = 0, body = 'log\n{"a":1}\n' })
    assert.same({ true, { a = 1 } }, { good, value })
    local _, failure = expect.judge("json", "command", { status = "ok", code = 0, body = 'log {"a":1}\nbye' })
    assert.equal("its output does not end with JSON", failure.message)
  end)

  it("is the last of a stream's events that hold any", function()
    local stream = { extra = "content-type: text/event-stream\n" }
    local _, value = judge("json", 'data: {"a":1}\n\ndata: {"a":2}\n\ndata: [DONE]\n\n', stream)
    assert.same({ a = 2 }, value)
    assert.equal("the stream was cut inside an event", failure_of("json", 'data: {"a":1}', stream).message)
    assert.equal("permanent", failure_of("json", 'data: {"a":1}\n\ndata: {"type":"error"}\n\n', stream).class)
  end)
end)

describe("a contract", function()
  local DONE = { status = { "done", "passed" }, schema = { n = "integer", list = "string[]", note = "string?" } }

  it("is kept by an object that says one of its words and has its fields", function()
    local good, value = judge(DONE, '{"status":"Done","n":1,"list":["a"],"more":true}')
    assert.is_true(good)
    assert.equal(1, value.n)
    assert.is_true(judge({ status = { "done" } }, '{"status":"done"}'))
    assert.is_true(judge({ schema = { n = "number" } }, '{"n":1.5}'))
    assert.is_true(judge({}, '{"n":1.5}'))
  end)

  for body, words in pairs {
    ['{"n":1,"list":[]}'] = 'the reply has no "status"',
    ['{"status":7,"n":1,"list":[]}'] = '"status" must be a text, not 7',
    ['{"status":"done","list":[]}'] = 'the reply has no "n"',
    ['{"status":"done","n":null,"list":[]}'] = 'the reply has no "n"',
    ['{"status":"done","n":1.5,"list":[]}'] = '"n" must be integer, not 1.5',
    ['{"status":"done","n":1,"list":[1]}'] = '"list" must be string[], not a table',
    ['{"status":"done","n":1,"list":{}}'] = '"list" must be string[], not a table',
    ['{"status":"done","n":1,"list":[],"note":1}'] = '"note" must be string, not 1',
    ["[1]"] = "the reply must be a JSON object",
    ["done"] = "the reply is not JSON",
    ['{"result":"done"}'] = 'the reply has no "status"',
  } do
    it("is not kept in form by " .. body, function()
      local failure = failure_of(DONE, body)
      assert.same({ "invalid_output", true }, { failure.class, failure.form })
      assert.has_match(words, failure.message, 1, true)
    end)
  end

  it("is answered, but not kept, by another status or an error (F18)", function()
    for _, body in ipairs { '{"status":"failed","n":1,"list":[]}', '{"status":"running"}', table.unpack(ERRORS) } do
      local failure = failure_of(DONE, body)
      assert.same({ "permanent", false }, { failure.class, failure.form })
    end
    local failure = failure_of(DONE, '{"status":"failed","message":"busy","retryable":true}')
    assert.same({ "transient", 'status "failed": busy' }, { failure.class, failure.message })
  end)

  it("is checked before anything is sent", function()
    assert.is_true(expect.check(DONE))
    for _, case in ipairs {
      { "jsn", 'expect must be "raw", "text", "json" or a contract, not "jsn" (did you mean "json"?)' },
      { 7, 'expect must be "raw", "text", "json" or a contract, not 7' },
      { { stauts = {} }, 'expect: unknown field "stauts" (did you mean "status"?)' },
      { { status = { 1 } }, 'expect: field "status"[1] must be a text that is not empty, not 1' },
      { { schema = { n = "int" } }, 'expect.schema: field "n" must be string, number' },
      { { schema = { n = "strng[]?" } }, 'not "strng[]" (did you mean "string"?)' },
      { { schema = "x" }, 'expect: field "schema" must be a table of names and values' },
    } do
      local ok, message = expect.check(case[1])
      assert.is_nil(ok)
      assert.has_match(case[2], message, 1, true)
    end
  end)
end)
