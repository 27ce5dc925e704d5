-- gate_spec.lua: how long a call to an agent waits: by what is declared, by what the agent said.
require "tests.support.json_shim"
local gate = require "skillrt.agent.gate"

local NOW <const> = 1769515200000 -- 2026-01-27T12:00:00Z

describe("the gate of an agent", function()
  before_each(gate.forget)

  it("is what is declared, evenly over a minute, for all that use one address and key", function()
    local function ask(key, at)
      return gate.of("https://a", key, { requests = 2 }, 0):wait(at)
    end
    assert.same({ 0, 0, 30000, 60000 }, { ask("k", NOW), ask("k", NOW), ask("k", NOW), ask("k", NOW) })
    assert.equal(0, ask("other", NOW))
    assert.equal(0, ask("k", NOW + 120000))
  end)

  it("counts tokens, and lets pass what is larger than a minute's", function()
    local function ask(tokens) return gate.of("https://a", "k", { tokens = 1000 }, tokens):wait(NOW) end
    assert.same({ 0, 30000 }, { ask(1000), ask(500) })
    gate.forget()
    assert.equal(0, ask(99999))
  end)

  it("is not held up by a header that is as long as headers may be", function()
    local long, from = ("1"):rep(20000), os.clock()
    gate.of("https://a", "k", nil, 1):answered({
      extra = "x-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: " .. long .. "\n" }, NOW, NOW)
    assert.is_true(os.clock() - from < 0.2)
  end)

  it("is learned from what replies say", function()
    for extra, wait in pairs {
      ["anthropic-ratelimit-requests-remaining: 0\nanthropic-ratelimit-requests-reset: 2026-01-27T12:00:30Z\n"] = 30000,
      ["x-ratelimit-remaining-tokens: 0\nx-ratelimit-reset-tokens: 1m1.5s\n"] = 61500,
      ["x-ratelimit-remaining-requests: 5\nx-ratelimit-reset-requests: 20s\n"] = 0,
      ["x-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: soon\n"] = 0,
      ["x-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: 30h\n"] = 108000000,
      ["x-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: 999h\n"] = 3600000,
    } do
      gate.forget()
      local one = gate.of("https://a", "k", nil, 1)
      one:answered({ extra = extra }, NOW, NOW)
      assert.equal(wait, gate.of("https://a", "k", nil, 1):wait(NOW), extra)
      assert.equal(0, gate.of("https://b", "k", nil, 1):wait(NOW))
    end
  end)

  it("closes until the time that is named; then one call goes first, and the others when it was answered", function()
    local one, other = gate.of("claude", "me"), gate.of("claude", "me")
    one:close(NOW + 7000, "its limit")
    assert.same({ 7000, 0, 0 }, { other:wait(NOW), gate.of("claude", "you"):wait(NOW), gate.of("codex", "me"):wait(NOW) })
    one:close(NOW + 2000, "sooner") -- does not open it earlier
    assert.same({ 7000, "its limit" }, { other:wait(NOW), other:why() })
    assert.equal(0, other:wait(NOW + 7000))
    local wait = one:wait(NOW + 7000)
    assert.is_true(wait > 0 and wait <= 5000)
    other:answered({}, NOW + 7100, NOW)
    assert.equal(0, one:wait(NOW + 7100))
  end)

  it("closes again where the call that goes first is refused, and opens where its answer takes long", function()
    local one = gate.of("claude", "me")
    one:close(NOW, "busy")
    assert.equal(0, one:wait(NOW))
    one:close(NOW + 900, "busy")
    assert.equal(900, one:wait(NOW))
    assert.equal(0, one:wait(NOW + 900))
    assert.is_true(one:wait(NOW + 901) > 0)
    assert.equal(0, one:wait(NOW + 900 + 5000))
    assert.equal(0, one:wait(NOW + 900 + 5000))
  end)
end)
