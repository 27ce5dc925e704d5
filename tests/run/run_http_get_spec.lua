-- run_http_get_spec.lua: the tool http_get asks no address that is not public, whatever a URL or a name says; what
-- counts is the address of the socket.
local P = require "tests.support.providers"
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local model, other

local function raw(reply)
  return R.raw(P.bytes(reply))
end

-- What the model is told of these URLs.
local function get(urls, settings)
  local calls = {}
  for i, url in ipairs(urls) do
    calls[i] = { type = "tool_use", id = "t" .. i, name = "http_get", input = { url = url } }
  end
  local base = #model.log()
  model.plan(("/status/500\n"):rep(base) .. raw(P.anthropic(calls, { stop_reason = "tool_use" })) .. "\n"
    .. raw(P.anthropic '{"status":"completed","stateUpdates":{}}') .. "\n")
  local result = assert(R.run({
    tools = { http_get = settings or true },
    agents = { model = skillrt.agent.anthropic { url = model.url .. "/plan" } },
    actions = { { id = "a", run = function(_, ctx)
      ctx.await { kind = "http", url = other.url .. "/echo" } -- its connection stays open, and is not used by the tool
      return ctx.await { agent = "model", prompt = "do it well" } and {}
    end } },
    limits = { max_errors = 1, max_retries = 0 },
  }))
  assert.equal("completed", result.status, result.message)
  local messages, told = select(2, model.request(base + 2)).messages, {}
  for i, block in ipairs(messages[3].content) do told[i] = block.content end
  return told
end

describe("the tool http_get", function()
  before_each(function() model, other = R.server "/echo\n", R.server "/echo\n" end)
  after_each(function()
    require("skillrt.agent.gate").forget()
    other.stop() -- first: it holds an end of what the other waits for
    model.stop()
    R.clean()
  end)

  it("connects to no address of this machine or of a private network, however it is written", function()
    local port = other.url:match ":(%d+)$"
    local urls = {}
    for i, host in ipairs { "127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0", "[::1]",
      "[::ffff:127.0.0.1]", "[::]", "127.0.0.1.", "a.localhost", "10.0.0.1", "192.168.1.1", "169.254.169.254", "[fe80::1]",
      "[fd00::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]" } do
      urls[i] = ("http://%s:%s/secret"):format(host, port)
    end
    for i, told in ipairs(get(urls)) do
      assert.is_true(told:find("no address that may be asked", 1, true) ~= nil or told:find("BEGIN UNTRUSTED", 1, true) ~= nil
        and told:find("secret", 1, true) == nil, urls[i] .. ": " .. told)
    end
    for _, line in ipairs(other.log()) do assert.is_nil(line:find("secret", 1, true), line) end
  end)

  it("asks what is declared besides, marks what comes back as data, and holds to its hosts", function()
    other.plan "/echo\n/echo\n"
    local told = get({ other.url .. "/plan", "file:///etc/passwd", "http://user@" .. other.url:match "//(.*)$",
      "http://example.org/", "gopher://127.0.0.1/" }, { addresses = { "127.0.0.0/8" }, hosts = { "127.0.0.1", "*.example.net" } })
    assert.matches("^BEGIN UNTRUSTED RESULT", told[1])
    for _, i in ipairs { 2, 3, 5 } do assert.matches("the url must be http:// or https://", told[i]) end
    assert.matches("the host \"example.org\" is not among those that may be asked: 127.0.0.1, %*%.example%.net", told[4])
  end)

  it("follows no redirect to somewhere else", function()
    other.plan(("/echo\n/redirect?to=%s/plan&code=302\n"):format(model.url))
    local told = get({ other.url .. "/plan" }, { addresses = { "127.0.0.1" } })
    assert.is_nil(told[1]:find("completed", 1, true))
    assert.equal(2, #model.log())
  end)
end)
