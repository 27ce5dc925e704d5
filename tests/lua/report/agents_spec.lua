-- agents_spec.lua: a line for each agent of a run, made of its records.
local agents_of = require "skillrt.report.agents"

local function call(place, more)
  local record = { t = "call", step = 1, c = place, kind = "http", to = "api.example", label = "judge", at = 1000 }
  for key, value in pairs(more or {}) do record[key] = value end
  return record
end

local function told(...)
  local agents = agents_of.new()
  for _, record in ipairs { ... } do
    record.step = 1
    agents:take(record)
  end
  return agents
end

local function lines(agents)
  local list = {}
  for i, row in ipairs(agents:rows(1, 4000)) do list[i] = row[2] end
  return list
end

describe("the lines of agents", function()
  it("say label, model, tokens, money, seconds, and the last words", function()
    local agents = told(call("1./1.1", { model = "opus" }), { t = "used", c = "1./1.1", used = { tokens = 900, dollars = 0.5 } },
      { t = "result", c = "1./1.1" }, call("1./1.2", { model = "opus", at = 2000 }),
      { t = "used", c = "1./1.2", used = { tokens = 700, dollars = 0.25 } })
    table.insert(agents:said(1, "1./1.2"), "looking")
    assert.same({ "  * judge  opus  1.6k tokens  $0.75  3.0 s  looking" }, lines(agents))
    assert.equal("agents: 1 working, 0 done, 0 failed", agents:count())
  end)

  it("are there while a model uses a tool, and gone when it has answered", function()
    local agents = told(call "1./1.1", { t = "result", c = "1./1.1" }, { t = "tool", c = "1./1.2", name = "grep" })
    assert.same({ "  * judge  api.example  3.0 s  grep" }, lines(agents))
    agents:take({ t = "result", step = 1, c = "1./1.2" })
    assert.equal(1, #lines(agents))
    agents:take(call "1./1.3")
    agents:take({ t = "result", step = 1, c = "1./1.3" })
    assert.same({}, lines(agents))
    assert.equal("agents: 0 working, 1 done, 0 failed", agents:count())
  end)

  it("say that one failed, behind those that work", function()
    local agents = told(call("1./a.1", { label = "a" }), call("1./b.1", { label = "b" }), { t = "result", c = "1./a.1" },
      { t = "note", c = "1./a.1", failed = true, text = "agent a failed: no" })
    assert.same({ "  * b  api.example  3.0 s", "  x agent a failed: no" }, lines(agents))
  end)

  it("are none where no agent was asked", function()
    local agents = told({ t = "call", c = "1", kind = "command", to = "sh", at = 1 }, { t = "result", c = "1" })
    assert.is_nil(agents:count())
    assert.is_nil(agents:said(1, "1"))
  end)
end)
