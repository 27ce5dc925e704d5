-- gemini_spec.lua: what the events of gemini mean.
require "tests.support.json_shim"
local condition = require "skillrt.agent.condition"
local gemini = require "skillrt.agent.kind.gemini"

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
    local function told(events)
      local out = gemini.read(events, "", 1)
      local failure = condition.told(out.problem, out.code, out.acted or false)
      return { failure.class, failure.executed }
    end
    assert.same({ "rate_limit", "no" }, told { INIT, said "Let me see.", BUSY })
    assert.same({ "rate_limit", "perhaps" }, told { INIT, TOOL, BUSY })
  end)
end)
