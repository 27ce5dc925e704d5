-- openai_spec.lua: what a model behind Chat Completions or the Responses API is sent, and what it answers.
require "tests.support.json_shim"
local agent = require "skillrt.agent"
local fake = require "tests.support.fake_ctx"
local json = require "skillrt.base.json"
local P = require "tests.support.providers"

local sent = fake.sent
local GOOD = '{"status":"completed","stateUpdates":{"ok":true},"summary":"done"}'
local SCHEMA = { type = "object", required = { "verdict" }, additionalProperties = false,
  properties = { verdict = { enum = { "pass", "fail" } } } }

local function perform(replies, definition, changes)
  return fake.perform(agent.openai(definition or {}), replies, changes)
end

local function message(text)
  return { type = "message", role = "assistant", id = "m", content = { { type = "output_text", text = text } } }
end

describe("the text that people see while a model answers", function()
  local function shown(api, data)
    return require("skillrt.agent.wire." .. api).show(data)
  end

  it("is what each event of its API adds, and nothing of any other event", function()
    local events = {
      openai_chat = [[{"choices":[{"delta":{"content":"Hel"}}]}]],
      openai_responses = [[{"type":"response.output_text.delta","delta":"Hel"}]],
      anthropic = [[{"type":"content_block_delta","delta":{"type":"text_delta","text":"Hel"}}]],
    }
    for api, data in pairs(events) do
      assert.equal("Hel", shown(api, data), api)
      assert.is_nil(shown(api, data:sub(1, -2)), "cut")
      assert.is_nil(shown(api, (data:gsub('"Hel"', "7"))), "no text")
      for other, another in pairs(events) do
        assert.is_true(other == api or shown(api, another) == nil, api .. " of " .. other)
      end
    end
    assert.is_nil(shown("openai_chat", [[{"choices":[],"usage":{"content":1}}]]))
  end)
end)

describe("a model behind an OpenAI API", function()
  local environment = fake.environment { OPENAI_API_KEY = "sk-canary" }
  before_each(environment.set)
  after_each(environment.restore)

  describe("(Chat Completions)", function()
    it("is sent the task, with the key as a header and nowhere else", function()
      local outcome, _, _, ctx = perform({ P.chat(GOOD) }, { system = "Be short.", max_tokens = 99 })
      assert.same({ ok = true }, outcome.updates)
      local body, request = sent(ctx)
      assert.equal("https://api.openai.com/v1/chat/completions", request.url)
      assert.equal("Bearer sk-canary", request.headers.Authorization)
      assert.equal("{key}", request.declared.headers.Authorization)
      assert.same({ role = "system", content = "Be short." }, body.messages[1])
      assert.equal("user", body.messages[2].role)
      assert.is_true(body.stream_options.include_usage)
      assert.equal(99, body.max_completion_tokens)
      assert.same({ 30, 5 }, { ctx.counted[1].input_tokens, ctx.counted[1].output_tokens }) -- 10 of them from a cache
    end)

    it("speaks to servers of one's own, without a key", function()
      environment.now = { OPENAI_BASE_URL = "http://127.0.0.1:11434" }
      local outcome, _, _, ctx = perform({ P.as_json { choices = { { message = { role = "assistant", content = GOOD },
        finish_reason = "stop" } } } }, { model = "llama3", stream = false, max_tokens = 9 })
      assert.equal("done", outcome.summary)
      local body, request = sent(ctx)
      assert.equal("http://127.0.0.1:11434/v1/chat/completions", request.url)
      assert.is_nil(request.headers.Authorization)
      assert.equal(9, body.max_tokens)
      assert.is_nil(body.stream_options)
      assert.is_nil(ctx.counted[1].dollars)
    end)

    it("reads files by calls that come in pieces, each with its result", function()
      local outcome, _, _, ctx = perform({
        P.chat(nil, { { id = "c1", name = "read", arguments = '{"path":"/etc/passwd"}' },
          { id = "c2", name = "read", arguments = "{]" } }), P.chat(GOOD) })
      assert.equal("done", outcome.summary)
      local list = sent(ctx, 2).messages
      assert.equal(4, #list)
      assert.equal(2, #list[2].tool_calls)
      assert.equal("{}", list[2].tool_calls[2]["function"].arguments)
      assert.is_nil(list[2].content)
      assert.same({ "c1", "c2" }, { list[3].tool_call_id, list[4].tool_call_id })
      assert.matches("^Error: ", list[3].content)
      assert.matches("not a JSON object", list[4].content)
    end)

    it("is held to a schema by the provider, and judged by it all the same", function()
      local outcome, _, _, ctx = perform({ P.chat '{"verdict":"maybe"}', P.chat '{"verdict":"fail"}' }, { output = SCHEMA })
      assert.equal("fail", outcome.output.verdict)
      local format = sent(ctx).response_format
      assert.equal("json_schema", format.type)
      assert.is_true(format.json_schema.strict)
      assert.matches("verdict must be one of", sent(ctx, 2).messages[3].content)
      _, _, _, ctx = perform({ P.chat '{"verdict":"fail"}' }, { output = { type = "object" }, structured = "object" })
      assert.same({ type = "json_object" }, sent(ctx).response_format)
    end)

    it("takes a stream without [DONE] that says why it finished, and none that does not", function()
      local events = P.chat_events(GOOD)
      events[#events] = nil
      assert.truthy((perform { P.as_stream(events) }))
      events = P.chat_events(GOOD)
      local _, _, class = perform { P.as_stream { events[1], events[2], events[3] } }
      assert.equal("transient", class)
      _, _, class = perform { P.as_stream { events[1], events[2], "[DONE]" } }
      assert.equal("transient", class)
    end)

    it("fails by class", function()
      for _, case in ipairs {
        { P.chat("{", nil, "length"), "permanent", "cut off" },
        { P.chat("x", nil, "content_filter"), "permanent", "refused" },
        { P.as_stream { { error = { code = "rate_limit_exceeded", message = "slow down" } } }, "rate_limit", "slow down" },
        { P.as_stream { { error = { type = "server_error", message = "oops" } } }, "transient", "oops" },
        { { code = 429, body = '{"error":{"type":"insufficient_quota","message":"pay"}}' }, "permanent", "pay" },
        { { code = 429, body = "{}" }, "rate_limit", "HTTP 429" },
        { { code = 400, body = '{"error":{"message":"bad"}}' }, "permanent", "HTTP 400: bad" },
      } do
        local outcome, text, class = perform { case[1] }
        assert.is_nil(outcome)
        assert.equal(case[2], class, text)
        assert.matches(case[3], text)
      end
    end)
  end)

  describe("(Responses)", function()
    it("is sent items, and its own are sent back with the results", function()
      local call = { type = "function_call", id = "f", call_id = "c1", name = "read", arguments = '{"path":"/x"}' }
      local thought = { type = "reasoning", id = "r", encrypted_content = "zzz", summary = json.array {} }
      local outcome, _, _, ctx = perform({ P.responses { thought, call }, P.responses { message(GOOD) } },
        { api = "responses", system = "S", effort = "low" })
      assert.equal("done", outcome.summary)
      assert.equal("https://api.openai.com/v1/responses", ctx.asked[1].url)
      local body = sent(ctx, 2)
      assert.equal("S", body.instructions)
      assert.is_false(body.store)
      assert.equal("low", body.reasoning.effort)
      assert.same({ "reasoning", "function_call", "function_call_output" },
        { body.input[2].type, body.input[3].type, body.input[4].type })
      assert.equal("c1", body.input[4].call_id)
      assert.equal(60, ctx.counted[1].input_tokens + ctx.counted[2].input_tokens)
    end)

    it("is held to a schema", function()
      local outcome, _, _, ctx = perform({ P.responses { message '{"verdict":"pass"}' } },
        { api = "responses", output = SCHEMA })
      assert.equal("pass", outcome.output.verdict)
      assert.equal("answer", sent(ctx).text.format.name)
    end)

    it("fails by class", function()
      local refusal = { type = "message", content = { { type = "refusal", refusal = "I will not" } } }
      for _, case in ipairs {
        { P.responses({}, { status = "failed", error = { code = "server_error", message = "oops" } }), "transient" },
        { P.responses({ message "x" }, { status = "incomplete", incomplete_details = { reason = "max_output_tokens" } }),
          "permanent" },
        { P.responses { refusal }, "permanent" },
        { P.as_stream { { type = "response.created", response = {} } }, "transient" },
        { P.as_stream { { type = "error", code = "rate_limit_exceeded", message = "x" } }, "rate_limit" },
        { { body = "3", extra = "" }, "transient" },
      } do
        local outcome, text, class = perform({ case[1] }, { api = "responses" })
        assert.is_nil(outcome)
        assert.equal(case[2], class, text)
      end
    end)
  end)
end)
