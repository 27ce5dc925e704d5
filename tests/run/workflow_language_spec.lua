-- workflow_language_spec.lua: the language of workflow scripts where it is easily got wrong: options that are not
-- known, schemas, null, models' words, what an agent is told, what is no answer.
local R = require "tests.support.runs"
local W = require "tests.support.workflows"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"
local skillrt = require "skillrt"
local stand_in = require "tests.support.stand_in"
local asked, load, run, value_of = W.asked, W.load, W.run, W.value_of

local function notes(dir)
  local list = {}
  for _, record in ipairs(R.records(dir, "note")) do
    list[#list + 1] = record.text
  end
  return list
end

describe("a workflow script", function()
  after_each(R.clean)

  it("is told once of an option that is not known, which is ignored, and of what it may mean (W32)", function()
    local result, dir = run [[
      return [await agent('say a', { lable: 'x', schema: null, zzz: 1 }), await agent('say b', { lable: 'y' })]
    ]]
    assert.equal("completed", result.status, result.message)
    assert.same({ "a", "b" }, { table.unpack(result.state.result) })
    assert.same({ "agent: the option lable is not known and has no effect; did you mean label?",
      "agent: the option zzz is not known and has no effect" }, notes(dir))
  end)

  it("names an agent by whatever its label is", function()
    local skill = assert(load(R.folder(), "return await agent('fail', { label: 7, phase: undefined })"))
    local result = assert(skill:run { work_dir = R.folder() .. "/run" })
    assert.matches("^7 %(1%): ", result.state.agents.failed[1])
  end)

  it("is refused options without which an agent would be another one; that agent counts as failed (W32)", function()
    local result, _, folder = run [[
      const out = []
      for (const options of [{ disallowedTools: ['Bash'] }, { stallMs: 5 }, { isolation: 'remote' }]) {
        try { out.push(await agent('say a', options)) } catch (e) { out.push(e.message) }
      }
      return out
    ]]
    assert.same({ "agents_failed", 3, 0 }, { result.reason, #result.state.agents.failed, asked(folder) })
    for i, what in ipairs { "^disallowedTools is not supported: name in `tools`", "^stallMs is not", "^isolation: 'remote' is" } do
      assert.matches(what, result.state.result[i])
    end
  end)

  it("keeps null wherever it is returned, and nothing of an earlier result (W2)", function()
    assert.equal(json.null, value_of "return null")
    assert.same({ n = json.null, l = json.array { json.null } }, value_of "return { n: null, l: [null] }")
    local _, dir, folder = run "return { a: 1 }"
    R.write(folder .. "/tried.js", W.META .. "return { b: null }")
    local skill = assert(skillrt.load(folder .. "/tried.js", { agent = W.agent(folder) }))
    local result = assert(skillrt.resume(dir, { skill = skill, accept_changes = true, yes = true }))
    assert.same({ b = json.null }, result.state.result)
    assert.same({ b = json.null }, R.json(dir .. "/state.json").result)
  end)

  it("may cut a text inside a character: half of one becomes U+FFFD, in a prompt and in the result", function()
    local result = run [[
      const halves = ['\u{1F600}'.slice(0, 1), '\u{1F600}'.slice(1), 'a\udc00\ud800b', '\\ud83d', '\\\\ud83d', '\u{1F600}']
      return [await agent('say ' + halves[0] + 'x'), ...halves]
    ]]
    assert.equal("completed", result.status, result.message)
    local half = "\u{FFFD}"
    assert.same({ half .. "x", half, half, "a" .. half .. half .. "b", "\\ud83d", "\\\\ud83d", "\u{1F600}" },
      { table.unpack(result.state.result) })
  end)

  it("gets an answer without one newline at its end (W5)", function()
    local skill = assert(load(R.folder(), "return [await agent('x'), await agent('two', { agent: 'two' })]"))
    skill.agents.default = skillrt.agent.command { "printf", "a\\n" }
    skill.agents.two = skillrt.agent.command { "printf", "a\\n\\n" }
    local result = assert(skill:run { work_dir = R.folder() .. "/run" })
    assert.same({ "a", "a\n" }, { table.unpack(result.state.result) })
  end)

  it("takes schemas with the words that people write (W5)", function()
    local schema = [[{ type: 'object', 'x-order': 1, properties: {
      n: { type: 'string', nullable: true }, pair: { type: 'array', prefixItems: [{ type: 'integer' }, { type: 'string' }] },
      all: { type: 'array', contains: { const: 7 } } },
      patternProperties: { '^k_': { type: 'integer' } }, if: { required: ['n'] }, then: { required: ['pair'] } }]]
    local good = [[{"n":null,"pair":[1,"a"],"all":[1,7],"k_a":3}]]
    local result = run(("return await agent('repeat %s', { schema: %s })"):format(good, schema))
    assert.same(json.decode(good), result.state.result)
    for _, bad in ipairs { [[{"n":null}]], [[{"pair":["a"]}]], [[{"all":[1]}]], [[{"k_a":"x"}]] } do
      result = run(("return await agent('repeat %s', { schema: %s })"):format(bad, schema))
      assert.equal("script_error", result.reason, bad)
    end
  end)

  it("is refused a schema whose root is no object before the agent is asked (W6)", function()
    local result, _, folder = run "try { await agent('x', { schema: { type: 'array' } }) } catch (e) { return e.message }"
    assert.matches("schema: its type must be object", result.state.result)
    assert.equal(0, asked(folder))
  end)

  it("calls another by { scriptPath } (W14, W32)", function()
    local folder = R.folder()
    R.write(folder .. "/other.js", "export const meta = { name: 'other', description: 'd' }\nreturn args.x")
    local result = assert(assert(load(folder, "return await workflow({ scriptPath: './other.js' }, { x: 7 })")):run {
      work_dir = folder .. "/run" })
    assert.equal(7, result.state.result)
  end)

  it("tells an agent that its last message is what it returns; one that only reads, that it does (W35)", function()
    local skill = assert(load(R.folder(), "return [await agent('x'), await agent('y', { agentType: 'Explore' })]"))
    skill.agents.default = skillrt.agent.command { "cat", stdin = "{prompt}" }
    local told = assert(skill:run { work_dir = R.folder() .. "/run" }).state.result
    assert.matches("^Your last message is what you return .*\n\nx$", told[1])
    assert.matches("^Only read: change nothing.*Your last message.*\n\ny$", told[2])
  end)

  it("is asked as an agent of a plugin; one that is found nowhere is reported once, with where it was looked for", function()
    local folder <close> = kit.folder()
    os.execute(("cd '%s' && mkdir -p .claude-plugin agents flows"):format(folder.path))
    folder.file(".claude-plugin/plugin.json", '{"name":"mine"}')
    folder.file("agents/critic.md", "---\nname: critic\ntools: Read, Bash(rm:*)\n---\nYou are the critic.\n")
    folder.file("flows/tried.js", W.META .. [[
      return await parallel(['mine:critic', 'mine:none', 'mine:none'].map(agentType => () => agent('x', { agentType })))]])
    local reply = assert(R.read "tests/support/streams/codex_good.jsonl")
    local program = stand_in.new(R, "codex", { reply })
    local env = ("HOME=%s XDG_STATE_HOME=%s PATH=%s:%s"):format(folder.path, folder.path, program.folder, os.getenv "PATH")
    local words = { "run", "flows/tried.js", "--agent", "codex", "--work-dir", "r", env = env }
    local checked = kit.run(folder, { "check", "flows/tried.js", env = env })
    assert.equal(2, checked.code, checked.err)
    assert.matches('error: agentType "mine:none": no agent of that name (there are: ', checked.out, 1, true)
    assert.matches(", mine:critic)", checked.out, 1, true)
    local refused = kit.run(folder, words)
    assert.equal(8, refused.code) -- its plugin's agents are a stranger's, too
    assert.matches("agents/critic.md: its agent may use Bash(rm:*) without asking", refused.err, 1, true)
    words[#words + 1] = "--trust"
    local seen = kit.run(folder, words)
    assert.equal(1, seen.code, seen.err)
    assert.matches("You are the critic%.", program.of(1, "stdin"))
    local place = folder.path .. "/agents/none.md, the plugin mine in "
    local full = 0
    for _, note in ipairs(R.records(folder.path .. "/r", "note")) do
      full = full + (note.text:find(place, 1, true) and 1 or 0)
    end
    assert.equal(1, full)
    local failed = require("skillrt.base.json").decode(folder.read "r/state.json").agents.failed
    assert.same({ true, "x (1/3/1): as 1/2/1" }, { failed[1]:find(place, 1, true) ~= nil, failed[2] })
  end)

  it("has a model for the words haiku, sonnet and opus with every provider; a person may name others (W8)", function()
    local reply = assert(R.read "tests/support/streams/codex_good.jsonl")
    local home = R.folder()
    assert(os.execute(("mkdir -p %s/.config/skillrt"):format(home)))
    R.write(home .. "/.config/skillrt/config.json", '{"models":{"opus":{"codex":"own-large"}}}')
    local program = stand_in.new(R, "codex", { reply, reply, reply })
    local folder = R.folder()
    R.write(folder .. "/tried.js", W.META .. "for (const model of ['haiku', 'opus', 'claude-opus-4-5']) await agent('x', { model })")
    local seen = kit.run({ path = folder }, { "run", "tried.js", "--trust",
      "--agent", "codex", "--quiet", env = ("-u XDG_CONFIG_HOME HOME=%s PATH=%s:%s"):format(home, program.folder, os.getenv "PATH") })
    assert.equal(0, seen.code, seen.err)
    assert.matches("--model\ngpt%-5.1%-codex%-mini\n", program.of(1, "args"))
    assert.matches("--model\nown%-large\n", program.of(2, "args"))
    assert.falsy(program.of(3, "args"):find("--model", 1, true)) -- it has none of that provider's
  end)

  it("takes a provider's refusal for no answer, though the program that prints it succeeds (W26)", function()
    local skill = assert(load(R.folder(), "return [await agent('x')]"))
    local count = R.folder() .. "/n"
    skill.agents.default = skillrt.agent.command { "sh", "-c", 'cat > /dev/null; if [ -e "$0" ]; then echo good; else '
      .. 'touch "$0"; echo "API Error: 529 overloaded"; fi', count, stdin = "{prompt}", acts = false }
    local result = assert(skill:run { work_dir = R.folder() .. "/run" })
    assert.same({ "completed", "good" }, { result.status, result.state.result[1] })
    os.remove(count)
    skill.agents.default = skillrt.agent.command { "echo", "You've hit your usage limit", stdin = "{prompt}", acts = false }
    result = assert(skill:run { work_dir = R.folder() .. "/run" })
    assert.same({ "paused", "waiting_for_time" }, { result.status, result.reason })
  end)

  it("is checked: names that are not there are errors, also within parallel; so are options that are refused", function()
    local folder = R.folder()
    local function check(body)
      R.write(folder .. "/tried.js", W.META .. body)
      return kit.run({ path = folder }, { "check", "tried.js" })
    end
    local seen = check "await parallel([() => agnt('x')])\nreturn foo.bar"
    assert.equal(2, seen.code)
    assert.matches("tried.js:2: error: null, because it threw: ReferenceError: agnt is not defined", seen.out)
    assert.matches("tried.js:3: error: .*ReferenceError: foo is not defined", seen.out)
    assert.equal(1, check("return await agent('x', { lable: 'y' })").code)
    assert.equal(2, check("try { await agent('x', { stallMs: 1 }) } catch {}").code)
    assert.equal(0, check("return args.x.y").code) -- it may be there
  end)

  it("prints its result: alone with --print, in the last record with --json, with usage and failures", function()
    local folder = R.folder()
    local agent = '["sh","-c","cat > /dev/null; echo said"]'
    local function program(...)
      return kit.run({ path = folder }, { "run", "tried.js", "--trust", "--agent", agent, ... })
    end
    R.write(folder .. "/tried.js", W.META .. "log('heard')\nreturn { said: await agent('x'), n: null }")
    local seen = program "--print"
    assert.same({ said = "said", n = json.null }, json.decode(seen.out))
    assert.matches("heard", seen.err)
    assert.matches("completed %(task_completed%)", seen.err)
    R.write(folder .. "/tried.js", W.META .. "return await agent('x')")
    assert.equal("said\n", program("--print").out)
    assert.matches("\n\nsaid\n\n", program().out)
    local last = json.decode(program("--json").out:match "([^\n]+)\n$")
    assert.same({ "said", 1, 0 }, { last.result, last.agents.asked, #last.failed })
    assert.equal("table", type(last.used))
    R.write(folder .. "/tried.js", W.META .. "throw new Error('not so')")
    assert.equal("", program("--print").out)
  end)

  it("has a picture, a plan and bounds: its agents by phases, in the order in which they are asked in a dry run", function()
    local folder = R.folder()
    R.write(folder .. "/tried.js", W.META .. [[
      phase('Scan')
      const found = await parallel(args.files.map(file => () => agent('look at ' + file, { label: file })))
      return await agent('judge ' + found, { label: 'judge', phase: 'Judge' })]])
    local function seen(command, ...)
      local one = kit.run({ path = folder }, { command, "tried.js", ... })
      return one.code, one.out, one.err
    end
    local given = '{"files":["a.c","b.c"]}'
    assert.same({ 0, "  1  Scan: a.c\n  2  Scan: b.c\n  3  Judge: judge\n3 steps, cost 3, 1 state examined\n", "" },
      { seen("plan", "--", given) })
    assert.same({ "a.c", "b.c", "judge" }, json.decode((select(2, seen("simulate", "--json", "--", given)))).least)
    local _, drawn = seen("graph", "--", given)
    assert.matches("Scan<br/>agents: a.c, b.c.*Judge<br/>agents: judge", drawn)
    for _, command in ipairs { "graph", "simulate", "plan" } do
      local code, _, err = seen(command)
      assert.equal(2, code)
      assert.matches("tried.js:%d+:%d+: TypeError.*with the arguments behind %-%-", err)
    end
  end)

  it("is found by its name as TypeScript, too", function()
    local folder = R.folder()
    R.write(folder .. "/tried.js", W.META .. "return await workflow('other')")
    R.write(folder .. "/other.ts", W.META .. "return 'typed'")
    local looked = kit.run({ path = folder }, { "run", "tried.js", "--trust", "--print", "--agent", "cat" })
    assert.truthy(looked.out == "typed\n" or looked.err:find("other.ts: a TypeScript file needs node 22.13", 1, true), looked.err)
    assert(os.execute(("mkdir -p '%s/.claude/workflows'"):format(folder)))
    R.write(folder .. "/.claude/workflows/kept.ts", W.META .. "return 'kept'")
    looked = kit.run({ path = folder }, { "run", "kept", "--trust", "--print", "--agent", "cat" })
    assert.truthy(looked.out == "kept\n" or looked.err:find("kept.ts: a TypeScript file needs node 22.13", 1, true), looked.err)
  end)
end)
