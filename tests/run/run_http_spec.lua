-- run_http_spec.lua: steps whose agent is a server: keys, retries, reformatting, fallbacks; whole
-- runs against the test server on loopback.
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local function quoted(text)
  return (text:gsub("[^%w]", function(c)
    return ("%%%02X"):format(c:byte())
  end))
end

local function say(text)
  return "/say/" .. quoted(text)
end

local server
local function start(...)
  server = R.server(table.concat({ ... }, "\n") .. "\n")
  return server
end

-- Of each request the server got: method, target, key.
local function requests()
  local out = {}
  for i, line in ipairs(server.log()) do
    local method, target, key = line:match "^%S+ %S+ (%S+) (%S+) (%S+)"
    out[i] = { method = method, target = target, key = key }
  end
  return out
end

local function run(more)
  local dir = R.folder() .. "/run"
  local d = {
    agents = { model = skillrt.agent.http { url = server.url .. "/plan", idempotent = true } },
    actions = { { id = "a", agent = "model", prompt = "do it well" } },
    limits = { max_errors = 1, max_retries = 2 },
  }
  for key, value in pairs(more or {}) do
    d[key] = value
  end
  return assert(R.run(d, { work_dir = dir })), dir
end

local GOOD = [[{"status":"completed","stateUpdates":{"ok":true},"summary":"done"}]]

describe("an http agent", function()
  after_each(function()
    if server then
      server.stop()
    end
    server = nil
    R.clean()
  end)

  it("gets the task's sections as JSON and changes the state by its reply (R63, R64)", function()
    start(say(GOOD))
    local result, dir = run { state = { n = 1 } }
    assert.equal("completed", result.status, result.message)
    assert.is_true(result.state.ok)
    assert.equal("done", R.records(dir, "done")[1].summary)
    assert.equal("POST", requests()[1].method)
  end)

  it("gets the same idempotency key on every attempt, and another for another step (F19)", function()
    start("/status/500", "/status/503", say(GOOD), say(GOOD))
    local result, dir = run { actions = {
      { id = "a", priority = 1, agent = "model", prompt = "x y" }, { id = "b", agent = "model", prompt = "x y" } } }
    assert.equal("completed", result.status, result.message)
    local got = requests()
    assert.equal(4, #got)
    assert.equal(got[1].key, got[2].key)
    assert.equal(got[1].key, got[3].key)
    assert.not_equal(got[1].key, got[4].key)
    assert.equal(got[1].key, R.records(dir, "call")[1].key)
    assert.equal(0, result.state.error_count)
  end)

  it("is asked once to write a reply again, without doing the work again (F25)", function()
    start(say "I did it, trust me", say(GOOD))
    local result, dir = run()
    assert.equal("completed", result.status)
    assert.equal(2, #requests())
    assert.not_equal(requests()[1].key, requests()[2].key)
    assert.equal(2, #R.records(dir, "result"))
    assert.equal(0, #R.records(dir, "fail"))
  end)

  it("is asked to write again once only in an attempt (F25)", function()
    start(say "words")
    local result, dir = run()
    assert.equal("failed", result.status)
    assert.equal(4, #requests()) -- the work once, its form three times
    local fails = R.records(dir, "fail")
    assert.equal("invalid_output", fails[1].class)
    assert.equal(3, #fails)
  end)

  it("may answer in a fence or chat around its object (F25)", function()
    start(say("Sure!\n```json\n" .. GOOD .. "\n```\nAnything else?"))
    assert.is_true(run().state.ok)
    assert.equal(1, #requests())
  end)

  it("is waited for as long as Retry-After says (F19)", function()
    start("/status/429?retry-after=1", say(GOOD))
    local result, dir = run()
    assert.equal("completed", result.status)
    local failed = R.records(dir, "fail")[1]
    assert.equal("rate_limit", failed.class)
    assert.equal(1000, failed.retry)
    assert.is_true(R.records(dir, "call")[2].at - failed.at >= 1000)
  end)

  it("fails at once where another attempt would fail the same way (F18)", function()
    start("/status/404")
    local result, dir = run()
    assert.equal("failed", result.status)
    assert.equal(1, #requests())
    assert.equal("permanent", R.records(dir, "fail")[1].class)
    assert.matches("HTTP 404", result.state.errors[1].message)
  end)

  it("has its failures told by class: a deadline, a reset, half a reply, one too large", function()
    for path, class in pairs {
      ["/silence"] = "timeout", ["/reset"] = "transient", ["/half"] = "transient", ["/huge?bytes=9000"] = "invalid_output",
    } do
      start(path)
      local result, dir = run {
        limits = { max_errors = 1, max_retries = 0 },
        agents = { model = skillrt.agent.http {
          url = server.url .. "/plan", idempotent = true, timeout = path == "/silence" and 0.2 or 20, max_reply = 4096,
        } },
      }
      assert.equal("failed", result.status, path)
      assert.equal(class, R.records(dir, "fail")[1].class, path)
      server.stop()
      server = nil
    end
  end)

  it("gives way to the next of its chain when it has failed for good (F47)", function()
    start(say(GOOD))
    local result, dir = run {
      limits = { max_errors = 1, max_retries = 1 },
      agents = { model = skillrt.agent.chain {
        skillrt.agent.command { "sh", "-c", "exit 75" },
        skillrt.agent.http { url = server.url .. "/status/404" },
        skillrt.agent.http { url = server.url .. "/plan" },
      } },
    }
    assert.equal("completed", result.status, result.message)
    assert.equal(0, result.state.error_count)
    assert.equal(0, #R.records(dir, "fail")) -- a member's failure is not the step's
    local targets = {}
    for i, record in ipairs(R.records(dir, "call")) do
      targets[i] = record.to:match "[^/]+$"
    end
    assert.same({ "sh", "404", "plan" }, targets) -- what was answered is not asked again
  end)

  it("ends its chain with a function of the script (F47)", function()
    start "/status/404"
    local result = run {
      agents = { model = skillrt.agent.chain {
        skillrt.agent.http { url = server.url .. "/plan" },
        skillrt.agent.lua(function() return { ok = "by hand" } end),
      } },
    }
    assert.equal("by hand", result.state.ok)
  end)

  it("that cannot be asked fails its step, not the run's program (F48)", function()
    start(say(GOOD))
    local result = run { actions = {
      { id = "a", agent = skillrt.agent.http { url = server.url .. "/plan", headers = { X = "{input.nobody}" } } },
    } }
    assert.same({ "failed", "error_limit" }, { result.status, result.reason })
    assert.matches("{input.nobody} has no value", result.state.errors[1].message)
    result = run { actions = {
      { id = "a", agent = skillrt.agent.http { url = server.url .. "/plan", body = function() error "hm" end } },
    } }
    assert.matches("body function failed", result.state.errors[1].message)
    assert.equal(0, #requests())
  end)

  it("whose error page is no UTF-8 does not break the record", function()
    start("/status/500")
    local result = run {
      limits = { max_errors = 1, max_retries = 0 },
      actions = { { id = "a", agent = skillrt.agent.command { "sh", "-c", "printf 'a\\377b' >&2; exit 1" } } },
    }
    assert.matches("a\u{FFFD}b", result.state.errors[1].message)
  end)
end)
