-- traces_spec.lua: a run's spans over OTLP/HTTP: judged by the fields and types of the published protocol
-- (opentelemetry-proto, trace/v1 and common/v1, in its JSON encoding) as a collector on loopback receives them.
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"
local R = require "tests.support.runs"

-- Messages of the protocol by their fields in JSON; a list of one names a repeated field.
local PROTO = {
  request = { resourceSpans = { "resource_spans" } },
  resource_spans = { resource = "resource", scopeSpans = { "scope_spans" }, schemaUrl = "string" },
  resource = { attributes = { "key_value" }, droppedAttributesCount = "uint32" },
  scope_spans = { scope = "scope", spans = { "span" }, schemaUrl = "string" },
  scope = { name = "string", version = "string", attributes = { "key_value" }, droppedAttributesCount = "uint32" },
  span = { traceId = "trace_id", spanId = "span_id", traceState = "string", parentSpanId = "span_id", flags = "uint32",
    name = "string", kind = "enum5", startTimeUnixNano = "fixed64", endTimeUnixNano = "fixed64",
    attributes = { "key_value" }, droppedAttributesCount = "uint32", events = { "event" }, droppedEventsCount = "uint32",
    links = { "link" }, droppedLinksCount = "uint32", status = "status" },
  status = { message = "string", code = "enum2" },
  key_value = { key = "string", value = "any_value" },
  any_value = { stringValue = "string", boolValue = "boolean", intValue = "int64", doubleValue = "number",
    arrayValue = "array_value", kvlistValue = "kvlist_value", bytesValue = "string" },
}
local NEEDED = { span = { "traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano" },
  key_value = { "key", "value" } }
local SCALAR = {
  string = function(v) return type(v) == "string" end,
  boolean = function(v) return type(v) == "boolean" end,
  number = function(v) return type(v) == "number" end,
  uint32 = function(v) return math.type(v) == "integer" and v >= 0 and v < 2 ^ 32 end,
  enum5 = function(v) return math.type(v) == "integer" and v >= 1 and v <= 5 end,
  enum2 = function(v) return math.type(v) == "integer" and v >= 0 and v <= 2 end,
  fixed64 = function(v) return type(v) == "string" and v:find "^%d+$" ~= nil and #v <= 20 end,
  int64 = function(v) return type(v) == "string" and v:find "^%-?%d+$" ~= nil end,
  trace_id = function(v) return type(v) == "string" and #v == 32 and v:find "^%x+$" ~= nil and v:find "[^0]" ~= nil end,
  span_id = function(v) return type(v) == "string" and #v == 16 and v:find "^%x+$" ~= nil and v:find "[^0]" ~= nil end,
}

local function judge(value, kind, place)
  if SCALAR[kind] then
    return assert(SCALAR[kind](value), ("%s: %s is no %s"):format(place, tostring(value), kind))
  end
  for key, one in pairs(value) do
    local inner = assert(PROTO[kind][key], ("%s: %s is no field of %s"):format(place, key, kind))
    if type(inner) == "table" then
      assert(json.is_array(one), place .. "." .. key .. ": is no list")
      for i, item in ipairs(one) do judge(item, inner[1], ("%s.%s[%d]"):format(place, key, i)) end
    else
      judge(one, inner, place .. "." .. key)
    end
  end
  for _, key in ipairs(NEEDED[kind] or {}) do assert(value[key] ~= nil, place .. ": has no " .. key) end
  if kind == "any_value" then assert(next(value) and not next(value, next(value)), place .. ": must have one value") end
end

local function text_of(any) return any.stringValue or any.intValue or any.doubleValue or any.boolValue end

-- All spans that the server was sent, judged; attributes by name.
local function spans_of(server)
  local list, n = {}, 1
  local head, body = server.request(n)
  while body do
    assert.truthy(head:find "^POST /plan/v1/traces HTTP/1%.1\r\n" and head:lower():find("content-type: application/json", 1, true), head)
    judge(body, "request", "request")
    for _, span in ipairs(body.resourceSpans[1].scopeSpans[1].spans) do
      local seen = {}
      for _, row in ipairs(span.attributes) do
        assert.is_nil(seen[row.key], "twice: " .. row.key)
        seen[row.key] = text_of(row.value)
      end
      span.has, list[#list + 1] = seen, span
      assert.truthy(span.endTimeUnixNano >= span.startTimeUnixNano)
    end
    n = n + 1
    head, body = server.request(n)
  end
  return list
end

local SCRIPT = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "traced", state = {}, limits = { max_errors = 9, max_retries = 1 }, retry = { base = 0.001 },
  agents = { model = { kind = "openai", url = "%s", model = "gpt-5-mini", key_env = "FAKE_KEY" } },
  actions = {
    { id = "think", priority = 3, agent = "model", prompt = "think well" },
    { id = "work", priority = 2, run = function(_, ctx)
      ctx.await { kind = "command", argv = { "true" }, label = "the worker" }
      ctx.await { kind = "command", argv = { "false" } }
    end },
    { id = "fails", priority = 1, optional = true, run = function() return nil, "no luck", "transient" end } } }]]

describe("traces", function()
  after_each(R.clean)

  it("are run > step > call, as the published protocol has them, with the attributes for generative AI", function()
    local collector <close> = setmetatable(R.server(), { __close = function(self) self.stop() end })
    local answer = R.folder() .. "/answer"
    local body = json.encode { id = "x", object = "chat.completion", model = "gpt-5-mini-2025", choices = json.array {
      { index = 0, finish_reason = "stop", message = { role = "assistant", content = '{"status":"completed","summary":"thought"}' } } },
      usage = { prompt_tokens = 100, completion_tokens = 20, total_tokens = 120 } }
    R.write(answer, ("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s")
      :format(#body, body))
    local provider <close> = setmetatable(R.server(("/raw?file=%s\n"):format(answer)), {
      __close = function(self) self.stop() end })
    local folder <close> = kit.folder()
    folder.file("traced.lua", SCRIPT:format(provider.url .. "/plan"))
    local run = kit.run(folder, { "traced.lua", "--work-dir", "w", "--quiet",
      env = "FAKE_KEY=a-fake-key-of-tests OTEL_EXPORTER_OTLP_ENDPOINT=" .. collector.url
        .. "/plan OTEL_EXPORTER_OTLP_HEADERS=x-team=a%20b" })
    assert.is_nil(run.err:find("traces:", 1, true), run.err)
    assert.truthy((collector.request(1)):lower():find("x-team: a b", 1, true))
    local by_name, trace = {}, nil
    for _, span in ipairs(spans_of(collector)) do
      trace = trace or span.traceId
      assert.equal(trace, span.traceId)
      by_name[span.name] = span
    end
    local root, work, worker = by_name["run traced"], by_name.work, by_name["the worker"]
    assert.truthy(work, run.err .. run.out)
    assert.is_nil(root.parentSpanId)
    assert.same({ root.spanId, work.spanId, 3, 1 }, { work.parentSpanId, worker.parentSpanId, worker.kind, work.kind })
    assert.same({ 2, "no luck" }, { by_name.fails.status.code, by_name.fails.status.message })
    assert.same({ 2, "1" }, { by_name["command false"].status.code, by_name["command false"].has["process.exit.code"] })
    assert.equal("false exited with 1 and wrote nothing to standard error", by_name["command false"].status.message)
    local asked
    for _, span in pairs(by_name) do
      asked = span.parentSpanId == by_name.think.spanId and span or asked
    end
    assert.same({ "chat", "openai", "gpt-5-mini-2025", "100", "20" }, { asked.has["gen_ai.operation.name"],
      asked.has["gen_ai.provider.name"], asked.has["gen_ai.response.model"], asked.has["gen_ai.usage.input_tokens"],
      asked.has["gen_ai.usage.output_tokens"] })
  end)

  it("of all sessions of a run are one trace, whose root comes when the run is over", function()
    local collector <close> = setmetatable(R.server(), { __close = function(self) self.stop() end })
    local folder <close> = kit.folder()
    folder.file("ask.lua", [[return require "skillrt".skill { name = "ask", actions = { { id = "a", run = function(_, ctx)
      ctx.await { kind = "command", argv = { "true" } } return { v = ctx.ask "which?" } end } } }]])
    local env = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" .. collector.url .. "/plan/v1/traces"
    assert.equal(3, kit.run(folder, { "ask.lua", "--work-dir", "w", "--quiet", env = env }).code)
    local first = spans_of(collector)
    assert.equal("command true", first[1].name)
    local paused = require("skillrt.core").wall_ms()
    assert.equal(0, kit.run(folder, { "answer", "w", "x", "--quiet", env = env }).code)
    local all, roots, ids = spans_of(collector), 0, {}
    for _, span in ipairs(all) do
      roots = roots + (span.parentSpanId and 0 or 1)
      assert.equal(first[1].traceId, span.traceId)
      assert.is_nil(ids[span.spanId], "one span is sent once")
      ids[span.spanId] = true
    end
    assert.equal(1, roots)
    local question, step = all[#all - 2], all[#all - 1]
    assert.equal(first[1].parentSpanId, step.spanId)
    assert.equal("1", step.has["skillrt.iteration"])
    assert.equal("ask", question.has["skillrt.call.kind"])
    assert.truthy(tonumber(question.startTimeUnixNano) // 1000000 <= paused, "it begins when it was asked")
  end)

  it("that cannot be sent are told once, and change nothing: not the run, not its exit code, not its time", function()
    local folder <close> = kit.folder()
    folder.file("quick.lua", [[return require "skillrt".skill { name = "quick", actions = { { id = "a", run = function() end } } }]])
    local run = kit.run(folder, { "quick.lua", "--work-dir", "w", env = "OTEL_EXPORTER_OTLP_ENDPOINT=http://user:word@127.0.0.1:1" })
    assert.equal(0, run.code, run.err)
    local _, count = run.err:gsub("traces: http", "")
    assert.equal(1, count)
    assert.truthy(run.err:find("2 spans were not sent", 1, true), run.err)
    assert.is_nil(run.err:find("word", 1, true))
    local silent <close> = setmetatable(R.server "/silence\n", { __close = function(self) self.stop() end })
    local began = require "skillrt.core".mono_ns()
    run = kit.run(folder, { "quick.lua", "--work-dir", "w2",
      env = "OTEL_EXPORTER_OTLP_TIMEOUT=300 OTEL_EXPORTER_OTLP_ENDPOINT=" .. silent.url .. "/plan" })
    assert.equal(0, run.code)
    assert.truthy((require "skillrt.core".mono_ns() - began) / 1e9 < 10, "a silent collector is left behind")
    assert.equal(0, kit.run(folder, { "quick.lua", "--work-dir", "w3", "--quiet",
      env = "OTEL_SDK_DISABLED=true OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1" }).code)
  end)

  it("do not hold the run up: steps go on while a collector is silent", function()
    local silent <close> = setmetatable(R.server "/silence\n", { __close = function(self) self.stop() end })
    local folder <close> = kit.folder()
    local script = [[return require "skillrt".skill { name = "many", state = { n = 0 }, durability = "process",
      limits = { max_iterations = 9999 }, actions = { { id = "a", max_runs = 1e6, when = "n < 3000", run = function(s)
      return { n = s.n + 1 } end } } }]]
    folder.file("many.lua", script)
    local run = kit.run(folder, { "many.lua", "--work-dir", "w",
      env = "OTEL_EXPORTER_OTLP_TIMEOUT=1000 OTEL_EXPORTER_OTLP_ENDPOINT=" .. silent.url .. "/plan", "--quiet" })
    assert.equal(0, run.code, run.err)
    local records = kit.objects(kit.run(folder, { "log", "w", "--json" }).out)
    assert.truthy(records[#records].at - records[1].at < 5000, "the run waited for the collector")
    assert.truthy(run.err:find("spans were not sent", 1, true), run.err)
    local slow <close> = setmetatable(R.server "/slow?ms=500\n", { __close = function(self) self.stop() end })
    folder.file("some.lua", (script:gsub("3000", "450")))
    run = kit.run(folder, { "some.lua", "--work-dir", "v", env = "OTEL_EXPORTER_OTLP_ENDPOINT=" .. slow.url .. "/plan", "--quiet" })
    assert.equal("", run.err) -- what is under way when more is sent is waited for at the end
  end)
end)
