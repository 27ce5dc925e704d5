-- report/traces.lua: sends a run's spans to a collector (OTLP over HTTP, as JSON) while it runs.
--
-- A watcher as in run/journal.lua. Small runs in memory send the spans, on the same loop and by the same transports;
-- the run never waits for them. A failure to send is reported once, at the end, and has no other effect. Made by
-- watch.lua if the environment names a collector.

local agents = require("skillrt.agent")
local core = require("skillrt.core")
local cut = require("skillrt.base.text").cut
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local story_of = require("skillrt.run.story")
local tables = require("skillrt.base.tables")

local M = {}

-- ---- a run as spans ----

local INTERNAL <const>, CLIENT <const> = 1, 3
local OK <const>, ERROR <const> = 1, 2
local LONGEST <const> = 1024 -- bytes of an attribute

local function hex(size, ...)
  return core.sha256(table.concat({ ... }, "\0")):sub(1, size)
end

local function nanoseconds(ms)
  return ("%d000000"):format(ms) -- 64 bits are a text in JSON
end

local function short(text)
  return cut(tostring(text), LONGEST, "")
end

local function value_of(value)
  if type(value) == "boolean" then
    return { boolValue = value }
  elseif type(value) == "number" and math.tointeger(value) then
    return { intValue = ("%d"):format(math.tointeger(value)) }
  elseif type(value) == "number" then
    return { doubleValue = value }
  end
  return { stringValue = short(value) }
end

---Names and values in OTLP's form; nil values are left out.
---@param given table<string, any>
---@return table[] list
local function attributes(given)
  local list = {}
  for i, key in ipairs(names.sorted(given)) do
    list[i] = { key = key, value = value_of(given[key]) }
  end
  return json.array(list)
end

local function span(run, id, parent, name, kind, from, to, given, failed)
  return {
    traceId = hex(32, "trace", run.run),
    spanId = hex(16, "span", run.run, id),
    parentSpanId = parent and hex(16, "span", run.run, parent) or nil,
    name = short(name),
    kind = kind,
    startTimeUnixNano = nanoseconds(from),
    endTimeUnixNano = nanoseconds(math.max(from, to)),
    attributes = attributes(given),
    status = failed ~= nil and { code = failed and ERROR or OK, message = failed and short(failed) or nil } or nil,
  }
end

-- The attributes of a call that asked a model or an agent; none for others.
local function of_model(call, given)
  local used = call.used
  local _, row = agents.behind(call.to)
  if row then
    given["gen_ai.provider.name"], given["gen_ai.operation.name"] = row[2], row[3]
  elseif not used then
    return
  end
  given["gen_ai.operation.name"] = given["gen_ai.operation.name"] or "invoke_agent"
  given["gen_ai.response.model"] = (call.reply or ""):sub(1, 16384):match('"model"%s*:%s*"([^"\\]+)"')
  if used then
    given["gen_ai.usage.input_tokens"], given["gen_ai.usage.output_tokens"] = used.input_tokens, used.output_tokens
    given["skillrt.usage.dollars"] = used.dollars
  end
end

local CLIENTS <const> = { http = true, command = true, session = true, host = true }

---A finished call.
---@param run table  the first record
---@param call skillrt.story.Call
---@return table span
local function of_call(run, call)
  local step = tostring(call.step)
  local given = { ["skillrt.call.kind"] = call.kind, ["skillrt.call.place"] = call.c, ["skillrt.call.key"] = call.key,
    ["skillrt.call.attempts"] = #call.attempts + 1, ["error.type"] = not call.ok and (call.class or "error") or nil }
  if call.kind == "http" then
    given["url.full"], given["http.response.status_code"] = call.to, call.code ~= 0 and call.code or nil
    given["server.address"] = (call.to or ""):match("^%a+://%[?([^/:%]]+)")
  elseif call.kind == "command" then
    given["process.executable.name"], given["process.exit.code"] = (call.to or ""):match("[^/]+$"), call.code
  end
  of_model(call, given)
  local failed = not call.ok and (call.message or "failed") or false
  local name = call.label or call.to and ("%s %s"):format(call.kind, call.to) or call.kind
  return span(run, "call " .. step .. " " .. call.c .. " " .. call.at, "step " .. step, name,
    CLIENTS[call.kind] and CLIENT or INTERNAL, call.at, call.ended, given, failed)
end

---A finished step. A sub-run's is below the step that ran the skill.
---@param run table
---@param step skillrt.story.Step
---@return table span
local function of_step(run, step)
  local used = step.used or {}
  local given = { ["skillrt.step"] = step.number, ["skillrt.action"] = step.id, ["skillrt.step.kind"] = step.kind,
    ["skillrt.iteration"] = step.n, ["skillrt.step.status"] = step.status, ["skillrt.step.reason"] = step.reason,
    ["skillrt.step.attempts"] = #step.attempts + (step.status == "failed" and 0 or 1),
    ["error.type"] = step.status == "failed" and (step.class or "error") or nil,
    ["gen_ai.usage.input_tokens"] = used.input_tokens, ["gen_ai.usage.output_tokens"] = used.output_tokens }
  local parent = step.sub and step.sub:match("^(%d+)")
  local failed
  if step.status == "failed" then
    failed = step.message or "failed"
  elseif step.status == "completed" then
    failed = false
  end
  return span(run, "step " .. step.number, parent and "step " .. parent or "run", step.id, INTERNAL, step.at,
    step.ended, given, failed)
end

---The run itself, when it has ended.
---@param story skillrt.Story
---@return table span
local function of_run(story)
  local run = story.run
  local failed = story.status ~= "completed" and (story.message or story.reason or story.status) or false
  return span(run, "run", nil, "run " .. run.skill, INTERNAL, run.at, story.at, { ["skillrt.skill"] = run.skill,
    ["skillrt.skill.version"] = run.version, ["skillrt.run_id"] = run.run, ["skillrt.mode"] = run.mode,
    ["skillrt.status"] = story.status, ["skillrt.reason"] = story.reason }, failed)
end

---Spans as a request to a collector.
---@param spans table[]
---@param resource table<string, any>
---@return string body
local function request(spans, resource)
  return assert(json.encode({ resourceSpans = json.array({ {
    resource = { attributes = attributes(resource) },
    scopeSpans = json.array({ {
      scope = { name = "skillrt", version = core.version },
      spans = json.array(spans),
    } }),
  } }) }))
end

local FINAL <const> = { completed = true, failed = true, aborted = true }
local BATCH <const>, MOST_OUT <const>, EVERY_MS <const>, MOST_LEFT <const> = 200, 4, 5000, 64

local function unescaped(text)
  return (text:gsub("%%(%x%x)", function(byte)
    return string.char(tonumber(byte, 16))
  end))
end

-- "a=b,c=d", the format of OpenTelemetry's variables.
local function pairs_of(text)
  local out = {}
  for key, value in (text or ""):gmatch("%s*([^=,%s]+)%s*=%s*([^,]*)") do
    out[unescaped(key)] = unescaped((value:gsub("%s+$", "")))
  end
  return out
end

---What the environment says about a collector; nil: there is none.
---@param address string|nil  set by a host
---@return table|nil settings  { url, headers, timeout, resource }
function M.settings(address)
  local env = os.getenv
  local own, base = not address and env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or "",
    address or env("OTEL_EXPORTER_OTLP_ENDPOINT") or ""
  local off = env("OTEL_SDK_DISABLED") == "true" or env("OTEL_TRACES_EXPORTER") == "none"
  if off or own == "" and base == "" then
    return nil
  end
  local headers = pairs_of(env("OTEL_EXPORTER_OTLP_TRACES_HEADERS") or env("OTEL_EXPORTER_OTLP_HEADERS"))
  headers["content-type"] = "application/json"
  local resource = pairs_of(env("OTEL_RESOURCE_ATTRIBUTES"))
  resource["service.name"] = env("OTEL_SERVICE_NAME") or resource["service.name"] or "skillrt"
  resource["service.version"] = resource["service.version"] or core.version
  local ms = tonumber(env("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT") or env("OTEL_EXPORTER_OTLP_TIMEOUT")) or 10000
  return {
    url = own ~= "" and own or base:gsub("/+$", "") .. "/v1/traces",
    headers = headers,
    timeout = math.max(0.1, math.min(60, ms / 1000)),
    resource = resource,
  }
end

-- Starts one request, as a run of its own; or nil and why it could not start.
local function post(settings, body, count)
  local sent, runner = { count = count }, require("skillrt.run.runner")
  local run, message = runner.begin(runner.once("traces", function(_, ctx)
    local reply, why = ctx.await({ kind = "http", method = "POST", url = settings.url, headers = settings.headers,
      body = body, timeout = settings.timeout, idempotent = true, retry = { max = 0 } })
    sent.ok, sent.message = reply ~= nil, why
  end), { apart = true, http_module = settings.http_module })
  if not run then
    return nil, message
  end
  sent.run = run
  run:step()
  return sent
end

-- The last requests of a host's runs: they are sent while the host lives.
local left = {}

-- The requests of a list that are under way, waiting for them or not; `over` gets the others before they are closed.
local function under_way(list, wait, over)
  local open = {}
  for _, sent in ipairs(list) do
    if wait then
      sent.run:wait()
    end
    if sent.run:status() == "" then
      open[#open + 1] = sent
    else
      sent.run:close()
      if over then
        over(sent)
      end
    end
  end
  return open
end

local function sweep(wait)
  left = under_way(left, wait)
end

---Waits for what is still under way of a host's runs.
function M.close()
  sweep(true)
end

---@param settings table
---@param in_host boolean?  only `close` waits for what is being sent
---@return table watcher
function M.new(settings, in_host)
  local story, queue, out, over, lost, why = story_of.new(), {}, {}, {}, 0, nil
  local last, stop, self = core.mono_ms(), nil, {}

  local function settle(wait)
    out = under_way(out, wait, function(sent)
      lost, why = lost + (sent.ok and 0 or sent.count), sent.ok and why or sent.message or why or "it was stopped"
    end)
  end

  local function send()
    last = core.mono_ms()
    if #queue == 0 then
      return
    end
    local count, spans = #queue, queue
    queue = {}
    local sent, message
    if #out < MOST_OUT then
      sent, message = post(settings, request(spans, settings.resource), count)
    else
      message = "the collector is slower than the run"
    end
    out[#out + 1] = sent
    lost, why = lost + (sent and 0 or count), message or why
  end

  local function add(one)
    queue[#queue + 1] = one
  end

  function self.observe(record, books)
    if not story.run and record.t ~= "run" then
      story:take_over(books)
    end
    story.newest_call = nil
    story:add(record)
    local step = record.step and story.by_number[record.step]
    local call = story.newest_call
    over[#over + 1] = call and not call.pure and call.ended and call or nil -- its usage is reported after it
    if step and step.ended and (record.t == "done" or record.t == "fail" or record.t == "skip") then
      over[#over + 1] = step
    end
    story:forget_over()
    stop = record.t == "stop" and not record.sub and record or stop
  end

  -- The run has stopped: sends the rest.
  local function finish()
    if FINAL[stop.status] then
      add(of_run(story))
    end
    stop = nil
    settle(false)
    sweep(false)
    if in_host and #left >= MOST_LEFT then
      queue = {}
    end
    send()
    if in_host then
      tables.append(left, out)
      out = {}
    end
  end

  function self.flush()
    for _, one in ipairs(over) do
      add(one.number and of_step(story.run, one) or of_call(story.run, one))
    end
    over = {}
    if stop then
      finish()
    elseif #queue >= BATCH or core.mono_ms() - last >= EVERY_MS then
      settle(false)
      send()
    end
  end

  function self.forget()
    over, stop = {}, nil
  end

  function self.closed()
    self.flush()
    send()
    settle(true)
    if lost > 0 then
      local text = "traces: %s: %d %s not sent: %s"
      local url, words = require("skillrt.agent.url").shown(settings.url), lost == 1 and "span was" or "spans were"
      local escape = require("skillrt.base.terminal_text").escape
      require("skillrt.report.output").say("warning", text:format(escape(url), lost, words, escape(tostring(why))))
    end
  end

  return self
end

return M
