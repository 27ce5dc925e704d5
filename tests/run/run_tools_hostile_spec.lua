-- run_tools_hostile_spec.lua: a model server that misbehaves in a tool loop: dies in the middle of a call, floods,
-- never comes to an end, never answers. No tool is used for half a call, none twice, and every talk ends.
local P = require "tests.support.providers"
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local wires = require "tests.support.wires"

local server, used

local function raw(reply, more)
  return R.raw(P.bytes(reply), more)
end

local TOOLS <const> = {
  note = { description = "x", input = { type = "object" }, acts = true, run = function(input)
    used[#used + 1] = input.n
    return "noted " .. json.encode(input.n)
  end },
  same = { description = "x", input = { type = "object" }, run = function(input)
    used[#used + 1] = input.n
    return "as before"
  end },
}

local function run(wire, plan, more, retries)
  used = {}
  server.plan(table.concat(plan, "\n") .. "\n")
  local dir = R.folder() .. "/run"
  return assert(R.run({ tools = TOOLS, agents = { model = wire.agent(server.url .. "/plan", more) },
    actions = { { id = "a", agent = "model", prompt = "do it well", max_retries = retries } },
    limits = { max_errors = 1, max_retries = retries } }, { work_dir = dir })), dir
end

describe("a model server that misbehaves in a tool loop", function()
  before_each(function() server = R.server "/echo\n" end)
  after_each(function()
    require("skillrt.agent.gate").forget()
    server.stop()
    R.clean()
  end)

  for name, wire in pairs(wires.of) do
    it("dies anywhere in a reply that calls tools, over " .. name .. ": none is used for it, each once for the whole one", function()
      local reply = wire.asks { { id = "a", name = "note", input = { n = 1 } }, { id = "b", name = "note", input = { n = 2 } } }
      local length, plan = #P.bytes(reply), {}
      for i = 0, 11 do
        plan[#plan + 1] = raw(reply, ("&cut=%d%s"):format(i * length // 12, i % 2 == 0 and "&end=reset" or ""))
      end
      plan[#plan + 1] = raw(reply)
      local second = wire.asks { { id = "c", name = "note", input = { n = 3 } } }
      plan[#plan + 1] = raw(second, "&cut=" .. #P.bytes(second) - 30)
      plan[#plan + 1], plan[#plan + 2] = raw(second), raw(wire.says(wires.GOOD))
      local result, dir = run(wire, plan, nil, 20)
      assert.equal("completed", result.status, result.message)
      assert.same({ 1, 2, 3 }, used)
      assert.equal(16, #server.log())
      assert.equal(3, #R.records(dir, "tool"))
    end)

    it("calls more tools at once than a talk may use, over " .. name .. ": so many are, all are answered", function()
      local calls = {}
      for i = 1, 300 do calls[i] = { id = "c" .. i, name = i % 50 == 0 and "nowhere" or "note", input = { n = i } } end
      local result = run(wire, { raw(wire.asks(calls)), raw(wire.says(wires.GOOD)) }, { max_tool_calls = 20 })
      assert.equal("completed", result.status, result.message)
      assert.equal(20, #used)
      local results = wire.results(select(2, server.request(2)))
      assert.equal(300, #results)
      assert.matches("max_tool_calls", results[21][2])
      assert.matches("there is no tool", results[50][2])
    end)

    it("goes on for ever over " .. name .. ": by other arguments each time, by two calls in turn, to nowhere, with nothing", function()
      local function endless(make, count)
        local plan = {}
        for i = 1, count do plan[i] = raw(make(i)) end
        return plan
      end
      for text, plan in pairs {
        ["max_turns"] = endless(function(i) return wire.asks { { id = "c" .. i, name = "note", input = { n = i } } } end, 12),
        ["max_repeats"] = endless(function(i) return wire.asks { { id = "c" .. i, name = "same", input = { n = i % 2 } } } end, 12),
        ["max_repeats%)"] = endless(function(i) return wire.asks { { id = "c" .. i, name = "nowhere", input = {} } } end, 12),
        ["asked to write its answer again"] = endless(function() return wire.says "" end, 12),
      } do
        local before = #server.log()
        local result, dir = run(wire, { ("/status/500\n"):rep(before) .. table.concat(plan, "\n") }, { max_turns = 10, max_repeats = 3 })
        assert.equal("failed", result.status)
        local said = { result.message }
        for i, note in ipairs(R.records(dir, "note")) do said[i + 1] = note.text end
        assert.matches(text, table.concat(said, "\n"))
        assert.is_true(#server.log() - before <= 10)
      end
    end)
  end

  it("never answers, answers with more than may be, or with what is no end: the run ends, and no tool was used", function()
    local wire = wires.of.anthropic
    local flood = wire.asks { { id = "a", name = "note", input = { n = ("x"):rep(1 << 20) } } }
    for _, case in ipairs {
      { "/silence", { timeout = 0.2 }, "transient" }, { "/stall", { stall = 1 }, "transient" },
      { raw(flood), { max_reply = 1 << 19 }, "permanent" }, { "/trickle?count=10000&ms=1", { timeout = 0.3 }, "transient" },
      { "/garbage", {}, "transient" }, { "/nothing", {}, "transient" }, { "/sse-cut", {}, "transient" },
    } do
      local before = #server.log()
      local result = run(wire, { ("/status/500\n"):rep(before) .. case[1] }, case[2],
        0)
      assert.is_true(result.status == "failed" or result.status == "paused", result.status)
      assert.same({}, used, case[1])
    end
  end)

  it("says an argument that is deep, long, or no JSON: the model is told, or the tool gets it as it is", function()
    local wire = wires.of.chat
    local deep = ("[")
    deep = '{"n":' .. deep:rep(5000) .. ("]"):rep(5000) .. "}"
    local texts = { deep, '{"n":"' .. ("y"):rep(1 << 20) .. '"}', '{"n":1}{"n":2}', '{"n":1e999}', '{"n":NaN}', '{"n":1,"n":2}', "[1]", "7",
      "null", '"x"', "{", '{"n":"\\ud800"}', "" }
    local list = {}
    for i, text in ipairs(texts) do list[i] = { id = "c" .. i, name = "note", arguments = text } end
    local result = run(wire, { raw(P.chat("", list)), raw(wire.says(wires.GOOD)) })
    assert.equal("completed", result.status, result.message)
    local results = wire.results(select(2, server.request(2)))
    assert.equal(#texts, #results)
    assert.equal(2, #used)
    assert.equal(1 << 20, #used[1])
    assert.equal("\u{FFFD}", used[2]) -- of half a surrogate pair
  end)

  it("gives arguments that are no text: an object is what it is, all else is told to the model and runs nothing", function()
    local wire = wires.of.chat
    for _, given in ipairs { 7, true, json.array { 1 }, json.array {}, { n = 5 } } do
      local events = P.chat_events("", { { id = "c1", name = "note", arguments = "{}" } })
      for _, event in ipairs(events) do
        local delta = type(event) == "table" and event.choices[1] and event.choices[1].delta
        for _, call in ipairs(delta and delta.tool_calls or {}) do
          call["function"].arguments = call.id and given or json.null
        end
      end
      local before = #server.log()
      local result = run(wire, { ("/status/500\n"):rep(before) .. raw(P.as_stream(events)), raw(wire.says(wires.GOOD)) })
      assert.equal("completed", result.status, result.message)
      local told = wire.results(select(2, server.request(before + 2)))[1][2]
      if type(given) == "table" and given.n then
        assert.same({ "noted 5", { 5 } }, { told, used })
      else
        assert.matches("not a JSON object", told)
        assert.same({}, used)
      end
    end
  end)
end)
