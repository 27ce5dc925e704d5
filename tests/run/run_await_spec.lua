-- run_await_spec.lua: functions that wait: ctx.await and all else a function is given; whole runs.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

local function one(fn, more, input)
  local dir = R.folder() .. "/run"
  local definition = { limits = { max_errors = 1, max_retries = 0 }, actions = { { id = "a", run = fn } } }
  for key, value in pairs(more or {}) do
    definition[key] = value
  end
  local result, message = R.run(definition, { work_dir = dir, input = input })
  return assert(result, message), dir
end

local function error_of(fn, more)
  local result = one(fn, more)
  if result.reason == "error_limit" then
    return result.state.errors[1].message
  end
  assert.same({ "paused", "script_error" }, { result.status, result.reason })
  return result.message
end

describe("ctx.await", function()
  after_each(R.clean)

  it("waits for commands, time, servers and agents, as often as it likes", function()
    local server <close> = setmetatable(R.server("/say/%7B%22status%22%3A%22completed%22%2C%22stateUpdates%22%3A%7B%22m%22%3A5%7D%7D\n"),
      { __close = function(s) s.stop() end })
    local result, dir = one(function(_, ctx)
      local first = ctx.await { kind = "command", argv = { "echo", "one" } }
      ctx.await { kind = "sleep", seconds = 0.01 }
      local second = ctx.await { kind = "command", argv = { "cat" }, stdin = first.stdout .. "two" }
      local third = ctx.await { kind = "http", url = server.url .. "/say/three" }
      local fourth = ctx.await { agent = "model", prompt = "what is five?" }
      return { text = second.stdout, code = third.code, body = third.body, m = fourth.updates.m }
    end, { agents = { model = skillrt.agent.http { url = server.url .. "/plan" } } })
    assert.equal("completed", result.status, json.encode(result.state.errors))
    assert.same({ "one\ntwo", 200, "three", 5 },
      { result.state.text, result.state.code, result.state.body, result.state.m })
    assert.equal(5, #R.records(dir, "result"))
  end)

  it("gives nil, a message and a class where the exchange failed", function()
    local result = one(function(_, ctx)
      local reply, message, class = ctx.await { kind = "command", argv = { "sleep", "5" }, timeout = 0.02, idempotent = true }
      return { nothing = reply == nil, said = message ~= "", class = class }
    end)
    assert.same({ true, true, "timeout" }, { result.state.nothing, result.state.said, result.state.class })
  end)

  it("may have given what cannot be used: the function is tried again, and asks anew (F25)", function()
    local attempts = 0
    local result = one(function(_, ctx)
      attempts = attempts + 1
      ctx.await { kind = "command", argv = { "true" }, idempotent = true }
      return attempts == 1 and { ["a.b"] = 1 } or { attempts = attempts }
    end, { limits = { max_errors = 1, max_retries = 1 }, retry = { base = 0.001, jitter = false } })
    assert.equal("completed", result.status, json.encode(result.state.errors))
    assert.equal(2, result.state.attempts)
  end)

  it("refuses a wrong request where it is made, and the function may go on (F48)", function()
    local said = {}
    local result = one(function(_, ctx)
      for i, request in ipairs {
        { kind = "teleport" }, { kind = "http" }, { kind = "command", argv = {} }, { agent = "nobody" },
        { kind = "command", argv = { "a\0b" } }, { kind = "sleep", seconds = -1 }, { kind = "http", url = "ftp://x" },
        { kind = "http", url = "http://x", headers = { ["a b"] = "c" } }, { kind = "sleep", secs = 1 },
      } do
        said[i] = select(2, pcall(ctx.await, request))
      end
      said[#said + 1] = select(2, pcall(ctx.await, "text"))
      return { after = ctx.await({ kind = "command", argv = { "echo", "fine" } }).stdout }
    end)
    assert.equal("fine\n", result.state.after)
    for i, wanted in ipairs { '"teleport"', '"url" is missing', "names no program", '"nobody" is not declared', "NUL",
      "seconds must be", "http://", "header", '"secs"', "needs a request" } do
      assert.matches(wanted, said[i], nil, true)
    end
  end)

  it("names the author's line when nobody catches a wrong request", function()
    assert.matches("run_await_spec.lua:%d+: ctx.await: kind", error_of(function(_, ctx)
      ctx.await { kind = "teleport" }
    end))
  end)

  it("belongs to the run function, not to a coroutine of its own", function()
    assert.matches("not inside a coroutine of your own", error_of(function(_, ctx)
      local ok, message = coroutine.resume(coroutine.create(function()
        ctx.await { kind = "sleep", seconds = 0 }
      end))
      error(not ok and message or "it went through", 0)
    end))
  end)

  it("is the only way to wait: another yield is an error", function()
    assert.matches("to wait, call ctx.await", error_of(function() coroutine.yield() end))
  end)

  it("leaves the recorded reply alone, whatever the function does with its own", function()
    local result, dir = one(function(_, ctx)
      local reply = ctx.await { kind = "command", argv = { "echo", "kept" } }
      reply.body, reply.stdout = "changed", "changed"
      return { ok = true }
    end)
    assert.is_true(result.state.ok)
    assert.equal("kept\n", R.records(dir, "result")[1].reply.body)
    assert.is_nil(R.records(dir, "result")[1].reply.stdout)
  end)

  it("gives output that is no UTF-8 with the bad bytes replaced, now and after a crash", function()
    local result = one(function(_, ctx)
      return { text = ctx.await({ kind = "command", argv = { "printf", "a\\377b" } }).stdout }
    end)
    assert.equal("a\u{FFFD}b", result.state.text)
  end)
end)

describe("what a function is given", function()
  after_each(R.clean)

  it("holds the run's names, input, arguments and folders", function()
    local folder = R.folder()
    local result, dir = one(function(_, ctx)
      return { all = {
        ctx.run_id, ctx.id, ctx.step, ctx.attempt, ctx.input.who, ctx.work_dir, ctx.interaction,
      } }
    end, nil, { who = "me", dir = folder })
    assert.same({ result.run_id, "a", 1, 1, "me", dir, "autonomous" }, result.state.all)
    assert.equal("me", result.state.input.who)
  end)

  it("keeps the shared context: get of a missing key is nil, set replaces, files show it (R5, F14)", function()
    local dir = R.folder() .. "/run"
    local result = assert(R.run({ actions = {
      { id = "a", priority = 3, run = function(_, ctx)
        assert(ctx.context.get "shared" == nil)
        ctx.context.set("shared", { a = 1 })
        assert(ctx.context.get("shared").a == 1)
      end },
      { id = "b", priority = 2, run = function(_, ctx)
        assert(ctx.context.get("shared").a == 1)
        ctx.context.set("shared", { b = 2 })
        ctx.context.set("other", "x")
      end },
      { id = "c", priority = 1, run = function(_, ctx)
        ctx.context.set("other", nil)
        return { seen = ctx.context.get "shared", gone = ctx.context.get "other" == nil }
      end },
    } }, { work_dir = dir }))
    assert.equal("completed", result.status, json.encode(result.state.errors))
    assert.same({ b = 2 }, result.state.seen)
    assert.is_true(result.state.gone)
    assert.equal('{\n  "b": 2\n}\n', R.read(dir .. "/context/shared.json"))
    assert.same({ shared = { b = 2 } }, result.state.context)
  end)

  it("refuses context keys that could be paths, from functions and from agents (F13)", function()
    assert.matches("context.set: the key must be", error_of(function(_, ctx)
      ctx.context.set("../up", 1)
    end))
    local result = one(nil, {
      agents = { evil = skillrt.agent.command { "echo", '{"status":"completed","context":{"../up":1}}', parse = "json" } },
      actions = { { id = "a", agent = "evil" } },
    })
    assert.matches("context: a key must be", result.state.errors[1].message)
  end)

  it("reads and lists below input.dir, and writes below the work directory only (F13)", function()
    local folder = R.folder()
    assert(os.execute(("mkdir -p '%s/src/deep' '%s/.git'"):format(folder, folder)))
    R.write(folder .. "/src/a.c", "int a;")
    R.write(folder .. "/src/deep/b.c", "int b;")
    R.write(folder .. "/.git/c.c", "no")
    local result, dir = one(function(_, ctx)
      local bad = {}
      for i, call in ipairs {
        function() ctx.write("../x", "") end, function() ctx.write("/tmp/x", "") end, function() ctx.read "../../etc/passwd" end,
        function() ctx.glob("*", "../..") end, function() ctx.write("a", 5) end,
        function() ctx.write("state.json", "") end, function() ctx.write(".//journal/00000001.sj", "") end,
        function() ctx.write("run.lock", "") end,
      } do
        bad[i] = not pcall(call)
      end
      assert(ctx.write("deep/er/out.txt", "written"))
      return { files = ctx.glob "**/*.c", text = ctx.read "src/a.c", bad = bad, absolute = ctx.read(ctx.work_dir .. "/deep/er/out.txt") }
    end, nil, { dir = folder })
    assert.same({ "src/a.c", "src/deep/b.c" }, result.state.files)
    assert.equal("int a;", result.state.text)
    assert.same({ true, true, true, true, true, true, true, true }, result.state.bad)
    assert.equal("written", R.read(dir .. "/deep/er/out.txt"))
    assert.equal("written", result.state.absolute)
  end)

  it("keeps what was read for a function that may run again, and not for one that has finished", function()
    local folder, long = R.folder(), ("long text "):rep(500)
    R.write(folder .. "/long", long)
    local function blobs(dir) return io.popen(("find '%s/blobs' -type f 2>/dev/null | wc -l"):format(dir)):read "n" end
    local _, dir = one(function(_, ctx) return { n = #ctx.read "long" } end, nil, { dir = folder })
    assert.equal(0, blobs(dir))
    _, dir = one(function(_, ctx) return nil, #ctx.read "long" .. " are too many", "permanent" end, nil, { dir = folder })
    assert.equal(0, blobs(dir))
    local result
    result, dir = one(function(_, ctx)
      local text = ctx.read "long"
      ctx.sleep(0)
      return { n = #text }
    end, nil, { dir = folder })
    assert.same({ #long, 1 }, { result.state.n, blobs(dir) })
  end)

  it("logs notes, also of an attempt that fails, whatever bytes they hold", function()
    local _, dir = one(function(_, ctx)
      ctx.log "first"
      ctx.log "bad \255 byte"
      error "over"
    end)
    local notes = R.records(dir, "note")
    assert.equal("first", notes[1].text)
    assert.equal("bad \u{FFFD} byte", notes[2].text)
  end)

  it("takes what is raised as a text with a traceback, or as a table with its class", function()
    local _, dir = one(function() error "plain" end)
    local failed = R.records(dir, "fail")[1]
    assert.matches("run_await_spec.lua:%d+: plain", failed.message)
    assert.matches("stack traceback", failed.traceback)
    _, dir = one(function() error { message = "told", class = "transient" } end)
    assert.same({ "told", "transient" }, { R.records(dir, "fail")[1].message, R.records(dir, "fail")[1].class })
    _, dir = one(function() error { message = "coded", code = "timeout" } end)
    assert.equal("timeout", R.records(dir, "fail")[1].class)
    assert.same({ "aborted", "fatal_error" }, (function()
      local result = one(function() error({ message = "x", class = "odd" }, 0) end)
      return { result.status, result.reason }
    end)())
    for _, raised in ipairs { { 1 },
      { message = setmetatable({}, { __tostring = error }) }, setmetatable({}, { __tostring = error }), "b\255" } do
      local result
      result, dir = one(function() error(raised, 0) end)
      assert.equal("script_error", result.reason)
      assert.equal("permanent", R.records(dir, "fail")[1].class)
    end
    assert.equal("script_error", one(function() error() end).reason)
  end)

  it("has its to-be-closed variables closed when it fails, and when it is tried again", function()
    local closed = {}
    local result, dir = one(function(_, ctx)
      local guard <close> = setmetatable({}, { __close = function() closed[#closed + 1] = ctx.attempt end })
      if ctx.attempt == 1 then
        return guard and nil, "again", "transient"
      end
      ctx.await { kind = "sleep", seconds = 0 }
      error "over"
    end, { limits = { max_errors = 1, max_retries = 1 } })
    assert.equal("script_error", result.reason)
    assert.same({ 1, 2 }, closed)
    assert.equal(2, #R.records(dir, "fail"))
  end)

  it("may run other skills: their runs are their own", function()
    local inner = R.folder() .. "/inner"
    local result = one(function()
      local other = assert(R.run({ name = "inner", actions = { { id = "b", run = function() return { x = 1 } end } } },
        { work_dir = inner }))
      return { inner = other.status, x = other.state.x }
    end)
    assert.same({ "completed", "completed", 1 }, { result.status, result.state.inner, result.state.x })
  end)

  it("fails the step with the value's path where a result cannot be kept, and loses nothing (R66)", function()
    local cycle = {}
    cycle.me = cycle
    local deep = {}
    for _ = 1, 2000 do deep = { deep } end
    for wanted, value in pairs {
      ["recorded: bad.f: "] = { bad = { f = print } }, ["recorded: n: "] = { n = 0 / 0 }, ["recorded: inf: "] = { inf = math.huge },
      ["recorded: c.me: "] = { c = cycle }, ["nested so deep"] = { deep = deep }, ["recorded: s: "] = { s = "\255" },
      ["recorded: mixed: "] = { mixed = { 1, x = 2 } },
    } do
      local result, dir = one(function() return value end, {
        state = { kept = "yes" }, limits = { max_errors = 2, max_retries = 0 },
        actions = {
          { id = "first", priority = 9, run = function() return { kept = "really" } end },
          { id = "a", run = function() return value end },
        },
      })
      assert.equal("failed", result.status)
      assert.matches(wanted, result.state.errors[1].message, nil, true)
      assert.matches("cannot be recorded", result.state.errors[1].message)
      assert.equal("really", R.json(dir .. "/state.json").kept)
    end
  end)

  it("may return nothing, updates, or a failure with its class; not a text", function()
    assert.equal("completed", one(function() end).status)
    local result, dir = one(function() return nil, "try later", "transient" end)
    assert.equal("failed", result.status)
    assert.equal("transient", R.records(dir, "fail")[1].class)
    assert.matches("returned \"x\"; an action returns one table of updates, or nothing", error_of(function() return "x" end))
  end)
end)

describe("the state that a function sees", function()
  after_each(R.clean)

  it("raises on every write, also deep inside and by way of the libraries, naming the line (F34)", function()
    local result = one(function(state)
      local said = {}
      for i, write in ipairs {
        function() state.n = 2 end, function() state.box.list[1] = 3 end, function() table.insert(state.list, 4) end,
        function() table.sort(state.list) end, function() table.remove(state.list) end, function() state.box.new = {} end,
      } do
        said[i] = select(2, pcall(write))
      end
      return { said = said, n2 = state.n }
    end, { state = { n = 1, list = { 3, 1, 2 }, box = { list = { 1 } } } })
    assert.equal(1, result.state.n2)
    for i, message in ipairs(result.state.said) do
      assert.matches("^tests/run/run_await_spec.lua:%d+: the state is read%-only", message, nil, nil)
      assert.matches("return", message, i)
    end
    assert.matches("return { n = ... }", result.state.said[1], nil, true)
    assert.same({ 3, 1, 2 }, result.state.list)
  end)

  it("is not changed behind the journal's back by rawset or getmetatable", function()
    local result = one(nil, { state = { n = 1, box = { x = 1 } }, actions = {
      { id = "a", priority = 2, run = function(state)
        rawset(state, "n", 99)
        rawset(state.box, "x", 99)
        assert(getmetatable(state).__json_target == nil)
        return {}
      end },
      { id = "b", when = function(state) return state.n == 1 and state.box.x == 1 end,
        run = function(state) return { n2 = state.n, x2 = state.box.x } end },
    } })
    assert.equal("completed", result.status, result.message)
    assert.same({ 1, 1 }, { result.state.n2, result.state.x2 })
  end)

  it("can be walked, counted, joined, encoded and returned in parts", function()
    local result = one(function(state)
      local keys = {}
      for key in pairs(state.box) do keys[#keys + 1] = key end
      table.sort(keys)
      local sum = 0
      for _, v in ipairs(state.list) do sum = sum + v end
      return { keys = keys, sum = sum, joined = table.concat(state.list, "-"), text = json.encode(state.box),
        copy = state.box, count = #state.list, third = select(3, table.unpack(state.list)) }
    end, { state = { list = { 1, 2, 3 }, box = { b = { 1 }, a = {} } } })
    assert.same({ { "a", "b" }, 6, "1-2-3", '{"a":[],"b":[1]}', 3, 3 }, {
      result.state.keys, result.state.sum, result.state.joined, result.state.text, result.state.count, result.state.third })
    assert.same({ b = { 1 }, a = {} }, result.state.copy)
  end)
end)
