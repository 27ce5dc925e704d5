-- mcp_stdio_spec.lua: servers of the Model Context Protocol that are programs, as functions of a step use them: what is
-- recorded, what a resume makes again, what they may ask, and servers that misbehave.
local K = require "tests.support.mcp_kit"
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

local server, definition, run, lines, methods = K.server, K.definition, K.run, K.lines, K.methods

describe("a script with a server of MCP", function()
  before_each(K.begin)
  after_each(R.clean)

  it("calls its tools, each a call of the run behind one handshake", function()
    local result, dir = run(function(_, ctx)
      local text, whole = ctx.tool("mcp__our__echo", { text = "hello" })
      local _, failed, class = ctx.tool("mcp__our__fail")
      local _, refused = ctx.tool("mcp__our__error")
      return { text = text, kind = whole.content[1].type, failed = failed, class = class, refused = refused }
    end)
    assert.same({ "hello", "text", "it went wrong", "permanent", "mcp our: Unknown tool: error" }, {
      result.state.text, result.state.kind, result.state.failed, result.state.class, result.state.refused },
      json.encode(result.state.errors))
    assert.same({ "initialize", "notifications/initialized", "tools/call", "tools/call", "tools/call" }, methods())
    assert.equal(3, #R.records(dir, "call"))
    assert.equal("mcp our: tools/call echo", R.records(dir, "call")[1].to)
    assert.same({}, R.records(dir, "event"))
  end)

  it("is resumed behind every record: no call that is over is made again, one that may have acted is asked about", function()
    local function acts(_, ctx)
      local first = ctx.tool("mcp__our__echo", { text = "a" }, { acts = false })
      local acted = ctx.tool("mcp__our__act", { n = 7 })
      return { first = first, acted = acted, last = (ctx.tool("mcp__our__echo", { text = "b" }, { acts = false })) }
    end
    local result, dir = run(acts)
    assert.same({ "a", "acted", "b" }, { result.state.first, result.state.acted, result.state.last })
    local seen, known = { paused = 0, completed = 0 }, nil
    for keep, record in ipairs(R.records(dir)) do
      known = record.c == "2" and record.t or known
      local copy = R.folder() .. "/cut"
      if record.t == "stop" then break end
      R.cut(dir, copy, keep)
      os.remove(K.folder .. "/acts")
      local resumed = assert(skillrt.resume(copy, { skill = R.skill(definition(acts)) }))
      seen[resumed.status] = seen[resumed.status] + 1
      local open = R.records(copy, "doubt")[1]
      assert.equal((open or known == "result") and 0 or 1, #lines "acts", "record " .. keep)
      if not open then
        assert.same({ "a", "acted", "b" }, { resumed.state.first, resumed.state.acted, resumed.state.last })
      end
    end
    assert.is_true(seen.paused >= 1 and seen.completed >= 4, json.encode(seen))
  end)

  it("is answered where it asks: a sign of life, folders, a model; and refused where the skill does not let it", function()
    local function model(_, _, prompt)
      return prompt:match "BEGIN UNTRUSTED TALK.-What is 6 times 7%?" and "42"
    end
    local said = {}
    local function ask(more, about)
      local all = { agents = { wise = { kind = "lua", run = model } } }
      run(function(_, ctx)
        for _, one in ipairs(about) do
          said[one] = json.decode((ctx.tool("mcp__our__wonder", { about = one }, { idempotent = true })))
        end
      end, { our = server("good", more) }, all)
    end
    ask({ roots = { "src", "a b" }, sampling = "wise" }, { "ping", "roots", "sample" })
    assert.same({}, said.ping)
    assert.matches("^file:///.*/src$", said.roots.roots[1].uri)
    assert.matches("/a%%20b$", said.roots.roots[2].uri)
    assert.equal("42", said.sample.content.text)
    local opening = json.decode(lines("log")[1]).params.capabilities
    assert.same({ true, true, true }, { opening.roots ~= nil, opening.sampling ~= nil, opening.elicitation ~= nil })
    ask({ elicitation = false }, { "roots", "sample", "form" })
    for _, one in ipairs { "roots", "sample", "form" } do
      assert.equal(-32601, said[one].code)
    end
  end)

  it("asks a person, who may take days: what was answered is kept, and told again to a server begun anew", function()
    for _, idempotent in ipairs { true, false } do
      local function form(_, ctx)
        local text, message = ctx.tool("mcp__our__wonder", { about = "form" }, { idempotent = idempotent })
        return { text = text or message }
      end
      local result, dir = run(form)
      local function answer(text, asked)
        assert.equal("paused", result.status, result.message)
        assert.matches(asked, result.question.question)
        result = assert(skillrt.resume(dir, { skill = R.skill(definition(form)), answer = text }))
      end
      answer("accept", "^The server our asks you: Who are you%?$")
      answer("0", '^age %("%-": leave it out%)$')
      answer("-", '"age" must be at least 1')
      answer("Ada", "^name$")
      if not idempotent then
        answer("retry", "is gone; tools/call wonder may have been executed. Send it again%?")
      end
      assert.equal("completed", result.status, result.message)
      assert.same({ action = "accept", content = { name = "Ada" } }, json.decode(result.state.text))
    end
  end)

  it("fills in what a form has where nothing else is said, and leaves out what it would not take itself", function()
    local asked = {}
    local function form(_, ctx) return { text = (ctx.tool("mcp__our__wonder", { about = "defaults" }, { idempotent = true })) } end
    local result, dir = run(form)
    for _, answer in ipairs { "accept", "-", "-", "-", "-", "-" } do
      assert.equal("paused", result.status, result.message)
      asked[#asked + 1] = result.question.question
      if result.question.options and answer == "-" then asked[#asked] = result.question.options[3].description end
      result = assert(skillrt.resume(dir, { skill = R.skill(definition(form)), answer = answer }))
    end
    assert.same({ 'age ("-": leave it out)', 'name ("-": Bo)', 'size ("-": 9.5)', "false",
      'tags (with commas between: a, b) ("-": ["a"])' },
      { table.unpack(asked, 2) })
    assert.same({ action = "accept", content = { name = "Bo", size = 9.5, sure = false, tags = { "a" } } },
      json.decode(result.state.text))
  end)

  it("shows what the choices of a form are called, and what several may be chosen of", function()
    local function form(_, ctx) return { text = (ctx.tool("mcp__our__wonder", { about = "titles" }, { idempotent = true })) } end
    local result, dir = run(form)
    local asked = {}
    for _, answer in ipairs { "accept", "f1, f2", "h1", "p2" } do
      asked[#asked + 1] = result.question.question
      for _, one in ipairs(result.question.options or {}) do
        asked[#asked] = asked[#asked] .. " | " .. one.id .. " " .. (one.description or "")
      end
      result = assert(skillrt.resume(dir, { skill = R.skill(definition(form)), answer = answer }))
    end
    assert.same({ "fish (with commas between: f1, f2)", "hero | h1 Ada | h2 ", "pet | p1 Cat | p2 Dog" },
      { asked[2], asked[3], asked[4] })
    assert.same({ fish = { "f1", "f2" }, hero = "h1", pet = "p2" }, json.decode(result.state.text).content)
  end)

  it("shows a person the page that it wants opened, whole", function()
    local function login(_, ctx) return { text = (ctx.tool("mcp__our__wonder", { about = "url" }, { idempotent = true })) } end
    local result, dir = run(login)
    assert.equal("https://example.org/login", result.question.detail)
    assert.matches("asks you to open a page of its choice: Log in", result.question.question)
    result = assert(skillrt.resume(dir, { skill = R.skill(definition(login)), answer = "accept" }))
    assert.same({ action = "accept" }, json.decode(result.state.text)) -- asked once more, by another id
  end)

  it("has resources and prompts, for functions and for models", function()
    local result = run(function(_, ctx)
      local our = ctx.mcp("our")
      return { uri = our:resources()[1].uri, text = (our:read("note://one")), prompt = our:prompts()[1].name,
        greeting = (our:prompt("greet", { who = "Ada" })), tools = #our:tools(),
        called = (our:call("echo", { text = "x" }, { acts = false })) }
    end)
    assert.same({ "note://one", "the text of note://one", "greet", "Greet Ada", 11, "x" }, { result.state.uri,
      result.state.text, result.state.prompt, result.state.greeting, result.state.tools, result.state.called },
      json.encode(result.state.errors))
  end)

  it("shows how far they are, to whom watches", function()
    local shown = {}
    local watcher = { observe = function() end, flush = function() end,
      progress = function(id, text) shown[#shown + 1] = id .. " " .. text end }
    assert(R.run(definition(function(_, ctx) ctx.tool("mcp__our__slow") end),
      { work_dir = R.folder() .. "/run", watcher = watcher }))
    assert.same({ "a 1 of 3: part 1\n", "a 2 of 3: part 2\n", "a 3 of 3: part 3\n" }, shown)
  end)

  it("is told by a wrong name which there are", function()
    local said
    run(function(_, ctx)
      said = select(2, ctx.tool("mcp__out__echo"))
    end)
    assert.equal('there is no mcp server "out" (did you mean "our"?)', said)
  end)
end)

describe("a server of MCP that misbehaves", function()
  before_each(K.begin)
  after_each(R.clean)

  -- What calling a tool of it comes to.
  local function call(mode, name, more, arguments)
    local result = run(function(_, ctx)
      local text, message, class = ctx.tool("mcp__our__" .. (name or "echo"), arguments or { text = "hi" },
        { idempotent = true })
      return { text = text, message = text == nil and message or nil, class = class }
    end, { our = server(mode, more) })
    assert.equal("completed", result.status, result.message)
    return result.state
  end

  it("is told what it did: it ends, speaks another version, refuses, is silent, says too much", function()
    local seconds = { timeout = 0.5 }
    assert.equal("mcp our: ended with exit code 4 before it answered: no configuration", call("ends").message)
    assert.matches("uses the protocol version 1999%-01%-01, which is not supported", call("old").message)
    assert.matches("refuses the handshake: not today", call("refuses").message)
    assert.equal("timeout", call("silent", nil, seconds).class)
    assert.matches("no answer in time", call("good", "never", seconds).message)
    assert.matches("ended with exit code 3", call("good", "die").message)
    assert.matches("a message of more than 4096 bytes", call("good", "big", { max_reply = 4096 }, { bytes = 5000 }).message)
    assert.matches("command not found", call("good", nil, { command = { "no-such-server" } }).message)
    assert.matches("the environment has no NO_SUCH_NAME", call("good", nil, { env = { X = "${NO_SUCH_NAME}" } }).message)
  end)

  it("does no harm with lines that are no messages, a flood of notices, a long answer", function()
    assert.equal("hi", call("noise").text)
    assert.equal("hi", call("flood").text)
    assert.equal(3000000, #call("good", "big", nil, { bytes = 3000000 }).text)
  end)

  it("is bounded in time and memory where it floods in a call, and is heard again behind it", function()
    local heap, began = collectgarbage "count", os.time()
    local result = run(function(_, ctx)
      local flood = { ctx.tool("mcp__our__flood", {}, { idempotent = true, timeout = 1 }) }
      local line = { ctx.tool("mcp__our__flood", { endless = true }, { idempotent = true, timeout = 20 }) }
      return { flood = flood[2], line = line[2], after = (ctx.tool("mcp__our__echo", { text = "x" }, { acts = false })) }
    end, { our = server("good", { max_reply = 1 << 20 }) })
    assert.matches("no answer in time", result.state.flood, 1, true)
    assert.matches("a message of more than 1048576 bytes", result.state.line)
    assert.equal("x", result.state.after)
    assert.is_true(os.time() - began < 30)
    collectgarbage()
    assert.is_true(collectgarbage "count" - heap < 20000)
  end)

  it("is the same to a run that keeps nothing", function()
    local result = run(function(_, ctx)
      return { text = (ctx.tool("mcp__our__echo", { text = "x" })) }
    end, nil, { context = "memory" })
    assert.equal("x", result.state.text)
  end)

  it("that answers twice is heard once", function()
    local result = run(function(_, ctx)
      return { one = (ctx.tool("mcp__our__twice")), two = (ctx.tool("mcp__our__echo", { text = "x" })) }
    end)
    assert.same({ "first", "x" }, { result.state.one, result.state.two })
  end)

  it("is begun anew, so often and no more", function()
    local said = {}
    run(function(_, ctx)
      for i = 1, 4 do
        said[i] = select(2, ctx.tool("mcp__our__die", {}, { idempotent = true }))
      end
    end, { our = server("good", { max_restarts = 2 }) })
    assert.matches("ended with exit code 3", said[3])
    assert.matches("began 3 times in this run and ended each time %(max_restarts%)", said[4])
    assert.equal(3, #lines "starts")
  end)

  it("is asked about where it ended in a call that may have acted", function()
    local result, dir = run(function(_, ctx)
      ctx.tool("mcp__our__act", { n = 1 })
    end, { our = server "dies acting" })
    assert.same({ "paused", "needs_decision" }, { result.status, result.reason })
    assert.matches("our.* ended with exit code 9", R.records(dir, "doubt")[1].message)
    assert.equal(1, #lines "acts")
  end)
end)
