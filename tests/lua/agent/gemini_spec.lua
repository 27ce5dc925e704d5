-- gemini_spec.lua: what the events of gemini mean.
require "tests.support.json_shim"
local gemini = require "skillrt.agent.gemini"

local INIT = { type = "init", session_id = "s1" }
local TOOL = { type = "tool_use", tool_name = "write_file" }
local BUSY = { type = "result", status = "error", error = { type = "ApiError", message = "status 429: quota" } }

local function said(text, delta)
  return { type = "message", role = "assistant", content = text, delta = delta }
end

describe("gemini", function()
  it("answers with what it says behind its last tool", function()
    local out = gemini.read({ INIT, said("I look.", true), TOOL, said("It ", true), said("is done.", true),
      { type = "result", status = "success", stats = {} } }, "", 0)
    assert.same({ "s1", "It is done." }, { out.session, out.text })
  end)

  it("that was refused for its rate may be asked again where it did nothing, and not where it acted", function()
    local before = gemini.read({ INIT, said "Let me see.", BUSY }, "", 1).failure
    assert.same({ "rate_limit", "no" }, { before.class, before.executed })
    local behind = gemini.read({ INIT, TOOL, BUSY }, "", 1).failure
    assert.same({ "rate_limit", "answered" }, { behind.class, behind.executed })
  end)
end)
