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

  it("and codex are shown to people who watch by their words and their commands", function()
    local codex = require "skillrt.agent.kind.codex"
    assert.same({ "Hi", "write_file" }, { gemini.show(said "Hi"), gemini.show(TOOL) })
    assert.is_nil(gemini.show { type = "message", role = "user", content = "the task" })
    local function item(event, kind, field)
      return codex.show { type = event, item = { type = kind, [field] = "x" } }
    end
    assert.same({ "x", "x", "x", "x" }, { codex.show { type = "error", message = "x" },
      item("item.started", "command_execution", "command"), item("item.completed", "agent_message", "text"),
      item("item.completed", "reasoning", "text") })
    assert.is_nil(item("item.completed", "command_execution", "command"))
    assert.is_nil(codex.show { type = "turn.started" })
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
