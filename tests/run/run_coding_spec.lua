-- run_coding_spec.lua: coding agents, played by programs that replay recorded events: what they are given, what their
-- ends mean, and what is asked again.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"
local stand_in = require "tests.support.stand_in"

local getenv = os.getenv
local ENV

local function stream(name)
  return assert(R.read("tests/support/streams/" .. name .. ".jsonl"), name)
end

-- A run of one action by a stand-in.
local function run(kind, calls, definition, action, more)
  local program = stand_in.new(R, kind, calls)
  definition = definition or {}
  definition.program = program.path
  local dir = R.folder() .. "/run"
  local all = { mode = "sequential", agents = { coder = skillrt.agent[kind](definition) },
    phases = { { id = "a", agent = "coder", prompt = "do it well", answer = "text", output_free = true } },
    limits = { max_errors = 1, max_retries = 2 } }
  for key, value in pairs(action or {}) do all.phases[1][key] = value end
  for key, value in pairs(more or {}) do all[key] = value end
  return assert(R.run(all, { work_dir = dir, input = { task = "the task" } })), program, dir
end

local function output(result)
  return result.state.outputs and result.state.outputs.a
end

describe("a coding agent", function()
  before_each(function()
    ENV = {}
    os.getenv = function(name) -- luacheck: ignore
      local value = ENV[name]
      return value ~= nil and (value or nil) or value == nil and getenv(name) or nil
    end
  end)
  after_each(function()
    os.getenv = getenv -- luacheck: ignore
    R.clean()
  end)

  it("that is Claude Code is given its prompt on standard input, and its last words are the result", function()
    local result, program, dir = run("claude", { stream "claude_good" }, { model = "opus", permission = "plan" },
      { tools = { "Read", "Bash(git:*)" } })
    assert.equal("completed", result.status, result.message)
    assert.equal("Hello from the fake.", output(result))
    local args = program.of(1, "args")
    assert.matches("^%-p\n%-%-output%-format\nstream%-json\n%-%-verbose\n%-%-model\nopus\n%-%-permission%-mode\nplan\n", args)
    assert.matches("%-%-allowedTools\nRead,Bash%(git:%*%),Read%(/", args)
    assert.matches("do it well", program.of(1, "stdin"))
    assert.is_nil(args:find("do it well", 1, true))
    local used = R.records(dir, "used")[1].used
    assert.same({ tokens = 22, input_tokens = 15, output_tokens = 7, dollars = 0.000225 }, used)
    assert.equal(program.of(1, "stdin"), R.read(dir .. "/.prompts/1-1.md"))
  end)

  it("that is Codex or Gemini is read as well", function()
    local result, program = run("codex", { stream "codex_good" }, { model = "m" }, { tools = { "Read" } })
    assert.equal("Hello from the fake.", output(result))
    assert.matches("^exec\n%-%-json\n.*%-%-model\nm\n%-%-sandbox\nread%-only\n.*\n%-\n$", program.of(1, "args"))
    result, program = run("gemini", { stream "gemini_good" })
    assert.equal("Hello from the fake.", output(result))
    assert.matches("%-%-approval%-mode\nauto_edit", program.of(1, "args"))
  end)

  it("gets the variables it needs and no others, and its key is kept nowhere", function()
    ENV = { ANTHROPIC_API_KEY = "sk-canary-1234567", SECRET_OF_MINE = "hidden-12345678", EXTRA = "yes" }
    os.execute("true")
    local _, program, dir = run("claude", { stream "claude_good", stream "claude_good" }, { env = { "EXTRA" } })
    local env = program.of(1, "env")
    assert.matches("ANTHROPIC_API_KEY=sk%-canary", env)
    assert.matches("EXTRA=yes", env)
    assert.matches("CLAUDE_SKILL_DIR=", env)
    assert.is_nil(env:find("SECRET_OF_MINE", 1, true))
    assert.is_nil(program.of(1, "args"):find("canary", 1, true))
    assert.equal("", io.popen("grep -rl canary '" .. dir .. "'"):read "a")
  end)

  it("that shows its key has it taken out of what is kept", function()
    ENV = { ANTHROPIC_API_KEY = "sk-canary-1234567" }
    local good = stream("claude_good"):gsub("Hello from", "My key is sk-canary-1234567, hello from")
    local result, _, dir = run("claude", { good })
    assert.matches("My key is {key}, hello", output(result))
    assert.equal("", io.popen("grep -rl canary '" .. dir .. "'"):read "a")
  end)

  it("works where the run was begun", function()
    local _, program = run("claude", { stream "claude_good" })
    assert.equal(io.popen("pwd"):read "l" .. "\n", program.of(1, "cwd"))
  end)

  it("that was refused for its rate before it did anything is asked again; one that acted is a question", function()
    local result, program = run("claude", { { out = stream "claude_429", code = 1 }, stream "claude_good" })
    assert.equal("completed", result.status, result.message)
    assert.equal(2, program.calls())
    local acted = stream("claude_good"):gsub('{"type":"result".*$', "") .. stream "claude_429"
    result, program = run("claude", { { out = acted, code = 1 }, stream "claude_good" })
    assert.same({ "paused", "needs_decision" }, { result.status, result.reason }, result.message)
    assert.equal(1, program.calls())
  end)

  it("that is over its limit until a time it tells pauses the run until then (W26)", function()
    local told = '{"type":"thread.started","thread_id":"t"}\n{"type":"turn.failed","error":{"message":'
      .. '"You\'ve hit your usage limit. Upgrade or try again in 2 days 3 hours 30 minutes."}}\n'
    local result, program, dir = run("codex", { { out = told, code = 1 }, stream "codex_good" })
    assert.same({ "paused", "waiting_for_time" }, { result.status, result.reason }, result.message)
    assert.matches("usage limit", result.message)
    assert.equal(51.5 * 3600000, R.records(dir, "attempt")[1].retry)
    assert.equal(1, program.calls())
  end)

  it("fails for good where nothing helps, in its own words", function()
    for _, case in ipairs {
      { "claude", "claude_401", "Failed to authenticate. API Error: 401" },
      { "claude", "claude_max_turns", "it reached its limit of turns" },
      { "codex", "codex_401", "401 Unauthorized" },
      { "gemini", "gemini_401", "the message" },
    } do
      local result, program, dir = run(case[1], { { out = stream(case[2]), code = 1 } })
      assert.equal("failed", result.status)
      assert.equal(1, program.calls(), case[2])
      assert.equal("permanent", R.records(dir, "fail")[1].class)
      assert.matches(case[3], R.records(dir, "fail")[1].message, 1, true)
    end
  end)

  it("that ends before it begins says why, in its last words (gemini)", function()
    local result, program, dir = run("gemini", { { code = 55, err = "Warning: no colors\n\27[31mnot a trusted directory\27[0m\n" } })
    assert.equal("failed", result.status)
    assert.equal(1, program.calls())
    assert.matches("does not trust this folder.*GEMINI_CLI_TRUST_WORKSPACE=true: not a trusted directory$",
      R.records(dir, "fail")[1].message)
  end)

  it("that ended without a result, or went silent, may have acted: a question, no second call", function()
    for name, call in pairs {
      cut = { out = stream("claude_good"):gsub('{"type":"result".*$', ""), err = "out of file handles\n" },
      silent = { out = "", sleep = 5 },
    } do
      local result, program = run("claude", { call }, { stall = 0.3 })
      assert.equal("paused", result.status, name)
      assert.equal("needs_decision", result.reason, name)
      assert.equal(1, program.calls(), name)
      if name == "cut" then
        assert.matches("exited with 0, without a result: out of file handles", result.message)
      end
    end
  end)

  it("that may only read is asked again where it ended without a result: by its sandbox, its tools, its type", function()
    local cut = stream("codex_good"):match "^[^\n]*\n" -- it began
    for name, case in pairs {
      sandbox = { { permission = "read-only" } },
      tools = { {}, { tools = { "Read" } } },
    } do
      local result, program = run("codex", { cut, stream "codex_good" }, case[1], case[2])
      assert.same({ "completed", 2 }, { result.status, program.calls() }, name .. (result.message or ""))
    end
    for name, kind in pairs { Explore = "codex", Plan = "claude" } do
      local program = stand_in.new(R, kind, { kind == "codex" and cut or "", stream(kind .. "_good") })
      local result = assert(R.run({ agents = { default = skillrt.agent[kind] { program = program.path } }, actions = { { id = "a",
        run = function(_, ctx) return { said = ctx.agent("look", { agent_type = name }) } end } } }))
      assert.same({ "completed", 2 }, { result.status, program.calls() }, name .. (result.message or ""))
    end
    local result, program = run("codex", { cut, stream "codex_good" }, { permission = "workspace-write" })
    assert.same({ "needs_decision", 1 }, { result.reason, program.calls() })
    result, program = run("codex", { cut, stream "codex_good" }, { permission = "read-only" }, { idempotent = false })
    assert.same({ "needs_decision", 1 }, { result.reason, program.calls() })
  end)

  it("that only tries to reconnect is silent, and ends so (codex)", function()
    local program = stand_in.new(R, "codex", {})
    R.write(program.path, "#!/bin/sh\ncat > /dev/null\necho '{\"type\":\"thread.started\",\"thread_id\":\"t\"}'\n"
      .. "while :; do echo '{\"type\":\"error\",\"message\":\"Reconnecting... 1/5 (stream disconnected)\"}'; sleep 0.05; done\n")
    local result = assert(R.run({ mode = "sequential", phases = { { id = "a", agent = "c", prompt = "do it",
      answer = "text", output_free = true } }, limits = { max_errors = 1, max_retries = 0 },
      agents = { c = skillrt.agent.codex { program = program.path, stall = 0.4, timeout = 30 } } },
      { work_dir = R.folder() .. "/run" }))
    assert.same({ "paused", "needs_decision" }, { result.status, result.reason })
    assert.matches("silent for 400 ms, but for lines of Reconnecting", result.message)
  end)

  it("is asked for the form in its own session, and does no work again (F25)", function()
    local function says(text)
      return (stream("claude_good"):gsub('"result":"Hello from the fake."', function()
        return '"result":' .. json.encode(text)
      end))
    end
    local result, program = run("claude", { says "all done", says '{"status":"completed","output":"x"}' },
      nil, { answer = "step" })
    assert.equal("completed", result.status, result.message)
    assert.equal("x", output(result))
    assert.matches("%-%-resume\n53d55d3c%-3980", program.of(2, "args"))
    assert.matches("Do not do the work again", program.of(2, "stdin"))
  end)

  it("asks a person what it needs to know, and goes on in its session with the answer", function()
    local function says(text)
      return (stream("claude_good"):gsub('"result":"Hello from the fake."', function()
        return '"result":' .. json.encode(text)
      end))
    end
    local program = stand_in.new(R, "claude", { says "I looked.\n\nNEEDS_CONTEXT: Which branch?", says "Done on main." })
    local dir = R.folder() .. "/run"
    local definition = { mode = "sequential", agents = { c = skillrt.agent.claude { program = program.path } },
      phases = { { id = "a", agent = "c", prompt = "do it", answer = "text", output_free = true } } }
    local result = assert(R.run(definition, { work_dir = dir }))
    assert.same({ "paused", "waiting_for_person", "Which branch?" }, { result.status, result.reason, result.message })
    result = assert(skillrt.resume(dir, { skill = R.skill(definition), answer = "main" }))
    assert.equal("completed", result.status, result.message)
    assert.equal("Done on main.", output(result))
    assert.equal(2, program.calls())
    assert.matches("%-%-resume\n53d55d3c", program.of(2, "args"))
    assert.matches("The person answers: main", program.of(2, "stdin"))
  end)

  it("gives its answer in a schema", function()
    local schema = { type = "object", required = { "n" }, properties = { n = { type = "integer" } } }
    local good = stream("claude_good"):gsub('"permission_denials":%[%]', '"structured_output":{"n":3},%0')
    local result, program = run("claude", { good }, { output = schema })
    assert.equal(3, output(result).n)
    assert.matches("%-%-json%-schema\n{", program.of(1, "args"))
  end)

  it("that is not there is said to be missing, once", function()
    local dir = R.folder() .. "/run"
    local result = assert(R.run({ mode = "sequential", agents = { c = skillrt.agent.codex { program = "no-such-codex" } },
      phases = { { id = "a", agent = "c", prompt = "do it", output_free = true } }, limits = { max_errors = 1 } },
      { work_dir = dir }))
    assert.equal("failed", result.status)
    assert.equal(1, #R.records(dir, "call"))
    assert.matches("^codex: no%-such%-codex: command not found", R.records(dir, "fail")[1].message)
  end)

  it("shows what it does to people who watch", function()
    local shown = {}
    local program = stand_in.new(R, "claude", { stream "claude_good" })
    local run_of = R.skill { mode = "sequential", agents = { c = skillrt.agent.claude { program = program.path } },
      phases = { { id = "a", agent = "c", prompt = "do it", answer = "text", output_free = true } } }
    run_of:run { work_dir = R.folder() .. "/run", watcher = { observe = function() end, flush = function() end,
      progress = function(_, text) shown[#shown + 1] = text end } }
    assert.equal("Bash git status\nHello from the fake.\n", table.concat(shown))
  end)
end)
