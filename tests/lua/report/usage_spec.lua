-- usage_spec.lua: what agents used, in words for people.
local usage = require "skillrt.report.usage"

describe("what agents used", function()
  it("is a line for each phase, in their order, and one for all where there are several", function()
    assert.same({ "Scan: 1 agent, 1200 output tokens, $0.0300", "no phase: 2 agents, 7 output tokens",
      "total: 3 agents, 1207 output tokens, $0.0300" }, usage.by_phase { { phase = "Scan", output_tokens = 1200, dollars = 0.03 },
      { output_tokens = 7 }, {} })
    assert.same({ "a\\x1Bb: 1 agent, 0.5 output tokens" }, usage.by_phase { { phase = "a\27b", output_tokens = 0.5 } })
    assert.same({}, usage.by_phase {})
  end)

  it("is what is left of a limit, with its unit", function()
    assert.same({ "calls 12 of 50", "run_timeout 3.2 of 60 s", "usage.tokens 7" }, usage.words { { limit = "calls", used = 12,
      most = 50 }, { limit = "run_timeout", used = 3.2, most = 60 }, { limit = "usage.tokens", used = 7.0 } })
  end)
end)
