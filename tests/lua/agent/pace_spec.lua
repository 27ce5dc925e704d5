-- pace_spec.lua: how long a call to a provider waits: by what is declared, by what the provider said.
require "tests.support.json_shim"
local pace = require "skillrt.agent.pace"

local NOW <const> = 1769515200000 -- 2026-01-27T12:00:00Z

describe("the pace of a provider", function()
  before_each(pace.forget)

  it("is what is declared, evenly over a minute, for all that use one address and key", function()
    local function ask(key, at)
      return pace.of("https://a/v1/x", key, { requests = 2 }, 0):wait(at)
    end
    assert.same({ 0, 0, 30000, 60000 }, { ask("k", NOW), ask("k", NOW), ask("k", NOW), ask("k", NOW) })
    assert.equal(0, ask("other", NOW))
    assert.equal(0, ask("k", NOW + 120000))
  end)

  it("counts tokens, and lets pass what is larger than a minute's", function()
    local function ask(tokens) return pace.of("https://a", "k", { tokens = 1000 }, tokens):wait(NOW) end
    assert.same({ 0, 30000 }, { ask(1000), ask(500) })
    pace.forget()
    assert.equal(0, ask(99999))
  end)

  it("is not held up by a header that is as long as headers may be", function()
    local long, from = ("1"):rep(20000), os.clock()
    pace.of("https://a", "k", nil, 1):learn({ code = 200,
      extra = "x-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: " .. long .. "\n" }, NOW)
    assert.is_true(os.clock() - from < 0.2)
  end)

  it("is learned from what replies say", function()
    local one = pace.of("https://a", "k", nil, 1)
    for extra, wait in pairs {
      ["anthropic-ratelimit-requests-remaining: 0\nanthropic-ratelimit-requests-reset: 2026-01-27T12:00:30Z\n"] = 30000,
      ["x-ratelimit-remaining-tokens: 0\nx-ratelimit-reset-tokens: 1m1.5s\n"] = 61500,
      ["x-ratelimit-remaining-requests: 5\nx-ratelimit-reset-requests: 20s\n"] = 0,
      ["x-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: soon\n"] = 0,
      ["x-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: 30h\n"] = 108000000,
      ["x-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: 999h\n"] = 3600000,
    } do
      pace.forget()
      one = pace.of("https://a", "k", nil, 1)
      one:learn({ code = 200, extra = extra }, NOW)
      assert.equal(wait, pace.of("https://a/other", "k", nil, 1):wait(NOW), extra)
      assert.equal(0, pace.of("https://b", "k", nil, 1):wait(NOW))
    end
    one:learn({ code = 429, extra = "", retry_after_ms = 7000 }, NOW)
    assert.is_true(one:wait(NOW) >= 7000)
  end)
end)
