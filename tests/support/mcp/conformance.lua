-- conformance.lua: the client that the official conformance suite is run against: the skill that fits its scenario, for
-- the server whose URL stands last on the command line.
local skillrt = require "skillrt"

local scenario = os.getenv "MCP_CONFORMANCE_SCENARIO"
local context = skillrt.json.decode(os.getenv "MCP_CONFORMANCE_CONTEXT" or "{}")

local ASKED <const> = {
  initialize = { "no_such_tool", {} },
  tools_call = { "add_numbers", { a = 5, b = 3 } },
  ["sse-retry"] = { "test_reconnection", {} },
  ["elicitation-sep1034-client-defaults"] = { "test_client_elicitation_defaults", {} },
}

-- What is declared of who we are.
local OAUTH <const> = {
  ["auth/basic-cimd"] = { client_id = "https://conformance-test.local/client-metadata.json" },
  ["auth/pre-registration"] = { client_id = context.client_id, client_secret = context.client_secret },
  ["auth/client-credentials-basic"] = { client_id = context.client_id, client_secret = context.client_secret,
    grant = "client_credentials" },
}

return skillrt.skill {
  name = "conformance",
  limits = { max_retries = 0, max_errors = 1 },
  mcp = { suite = { url = arg[#arg], timeout = 20, oauth = OAUTH[scenario] } },
  actions = { { id = "ask", run = function(_, ctx)
    local what = scenario:find "^auth/" and { "test-tool", {} } or ASKED[scenario]
    assert(what, "the scenario is not known here: " .. tostring(scenario))
    if scenario:find "^auth/" then
      ctx.mcp("suite"):tools()
    end
    local text, message = ctx.tool("mcp__suite__" .. what[1], what[2])
    return { text = text or message }
  end } },
}
