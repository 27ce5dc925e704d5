-- real_agents_spec.lua: Claude Code, Codex and Gemini CLI themselves, against a server on loopback with a key that is none. Runs
-- where `make test-agents` has installed them (SKILLRT_REAL_AGENTS names the folder); elsewhere recorded events stand
-- in for them (run_coding_spec.lua).
local json = require "skillrt.base.json"
local P = require "tests.support.providers"
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local folder = os.getenv "SKILLRT_REAL_AGENTS"
local getenv = os.getenv
local ENV, server

local function program(name)
  return folder .. "/node_modules/.bin/" .. name
end

-- The server answers every request so.
local function answers(reply)
  local path = R.folder() .. "/reply"
  R.write(path, P.bytes(reply))
  server = R.server(("/raw?file=%s\n"):format(path))
end

local function run(agent)
  local dir = R.folder() .. "/run"
  local result = assert(R.run({ mode = "sequential", agents = { coder = agent },
    phases = { { id = "a", agent = "coder", prompt = "Say hello.", answer = "text", output_free = true } },
    limits = { max_errors = 1, max_retries = 0 } }, { work_dir = dir }))
  return result, dir
end

-- Of the requests that the server got: the bodies of those for a model.
local function bodies()
  local list = {}
  for i = 1, #server.log() do
    local head, body = server.request(i)
    if head:find "^POST [^\n]*/messages" or head:find "^POST [^\n]*/responses" then
      list[#list + 1] = json.encode(body)
    end
  end
  return list
end

-- A reply of the Responses API.
local function of_responses()
  local item = { type = "message", id = "m1", role = "assistant", status = "completed",
    content = { { type = "output_text", text = "Hello from the server.", annotations = json.array {} } } }
  return P.as_stream({ { type = "response.created", response = { id = "r1" } },
    { type = "response.output_item.done", output_index = 0, item = item },
    { type = "response.completed", response = { id = "r1", status = "completed", output = { item },
      usage = { input_tokens = 10, input_tokens_details = { cached_tokens = 2 }, output_tokens = 5,
        output_tokens_details = { reasoning_tokens = 0 }, total_tokens = 15 } } } }, true)
end

if not folder then
  describe("real coding agents", function()
    it("are tried by make test-agents", function() end)
  end)
  return
end

describe("a real coding agent", function()
  before_each(function()
    ENV = { HOME = R.folder(), ANTHROPIC_API_KEY = "sk-dummy-key-1", CODEX_API_KEY = "sk-dummy-key-2",
      CLAUDE_CODE_MAX_RETRIES = "0" }
    os.getenv = function(name) return ENV[name] or getenv(name) end -- luacheck: ignore
  end)
  after_each(function()
    os.getenv = getenv -- luacheck: ignore
    if server then server.stop() end
    server = nil
    R.clean()
  end)

  it("(Claude Code) does a task, and is told it on standard input", function()
    answers(P.anthropic "Hello from the server.")
    ENV.ANTHROPIC_BASE_URL = server.url .. "/plan"
    local result, dir = run(skillrt.agent.claude { program = program "claude" })
    assert.equal("completed", result.status, result.message)
    assert.equal("Hello from the server.", result.state.outputs.a)
    assert.truthy(table.concat(bodies()):find("Say hello.", 1, true))
    assert.is_true(R.records(dir, "used")[1].used.output_tokens > 0)
    assert.equal("", io.popen(("grep -rl 'sk-dummy' '%s'"):format(dir)):read "a")
  end)

  it("(Claude Code) that gets no answer says why", function()
    for code, class in pairs { [401] = "permanent", [429] = "rate_limit", [529] = "rate_limit" } do
      answers({ status = code, extra = "content-type: application/json\n",
        body = '{"type":"error","error":{"type":"x","message":"the message"}}' })
      ENV.ANTHROPIC_BASE_URL = server.url .. "/plan"
      local result, dir = run(skillrt.agent.claude { program = program "claude" })
      assert.equal("failed", result.status)
      assert.equal(class, R.records(dir, "fail")[1].class, code)
      assert.matches("the message", R.records(dir, "fail")[1].message)
      server.stop()
      server = nil
    end
  end)

  it("(Codex) does a task, and is told it on standard input", function()
    answers(of_responses())
    ENV.OPENAI_BASE_URL = server.url .. "/plan/v1"
    local result = run(skillrt.agent.codex { program = program "codex" })
    assert.equal("completed", result.status, result.message)
    assert.equal("Hello from the server.", result.state.outputs.a)
    assert.truthy(table.concat(bodies()):find("Say hello.", 1, true))
  end)

  -- In the sandbox that an agent has which a word or a document chooses; its home lies where a sandbox shows it.
  local function in_sandbox(definition, word)
    ENV.HOME = R.kept_folder()
    definition.program = program(definition.kind)
    local result, dir = run(definition)
    assert.equal("completed", result.status, result.message)
    assert.equal("Hello from the server.", result.state.outputs.a)
    assert.matches("^work ", R.records(dir, "call")[1].sandbox)
    assert.truthy(table.concat(bodies()):find("Say hello.", 1, true))
    assert.truthy(io.popen(("find '%s/%s' -name '*.jsonl'"):format(ENV.HOME, word)):read "l") -- its session
  end

  it("(Claude Code) does a task in its sandbox, whose network is the server alone", function()
    answers(P.anthropic "Hello from the server.")
    ENV.ANTHROPIC_BASE_URL = server.url .. "/plan"
    in_sandbox({ kind = "claude" }, ".claude/projects")
  end)

  it("(Codex) that has no sandbox of its own does a task in ours", function()
    answers(of_responses())
    ENV.OPENAI_BASE_URL = server.url .. "/plan/v1"
    in_sandbox({ kind = "codex", permission = "danger-full-access" }, ".codex/sessions")
  end)

  it("(Gemini CLI) does a task in its sandbox", function()
    answers(P.as_stream({ { candidates = { { content = { role = "model", parts = { { text = "Hello from the server." } } },
      finishReason = "STOP" } }, usageMetadata = { promptTokenCount = 10, candidatesTokenCount = 5, totalTokenCount = 15 } } }))
    ENV.HOME = R.kept_folder()
    assert(os.execute(("mkdir -p '%s/.gemini'"):format(ENV.HOME)))
    R.write(ENV.HOME .. "/.gemini/settings.json", '{"security":{"auth":{"selectedType":"gemini-api-key"}}}')
    ENV.GEMINI_API_KEY, ENV.GOOGLE_GEMINI_BASE_URL = "dummy-key-3-of-tests", server.url .. "/plan"
    ENV.GEMINI_CLI_TRUST_WORKSPACE = "true"
    local result, dir = run { kind = "gemini", program = program "gemini", model = "gemini-2.5-flash" }
    assert.equal("completed", result.status, result.message)
    assert.matches("^work ", R.records(dir, "call")[1].sandbox)
  end)

  -- Gemini CLI with a key, against the server.
  local function gemini()
    ENV.HOME = R.folder()
    assert(os.execute(("mkdir -p '%s/.gemini'"):format(ENV.HOME)))
    R.write(ENV.HOME .. "/.gemini/settings.json", '{"security":{"auth":{"selectedType":"gemini-api-key"}}}')
    ENV.GEMINI_API_KEY, ENV.GOOGLE_GEMINI_BASE_URL = "dummy-key-3-of-tests", server.url .. "/plan"
    return skillrt.agent.gemini { program = program "gemini", model = "gemini-2.5-flash" }
  end

  it("(Gemini CLI) does a task, and is told it on standard input", function()
    answers(P.as_stream({ { candidates = { { content = { role = "model", parts = { { text = "Hello from the server." } } },
      finishReason = "STOP" } }, usageMetadata = { promptTokenCount = 10, candidatesTokenCount = 5, totalTokenCount = 15 } } }))
    local agent = gemini()
    local result, dir = run(agent)
    assert.equal("failed", result.status) -- it does not know the folder
    assert.matches("does not trust this folder", R.records(dir, "fail")[1].message)
    ENV.GEMINI_CLI_TRUST_WORKSPACE = "true"
    result, dir = run(agent)
    assert.equal("completed", result.status, result.message)
    assert.equal("Hello from the server.", result.state.outputs.a)
    assert.same({ tokens = 15, input_tokens = 10, output_tokens = 5 }, R.records(dir, "used")[1].used)
    local _, body = server.request(#server.log())
    assert.truthy(json.encode(body):find("Say hello.", 1, true))
    assert.equal("", io.popen(("grep -rl 'dummy-key-3' '%s'"):format(dir)):read "a")
  end)

  it("(Gemini CLI) that is refused says why", function()
    answers({ status = 401, extra = "content-type: application/json\n",
      body = '{"error":{"code":401,"message":"the message","status":"UNAUTHENTICATED"}}' })
    ENV.GEMINI_CLI_TRUST_WORKSPACE = "true"
    local result, dir = run(gemini())
    assert.equal("failed", result.status)
    assert.equal("permanent", R.records(dir, "fail")[1].class)
    assert.matches("the message", R.records(dir, "fail")[1].message)
  end)

  -- An agent of a workflow script; what a model was asked.
  local function in_script(agent, options)
    local dir = R.folder()
    R.write(dir .. "/tried.js", "export const meta = { name: 'tried', description: 'd' }\nreturn await agent('Say hello.', "
      .. options .. ")")
    local result = assert(assert(skillrt.load(dir .. "/tried.js", { agent = agent })):run { work_dir = dir .. "/run" })
    assert.same({ "completed", "Hello from the server." }, { result.status, result.state.result }, result.message)
    return table.concat(bodies(), "\n")
  end

  it("performs an agent of a workflow script by the model that its word means, told that its last message counts", function()
    answers(P.anthropic "Hello from the server.")
    ENV.ANTHROPIC_BASE_URL = server.url .. "/plan"
    local asked = in_script({ kind = "claude", program = program "claude" }, "{ model: 'haiku', agentType: 'Explore' }")
    assert.matches('"model":"claude%-haiku', asked)
    assert.matches("Only read: change nothing.*Your last message is what you return.*Say hello", asked)
    server.stop()
    answers(of_responses())
    ENV.OPENAI_BASE_URL = server.url .. "/plan/v1"
    asked = in_script({ kind = "codex", program = program "codex" }, "{ model: 'haiku' }")
    assert.matches('"model":"gpt%-5.1%-codex%-mini"', asked)
  end)
end)
