-- run_tool_calls_spec.lua: the tool loop as each provider's API has it; what is reserved before tools run; programs by
-- an allow-list.
local P = require "tests.support.providers"
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

local wires = require "tests.support.wires"

local WIRES <const>, GOOD <const> = wires.of, wires.GOOD
local server, folder

local function raw(reply, more)
  return R.raw(P.bytes(reply), more)
end

local function run(definition, plan, input)
  server.plan(table.concat(plan, "\n") .. "\n")
  definition.actions = { { id = "a", agent = "model", prompt = "do it well" } }
  definition.limits = definition.limits or { max_errors = 1, max_retries = 0 }
  local dir = R.folder() .. "/run"
  return assert(R.run(definition, { work_dir = dir, input = input })), dir
end

local ADD <const> = { description = "Adds", input = { type = "object", properties = { a = { type = "number" },
  b = { type = "number" } }, required = { "a", "b" } }, run = function(input) return { sum = input.a + input.b } end }

describe("a tool loop", function()
  before_each(function() server, folder = R.server "/echo\n", R.folder() end)
  after_each(function()
    require("skillrt.agent.gate").forget()
    server.stop()
    R.clean()
  end)

  for name, wire in pairs(WIRES) do
    it(("works over %s, in pieces of one byte, with a result for every call"):format(name), function()
      local result = run({ tools = { add = ADD }, agents = { model = wire.agent(server.url .. "/plan") } }, {
        raw(wire.asks { { id = "i1", name = "add", input = { a = 1, b = 2 } }, { id = "i1", name = "add", input = { a = 2, b = 2 } },
          { id = "i3", name = "nope", input = { x = "\u{1F600}" } } }, "&piece=1"),
        raw(wire.says(GOOD)),
      })
      assert.equal("completed", result.status, result.message)
      local results, first = wire.results(select(2, server.request(2)))
      assert.equal("add", first)
      assert.equal(3, #results)
      assert.same({ "i1", '{"sum":3}' }, results[1])
      assert.equal('{"sum":4}', results[2][2])
      assert.not_equal("i1", results[2][1])
      assert.equal("i3", results[3][1])
      assert.matches("there is no tool \"nope\"", results[3][2])
    end)
  end

  it("has what its tools may use reserved before any of them leaves: side by side they cannot overshoot", function()
    local pay = { description = "x", command = { "sh", "-c", "echo paid >> " .. folder .. "/paid" }, usage = { dollars = 1 } }
    local wire = WIRES.anthropic
    local calls = {}
    for i = 1, 5 do calls[i] = { id = "p" .. i, name = "pay", input = {} } end
    local result = run({ tools = { pay = pay }, agents = { model = skillrt.agent.anthropic { url = server.url .. "/plan",
      prices = { ["claude-sonnet-4-5"] = { input = 0, output = 0 } } } },
      limits = { max_errors = 1, max_retries = 0, usage = { dollars = 3 } } }, { raw(wire.asks(calls)), raw(wire.says(GOOD)) })
    assert.equal("usage_limit", result.reason, result.message)
    local _, paid = (R.read(folder .. "/paid") or ""):gsub("paid", "")
    assert.is_true(paid <= 3, paid)
  end)

  it("performs what is to be alone alone, and in its place: edits of one reply build on each other", function()
    local wire, project = WIRES.anthropic, R.folder()
    R.write(project .. "/f", "a")
    local nap = { description = "x", command = { "sleep", "0.05" }, acts = false }
    local tools = { nap = nap, only = { description = "x", command = { "sleep", "0.02" }, acts = false, alone = true },
      edit = { roots = { write = { project } } }, read_file = { roots = { write = { project } } } }
    local function edit(id, old, new) return { id = id, name = "edit", input = { path = project .. "/f", old = old, new = new } } end
    local calls = { { id = "1", name = "nap", input = {} }, { id = "2", name = "nap", input = {} },
      { id = "3", name = "only", input = {} }, { id = "4", name = "nap", input = {} }, edit("5", "a", "b"), edit("6", "b", "c"),
      { id = "7", name = "read_file", input = { path = project .. "/f" } } }
    local result, dir = run({ tools = tools, agents = { model = wire.agent(server.url .. "/plan") } },
      { raw(wire.asks(calls)), raw(wire.says(GOOD)) })
    assert.equal("completed", result.status, result.message)
    local open, order = 0, {}
    for _, record in ipairs(R.records(dir)) do
      if record.t == "call" and record.kind == "command" then
        open = open + 1
        order[#order + 1] = open
      elseif record.t == "result" and record.reply and record.c:find "%." then
        open = open - 1
      end
    end
    assert.same({ 1, 2, 1, 1 }, order)
    assert.equal("c", wire.results(select(2, server.request(2)))[7][2])
    assert.equal("c", R.read(project .. "/f"))
  end)

  it("asks for leave once, with the arguments, where people take part in what acts", function()
    local wire = WIRES.anthropic
    local skill = { interaction = "interactive", agents = { model = wire.agent(server.url .. "/plan") }, tools = {
      append = { description = "x", input = { type = "object" }, command = { "sh", "-c", "echo done >> " .. folder .. "/done" } },
      note = { description = "x", input = { type = "object" }, acts = true, run = function(input) return "noted " .. input.n end },
      look = { description = "x", run = function() return "looked" end },
    } }
    local result, dir = run(skill, { raw(wire.asks { { id = "1", name = "append", input = { n = 1 } },
      { id = "2", name = "note", input = { n = 2 } }, { id = "3", name = "look", input = {} } }), raw(wire.says(GOOD)) })
    for i = 1, 2 do
      assert.same({ "paused", "waiting_for_person" }, { result.status, result.reason })
      local questions = {}
      for _, record in ipairs(R.records(dir, "call")) do
        if record.question then questions[#questions + 1] = record end
      end
      assert.equal(2, #questions)
      assert.matches('"n": ' .. i, questions[i].question.detail)
      result = assert(skillrt.resume(dir, { skill = R.skill(skill), answers = { { question = questions[i].q, value = "approve" } } }))
    end
    assert.equal("completed", result.status, result.message)
    assert.equal("done\n", R.read(folder .. "/done"))
    local results = wire.results(select(2, server.request(2)))
    assert.same({ "noted 2", "looked" }, { results[2][2], results[3][2] })
  end)

  it("runs the programs of an allow-list, and no other words", function()
    local wire = WIRES.anthropic
    local tried = { { "echo", "one" }, { "echo", "one", "two" }, { "echo", "-n" }, { "echo" }, { "sh", "-c", "echo" },
      { "cat", "a", "-b" }, { "/bin/echo", "one" }, { "echo", "one\0two" }, { "echo", "$(id) `id`; id | id > x" }, { "" },
      { "ECHO", "one" }, { "printf", "%s|", "a b", "*", "-x" } }
    local calls = {}
    for i, argv in ipairs(tried) do calls[i] = { id = "c" .. i, name = "run", input = { argv = json.array(argv) } } end
    local result = run({ tools = { run = { allow = { { "echo", "*" }, { "printf", "%s|", "..." } } } },
      agents = { model = wire.agent(server.url .. "/plan") } }, { raw(wire.asks(calls)), raw(wire.says(GOOD)) })
    assert.equal("completed", result.status, result.message)
    local results = wire.results(select(2, server.request(2)))
    local good = { [1] = "one\n", [9] = "$(id) `id`; id | id > x\n", [12] = "a b|*|-x|" }
    for i in ipairs(tried) do
      if good[i] then
        assert.equal(good[i], results[i][2])
      else
        assert.matches("not allowed; allowed are: echo %*; printf %%s| %.%.%.", results[i][2], i)
      end
    end
  end)

  it("shows what has changed in a repository, and runs nothing that is named there", function()
    local wire, project = WIRES.anthropic, R.folder()
    assert(os.execute(("cd '%s' && git init -q . && git config user.email a@b && git config user.name n && echo one > f && "
      .. "git add f && git commit -qm first && echo two > f && git config diff.external 'sh -c \"touch ran\"' && "
      .. "git config core.fsmonitor 'touch ran2' && echo 'f diff=x' > .gitattributes && git config diff.x.textconv 'touch ran3;'")
      :format(project)))
    local calls = {}
    for i, input in ipairs { { stat = false }, { ref = "--output=/tmp/x" }, { ref = "HEAD", paths = json.array { "--output=x" } } } do
      calls[i] = { id = "g" .. i, name = "git_diff", input = input }
    end
    local result = run({ tools = { git_diff = { cwd = project } }, agents = { model = wire.agent(server.url .. "/plan") } },
      { raw(wire.asks(calls)), raw(wire.says(GOOD)) })
    assert.equal("completed", result.status, result.message)
    local results = wire.results(select(2, server.request(2)))
    assert.matches("%-one\n%+two", results[1][2])
    assert.matches("must fit the pattern", results[2][2])
    for _, name in ipairs { "ran", "ran2", "ran3", "x" } do assert.is_false(R.exists(project .. "/" .. name), name) end
  end)

  it("shows no file outside a repository, and reads none by a filter, a transport or a folder that looks like one", function()
    local wire, base = WIRES.anthropic, R.folder()
    local function sh(text) assert(os.execute(("cd '%s' && { %s; } >/dev/null"):format(base, text))) end
    sh "echo hidden > secret; mkdir in out bare; cd in; git init -q .; git config user.email a@b; git config user.name n"
    sh "cd in; echo one > f; git add f; git commit -qm first; echo two > f; echo '* filter=e' > .gitattributes"
    sh("cd in; git config filter.e.clean 'touch " .. base .. "/ran; cat'; git config filter.e.required true")
    sh("cd in; mkdir ../gone; mv .git/objects/?? ../gone; git config remote.o.url 'ext::touch " .. base .. "/ran2'; "
      .. "git config remote.o.promisor true; git config protocol.ext.allow always; cp -r .git ../lacks; mv ../gone/* .git/objects")
    sh "mkdir lazy; mv lacks lazy/.git; cp in/f lazy"
    sh("cp -r in/.git/. bare; cd bare; git config core.bare false; git config core.worktree '" .. base .. "/bare'; echo x > f; "
      .. "cp ../in/.gitattributes .")
    for place, texts in pairs { ["in"] = { "outside repository", "outside repository", "-one\n+two" }, out = { "Not a git", "Not a git" },
      bare = { "ot a git repository", "ot a git repository", "ot a git repository" }, lazy = { "", "", "" } } do
      local calls = {}
      for i, paths in ipairs { { "/dev/null", base .. "/secret" }, { "../secret", "../secret" }, { "f", "f" } } do
        calls[i] = { id = "g" .. i, name = "git_diff", input = { paths = json.array(paths) } }
      end
      calls[4] = { id = "g4", name = "git_diff", input = { ref = "x/../../secret", paths = json.array { "/dev/null" } } }
      calls[5] = { id = "g5", name = "git_diff", input = { ref = "HEAD" } }
      local asked = #server.log()
      local result = run({ tools = { git_diff = { cwd = base .. "/" .. place } }, agents = { model = wire.agent(server.url .. "/plan") } },
        { ("/status/500\n"):rep(asked) .. raw(wire.asks(calls)), raw(wire.says(GOOD)) })
      assert.equal("completed", result.status, result.message)
      local results = wire.results(select(2, server.request(asked + 2)))
      for i, one in ipairs(results) do
        assert.is_nil(one[2]:find("hidden", 1, true), place .. i)
        assert.truthy(one[2]:find((texts[i] or ""):gsub("\\n", "\n"), 1, true), place .. i .. one[2])
      end
    end
    assert.same({ false, false }, { R.exists(base .. "/ran"), R.exists(base .. "/ran2") })
  end)

  it("shows the repository that lies there: not what core.worktree, a .git file or a link says; a linked worktree of it, too", function()
    local wire, base = WIRES.anthropic, R.folder()
    local function sh(text) assert(os.execute(("cd '%s' && { %s; } >/dev/null 2>&1"):format(base, text))) end
    sh "mkdir other in; echo hidden > other/h; echo hidden > h; cd in; git init -q .; git config user.email a@b; git config user.name n"
    sh "cd in; echo one > f; echo x > h; git add .; git commit -qm first; echo two > f; git worktree add -q ../tree; echo 3 > ../tree/f"
    sh("cp -r in moved; cd moved; git config core.worktree '" .. base .. "/other'")
    sh("cd other; git init -q .; git config user.email a@b; git config user.name n; git add .; git commit -qm hidden; echo hidden2 > h")
    sh "mkdir named sly common linked refs"
    sh "echo \"gitdir: $PWD/other/.git\" > named/.git; cp named/.git sly/was; ln -s ../other/.git linked/.git"
    sh "cd sly; mkdir -p g/worktrees/w"
    sh "cd sly; cp ../other/.git/HEAD ../other/.git/index g/worktrees/w; echo ../../../../other/.git > g/worktrees/w/commondir"
    sh "cd sly; echo $PWD/.git > g/worktrees/w/gitdir; echo gitdir: $PWD/g/worktrees/w > .git"
    sh "cd common; git init -q .; echo ../../other/.git > .git/commondir"
    sh "cd refs; git init -q .; rm -r .git/refs .git/objects; ln -s ../../other/.git/refs .git; ln -s ../../other/.git/objects .git"
    for place, wanted in pairs { moved = "-one\n+two", named = "leads to another folder", sly = "leads to another folder",
      linked = "leads to another folder", common = "leads to another folder", refs = "leads to another folder", tree = "-one\n+3" } do
      local asked = #server.log()
      local calls = { { id = "g1", name = "git_diff", input = { stat = false } },
        { id = "g2", name = "git_diff", input = { ref = "HEAD" } } }
      local result = run({ tools = { git_diff = { cwd = base .. "/" .. place } }, agents = { model = wire.agent(server.url .. "/plan") } },
        { ("/status/500\n"):rep(asked) .. raw(wire.asks(calls)), raw(wire.says(GOOD)) })
      assert.equal("completed", result.status, result.message)
      for _, one in ipairs(wire.results(select(2, server.request(asked + 2)))) do
        assert.is_nil(one[2]:find("hidden", 1, true), place .. one[2])
        assert.truthy(one[2]:find(wanted, 1, true), place .. one[2])
      end
    end
  end)

  it("sends nothing at a place where a tool was in use, where the script has changed", function()
    local place = R.folder()
    local function made(perform)
      return { tools = { ask = { description = "x", input = { type = "object" }, run = function(_, ctx)
        return ctx.ask { question = "Go on?" }
      end } }, actions = { { id = "a", run = perform } } }
    end
    local asks = made(function(_, ctx) return { text = ctx.tool("ask", {}) } end)
    assert.equal("waiting_for_person", assert(R.run(asks, { work_dir = place .. "/run" })).reason)
    local ok, result, message = pcall(skillrt.resume, place .. "/run", { skill = R.skill(made(function(_, ctx)
      return { text = ctx.await { kind = "command", argv = { "sh", "-c", "printf x >> " .. place .. "/sent" } } }
    end)) })
    message = ok and (message or result and result.message) or result
    assert.matches("step 1 %(a%) has diverged at call 1: it was tool ask .*, and is sh now", tostring(message))
    assert.is_nil(R.read(place .. "/sent"))
  end)

  it("does not take what a tool gave for other arguments, where the script has changed", function()
    local used = {}
    local function made(n)
      return { tools = { note = { description = "x", input = { type = "object" }, run = function(input)
        used[#used + 1] = input.n
        return "noted " .. input.n
      end } }, actions = { { id = "a", run = function(_, ctx)
        local text = ctx.tool("note", { n = n })
        return { text = text, answer = ctx.ask { question = "Go on?" } }
      end } } }
    end
    local dir = R.folder() .. "/run"
    assert.equal("waiting_for_person", assert(R.run(made(1), { work_dir = dir })).reason)
    local ok, result, message = pcall(skillrt.resume, dir, { skill = R.skill(made(2)), answers = { { question = 1, value = "y" } } })
    message = ok and (message or result and result.message) or result
    assert.matches('step 1 %(a%) has diverged at call 1', tostring(message))
    assert.same({ 1 }, used)
    result = assert(skillrt.resume(dir, { skill = R.skill(made(1)), answers = { { question = 1, value = "y" } } }))
    assert.same({ "completed", "noted 1", { 1 } }, { result.status, result.state.text, used })
  end)
end)
