-- base_sse_spec.lua: server-sent events for Lua, by the transport's own parser.
local sse = require "skillrt.base.sse"

local function text_of(body)
  local list, cut = sse.events(body)
  local parts = {}
  for i, event in ipairs(list) do
    parts[i] = ("%s|%s|%s"):format(event.event, event.data, event.id)
  end
  return table.concat(parts, ";"), cut
end

describe("events", function()
  for body, wanted in pairs {
    ["data: a\n\n"] = "message|a|",
    ["\239\187\191data: a\n\n"] = "message|a|",
    ["event: x\nid: 7\ndata: a\ndata:b\n\ndata: c\r\r"] = "x|a\nb|7;message|c|7",
    ["event: x\r\ndata: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n"] = "x|a\nb|;message|c|",
    ["data\n\n"] = "message||",
    [": ping\n\n"] = "",
    [""] = "",
    ["data: a\0b\n\n"] = "message|a\0b|",
    ["data: \255\n\n"] = "message|\255|",
  } do
    it(("are what stands in %q"):format(body), function()
      assert.same({ wanted, false }, { text_of(body) })
    end)
  end

  it("are not told when the body ends inside one", function()
    assert.same({ "message|a|", true }, { text_of("data: a\n\ndata: b\n") })
    assert.same({ "message|a|", true }, { text_of("data: a\n\nda") })
  end)

  it("have a limit", function()
    local list, message, code = sse.events(("data\n\n"):rep(200001))
    assert.same({ nil, "event stream: more than 200000 events", "limit" }, { list, message, code })
    assert.equal(200000, #sse.events(("data\n\n"):rep(200000)))
  end)

  it("raise where memory is short, as that says nothing about the body", function()
    local core = require "skillrt.core"
    local real = core.sse
    core.sse = function() return nil, "event stream: out of memory", "memory" end
    local ok, problem = pcall(sse.events, "data: a\n\n")
    core.sse = real
    assert.same({ false, { message = "event stream: out of memory", code = "memory" } }, { ok, problem })
  end)

  it("need a text", function()
    assert.has_error(function() sse.events({}) end)
  end)
end)
