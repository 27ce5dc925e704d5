-- run_models_spec.lua: models behind a server that misbehaves: whatever it does, a run ends in bounded time and
-- calls, with the right class, and the key is nowhere but in the request.
local P = require "tests.support.providers"
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local CANARY <const> = "sk-canary-7f3a9b"
local GOOD <const> = '{"status":"completed","stateUpdates":{"ok":true},"summary":"done"}'
local getenv = os.getenv
local server, folder

local function start(...)
  server = R.server(table.concat({ ... }, "\n") .. "\n")
  folder = R.folder()
  return server
end

-- A plan line that gives these bytes.
local files = 0
local function raw(bytes, more)
  files = files + 1
  local path = ("%s/raw%d"):format(folder or R.folder(), files)
  R.write(path, bytes)
  return ("/raw?file=%s%s"):format(path, more or "")
end

local function good(headers)
  return P.bytes(P.anthropic(GOOD), headers)
end

local function run(more, limits)
  local dir = R.folder() .. "/run"
  local definition = { url = server.url .. "/plan", key_env = "CANARY_KEY", stream = true }
  for key, value in pairs(more or {}) do definition[key] = value end
  local result = assert(R.run({
    agents = { model = skillrt.agent.anthropic(definition) },
    actions = { { id = "a", agent = "model", prompt = "do it well" } },
    limits = { max_errors = 1, max_retries = limits or 0 },
  }, { work_dir = dir }))
  return result, dir, R.records(dir, "fail")[1] or {}
end

-- Nothing that a run leaves, and nothing that it says, holds the key.
local function assert_no_key(result, dir)
  local found = io.popen(("grep -rl '%s' '%s'"):format(CANARY, dir)):read "a"
  assert.equal("", found)
  assert.is_nil((result.message or ""):find(CANARY, 1, true))
end

describe("a model behind a server that misbehaves", function()
  before_each(function()
    os.getenv = function(name) return name == "CANARY_KEY" and CANARY or getenv(name) end -- luacheck: ignore
  end)
  after_each(function()
    require("skillrt.agent.gate").forget()
    os.getenv = getenv -- luacheck: ignore
    if server then server.stop() end
    server, folder = nil, nil
    R.clean()
  end)

  it("has its key in the request and nowhere else, also where it sends back what it was sent", function()
    start "/head"
    local result, dir, failed = run()
    assert.equal("failed", result.status)
    assert.equal("transient", failed.class)
    assert.matches("x%-api%-key: " .. CANARY:gsub("%-", "%%-"), (server.request(1)))
    assert.matches("{key}", R.read(dir .. "/journal/00000001.sj"), 1, true)
    assert_no_key(result, dir)
  end)

  it("has its statuses told by class, and is asked again only where that may help", function()
    for code, want in pairs { [400] = "permanent", [401] = "permanent", [403] = "permanent", [404] = "permanent",
      [408] = "transient", [413] = "permanent", [422] = "permanent", [429] = "rate_limit", [500] = "transient",
      [502] = "transient", [503] = "rate_limit", [504] = "transient", [529] = "rate_limit" } do
      start("/status/" .. code)
      local result, dir, failed = run(nil, 2)
      assert.equal(want, failed.class, code)
      local again = want ~= "permanent" and code ~= 408
      assert.equal(again and 3 or 1, #server.log(), code) -- 408 answers: the exchange took place
      assert_no_key(result, dir)
      server.stop()
      server = nil
    end
  end)

  it("is waited for as long as Retry-After says, and asked with the same key", function()
    start("/status/529?retry-after=1", "/raw?file=x")
    server.plan("/status/529?retry-after=1\n" .. raw(good()) .. "\n")
    local result, dir = run(nil, 2)
    assert.equal("completed", result.status, result.message)
    assert.equal(1000, R.records(dir, "attempt")[1].retry)
    assert.equal(R.records(dir, "call")[1].key, R.records(dir, "call")[2].key)
  end)

  it("that is over its limit for hours pauses the run until then, and is not asked before (W26)", function()
    start "/status/429?retry-after=18000"
    local definition = { agents = { model = skillrt.agent.anthropic { url = server.url .. "/plan", key_env = "CANARY_KEY" } },
      actions = { { id = "a", agent = "model", prompt = "do it well" } } }
    local dir = R.folder() .. "/run"
    local result = assert(R.run(definition, { work_dir = dir }))
    assert.same({ "paused", "waiting_for_time" }, { result.status, result.reason }, result.message)
    assert.matches("^resumes automatically at 20%d%d%-.*429", result.message)
    local due = R.records(dir, "stop")[1].due
    assert.is_true(math.abs(due / 1000 - os.time() - 18000) < 60)
    require("skillrt.agent.gate").forget() -- another process
    result = assert(skillrt.resume(dir, { skill = R.skill(definition) }))
    assert.same({ "waiting_for_time", 1 }, { result.reason, #server.log() })
    local kit = require "tests.support.cli_kit"
    local seen = kit.run({ path = R.folder(), file = function() end }, { "resume", dir }) -- as cron does
    assert.equal(5, seen.code)
    assert.matches("still waiting: resumes automatically at", seen.out)
  end)

  for _, ending in ipairs { "reset", "close" } do
    it(("gives no answer when it ends by a %s at any byte"):format(ending), function()
      local bytes = good "" -- no length: only the end mark tells that all is there
      start "/echo"
      local path, lines = raw(bytes), {}
      local last = #bytes - 1
      for cut = 1, last, (last > 950 and 3 or 1) * R.EVERY do
        lines[#lines + 1] = ("%s&cut=%d&end=%s"):format(path, cut, ending)
      end
      server.plan(table.concat(lines, "\n") .. "\n")
      local classes = {}
      local result = assert(R.run({
        agents = { model = skillrt.agent.anthropic { url = server.url .. "/plan", key_env = "CANARY_KEY" } },
        actions = { { id = "a", run = function(_, ctx)
          for _ = 1, #lines do
            local outcome, _, class = ctx.await { agent = "model", prompt = "do it" }
            class = outcome and "answered" or class
            classes[class] = (classes[class] or 0) + 1
          end
          return {}
        end } },
        limits = { max_errors = 1, max_retries = 0 },
      }, { work_dir = R.folder() .. "/run" }))
      assert.equal("completed", result.status, result.message)
      assert.same({ transient = #lines }, classes)
      assert.equal(#lines, #server.log())
    end)
  end

  it("is read whatever the pieces, the line ends and the marks before them", function()
    local events = P.anthropic_events { { type = "text", text = GOOD } }
    local function bytes(body)
      return P.bytes { body = body, extra = "content-type: text/event-stream; charset=utf-8\n" }
    end
    start "/echo"
    local cases = {
      raw(good(), "&piece=1"), raw(bytes(P.stream(events, true, "\r\n")), "&piece=7"), raw(bytes(P.stream(events, true, "\r"))),
      raw(bytes("\xEF\xBB\xBF: hello\n\n" .. P.stream(events, false))),
    }
    for _, case in ipairs(cases) do
      server.plan(case .. "\n")
      local result = run()
      assert.equal("completed", result.status, case .. ": " .. tostring(result.message))
      assert.is_true(result.state.ok)
    end
  end)

  it("is given up in time: silent, half, endless, too large, compressed out of measure, not HTTP", function()
    start "/echo"
    for path, want in pairs {
      ["/silence"] = "timeout", ["/stall"] = "timeout", ["/half"] = "transient", ["/reset"] = "transient",
      ["/huge?bytes=2000000"] = "invalid_output", ["/bomb?bytes=400000000"] = "invalid_output",
      ["/garbage"] = "transient", ["/nothing"] = "transient", ["/sse?count=3"] = "transient",
      ["/trickle?count=1000&ms=40"] = "timeout",
    } do
      server.plan(path .. "\n")
      local result, dir, failed = run { timeout = 2, stall = 0.3, max_reply = 1000000 }
      assert.equal("failed", result.status, path)
      assert.equal(want, failed.class, path .. ": " .. tostring(failed.message))
      assert_no_key(result, dir)
    end
  end)

  it("leads nobody elsewhere: a redirect is not followed, and the key goes to no other server", function()
    start "/echo"
    local other = R.server "/echo\n"
    for _, code in ipairs { 301, 302, 307, 308 } do
      server.plan(("/redirect?to=%s/plan&code=%d\n"):format(other.url, code))
      local result, _, failed = run()
      assert.equal("failed", result.status)
      assert.equal("permanent", failed.class)
    end
    assert.equal(0, #other.log())
    other.stop()
  end)

  it("is waited for where it said that nothing is left, instead of being refused", function()
    start "/echo"
    local reply = P.anthropic(GOOD)
    reply.extra = reply.extra .. "x-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: 700ms\n"
    server.plan(raw(P.bytes(reply)) .. "\n")
    local begun = require("skillrt.core").mono_ns()
    run()
    local result, dir = run()
    assert.equal("completed", result.status, result.message)
    assert.is_true(require("skillrt.core").mono_ns() - begun >= 690000000)
    assert.equal(1, #R.records(dir, "call"))
    assert.equal(2, #server.log())
  end)

  it("shows its words as they come", function()
    start "/echo"
    server.plan(raw(good(), "&piece=200&ms=20") .. "\n")
    local shown = {}
    R.skill({ agents = { model = skillrt.agent.anthropic { url = server.url .. "/plan", key_env = "CANARY_KEY" } },
      actions = { { id = "a", agent = "model", prompt = "do it well" } } }):run { work_dir = R.folder() .. "/run",
      watcher = { observe = function() end, flush = function() end,
        progress = function(_, text) shown[#shown + 1] = text end } }
    assert.is_true(#shown > 3)
    assert.equal(GOOD, table.concat(shown))
  end)

  it("has what it sends in pieces kept as one, whoever watches or does not", function()
    local text = ("a long answer "):rep(20000)
    local bytes = P.bytes(P.anthropic(text))
    for _, watcher in ipairs { false, { observe = function() end, flush = function() end, progress = function() end } } do
      start "/echo"
      server.plan(raw(bytes) .. "\n")
      local dir = R.folder() .. "/run"
      local result = assert(R.skill({ agents = { model = skillrt.agent.anthropic { url = server.url .. "/plan",
        key_env = "CANARY_KEY" } }, phases = { { id = "a", agent = "model", prompt = "do it well", answer = "text",
        output_free = true } } }):run { work_dir = dir, watcher = watcher or nil })
      assert.equal(text, result.state.outputs.a)
      local kept = io.popen(("cat '%s'/blobs/* | wc -c"):format(dir)):read "n"
      assert.is_true(kept < 3 * #text and #bytes > 20 * #text, kept) -- the reply, what came of it, and the state
      server.stop()
      server = nil
    end
  end)

  it("is not asked twice by a resume for what it answered; its calls have ids that may be sent back", function()
    start "/echo"
    server.plan(raw(P.bytes(P.anthropic({ { type = "tool_use", id = "an id", name = "read", input = { path = "." } } },
      { stop_reason = "tool_use" }))) .. "\n/silence\n")
    local dir = R.folder() .. "/run"
    local definition = {
      agents = { model = skillrt.agent.anthropic { url = server.url .. "/plan", key_env = "CANARY_KEY" } },
      actions = { { id = "a", agent = "model", prompt = "do it well" } },
    }
    local calls = 0
    R.stopped(definition, dir, function(record)
      calls = calls + (record.t == "call" and 1 or 0)
      return calls == 2
    end)
    server.plan("/status/500\n/status/500\n" .. raw(good()) .. "\n")
    local before = #server.log()
    local result = assert(require("skillrt.run.runner").go_on(R.skill(definition), { work_dir = dir }))
    assert.equal("completed", result.status, result.message)
    assert.is_true(result.state.ok)
    assert.is_true(#server.log() > before)
    for i = before + 1, #server.log() do -- one of the run that was stopped may be among them
      local messages = select(2, server.request(i)).messages
      assert.equal(3, #messages, "the first exchange was made again")
      assert.same({ "call_1", "call_1" }, { messages[2].content[1].id, messages[3].content[1].tool_use_id })
    end
  end)
end)
