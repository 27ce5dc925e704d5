-- retry_spec.lua: attempts = 1 + max_retries, and how long is waited between them.
local retry = require "skillrt.skill.retry"

local SETTINGS = { max_retries = 3, base = 0.5, factor = 2, cap = 60, jitter = false }

local function delays(settings, class, retry_after)
  local out = {}
  for attempt = 1, 10 do
    local ms = retry.delay(settings, attempt, class, retry_after, function() return 0.5 end)
    if not ms then break end
    out[attempt] = ms
  end
  return out
end

describe("the wait before the next attempt", function()
  it("gives 1 + max_retries attempts and no more (F19)", function()
    assert.same({ 500, 1000, 2000 }, delays(SETTINGS, "transient"))
    assert.same({}, delays({ max_retries = 0 }, "transient"))
  end)

  it("has three retries where nothing is said (R85, F19)", function()
    assert.equal(3, #delays({ jitter = false }, "timeout"))
  end)

  for _, class in ipairs({ "transient", "rate_limit", "timeout", "invalid_output" }) do
    it("is there for a failure of class " .. class, function()
      assert.equal(500, retry.delay(SETTINGS, 1, class))
    end)
  end

  for _, class in ipairs({ "permanent", "canceled" }) do
    it("is never there for a failure of class " .. class, function()
      assert.is_nil(retry.delay(SETTINGS, 1, class, 10))
    end)
  end

  it("never passes the cap, not even for attempt two thousand (F19)", function()
    local settings = { max_retries = 5000, base = 1, factor = 2, cap = 7, jitter = false }
    assert.equal(7000, retry.delay(settings, 2000, "transient"))
  end)

  it("is a random part of the back-off where jitter is on", function()
    local settings = { max_retries = 3, base = 1, factor = 2, cap = 60 }
    assert.equal(0, retry.delay(settings, 1, "transient", nil, function() return 0 end))
    assert.equal(1500, retry.delay(settings, 2, "transient", nil, function() return 0.75 end))
  end)

  it("is at least what the server asked for; what no server means is an hour", function()
    assert.equal(30000, retry.delay(SETTINGS, 1, "rate_limit", 30000))
    assert.equal(6 * 86400 * 1000, retry.delay(SETTINGS, 1, "rate_limit", 6 * 86400 * 1000))
    assert.equal(3600 * 1000, retry.delay(SETTINGS, 1, "rate_limit", 1 << 60))
    assert.equal(500, retry.delay(SETTINGS, 1, "rate_limit", -1))
    assert.equal(500, retry.delay(SETTINGS, 1, "rate_limit", 0))
  end)

  it("raises on a class that does not exist: a caller's bug", function()
    assert.has_error(function() retry.delay(SETTINGS, 1, "flaky") end, 'retry: unknown failure class "flaky"')
  end)
end)
