-- agent_printed_spec.lua: what the output of a program means.
require "tests.support.json_shim"
local agent = require "skillrt.agent"
local fake = require "tests.support.fake_ctx"

local PHASE = { kind = "phase" }
local GOOD = '{"status":"completed","stateUpdates":{"n":1},"summary":"done it"}'

-- The outcome, or nothing and the failure; `asked`: how often the agent was.
local function run(definition, reply, task)
  local outcome, message, class, ctx = fake.perform(agent.command(definition), { reply, reply }, task)
  assert.is_true((outcome == nil) ~= (message == nil))
  return outcome, message and { class = class, message = message, asked = #ctx.asked } or nil
end

describe("a command's reply", function()
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
    assert.same({ n = 3 }, run({ "x", parse = "json" }, { body = 'log\n{\n"n":\n3 }\n\n' }).updates)
  end)

  it("may be an answer like a server's (R64)", function()
    assert.same({ n = 1 }, run({ "x", parse = "json" }, { body = GOOD }).updates)
    local _, failure = run({ "x", parse = "json" }, { body = '{"status":"BLOCKED","message":"no key"}' })
    assert.same({ "permanent", 'agent command: status "BLOCKED": no key' }, { failure.class, failure.message })
  end)

  it("without JSON may be asked for again only where the program reads the prompt (F25)", function()
    local _, failure = run({ "lint", parse = "json" }, { body = "fine" })
    assert.same({ "invalid_output", 1 }, { failure.class, failure.asked })
    _, failure = run({ "llm", "{prompt}", parse = "json" }, { body = "fine" })
    assert.same({ "invalid_output", 2 }, { failure.class, failure.asked })
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

  it("may be a list or another value where a phase wants its output, false too", function()
    for text, value in pairs { ["log\n[1,2]\n"] = { 1, 2 }, ["false\n"] = false, ["12"] = 12, ['"x"'] = "x" } do
      assert.same(value, run({ "x", parse = "json" }, { body = text }, PHASE).output)
    end
    for text, words in pairs { ["log\n[1,2]"] = "not an array", ["true"] = "not true", ["null"] = "not null" } do
      local _, failure = run({ "x", parse = "json" }, { body = text })
      assert.equal("invalid_output", failure.class)
      assert.has_match("must end with a JSON object of updates, " .. words, failure.message, 1, true)
    end
  end)

  it("is data where its status is no word of an answer (R64)", function()
    assert.same({ status = "active", n = 1 }, run({ "x", parse = "json" }, { body = '{"status":"active","n":1}' }).updates)
    assert.same({ status = "active" }, run({ "x", parse = "json" }, { body = '{"status":"active"}' }, PHASE).output)
    assert.same({ status = 7 }, run({ "x", parse = "json" }, { body = '{"status":7}' }).updates)
  end)

  it("keeps the data beside a status, and never completes where that says failed (F18)", function()
    local outcome = run({ "x", parse = "json" }, { body = '{"status":"ok","files":3,"summary":"three"}' })
    assert.same({ status = "completed", updates = { files = 3 }, summary = "three", ours = "ours" }, outcome)
    outcome = run({ "x", parse = "json" }, { body = '{"status":"partial","files":3}' }, PHASE)
    assert.same({ status = "partial", output = { files = 3 }, ours = "ours" }, outcome)
    local _, failure = run({ "x", parse = "json" }, { body = '{"status":"failed","files":3}' })
    assert.same({ "permanent", 'agent command: status "failed": it failed' }, { failure.class, failure.message })
  end)

  it("is no result where it only mentions an object, with words behind", function()
    for _, text in ipairs { 'I could not. The config is {"debug":true}, see there', 'x {"n":1}', '{"n":1}\nbye' } do
      local outcome, failure = run({ "x", parse = "json" }, { body = text })
      assert.is_nil(outcome)
      assert.equal("invalid_output", failure.class)
    end
  end)

  it("as text is no error, and of a phase not empty, where the program was asked in words", function()
    local _, failure = run({ "llm", "{prompt}" }, { body = '{"is_error":true,"result":"no credit"}' })
    assert.same({ "permanent", "agent command: the reply is an error: no credit" }, { failure.class, failure.message })
    _, failure = run({ "llm", "{prompt}" }, { body = "\n" }, PHASE)
    assert.same({ "invalid_output", "agent command: the reply is empty" }, { failure.class, failure.message })
    assert.equal("\n", run({ "llm", "{prompt}" }, { body = "\n" }).output)
    assert.equal('{"error":1}', run({ "cat" }, { body = '{"error":1}' }, PHASE).output)
  end)

  it("whose parser raises, gives nil, or gives a text is a failure that says so", function()
    local _, failure = run({ "x", parse = function() error("bad line 3") end }, {})
    assert.has_match("parse failed: .*bad line 3", failure.message)
    _, failure = run({ "x", parse = function() return nil, "no findings", "transient" end }, {})
    assert.same({ "transient", "agent command: no findings" }, { failure.class, failure.message })
    _, failure = run({ "x", parse = function() return "text" end }, {})
    assert.equal("permanent", failure.class)
    assert.has_match('parse returned "text"; an action returns one table of updates', failure.message, 1, true)
    _, failure = run({ "x", parse = function() return nil, "no", "weird" end }, {})
    assert.equal("fatal", failure.class)
    assert.has_match('agent command: no (and its class is "weird", which is not known (there are: ', failure.message, 1, true)
  end)
end)
