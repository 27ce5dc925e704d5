-- condition_spec.lua: what the words and codes mean with which an agent ends instead of an answer.
local condition = require "skillrt.agent.condition"

local NOW <const> = os.time { year = 2026, month = 3, day = 14, hour = 15, min = 0, sec = 0 }
local HOUR <const> = 3600000

describe("the time at which a usage limit ends", function()
  it("is read where it is told, as a span, an hour or a day", function()
    for text, hours in pairs {
      ["You've hit your usage limit. Upgrade to Pro (https://x) or try again in 2 days 17 hours 30 minutes."] = 65.5,
      ["try again in 1 hour"] = 1,
      ["try again in less than a minute."] = 1 / 60,
      ["You've hit your usage limit. To get more access now, ask your admin or try again at 4:30 PM."] = 1.5,
      ["or try again at 1:00 AM."] = 10,
      ["or try again at Mar 16th, 2026 3:00 PM."] = 48,
      ["You've hit your session limit - resets 5pm (Europe/Berlin)"] = 2,
      ["You've hit your limit, resets 3:30pm"] = 0.5,
      ["Claude AI usage limit reached|" .. NOW + 7200] = 2,
      ["Claude AI usage limit reached|" .. NOW - 5] = 0,
    } do
      assert.equal(math.floor(hours * HOUR + 0.5), condition.after(text, NOW), text)
    end
  end)

  it("is nothing where the words do not say it", function()
    for _, text in ipairs { "", "rate limit reached", "try again in a while", "try again at noon", "try again in 3 moons",
      "resets soon", "at Foo 3rd, 2026 3:00 PM", ("try again in "):rep(5000) } do
      assert.is_nil(condition.after(text, NOW), text:sub(1, 40))
    end
  end)
end)

describe("a provider's refusal", function()
  local json = require "skillrt.base.json"

  local function refused(code, problem, after_ms)
    return condition.of_status { code = code, body = json.encode { error = problem }, retry_after_ms = after_ms }
  end

  it("is more than its status where a usage limit was reached: it waits as long as the provider says", function()
    local limit = { code = "usage_limit_reached", message = "The usage limit has been reached", resets_in_seconds = 90 }
    assert.same({ class = "rate_limit", executed = "no", is_usage = true, retry_after_ms = 90000,
      message = "HTTP 429 usage_limit_reached: The usage limit has been reached" }, refused(429, limit, 5000))
    limit.resets_in_seconds = nil
    assert.equal(5000, refused(429, limit, 5000).retry_after_ms)
    assert.equal(condition.USAGE_WAIT_MS, refused(429, limit, 0).retry_after_ms)
    assert.is_nil(refused(429, { code = "rate_limited", message = "slow down", resets_in_seconds = 90 }))
    assert.is_nil(condition.of_status { code = 200, body = json.encode { error = limit } })
  end)

  it("inside a reply is a usage limit where its class and its words say so", function()
    local words = "You've hit your usage limit, try again in 1 hour"
    local limit = condition.of { type = "rate_limit_error", message = words }
    assert.same({ "rate_limit", "no", true, HOUR }, { limit.class, limit.executed, limit.is_usage, limit.retry_after_ms })
    local other = condition.of { type = "invalid_request_error", message = words }
    assert.same({ "permanent", "answered" }, { other.class, other.executed, other.is_usage, other.retry_after_ms })
    assert.is_nil(condition.of { type = "rate_limit_error", message = "slow down" }.is_usage)
  end)
end)

describe("the last words of a coding agent", function()
  it("are no answer where they are nothing but what its provider said", function()
    for _, text in ipairs { "API Error: 529 Overloaded", "[API Error: quota exceeded]", "Claude AI usage limit reached|1767225600",
      "You've hit your limit · resets 3pm", "You’ve hit your session limit", "5-hour limit reached ∙ resets 5pm" } do
      assert.is_true(condition.is_told(text), text)
    end
  end)

  it("are an answer where they tell of such a thing", function()
    for _, text in ipairs { "", "I saw API Error: 529 in the log and retried.", "You've hit your stride.", "The usage limit is 5.",
      "API Error: 529 " .. ("is explained at length. "):rep(60), "Upload limit reached: I raised it." } do
      assert.is_false(condition.is_told(text), text:sub(1, 40))
    end
  end)

  it("are one that may be better the next time where its connection was cut", function()
    for _, text in ipairs { "[API Error: terminated]", "TypeError: fetch failed", "Error: socket hang up" } do
      assert.equal("transient", condition.told(text, nil, false).class, text)
    end
    assert.equal("permanent", condition.told("the agent was terminated", nil, false).class)
  end)
end)
