-- report/spans.lua: a run's steps and calls as spans of OpenTelemetry, in the JSON of OTLP, with the attributes of its
-- conventions for generative AI.
--
-- Pure: the ids follow from the run's id and the place of what they name, so that all sessions of a run are one
-- trace. Sends nothing (traces.lua does).

local agents = require("skillrt.agent")
local core = require("skillrt.core")
local json = require("skillrt.base.json")

local M = {}

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
  text = tostring(text)
  if #text > LONGEST then
    text = text:sub(1, utf8.offset(text, 0, LONGEST) - 1)
  end
  return text
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

---Names and values as OTLP has them; what is nil is left out.
---@param given table<string, any>
---@return table[] list
function M.attributes(given)
  local list, keys = {}, {}
  for key in pairs(given) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  for i, key in ipairs(keys) do
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
    attributes = M.attributes(given),
    status = failed ~= nil and { code = failed and ERROR or OK, message = failed and short(failed) or nil } or nil,
  }
end

-- The attributes of a call that asked a model or an agent; nothing for others.
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

---A call that is over.
---@param run table  the first record
---@param call skillrt.story.Call
---@return table span
function M.of_call(run, call)
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

---A step that is over. A sub-run's stands below the step that ran the skill.
---@param run table
---@param step skillrt.story.Step
---@return table span
function M.of_step(run, step)
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

---The run itself, once it is over.
---@param story skillrt.Story
---@return table span
function M.of_run(story)
  local run = story.run
  local failed = story.status ~= "completed" and (story.message or story.reason or story.status) or false
  return span(run, "run", nil, "run " .. run.skill, INTERNAL, run.at, story.at, { ["skillrt.skill"] = run.skill,
    ["skillrt.skill.version"] = run.version, ["skillrt.run_id"] = run.run, ["skillrt.mode"] = run.mode,
    ["skillrt.status"] = story.status, ["skillrt.reason"] = story.reason }, failed)
end

---Spans as the request that a collector takes.
---@param spans table[]
---@param resource table<string, any>
---@return string body
function M.request(spans, resource)
  return assert(json.encode({ resourceSpans = json.array({ {
    resource = { attributes = M.attributes(resource) },
    scopeSpans = json.array({ {
      scope = { name = "skillrt", version = core.version },
      spans = json.array(spans),
    } }),
  } }) }))
end

return M
