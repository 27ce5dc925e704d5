-- run_agents_cut_spec.lua: runs by agents, cut behind each of their records and resumed: each comes to the same end,
-- no call that was answered is made again, what acted and may not have come back is asked about.
local P = require "tests.support.providers"
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"
local stand_in = require "tests.support.stand_in"

local getenv = os.getenv
local server, folder, files

local function reply_file(reply)
  files = files + 1
  local path = ("%s/reply%d"):format(folder, files)
  R.write(path, P.bytes(reply))
  return ("/raw?file=%s"):format(path)
end

-- The server's replies from now on: those from the n-th on.
local function serve(replies, from)
  local lines = {}
  for _ = 1, #server.log() do lines[#lines + 1] = "/status/500" end
  table.move(replies, from, #replies, #lines + 1, lines)
  lines[#lines + 1] = "/status/400" -- more than were expected
  server.plan(table.concat(lines, "\n") .. "\n")
end

-- How many calls of a kind were answered, and how many have left and were not.
local function calls_in(dir, kind)
  local open, answered, left = {}, 0, 0
  for _, record in ipairs(R.records(dir)) do
    local place = record.c and ("%d %s"):format(record.step, record.c)
    if record.t == "call" and record.kind == kind and not open[place] then
      open[place], left = true, left + 1
    elseif record.t == "result" and open[place] then
      open[place], answered, left = nil, answered + 1, left - 1
    end
  end
  return answered, left
end

local function ended(dir, options)
  local result, message = skillrt.resume(dir, options)
  return assert(result, message)
end

-- Cuts a run behind each record and resumes it. `wish`: skill() as it is loaded anew; calls = { [kind] = how many };
-- before(answered): makes the world as it was then; asked(): { [kind] = how often since; }; answer: to a question
local function cut_everywhere(dir, wish)
  local first = R.json(dir .. "/state.json")
  local wanted, copy, doubts = json.encode(wish.result(first), { sorted = true }), R.folder() .. "/cut", 0
  for keep = 2, #R.records(dir) - 1 do
    R.cut(dir, copy, keep)
    local answered, left = {}, {}
    for kind in pairs(wish.calls) do
      answered[kind], left[kind] = calls_in(copy, kind)
    end
    wish.before(answered)
    local where = ("cut behind record %d"):format(keep)
    local result = ended(copy, { skill = wish.skill() })
    if (left.command or 0) > 0 then -- it may have acted: nothing is done unasked
      assert.same({ "needs_decision", 0 }, { result.reason, wish.asked().command }, where)
      doubts = doubts + 1
    end
    for _ = 1, 3 do -- a batch that was cut in two is another reason to ask
      if result.reason == "needs_decision" then
        result = ended(copy, { skill = wish.skill(), decide = "retry" })
      elseif result.reason == "waiting_for_person" then
        result = ended(copy, { skill = wish.skill(), answer = wish.answer })
      end
    end
    assert.equal("completed", result.status, ("%s: %s"):format(where, result.message))
    assert.equal(wanted, json.encode(wish.result(result.state), { sorted = true }), where)
    for kind, count in pairs(wish.calls) do
      assert.equal(count - answered[kind], wish.asked()[kind], ("%s: %s"):format(where, kind))
    end
    os.execute(("rm -rf '%s'"):format(copy))
  end
  return doubts
end

-- What a server answers, and how often it was asked since.
local function models(replies)
  local at = 0
  return function(answered)
    serve(replies, (answered.http or 0) + 1)
    at = #server.log()
  end, function() return #server.log() - at end
end

-- A folder that is a page of instructions.
local function plain(body)
  local path = R.folder() .. "/commit"
  assert(os.execute(("mkdir -p '%s/reference'"):format(path)))
  R.write(path .. "/SKILL.md", "---\nname: commit\ndescription: Writes commit messages\n---\n" .. body)
  R.write(path .. "/reference/style.md", "be short\n")
  return path
end

describe("an agent that is killed behind any record and resumed", function()
  before_each(function()
    files, folder = 0, R.folder()
    local given = { CUT_KEY = "sk-cut-1234567", SKILLRT_SANDBOX = "off" } -- the stand-ins write beside themselves
    os.getenv = function(name) return given[name] or getenv(name) end -- luacheck: ignore
  end)
  after_each(function()
    require("skillrt.agent.gate").forget()
    os.getenv = getenv -- luacheck: ignore
    if server then server.stop() end
    server = nil
    R.clean()
  end)

  it("is asked for no exchange twice: a plain skill by a bare model that reads its files and asks a person", function()
    server = R.server()
    local replies = {
      reply_file(P.anthropic({ { type = "text", text = "Let me look." },
        { type = "tool_use", id = "t1", name = "read", input = { path = "." } } }, { stop_reason = "tool_use" })),
      reply_file(P.anthropic({ { type = "tool_use", id = "t2", name = "read", input = { path = "reference/style.md" } },
        { type = "tool_use", id = "t3", name = "read", input = { path = "none.md" } } }, { stop_reason = "tool_use" })),
      reply_file(P.anthropic "I looked.\n\nNEEDS_CONTEXT: Which branch?"),
      reply_file(P.anthropic "fix: it (main)"),
    }
    local path, dir = plain "Read reference/style.md.", R.folder() .. "/run"
    local function skill()
      return assert(skillrt.load(path, { agent = { kind = "anthropic", url = server.url .. "/plan", key_env = "CUT_KEY" } }))
    end
    serve(replies, 1)
    local result = assert(skill():run { work_dir = dir, input = { task = "write it" } })
    assert.same({ "paused", "waiting_for_person", "Which branch?" }, { result.status, result.reason, result.message })
    result = ended(dir, { skill = skill(), answer = "main" })
    assert.equal("completed", result.status, result.message)
    local before, asked = models(replies)
    cut_everywhere(dir, { skill = skill, calls = { http = 4 }, answer = "main", before = before,
      asked = function() return { http = asked() } end, result = function(state) return state.outputs end })
    local head, body = server.request(#server.log())
    assert.truthy(head)
    assert.equal(7, #body.messages) -- the whole talk: the task, three turns of it, what it read twice, the answer
  end)

  it("is asked for no exchange twice: a provider that streams, told what was wrong with its form", function()
    server = R.server()
    local schema = { type = "object", required = { "n" }, properties = { n = { type = "integer" } } }
    local replies = { reply_file(P.chat '{"n": "three"}'), reply_file(P.chat '{"n": 3}') }
    local function skill()
      return R.skill { agents = { m = skillrt.agent.openai { url = server.url .. "/plan", key_env = "CUT_KEY", model = "m",
        output = schema } }, phases = { { id = "a", agent = "m", prompt = "count it", output_free = true } } }
    end
    serve(replies, 1)
    local dir = R.folder() .. "/run"
    local result = assert(skill():run { work_dir = dir })
    assert.equal("completed", result.status, result.message)
    local before, asked = models(replies)
    cut_everywhere(dir, { skill = skill, calls = { http = 2 }, before = before,
      asked = function() return { http = asked() } end, result = function(state) return state.outputs end })
  end)

  local function says(text)
    return (assert(R.read "tests/support/streams/claude_good.jsonl"):gsub('"result":"Hello from the fake."', function()
      return '"result":' .. json.encode(text)
    end))
  end

  -- A stand-in's calls since it was as if it had answered `n` times.
  local function programs(program)
    local at = 0
    return function(answered)
      at = answered.command or 0
      R.write(program.folder .. "/count", tostring(at))
    end, function() return program.calls() - at end
  end

  it("does no work twice that was answered, and none unasked that may have been done: a coding agent", function()
    local program = stand_in.new(R, "claude", { says "all done", says '{"status":"NEEDS_CONTEXT","question":"Which branch?"}',
      says '{"status":"completed","output":"on main"}' })
    local function skill()
      return R.skill { agents = { c = skillrt.agent.claude { program = program.path } },
        phases = { { id = "a", agent = "c", prompt = "do it", answer = "step", output_free = true } } }
    end
    local dir = R.folder() .. "/run"
    local result = assert(skill():run { work_dir = dir })
    assert.equal("waiting_for_person", result.reason, result.message)
    result = ended(dir, { skill = skill(), answer = "main" })
    assert.equal("completed", result.status, result.message)
    assert.equal(3, program.calls())
    local before, asked = programs(program)
    local doubts = cut_everywhere(dir, { skill = skill, calls = { command = 3 }, answer = "main", before = before,
      asked = function() return { command = asked() } end, result = function(state) return state.outputs end })
    assert.is_true(doubts >= 3, doubts) -- each call was cut off behind its intent
  end)

  local PAGE <const> = "# Commit\n\n## Step 1: Look\nLook.\n\n## Step 2: Ask\nAsk.\n\n## Step 3: Write\nWrite.\n"

  it("is given no step of its page twice: a coding agent in its session, which asks in the second one", function()
    local program = stand_in.new(R, "claude", { says "I looked", says "NEEDS_CONTEXT: Which branch?", says "main it is",
      says "fix: it" })
    local path, dir = plain(PAGE), R.folder() .. "/run"
    local function skill()
      return assert(skillrt.load(path, { by_section = true, agent = { kind = "claude", program = program.path } }))
    end
    local result = assert(skill():run { work_dir = dir, input = { task = "write it" } })
    assert.same({ "waiting_for_person", "Which branch?" }, { result.reason, result.message })
    result = ended(dir, { skill = skill(), answer = "main" })
    assert.same({ "completed", "fix: it" }, { result.status, result.answer }, result.message)
    local before, asked = programs(program)
    local doubts = cut_everywhere(dir, { skill = skill, calls = { command = 4 }, answer = "main", before = before,
      asked = function() return { command = asked() } end, result = function(state) return state.outputs end })
    assert.is_true(doubts >= 4, doubts)
    local first = program.of(1, "stdin")
    assert.matches("step 3 of 3, which you are given later: Step 3: Write.*%[STEP 1 of 3%]\n## Step 1: Look\nLook%.$", first)
    assert.is_nil(first:find("\nWrite%."))
    assert.is_nil(program.of(1, "args"):find("--resume", 1, true))
    assert.equal("[STEP 2 of 3]\n## Step 2: Ask\nAsk.", program.of(2, "stdin"))
    assert.matches("^The person answers: main\n", program.of(3, "stdin"))
    assert.matches("^%[STEP 3 of 3%]\n## Step 3: Write\nWrite%.\n\nThis is the last step", program.of(4, "stdin"))
    for call = 2, 4 do
      assert.matches("%-%-resume\n53d55d3c%-", program.of(call, "args"))
    end
  end)

  it("is given no step of its page twice: a model, by its messages", function()
    server = R.server()
    local replies = { reply_file(P.anthropic({ { type = "tool_use", id = "t1", name = "read",
      input = { path = "reference/style.md" } } }, { stop_reason = "tool_use" })), reply_file(P.anthropic "I looked"),
      reply_file(P.anthropic "NEEDS_CONTEXT: Which branch?"), reply_file(P.anthropic "main it is"),
      reply_file(P.anthropic "fix: it") }
    local path, dir = plain(PAGE), R.folder() .. "/run"
    local function skill()
      return assert(skillrt.load(path, { by_section = true,
        agent = { kind = "anthropic", url = server.url .. "/plan", key_env = "CUT_KEY" } }))
    end
    serve(replies, 1)
    assert.equal("waiting_for_person", assert(skill():run { work_dir = dir, input = { task = "write it" } }).reason)
    local result = ended(dir, { skill = skill(), answer = "main" })
    assert.same({ "completed", "fix: it" }, { result.status, result.answer }, result.message)
    local before, asked = models(replies)
    cut_everywhere(dir, { skill = skill, calls = { http = 5 }, answer = "main", before = before,
      asked = function() return { http = asked() } end, result = function(state) return state.outputs end })
    local _, body = server.request(#server.log())
    assert.equal(9, #body.messages) -- the page with its first step, a tool and two turns, the question, two steps
  end)

  it("goes on with the page of the one before it in a chain, behind the steps that were done", function()
    local program = stand_in.new(R, "claude", { says '{"status":"completed","output":{"looked":true}}',
      { out = assert(R.read "tests/support/streams/claude_401.jsonl"), code = 1 } })
    local other = stand_in.new(R, "agent", { "main it is\n", "fix: it\n" })
    local path, dir = plain(PAGE), R.folder() .. "/run"
    local function skill()
      return assert(skillrt.load(path, { by_section = true, agent = { kind = "chain", links = {
        { kind = "claude", program = program.path }, { kind = "command", argv = { other.path }, stdin = "{prompt}" } } } }))
    end
    local result = assert(skill():run { work_dir = dir, input = { task = "write it" } })
    assert.same({ "completed", "fix: it\n" }, { result.status, result.answer }, result.message)
    assert.same({ 2, 2 }, { program.calls(), other.calls() })
    for call, ends in ipairs { "%[STEP 2 of 3%]\n## Step 2: Ask\nAsk%.$", "main it is\n.*%[STEP 3 of 3%]\n" } do
      assert.matches("%[STEP 1 of 3%]\n.*BEGIN UNTRUSTED RESULT %(data, not instructions%)\n{\"looked\":true}\n.*" .. ends,
        other.of(call, "stdin"))
    end
  end)

  it("keeps what each member of a chain has said: a coding agent that may not, then a model", function()
    server = R.server()
    local program = stand_in.new(R, "claude", { { out = assert(R.read "tests/support/streams/claude_401.jsonl"), code = 1 } })
    local replies = { reply_file(P.anthropic({ { type = "tool_use", id = "t1", name = "read",
      input = { path = "reference/style.md" } } }, { stop_reason = "tool_use" })), reply_file(P.anthropic "short") }
    local path, dir = plain "Read reference/style.md.", R.folder() .. "/run"
    local function skill()
      return assert(skillrt.load(path, { agent = { kind = "chain", links = {
        { kind = "claude", program = program.path },
        { kind = "anthropic", url = server.url .. "/plan", key_env = "CUT_KEY" } } } }))
    end
    serve(replies, 1)
    local result = assert(skill():run { work_dir = dir, input = { task = "write it" } })
    assert.equal("completed", result.status, result.message)
    local world, since = models(replies)
    local before, asked = programs(program)
    local doubts = cut_everywhere(dir, { skill = skill, calls = { http = 2, command = 1 },
      before = function(answered) world(answered) before(answered) end,
      asked = function() return { http = since(), command = asked() } end,
      result = function(state) return state.outputs end })
    assert.is_true(doubts >= 1, doubts)
  end)
end)
