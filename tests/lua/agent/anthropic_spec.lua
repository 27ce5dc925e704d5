-- anthropic_spec.lua: what a model behind the Messages API is sent, and what its replies mean.
require "tests.support.json_shim"
local agent = require "skillrt.agent"
local fake = require "tests.support.fake_ctx"
local json = require "skillrt.base.json"
local P = require "tests.support.providers"

local sent = fake.sent
local GOOD = '{"status":"completed","stateUpdates":{"ok":true},"summary":"done"}'
local SCHEMA = { type = "object", required = { "verdict" }, properties = { verdict = { enum = { "pass", "fail" } } } }

local function perform(replies, definition, changes)
  return fake.perform(agent.anthropic(definition or {}), replies, changes)
end

-- A talk is valid by the API: sides alternate, nothing is empty, every tool call has its result.
local function assert_valid(body)
  local open = {}
  assert.equal("user", body.messages[1].role)
  for i, message in ipairs(body.messages) do
    assert.equal(i % 2 == 1 and "user" or "assistant", message.role, "message " .. i)
    assert.is_true(#message.content > 0)
    local answered = {}
    for _, block in ipairs(message.content) do
      assert.is_true(block.type ~= "text" or block.text:find "%S" ~= nil)
      if block.type == "tool_result" then answered[block.tool_use_id] = true end
    end
    for id in pairs(open) do assert.is_true(answered[id], "no result for " .. id) end
    open = {}
    for _, block in ipairs(message.content) do
      if block.type == "tool_use" then open[block.id] = true end
    end
  end
  assert.same({}, open)
end

describe("a model behind the Messages API", function()
  local environment = fake.environment { ANTHROPIC_API_KEY = "sk-canary" }
  before_each(environment.set)
  after_each(environment.restore)

  it("is sent the task as one message, with the key as a header and nowhere else", function()
    local outcome, _, _, ctx = perform({ P.anthropic(GOOD) })
    assert.same({ ok = true }, outcome.updates)
    local body, request = sent(ctx)
    assert.equal("https://api.anthropic.com/v1/messages", request.url)
    assert.equal("sk-canary", request.headers["x-api-key"])
    assert.equal("2023-06-01", request.headers["anthropic-version"])
    assert.equal("claude-sonnet-4-5", body.model)
    assert.is_true(body.stream)
    assert.equal(1, #body.messages)
    assert.matches("Review the file.", body.messages[1].content[1].text, 1, true)
    assert.same({ type = "ephemeral" }, body.messages[1].content[1].cache_control)
    for _, name in ipairs { "temperature", "top_p", "top_k" } do assert.is_nil(body[name]) end
    assert.is_nil(json.encode(request.declared):find("canary", 1, true))
    assert.same({ "sk-canary" }, request.secrets)
    assert.is_true(request.idempotent)
  end)

  it("marks where its tools and its system prompt end, that another talk reads them from the cache, and declares no mark", function()
    local tools = { look = { run = function() return "seen" end }, make = { run = function() return "made" end } }
    local mark = { type = "ephemeral" }
    for _, case in ipairs { { {}, nil, mark }, { { system = "You are terse." }, mark, nil }, { { cache = false } } } do
      local definition, in_system, in_tools = case[1], case[2], case[3]
      definition.tools = { "look", "make" }
      local outcome, _, _, ctx = perform({ P.anthropic(GOOD) }, definition, { tools = tools })
      assert.same({ ok = true }, outcome.updates)
      local body, request = sent(ctx)
      assert.is_nil(body.tools[1].cache_control)
      assert.same(in_tools, body.tools[#body.tools].cache_control)
      if definition.system and in_system then
        assert.same({ { type = "text", text = definition.system, cache_control = in_system } }, body.system)
      end
      assert.is_nil(request.declared.body.head:find("cache_control", 1, true))
    end
  end)

  it("takes its key from a file that nobody else can read, and holds the key alone", function()
    local path = os.tmpname()
    local function tried(text, mode)
      local file <close> = assert(io.open(path, "w"))
      assert(file:write(text))
      file:close()
      assert(os.execute(("chmod %s '%s'"):format(mode, path)))
      local outcome, message, class, ctx = perform({ P.anthropic(GOOD) }, { key_file = path })
      if outcome then
        return ctx.asked[1].headers["x-api-key"], ctx.asked[1]
      end
      assert.same({ "permanent", 0 }, { class, #ctx.asked })
      return nil, message
    end
    local key, request = tried("  sk-of-a-file\n", "600")
    assert.equal("sk-of-a-file", key)
    assert.is_nil(json.encode(request.declared):find("sk-of-a-file", 1, true))
    assert.matches("can be read by others; chmod 600 it", select(2, tried("sk-of-a-file\n", "640")), 1, true)
    for _, text in ipairs { "sk-of-a-file and more\n", "\n", "two\nlines\n" } do
      assert.matches("must hold the key and nothing else", select(2, tried(text, "600")), 1, true)
    end
    os.remove(path)
    assert.matches("key_file: ", select(2, perform({ P.anthropic(GOOD) }, { key_file = path })), 1, true)
  end)

  it("is read from a stream or from one object alike, with what it used", function()
    local note = { type = "server_note", text = GOOD:gsub("done", "not said") }
    for _, reply in ipairs { P.anthropic(GOOD), P.anthropic_json { { type = "text", text = GOOD } },
      P.anthropic_json { note, { type = "text", text = GOOD }, note } } do
      local outcome, _, _, ctx = perform({ reply })
      assert.equal("done", outcome.summary)
      assert.equal(20, ctx.counted[1].output_tokens)
    end
    local _, _, _, ctx = perform({ P.anthropic(GOOD) })
    assert.equal(41, ctx.counted[1].tokens)
    assert.is_true(ctx.asked[1].usage.tokens > 16384)
    assert.near((11 * 3 + 20 * 15 + 7 * 0.3 + 3 * 3.75) / 1e6, ctx.counted[1].dollars, 1e-12)
  end)

  it("goes where its address says, and the environment's key does not follow it there", function()
    local _, _, _, ctx = perform({ P.anthropic(GOOD) }, { url = "https://example.org/gateway" })
    assert.equal("https://example.org/gateway/v1/messages", ctx.asked[1].url)
    assert.is_nil(ctx.asked[1].headers["x-api-key"])
    environment.now.OTHER_KEY = "other"
    _, _, _, ctx = perform({ P.anthropic(GOOD) }, { url = "https://example.org/v1/", key_env = "OTHER_KEY", auth = "bearer",
      version = "2026-10-21", beta = { "a", "b" }, headers = { ["x-team"] = "t" } })
    local headers = ctx.asked[1].headers
    assert.equal("https://example.org/v1/messages", ctx.asked[1].url)
    assert.equal("Bearer other", headers.Authorization)
    assert.is_nil(headers["x-api-key"])
    assert.equal("2026-10-21", headers["anthropic-version"])
    assert.equal("a,b", headers["anthropic-beta"])
    assert.equal("t", headers["x-team"])
  end)

  it("reads the variables that the official clients read", function()
    environment.now = { ANTHROPIC_BASE_URL = "http://127.0.0.1:8080", ANTHROPIC_AUTH_TOKEN = "tok" }
    local _, _, _, ctx = perform({ P.anthropic(GOOD) })
    assert.equal("http://127.0.0.1:8080/v1/messages", ctx.asked[1].url)
    assert.equal("Bearer tok", ctx.asked[1].headers.Authorization)
    environment.now = {}
    local outcome, message, class = perform({})
    assert.is_nil(outcome)
    assert.matches("ANTHROPIC_API_KEY is not set", message)
    assert.equal("permanent", class)
  end)

  it("reads files when it asks to, one exchange a time, and is told what it may not read", function()
    local dir = os.tmpname()
    os.remove(dir)
    assert(os.execute(("mkdir -p %s/reference && echo 'the rules' > %s/reference/rules.md"):format(dir, dir)))
    local function read(id, path)
      return P.anthropic({ { type = "thinking", thinking = "hm", signature = "sig" },
        { type = "tool_use", id = id, name = "read", input = { path = path } } }, { stop_reason = "tool_use" })
    end
    local outcome, _, _, ctx = perform({ read("t1", "reference/rules.md"), read("t2", "/etc/passwd"), read("t3", "../x"),
      read("t4", "."), P.anthropic(GOOD) }, nil, { dir = dir })
    os.execute("rm -rf " .. dir)
    assert.same({ ok = true }, outcome.updates)
    assert.equal(5, #ctx.asked)
    local body = sent(ctx, 5)
    assert_valid(body)
    local function result(n) return body.messages[2 * n + 1].content[1] end
    assert.equal("the rules\n", result(1).content)
    assert.matches("is outside the folders", result(2).content)
    assert.is_true(result(2).is_error)
    assert.is_true(result(3).is_error)
    assert.equal("reference/", result(4).content)
    assert.same({ type = "thinking", thinking = "hm", signature = "sig" }, body.messages[2].content[1])
    assert.equal(5, #ctx.counted)
  end)

  it("answers in a schema by a tool, and is told what is wrong with its answer", function()
    local function answer(id, input)
      return P.anthropic({ { type = "tool_use", id = id, name = "answer", input = input } }, { stop_reason = "tool_use" })
    end
    local outcome, _, _, ctx = perform({ answer("a", { verdict = "maybe" }), answer("b", { verdict = "pass" }) },
      { output = SCHEMA, reads = false, asks = false })
    assert.same({ verdict = "pass" }, outcome.output)
    assert.same({ verdict = "pass" }, outcome.updates)
    local first, second = sent(ctx, 1), sent(ctx, 2)
    assert.same({ type = "tool", name = "answer" }, first.tool_choice)
    assert.same({ "verdict" }, first.tools[1].input_schema.required)
    assert_valid(second)
    assert.matches('verdict must be one of', second.messages[3].content[1].content)
    assert.is_true(second.messages[3].content[1].is_error)
  end)

  it("may be held to a schema by the provider's own format", function()
    local outcome, _, _, ctx = perform({ P.anthropic '{"verdict":"pass"}' }, { output = SCHEMA, structured = "format" })
    assert.equal("pass", outcome.output.verdict)
    assert.equal("json_schema", sent(ctx).output_config.format.type)
    assert.is_nil(sent(ctx).tool_choice)
  end)

  it("is asked again for the form a bounded number of times, in the same talk (F25)", function()
    local outcome, _, _, ctx = perform { P.anthropic "I did it", P.anthropic "", P.anthropic(GOOD) }
    assert.equal("done", outcome.summary)
    assert_valid(sent(ctx, 2))
    assert_valid(sent(ctx, 3))
    assert.equal("I did it", sent(ctx, 3).messages[2].content[1].text)
    assert.matches("Do not do the work again", sent(ctx, 2).messages[3].content[1].text)
    local none, message, class, all = perform { P.anthropic "a", P.anthropic "b", P.anthropic "c" }
    assert.is_nil(none)
    assert.equal("invalid_output", class)
    assert.matches("no complete JSON object", message)
    assert.equal(3, #all.asked)
  end)

  it("asks a person by its tool or by its words, where somebody can be asked", function()
    local asked = {}
    local function talk(replies, changes)
      local ctx = fake.new(replies)
      ctx.ask = function(question)
        asked[#asked + 1] = question
        return "blue"
      end
      return ctx, agent.anthropic({}):perform(ctx, fake.task(ctx, changes))
    end
    local by_tool = P.anthropic({ { type = "tool_use", id = "q", name = "ask_user", input = { question = "Which colour?",
      options = { "red", "blue" } } } }, { stop_reason = "tool_use" })
    local ctx, outcome = talk({ by_tool, P.anthropic(GOOD) })
    assert.equal("done", outcome.summary)
    assert.same({ "red", "blue" }, asked[1].options)
    assert.equal("blue", sent(ctx, 2).messages[3].content[1].content)
    ctx, outcome = talk({ P.anthropic "NEEDS_CONTEXT: Which?", P.anthropic "It is blue." },
      { answer = "text", guide = { body = "x" } })
    assert.equal("It is blue.", outcome.output)
    assert.equal("Which?", asked[2].question)
    assert_valid(sent(ctx, 2))
    ctx = talk({ P.anthropic "NEEDS_CONTEXT: Which?" }, { answer = "text", bare = true })
    assert.equal(2, #asked)
    assert.equal(1, #sent(ctx, 1).tools)
  end)

  it("goes on where the provider paused a turn", function()
    local outcome, _, _, ctx = perform { P.anthropic("Let me", { stop_reason = "pause_turn" }), P.anthropic(GOOD) }
    assert.equal("done", outcome.summary)
    assert.equal("assistant", sent(ctx, 2).messages[2].role)
    assert.equal(2, #sent(ctx, 2).messages)
  end)

  it("fails by class: refused, cut off, overloaded within the stream, an unknown error", function()
    local function event(kind)
      return P.as_stream({ P.anthropic_events({})[1], { type = "error", error = { type = kind, message = "no" } } }, true)
    end
    for _, case in ipairs {
      { P.anthropic("I cannot", { stop_reason = "refusal" }), "permanent", "refused: I cannot" },
      { P.anthropic("{", { stop_reason = "max_tokens" }), "permanent", "cut off %(max_tokens%); raise max_tokens" },
      { event "overloaded_error", "rate_limit", "overloaded_error: no" },
      { event "api_error", "transient", "api_error" },
      { event "invalid_request_error", "permanent", "invalid_request_error" },
      { { code = 400, body = '{"type":"error","error":{"type":"invalid_request_error","message":"too long"}}' },
        "permanent", "HTTP 400 invalid_request_error: too long" },
      { { code = 401, body = '{"error":{"type":"authentication_error","message":"bad"}}' }, "permanent",
        "the key is in ANTHROPIC_API_KEY" },
      { { code = 529, body = '{"error":{"type":"overloaded_error","message":"busy"}}' }, "rate_limit", "HTTP 529" },
      { { code = 413, body = "<html>" }, "permanent", "HTTP 413" },
    } do
      local outcome, message, class = perform { case[1] }
      assert.is_nil(outcome)
      assert.equal(case[2], class, message)
      assert.matches(case[3], message)
    end
  end)

  it("takes no answer from what is no whole message", function()
    local events = P.anthropic_events { { type = "text", text = GOOD } }
    table.remove(events) -- message_stop
    local cases = { P.as_stream(events, true), P.as_stream({ "{]" }), P.as_stream { { type = "content_block_delta",
      index = 9, delta = { type = "text_delta", text = "x" } } }, { body = "[1]", extra = "" }, { body = "", extra = "" },
      { body = '{"type":"message","content":[3]}', extra = "" }, P.as_stream {} }
    for i, reply in ipairs(cases) do
      local outcome, _, class = perform { reply }
      assert.is_nil(outcome)
      assert.equal("transient", class, i)
    end
  end)

  it("comes to an end when it never answers", function()
    local replies = {}
    for i = 1, 9 do
      replies[i] = P.anthropic({ { type = "tool_use", id = "t" .. i, name = "none", input = {} } },
        { stop_reason = "tool_use" })
    end
    local outcome, message = perform(replies, { max_turns = 4 })
    assert.is_nil(outcome)
    assert.matches("no answer within 4 exchanges", message)
  end)

  it("refuses fields and schemas that nobody knows", function()
    assert.has_error(function() agent.anthropic { modell = "x" } end,
      'agent.anthropic: unknown field "modell" (did you mean "model"?)')
    assert.has_error(function() agent.anthropic { output = { typ = "object" } } end)
    assert.has_error(function() agent.anthropic { url = "ftp://x" } end)
    assert.has_error(function() agent.anthropic { headers = { Host = "x" } } end)
    for said, definition in pairs {
      ['prices of "x": must have input and output'] = { prices = { x = { input = 1 } } },
      ['prices of "x": "outputs" is not a price (did you mean "output"?)'] = { prices = { x = { input = 1, output = 2, outputs = 3 } } },
      ['prices of "x": output must be a number, 0 or more'] = { prices = { x = { input = 1, output = -2 } } },
      ['field "pace" must be { requests =, tokens = } per minute'] = { pace = { requests = 0 } },
      ['field "key_env" must be a variable\'s name, not "my key"'] = { key_env = "my key" },
    } do
      local ok, message = pcall(agent.anthropic, definition)
      assert.is_false(ok)
      assert.truthy(message:find(said, 1, true), message)
    end
    assert.has_error(function() agent.anthropic { pace = { minutes = 1 } } end)
  end)
end)

describe("what a model costs", function()
  local used_of = require "skillrt.agent.tally"
  local TOKENS = { input = 1e6, output = 0 }

  it("is by the longest beginning of its name, a person's own table first", function()
    assert.equal(1.25, used_of.counted(TOKENS, "gpt-5-2025-08-07").dollars)
    assert.equal(0.25, used_of.counted(TOKENS, "gpt-5-mini").dollars)
    assert.equal(7, used_of.counted(TOKENS, "gpt-5", { ["gpt-5"] = { input = 7, output = 1 } }).dollars)
  end)

  it("stays unknown where nobody gave a price", function()
    assert.is_nil(used_of.counted(TOKENS, "gpt-5-pro").dollars)
    assert.is_nil(used_of.counted(TOKENS, "llama").dollars)
  end)
end)
