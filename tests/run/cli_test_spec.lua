-- cli_test_spec.lua: `skillrt test`: a skill's own tests, with stubs for all that it calls, as a person runs them.
local kit = require "tests.support.cli_kit"

-- Who needs a name, a letter and a server that takes it.
local SKILL = [[
local skillrt = require "skillrt"
return skillrt.skill {
  name = "letters",
  state = { names = { "Ada", "Grace" } },
  agents = { clock = skillrt.agent.command { "date", "+%Y", parse = "lines" }, writer = skillrt.agent.claude {},
    post = skillrt.agent.http { url = "https://post.example.org/send", idempotent = false } },
  actions = {
    { id = "greet", priority = 3, run = function(state, ctx)
      ctx.sleep(3600)
      ctx.log("Hello, " .. state.names[1])
      return { greeted = true }
    end },
    { id = "look", priority = 2, agent = "clock", idempotent = true },
    { id = "write", priority = 1, agent = "writer", prompt = "Write to them all.", when = "greeted" },
    { id = "send", agent = "post", prompt = "Send it.", when = "letter.length > 0" },
  },
}
]]

local HEAD = [[
local test = require "skillrt.test"
local function stubs(more)
  local agents = { writer = { stateUpdates = { letter = "Dear all" } }, post = { stateUpdates = { sent = true } } }
  for name, answer in pairs(more or {}) do agents[name] = answer end
  return agents
end
]]

-- Runs tests of the skill: the exit code and the output.
local function tested(spec, options, skill)
  local folder <close> = kit.folder()
  folder.file("letters.lua", skill or SKILL)
  folder.file("letters_spec.lua", HEAD .. spec)
  local words = { "test", "letters.lua" }
  table.move(options or {}, 1, #(options or {}), #words + 1, words)
  words.env = "TMPDIR=" .. folder.path
  local result = kit.run(folder, words)
  local left = io.popen(("ls %s"):format(kit.quoted(folder.path))):read "a"
  return result.code, result.out, result.err, left
end

local function passes(spec, skill)
  local code, out, err = tested(spec, { "--timeout", "20" }, skill)
  assert.equal(0, code, out .. err)
end

describe("skillrt test", function()
  it("runs a skill with stubs: steps, calls with their prompts, state, lines, and hours go by at once (R151)", function()
    local from = os.time()
    passes [[it("goes well", function()
      local run = test.run { programs = { date = "2027" }, agents = stubs(), state = { names = { "Barbara" } } }
      assert.equal("completed", run.status)
      assert.same({ "greet", "look", "write", "send" }, run.steps)
      assert.same({ "Hello, Barbara" }, run.log)
      assert.is_true(run.state.sent)
      assert.near(3600, run.elapsed, 1)
      assert.equal(3, #run.calls)
      assert.same({ "date", "+%Y" }, run.calls[1].argv)
      assert.equal("writer", run.calls[2].agent)
      assert.matches("Write to them all.", run.calls[2].prompt, 1, true)
      assert.equal("https://post.example.org/send", run.calls[3].to)
    end)]]
    assert.is_true(os.time() - from < 20)
  end)

  it("ends a test whose skill calls what no stub answers, and says which stub is missing", function()
    local code, out = tested [[
      it("asks an agent", function() test.run { programs = { date = "2027" } } end)
      it("sends", function() test.run { programs = { date = "2027" }, agents = { writer = stubs().writer } } end)
      it("starts a program", function() test.run { agents = stubs() } end)
      it("may start this one", function()
        assert.equal("completed", test.run({ agents = stubs(), real = { "date" } }).status)
      end)]]
    assert.equal(1, code)
    assert.truthy(out:find('write: would leave the test: http writer (agent "writer"); no stub answers it', 1, true), out)
    assert.truthy(out:find("give agents = { post = ... }", 1, true), out)
    assert.truthy(out:find("give agents = { clock = ... }", 1, true), out)
    assert.truthy(out:find("1 success / 3 failures / 0 errors", 1, true), out)
  end)

  it("answers by a list, a function, and what the prompt holds; a list that is used up fails the test", function()
    passes [[
      it("answers", function()
        local asked
        local run = test.run { programs = { date = "2027" }, agents = { writer = { test.on("nobody", "no"),
          test.on("them all", function(call) asked = call.agent return { stateUpdates = { letter = "x" } } end) },
          post = { { stateUpdates = { sent = 1 } } } } }
        assert.equal("writer", asked)
        assert.equal(1, run.state.sent)
      end)]]
    local code, out = tested [[
      it("is asked again", function()
        test.run { programs = { date = "2027" }, agents = stubs { writer = { test.garbage() } } }
      end)]]
    assert.equal(1, code)
    assert.truthy(out:find("the stub agents.writer has answered once, and is asked once more", 1, true), out)
  end)

  it("injects a 429 with its wait, a refused connection, garbage and a failed program; errors recover (R152)", function()
    passes [[
      it("waits as long as it is told", function()
        local run = test.run { state = { greeted = true }, programs = { date = { test.exit(75, "", "later"), "2027" } },
          agents = stubs { writer = { test.status(429, { retry_after = 90 }), test.refused(), test.garbage("{ half"),
            { stateUpdates = { letter = "x" } } } } }
        assert.equal("completed", run.status)
        assert.is_true(run.elapsed >= 3600 + 90)
        assert.equal(4, run:asked "writer")
        assert.equal(3, run.retries)
        assert.truthy(table.concat(run.log, "\n"):find("asked to write its answer again", 1, true))
      end)
      it("fails", function()
        local run = test.run { programs = { date = test.exit(1, "", "no clock") }, agents = stubs() }
        assert.equal("failed", run.status)
        assert.same({ "look", "look", "look" }, { table.unpack(run.failed, 1, 3) })
        assert.matches("no clock", run.message)
      end)]]
  end)

  it("lets what timed out be in doubt where it may have acted, and a person or the test decide", function()
    passes [[
      it("is open", function()
        local run = test.run { programs = { date = "2027" }, agents = stubs { post = test.timeout() } }
        assert.equal("paused", run.status)
        assert.equal("needs_decision", run.reason)
        assert.matches("Send it again", run.open[1].question)
      end)
      it("is answered", function()
        local run = test.run { programs = { date = "2027" }, answers = { ["Send it again"] = "retry" },
          agents = stubs { post = { test.timeout(), { stateUpdates = { sent = true } } } } }
        assert.equal("completed", run.status)
        assert.equal("retry", run.questions[1].answer)
        assert.equal(2, run:asked "post")
      end)]]
  end)

  it("kills the run after a call left and resumes it from its journal: once more where it is idempotent, else a question",
    function()
      passes [[
        it("is killed", function()
          local run = test.run { programs = { date = test.crash("2027") }, answers = { ["Send it again"] = "skip" },
            agents = stubs { post = test.crash() } }
          assert.equal(2, run.crashes)
          assert.equal("completed", run.status)
          assert.equal(2, run:asked "date")
          assert.equal(1, run:asked "post")
          assert.same({ "Hello, Ada" }, run.log)
          assert.equal(2, select(2, (run:read "journal/00000003.sj"):gsub('"t":"resume"', "")) + select(2,
            (run:read "journal/00000002.sj"):gsub('"t":"resume"', "")))
        end)]]
    end)

  it("answers questions and approvals, gives events, ends waits, and counts what is used", function()
    passes([[
      it("waits for people", function()
        local run = test.run { answers = { ["Where"] = "there", pay = "approve" }, events = { built = { id = 7 } },
          agents = { ["*"] = { test.on("slow", test.after(9, "late")), test.on("", "quick") } } }
        assert.equal("completed", run.status)
        assert.same({ where = "there", paid = true, built = 7, slow = "timeout", a = "quick" }, run.state.result)
        assert.equal(12, run.used.tokens)
        assert.same({ "here", "there" }, run.questions[1].options)
        assert.near(86400 + 9, run.elapsed, 2) -- what left is waited for
      end)
      it("is left without an answer", function()
        local run = test.run { agents = { ["*"] = "quick" } }
        assert.equal("waiting_for_person", run.reason)
      end)]], [[
      local skillrt = require "skillrt"
      return skillrt.workflow { name = "asks", agents = { default = skillrt.agent.chain { skillrt.agent.codex {},
        skillrt.agent.anthropic { model = "m", key_env = "NOT_THERE" } } }, run = function(ctx)
        local where = ctx.ask { question = "Where to?", options = { "here", "there" } }
        local paid = ctx.approve { what = "pay", arguments = { amount = 3 } }
        local built = ctx.wait { event = "built" }
        ctx.sleep(86400)
        local _, _, class = ctx.within(5, function() return ctx.agent("slow") end)
        ctx.used { tokens = 12 }
        return { where = where, paid = paid, built = built.id, slow = class, a = ctx.agent("First?") }
      end }
    ]])
  end)

  it("gives a table as JSON, an agent's that says nothing of it as completed", function()
    local skill = [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "forms", agents = { one = skillrt.agent.claude {} },
        actions = { { id = "a", priority = 1, agent = "one", prompt = "Do it." }, { id = "b", run = function(_, ctx)
            local ok, class = ctx.agent("count", { agent = "one", schema = { type = "object", required = { "n" },
              additionalProperties = false, properties = { n = { type = "integer" } } } })
            return { n = ok and ok.n or class, body = ctx.await { kind = "command", argv = { "list" } }.body }
          end } } }]]
    passes([[
      it("answers", function()
        local run = test.run { agents = { one = { { stateUpdates = { a = 1 } }, { n = 7 } } }, programs = { list = { x = 1 } } }
        assert.equal("completed", run.status, run.message)
        assert.same({ 1, 7, '{"x":1}' }, { run.state.a, run.state.n, run.state.body })
      end)]], skill)
  end)

  it("lets a model use the skill's tools, and tells it what they gave; forms are asked for again, without a key", function()
    local skill = [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "tooled", agents = { model = skillrt.agent.%s { model = "m", key_env = "NOT_THERE" } },
        tools = { add = { description = "Adds", input = { type = "object", required = { "a" },
          properties = { a = { type = "number" } } }, run = function(input) return { sum = input.a + 1 } end } },
        actions = { { id = "a", priority = 2, agent = "model", prompt = "add it up", tools = { "add" } },
          { id = "b", priority = 1, run = function(_, ctx)
            return ctx.agent("How many?", { schema = { type = "object", required = { "n" },
              properties = { n = { type = "integer" } } } })
          end } } }]]
    local spec = [[
      it("adds", function()
        local run = test.run { agents = { model = { test.tools { { "add", { a = 41 } }, { "add", { a = "x" } } },
          { stateUpdates = { sum = 42 } }, { n = "seven" }, { n = 7 } } } }
        assert.equal("completed", run.status, run.message)
        assert.equal(42, run.state.sum)
        assert.equal(7, run.state.n)
        assert.equal(4, run:asked "model")
        assert.matches('sum', run.calls[2].body)
        assert.matches("42", run.calls[2].body)
        assert.matches("must be number", run.calls[2].body)
      end)
      it("hears nonsense", function()
        local run = test.run { agents = { model = { test.garbage(), { stateUpdates = { sum = 1 } }, { n = 7 } } } }
        assert.equal("completed", run.status, run.message)
        assert.equal(3, run:asked "model")
      end)]]
    passes(spec, skill:format "anthropic")
    passes(spec, skill:format "openai")
  end)

  it("has busted's words: nested blocks, before and after, finally, pending, errors with their line", function()
    local code, out, _, left = tested [[
      local order = {}
      describe("outer", function()
        setup(function() order[#order + 1] = "setup" end)
        before_each(function() order[#order + 1] = "b1" end)
        after_each(function() order[#order + 1] = "a1" end)
        describe("inner", function()
          before_each(function() order[#order + 1] = "b2" end)
          after_each(function() order[#order + 1] = "a2" end)
          it("one", function() finally(function() order[#order + 1] = "f" end) order[#order + 1] = "t" end)
        end)
        it("two", function()
          assert.are.same({ "b1", "b2", "t", "f", "a2", "a1", "setup", "b1" }, order)
          assert.is_not.equal(1, 2)
          assert.has_no.errors(function() end)
          assert.has_error(function() error("x", 0) end, "x")
          assert.error_matches(function() error { message = "what is raised" } end, "^what is")
        end)
        it("differs", function() assert.same({ a = { 1, 2 } }, { a = { 1, 3 } }) end)
        it("has more", function() assert.same({ a = {} }, { a = { b = 1 } }) end)
        it("raises", function() local nothing nothing.field = 1 end)
        pending "later"
      end)]]
    assert.equal(1, code)
    assert.truthy(out:find("2 successes / 2 failures / 1 error / 1 pending", 1, true), out)
    assert.truthy(out:find("differ at it.a[2]", 1, true), out)
    assert.truthy(out:find("differ at it.a.b", 1, true), out)
    assert.truthy(out:find("letters_spec.lua:%d+: attempt to index a nil value"), out)
    assert.equal("letters.lua\nletters_spec.lua\n", left)
  end)

  it("bounds a test that runs on, alone or in its skill, and goes on with the next", function()
    local code, out = tested([[
      it("loops", function() while true do end end)
      it("sleeps for ever", function() test.run { agents = stubs(), programs = { date = "x" } } end)
      it("is quick", function() end)]], { "--timeout", "0.5" }, [[
      return require("skillrt").skill { name = "s", actions = { { id = "a", run = function(_, ctx)
        while true do ctx.sleep(60) end
      end } } } ]])
    assert.equal(1, code)
    assert.truthy(out:find("takes longer than 0.5 s", 1, true), out)
    assert.truthy(out:find("and does not end", 1, true), out)
    assert.truthy(out:find("1 success / 2 failures", 1, true), out)
  end)

  it("prints JUnit's XML, filters, and ends with 2 where there is no test", function()
    local spec = [[
      describe("a & b", function()
        it("is well", function() end)
        it("is not <so>", function() assert.truthy(false) end)
      end)]]
    local _, xml = tested(spec, { "--output", "junit" })
    assert.truthy(xml:find('tests="2" failures="1" errors="0"', 1, true), xml)
    assert.truthy(xml:find('name="a &amp; b is not &lt;so&gt;"', 1, true), xml)
    local code, out = tested(spec, { "--filter", "well" })
    assert.equal(0, code, out)
    local folder <close> = kit.folder()
    folder.file("alone.lua", SKILL)
    local none = kit.run(folder, { "test", "alone.lua" })
    assert.equal(2, none.code)
    assert.truthy(none.err:find("has no tests", 1, true), none.err)
  end)

  it("passes the first test that skillrt new makes in each mode, unasked, until somebody changed it", function()
    local folder <close> = kit.folder()
    local env = "XDG_STATE_HOME=" .. folder.path
    for _, mode in ipairs { "sequential", "autonomous", "hybrid" } do
      assert.equal(0, kit.run(folder, { "new", mode, "--yes", "--mode", mode, env = env }).code)
      local tested_one = kit.run(folder, { "test", mode, env = env })
      assert.equal(0, tested_one.code, tested_one.out .. tested_one.err)
      assert.truthy(tested_one.out:find("2 successes", 1, true))
      local path = ("%s/%s/tests/%s_spec.lua"):format(folder.path, mode, mode)
      folder.file(("%s/tests/%s_spec.lua"):format(mode, mode), kit.read(path) .. "-- more\n")
      assert.equal(8, kit.run(folder, { "test", mode, env = env }).code)
      local asked = kit.run(folder, { "run", mode, "--dry-run", "--quiet", env = env })
      assert.equal(0, asked.code, asked.out .. asked.err) -- a test is no code that a run needs trust for
    end
  end)

  it("tests a plain SKILL.md, and a workflow script where node is there", function()
    local folder <close> = kit.folder()
    os.execute("mkdir -p " .. kit.quoted(folder.path .. "/page/tests"))
    folder.file("page/SKILL.md", "---\nname: page\ndescription: Explains things to people.\n---\n# Explain\n\nExplain it.\n")
    folder.file("page/tests/page_spec.lua", [[local test = require "skillrt.test"
      it("explains", function()
        local run = test.run { input = { task = "tea" }, agents = { ["*"] = "It is a drink." } }
        assert.equal("It is a drink.", run.answer)
      end)]])
    local stranger = kit.run(folder, { "test", "page", env = "XDG_STATE_HOME=" .. folder.path })
    assert.equal(8, stranger.code)
    assert.truthy(stranger.err:find("page/tests/page_spec.lua: ", 1, true), stranger.err)
    local page = kit.run(folder, { "test", "page", "--trust", env = "XDG_STATE_HOME=" .. folder.path })
    assert.equal(0, page.code, page.out .. page.err)
    folder.file("flow.js", [[export const meta = { name: 'flow', description: 'asks twice' }
      const two = await parallel(['a', 'b'].map((w) => () => agent(`Say ${w}`, { label: w })))
      return two.join('-')]])
    folder.file("flow_spec.lua", [[local test = require "skillrt.test"
      it("joins", function()
        local run = test.run { agents = { ["*"] = function(call) return call.label .. "!" end } }
        assert.equal("a!-b!", run.state.result)
      end)]])
    local flow = kit.run(folder, { "test", "flow.js", "--trust", env = "XDG_STATE_HOME=" .. folder.path })
    assert.equal(0, flow.code, flow.out .. flow.err)
  end)
end)
