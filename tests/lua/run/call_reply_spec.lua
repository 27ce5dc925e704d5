-- call_reply_spec.lua: replies before they are kept: without the secrets of their request, and what looks like a key.
local reply_of = require "skillrt.run.call.reply"

describe("a reply that is kept", function()
  it("has no secret of its request, and no known key", function()
    local key = "sk-ant-" .. ("a1"):rep(20)
    local reply = reply_of.clean({ body = "key a-longer-secret and " .. key, extra = "x: a-longer-secret", message = "" },
      { "a-longer-secret" })
    assert.same({ "key {key} and {key}", "x: {key}", "" }, { reply.body, reply.extra, reply.message })
  end)

  it("keeps words that servers of one's own are given for a key: none, EMPTY, ollama", function()
    for _, word in ipairs { "none", "EMPTY", "ollama", "k" } do
      local body = ('{"tool_calls":"%s","kind":"k"}'):format(word)
      assert.equal(body, reply_of.clean({ body = body }, { word }).body)
    end
  end)
end)
