-- odd_replies_spec.lua: replies of models that are not what they should be: events lost, doubled, mixed up, fields of
-- other types, indexes from nowhere. A reply is read or it is broken; nothing raises, nothing takes long.
require "tests.support.json_shim"
local P = require "tests.support.providers"
local agents = require "skillrt.agent"
local json = require "skillrt.base.json"
local fake = require "tests.support.fake_ctx"
local tool = require "skillrt.tool"

local function use(id, name, input)
  return { type = "tool_use", id = id, name = name, input = input }
end

local KINDS <const> = {
  anthropic = { agent = assert(agents.check({ kind = "anthropic", url = "http://x" }, "t")),
    events = function()
      return P.anthropic_events({ { type = "text", text = "I add them" }, use("i1", "add", { a = 1, b = 2 }),
        use("i2", "add", { a = 3, b = 4 }) }, { stop_reason = "tool_use" })
    end },
  chat = { agent = assert(agents.check({ kind = "openai", url = "http://x" }, "t")), events = function()
    return P.chat_events("I add them", { { id = "i1", name = "add", arguments = '{"a":1,"b":2}' },
      { id = "i2", name = "add", arguments = '{"a":3,"b":4}' } })
  end },
  responses = { agent = assert(agents.check({ kind = "openai", api = "responses", url = "http://x" }, "t")),
    events = function()
      return { { type = "response.created", response = { id = "r" } }, { type = "response.completed", response = {
        id = "r", object = "response", status = "completed", error = json.null, output = json.array {
          { type = "function_call", id = "f1", call_id = "i1", name = "add", arguments = '{"a":1,"b":2}' },
          { type = "function_call", id = "f2", call_id = "i2", name = "add", arguments = '{"a":3,"b":4}' } } } } }
    end },
}

local ODD <const> = { json.null, false, true, 0, -1, 1 << 40, 0.5, "", "x", "\0", "{}", ("y"):rep(5000), json.array {}, {},
  json.array { 1 }, { a = 1 } }

local function copy(value)
  if type(value) ~= "table" then return value end
  local out = json.is_array(value) and json.array {} or {}
  for key, inner in pairs(value) do out[key] = copy(inner) end
  return out
end

-- A place in a value: its table and its key.
local function place(value, random)
  local at, key = nil, nil
  while type(value) == "table" and next(value) ~= nil do
    local keys = {}
    for name in pairs(value) do keys[#keys + 1] = name end
    table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
    at, key = value, keys[random(#keys)]
    value = at[key]
    if random(3) == 1 then break end
  end
  return at, key
end

-- What may go wrong with a list of events.
local HARMS <const> = {
  function(events, random) table.remove(events, random(#events)) end,
  function(events, random) table.insert(events, random(#events), events[random(#events)]) end,
  function(events, random)
    local i, k = random(#events), random(#events)
    events[i], events[k] = events[k], events[i]
  end,
  function(events, random)
    local at, key = place(events[random(#events)], random)
    if at then at[key] = ODD[random(#ODD)] end
  end,
  function(events, random)
    local at, key = place(events[random(#events)], random)
    if at then at[key] = nil end
  end,
}

local function harmed(events, random)
  for _ = 1, random(3) do
    if #events > 0 then HARMS[random(#HARMS)](events, random) end
  end
  local out = {}
  for i, event in ipairs(events) do
    out[i] = type(event) == "table" and json.encode(event) and event or type(event) == "string" and event or "{}"
  end
  return out
end

-- Numbers below a bound, the same each time.
local function drawing(seed)
  return function(below)
    seed = (seed * 1103515245 + 12345) & 0x7fffffff
    return (seed >> 8) % below + 1
  end
end

describe("an odd reply of a model that calls tools", function()
  for name, kind in pairs(KINDS) do
    it("over " .. name .. " is read or is broken; no tool runs with other arguments than it was declared for", function()
      local ran, read = 0, 0
      local add = assert(tool.check("add", { description = "Adds", input = { type = "object",
        properties = { a = { type = "number" }, b = { type = "number" } }, required = { "a", "b" } },
        run = function(input)
          assert(math.type(input.a) and math.type(input.b))
          ran = ran + 1
          return input.a + input.b
        end }, "t"))
      local begun = os.clock()
      for seed = 1, 400 do
        local events = harmed(copy(kind.events()), drawing(seed))
        local reply = P.as_stream(events)
        local outcome, message, _, ctx = fake.perform(kind.agent, { reply, { status = "canceled" } },
          { own_tools = { add = add } })
        assert.is_nil(outcome, seed)
        assert.is_string(message)
        read = read + (ctx.asked[2] and 1 or 0)
        for _, given in ipairs(ctx.asked) do
          assert(json.decode(given.body), "the talk is no JSON any more")
        end
      end
      assert.is_true(os.clock() - begun < 6)
      assert.is_true(ran > 40 and read > 40 and read < 400, ("%d uses in %d replies"):format(ran, read))
    end)
  end

  it("is broken where parts of it are of another kind, in whatever form it comes", function()
    local odd = { 5, true, json.null, "x", json.array { 5 }, json.array { true }, json.array { json.null }, json.array { {} },
      json.array { { ["function"] = 5 } }, json.array { { ["function"] = true } }, json.array { { type = "function_call" } },
      json.array { { type = "function_call", name = 5, arguments = true, call_id = {} } }, json.array { { type = "message",
      content = json.array { 5 } } }, json.array { { type = "tool_use" } }, json.array { { type = "tool_use", name = {},
      input = 5 } } }
    for _, value in ipairs(odd) do
      for name, reply in pairs {
        chat = P.as_stream { { choices = json.array { { delta = { tool_calls = value }, finish_reason = "tool_calls" } } } },
        responses = P.as_json { id = "r", status = "completed", error = json.null, output = value },
        anthropic = P.as_json { type = "message", role = "assistant", stop_reason = "tool_use", content = value },
      } do
        local answer, failure = KINDS[name].agent.wire.read(reply)
        assert.is_true(type(answer) == "table" or type(failure.message) == "string")
        local whole = P.as_json { choices = json.array { { message = { tool_calls = value }, finish_reason = "tool_calls" } } }
        assert.is_true(pcall(KINDS.chat.agent.wire.read, whole))
        if answer then KINDS[name].agent:talk():name_calls(answer.calls) end
      end
    end
  end)

  it("has its calls in their order, however far apart their indexes are", function()
    local function piece(index, call_name) return { choices = json.array { { index = 0, delta = { tool_calls = json.array {
      { index = index, id = call_name, type = "function", ["function"] = { name = call_name, arguments = "{}" } } } } } } } end
    local events = { piece(1 << 50, "last"), piece(3, "second"), piece(-7, "first"), { choices = json.array {
      { index = 0, delta = {}, finish_reason = "tool_calls" } } }, "[DONE]" }
    local begun = os.clock()
    local reply = assert(KINDS.chat.agent.wire.read(P.as_stream(events)))
    assert.is_true(os.clock() - begun < 5)
    assert.same({ "first", "second", "last" }, { reply.calls[1].name, reply.calls[2].name, reply.calls[3].name })
    assert.equal(3, #reply.content[1].tool_calls)
  end)

  it("has names that may be sent back, each another id, whatever it said", function()
    local talk = KINDS.anthropic.agent:talk()
    local calls, seen = {}, {}
    for i, id in ipairs { "a", "a", "", "a b", ("n"):rep(200), 7, json.null, "a_2", "call_3", "a" } do
      calls[i] = { id = id, name = i % 2 == 0 and ("\0é"):rep(50) or i, rename = function(to, as)
        assert.is_nil(seen[to])
        assert.matches("^[%w_-]+$", as)
        seen[to] = true
      end }
    end
    talk:name_calls(calls)
    talk:name_calls(calls)
    for length = 64, 65 do -- the longest that providers take
      local call = { id = ("i"):rep(length), name = "x", rename = function() end }
      talk:name_calls { call }
      assert.equal(length == 64, call.id == ("i"):rep(length))
    end
  end)
end)
