-- conformance.lua: the client that the official conformance suite is run against: the skill that fits its scenario, for
-- the server whose URL stands last on the command line.
local skillrt = require "skillrt"

local scenario = os.getenv "MCP_CONFORMANCE_SCENARIO"

local ASKED <const> = {
  initialize = { "no_such_tool", {} },
  tools_call = { "add_numbers", { a = 5, b = 3 } },
  ["sse-retry"] = { "test_reconnection", {} },
  ["elicitation-sep1034-client-defaults"] = { "test_client_elicitation_defaults", {} },
}

return skillrt.skill {
  name = "conformance",
  limits = { max_retries = 0, max_errors = 1 },
  mcp = { suite = { url = arg[#arg], timeout = 20 } },
  actions = { { id = "ask", run = function(_, ctx)
    local what = assert(ASKED[scenario], "the scenario is not known here: " .. tostring(scenario))
    local text, message = ctx.tool("mcp__suite__" .. what[1], what[2])
    return { text = text or message }
  end } },
}
