-- run_branches_spec.lua: branches of a step as scripts use them: what they give, what fails them, what a
-- further attempt keeps. That nothing is done twice, whatever is killed, proves test_crash_orders.
local R = require "tests.support.runs"
local skillrt = require "skillrt"
local json = skillrt.json

local function run(perform, more)
  local d = { limits = { max_errors = 1 }, retry = { base = 0.001, jitter = false }, actions = { { id = "a", run = perform } } }
  for key, value in pairs(more or {}) do
    d[key] = value
  end
  local dir = R.folder() .. "/run"
  local result = assert(R.run(d, { work_dir = dir }))
  return result, dir
end

local function echo(ctx, text, more)
  local request = { kind = "command", argv = { "printf", "%s", text } }
  for key, value in pairs(more or {}) do
    request[key] = value
  end
  local reply, message, class = ctx.await(request)
  return reply and reply.stdout, message, class
end

local function fail(ctx, code)
  return ctx.await { kind = "command", argv = { "sh", "-c", "exit " .. code } }
end

describe("branches", function()
  after_each(R.clean)

  it("say at the script's own line what is wrong with what they are given", function()
    local function f() end
    local cases = {
      { "map", { 7, f }, "ctx.map: needs a list, not 7" }, { "map", { { x = 1 }, f }, 'not a table of names such as "x"' },
      { "map", { { 1 }, 7 }, "ctx.map: needs a function, not 7" }, { "map", { { 1 }, f, 7 }, "options must be a table, not 7" },
      { "map", { { 1 }, f, { max = 1 } }, 'ctx.map: unknown option "max"' },
      { "map", { { 1 }, f, { max_parallel = 0 } }, "max_parallel must be a whole number of at least 1, not 0" },
      { "map", { { 1 }, f, { on_error = "go" } }, 'on_error must be "finish", "stop" or "settle", not "go"' },
      { "map", { { 1 }, f, { key = 7 } }, "key must be a function, not 7" },
      { "map", { { 1 }, f, { key = f } }, "key must give a text or a whole number, not nothing" },
      { "map", { { 1, 2 }, f, { key = function() return "k" end } }, 'key gave "k" for items 1 and 2' },
      { "all", { { f, 7 } }, "ctx.all: item 2 must be a function, not 7" },
      { "pipeline", { { 1 }, f, 7 }, "ctx.pipeline: item 2 must be a function, not 7" },
      { "first", { {} }, "ctx.first: needs a list of functions" }, { "first", { 7 }, "ctx.first: needs a list of functions" },
      { "gather", { 7 }, "ctx.gather: needs a function, not 7" },
      { "gather", { function(begin) begin("k", f) begin("k", f) end }, 'a branch "k" was begun before' },
      { "once", { f }, "ctx.once: needs a name and a function" }, { "checkpoint", { "7" }, "ctx.checkpoint: needs a name" },
      { "checkpoint", { "a@b" }, "ctx.checkpoint: needs a name" }, { "within", { "1", f }, "ctx.within: " },
      { "random", { 2, 1 }, "ctx.random: needs whole numbers from low to high, not 2 and 1" },
    }
    local said = {}
    run(function(_, ctx)
      for i, case in ipairs(cases) do
        said[i] = select(2, pcall(function()
          local list = case[2]
          local _ = ctx[case[1]](list[1], list[2], list[3])
          return _
        end))
      end
    end)
    for i, case in ipairs(cases) do
      assert.truthy(tostring(said[i]):find(case[3], 1, true), case[1] .. ": " .. tostring(said[i]))
      assert.truthy(tostring(said[i]):find("run_branches_spec.lua:", 1, true), case[1] .. ": " .. tostring(said[i]))
    end
  end)

  it("await several requests: the replies are in their order, with as many at once as is said", function()
    for at_once, second in pairs { "late", "early" } do
      local mark = R.folder() .. "/mark" .. at_once
      local result = run(function(_, ctx)
        local replies = ctx.await_all({ { kind = "command", argv = { "sh", "-c", "sleep 0.3; echo a >" .. mark .. "; echo a" } },
          { kind = "command", argv = { "sh", "-c", "test -e " .. mark .. " && echo late || echo early" } } }, { max_parallel = at_once })
        return { out = replies[1].stdout .. replies[2].stdout }
      end)
      assert.equal("a\n" .. second .. "\n", result.state.out, json.encode(result.state.errors))
    end
  end)

  it("give their results in the order of the items, nested too, with calls bounded", function()
    local out, most, now = nil, 0, 0
    local result, dir = run(function(_, ctx)
      out = ctx.map({ "a", "b", "c" }, function(name)
        return ctx.map({ 1, 2 }, function(part)
          return echo(ctx, name .. part)
        end)
      end, { max_parallel = 2 })
      return { out = out }
    end)
    assert.equal("completed", result.status, json.encode(result.state.errors))
    assert.same({ { "a1", "a2" }, { "b1", "b2" }, { "c1", "c2" } }, result.state.out)
    for _, record in ipairs(R.records(dir)) do
      now = now + (record.t == "call" and 1 or record.t == "result" and -1 or 0)
      most = math.max(most, now)
    end
    assert.equal(2, most)
  end)

  it("fail as a whole by default, after the others; settle gives both; stop ends the rest", function()
    local seen = {}
    local result, dir = run(function(_, ctx)
      local list, message, class = ctx.all { function() return echo(ctx, "x") end, function() return fail(ctx, 3) end }
      seen.all = { list == nil, message ~= nil, class }
      local results, failures = ctx.map({ 0, 4 }, function(code) return fail(ctx, code) end, { on_error = "settle" })
      seen.settle = { results[1] ~= false, results[2], failures[2].class, failures[1] }
      ctx.map({ 1, 2 }, function(i)
        if i == 2 then
          return ctx.sleep(100)
        end
        echo(ctx, "x")
        return nil, "no", "permanent"
      end, { on_error = "stop" })
      return { over = true }
    end)
    assert.is_true(result.state.over, json.encode(result.state.errors))
    assert.same({ true, true, "permanent" }, seen.all)
    assert.same({ true, false, "permanent" }, seen.settle)
    local results = R.records(dir, "result")
    assert.equal("canceled", results[#results].failed.class)
  end)

  it("try a call again as the skill says where the call itself says less", function()
    local result, dir = run(function(_, ctx)
      ctx.await { kind = "command", argv = { "sh", "-c", "kill -9 $$" }, idempotent = true, retry = { max = 2 } }
      return { over = true }
    end, { retry = { base = 0.04, factor = 1, jitter = false } })
    assert.is_true(result.state.over, json.encode(result.state.errors))
    local waits = {}
    for i, record in ipairs(R.records(dir, "attempt")) do
      waits[i] = record.retry
    end
    assert.same({ 40, 40 }, waits)
  end)

  it("try a call again by the class that its judge gives: what is idempotent, or was not done", function()
    local folder = R.folder()
    local function judged(ctx, name, idempotent, executed)
      local asked = 0
      local reply, _, class = ctx.await {
        kind = "command", argv = { "sh", "-c", ("echo x >> %s/%s"):format(folder, name) }, idempotent = idempotent,
        retry = { max = 3, base = 0.001 },
        judge = function()
          asked = asked + 1
          return asked < 3 and "transient" or nil, "busy", executed
        end,
      }
      return { reply ~= nil, class or "none", #R.read(folder .. "/" .. name) // 2 }
    end
    local result = run(function(_, ctx)
      return { out = { judged(ctx, "a", true), judged(ctx, "b", false), judged(ctx, "c", false, "no"),
        judged(ctx, "d", true, "answered") } }
    end)
    assert.same({ { true, "none", 3 }, { false, "transient", 1 }, { true, "none", 3 }, { false, "transient", 1 } },
      result.state.out)
  end)

  it("race: the first that succeeds, or a deadline; the losers are dropped or given up", function()
    local result = run(function(_, ctx)
      local value, index = ctx.first {
        function() return fail(ctx, 1) end, function() return echo(ctx, "won") end, function() return ctx.sleep(100) end,
      }
      local late, message, class = ctx.within(0.02, function() return ctx.sleep(100) end)
      local soon = ctx.within(100, function() return echo(ctx, "soon") end)
      return { won = { value, index }, late = { late == nil, message ~= nil, class }, soon = soon }
    end)
    assert.same({ { "won", 2 }, { true, true, "timeout" }, "soon" }, { result.state.won, result.state.late, result.state.soon })
  end)

  it("that lose begin nothing more: no item of a list with max_parallel, no call that waited for a place", function()
    local lists = {
      function(ctx) -- items that are begun one by one
        return ctx.map({ 1, 2, 3 }, function() return ctx.wait { event = "never" } end, { max_parallel = 1 })
      end,
      function(ctx) -- one item whose second call has no place yet
        return ctx.map({ 1 }, function()
          return ctx.all { function() return ctx.wait { event = "never" } end, function() return ctx.wait { event = "nor" } end }
        end, { max_parallel = 1 })
      end,
    }
    for _, loser in ipairs(lists) do
      local result, dir = run(function(_, ctx)
        local won = ctx.first { function() return ctx.sleep(0.02) and "slept" end, function() return loser(ctx) end }
        ctx.sleep(0.001) -- what the loser began would begin now
        return { won = won }
      end)
      assert.same({ "completed", "slept" }, { result.status, result.state.won })
      local waits = 0
      for _, call in ipairs((R.records(dir, "call"))) do
        waits = waits + (call.kind == "wait" and 1 or 0)
      end
      assert.equal(1, waits)
    end
  end)

  it("that lose pay for nothing more: what cannot be given up is finished, and is the last", function()
    local paid = R.folder() .. "/paid"
    local function pay(ctx)
      return ctx.map({ 1, 2, 3 }, function(item)
        return ctx.await { kind = "command", argv = { "sh", "-c", ("sleep 0.1; echo %d >> '%s'"):format(item, paid) } }
      end, { max_parallel = 1 })
    end
    local result = run(function(_, ctx)
      local _, message, class = ctx.within(0.05, function() return pay(ctx) end)
      ctx.sleep(0.2) -- what it began would be performed meanwhile
      return { message = message, class = class }
    end)
    assert.same({ "completed", "timeout" }, { result.status, result.state.class })
    assert.equal("1\n", R.read(paid))
    run(function(_, ctx) -- a branch that the step does not wait for
      ctx.spawn(pay, ctx)
      ctx.sleep(0.05)
    end)
    assert.equal("1\n1\n", R.read(paid))
  end)

  it("have deadlines that take no place of max_parallel: what is bounded by both can begin, and go on", function()
    for most = 1, 2 do
      local result, dir = run(function(_, ctx)
        return { out = ctx.map({ "a", "b", "c" }, function(name)
          return ctx.within(60, function() return echo(ctx, name) .. echo(ctx, name) end)
        end, { max_parallel = most }) }
      end)
      assert.same({ "aa", "bb", "cc" }, result.state.out)
      local now, together, begun = 0, 0, {}
      for _, record in ipairs(R.records(dir)) do
        if record.kind == "sleep" then
          begun[#begun + 1] = record.c
        elseif record.t == "call" then
          now = now + 1
        elseif record.t == "result" and not record.failed then
          now = now - 1
        end
        together = math.max(together, now)
      end
      assert.equal(most, together)
      assert.equal(3, #begun)
    end
  end)

  it("close what they hold when they fail, before anybody goes on", function()
    local result = run(function(_, ctx)
      local seen = json.array {}
      ctx.map({ 1, 2 }, function(n)
        local _ <close> = setmetatable({}, { __close = function() seen[#seen + 1] = "closed " .. n end })
        error "no"
      end)
      seen[#seen + 1] = "after"
      return { seen = seen }
    end)
    assert.same({ "closed 1", "closed 2", "after" }, result.state.seen)
  end)

  it("are spawned, awaited and canceled by their handle", function()
    local result = run(function(_, ctx)
      local one = ctx.spawn(function(text) return echo(ctx, text) end, "one")
      local two = ctx.spawn(function() return ctx.sleep(100) end)
      two.cancel()
      local gone, message = two.await()
      return { one = one.await(), gone = { gone == nil, message } }
    end)
    assert.same({ "one", { true, "canceled" } }, { result.state.one, result.state.gone })
  end)

  it("that begin a call in the moment in which their step ends do not make it", function()
    local result, dir = run(function(_, ctx)
      echo(ctx, "first")
      ctx.spawn(function() return echo(ctx, "never") end)
      ctx.spawn(function() return true end).await() -- the one before has asked by now
      return { ended = true }
    end)
    assert.same({ "completed", true, 1 }, { result.status, result.state.ended, #R.records(dir, "call") })
  end)

  it("go through stages, and rounds; what a local function gave is kept", function()
    local ran = 0
    local result, dir = run(function(_, ctx)
      local piped = ctx.pipeline({ 1, 2 }, function(n) return n * 10 end, function(n, item, index)
        return echo(ctx, ("%d.%d.%d"):format(n, item, index))
      end)
      local kept = ctx.once("kept", function()
        ran = ran + 1
        return { ran = ran }
      end)
      local sum = ctx.loop(0, function(value, round)
        echo(ctx, tostring(round))
        return value + round, round == 3
      end)
      return { piped = piped, kept = kept, sum = sum }
    end)
    assert.same({ { "10.1.1", "20.2.2" }, { ran = 1 }, 6 }, { result.state.piped, result.state.kept, result.state.sum })
    local keep
    for i, record in ipairs(R.records(dir)) do
      keep = record.t == "round" and record.n == 2 and i or keep
    end
    assert.is_number(keep)
    assert.equal(1, ran)
  end)

  it("are told apart by key, which must not be given twice", function()
    local result, dir = run(function(_, ctx)
      ctx.map({ "x.y", "z" }, function(name) return echo(ctx, name) end, { key = function(name) return name end })
      local ok, message = pcall(ctx.map, { 1, 2 }, print, { key = function() return "same" end })
      return { ok = ok, message = message }
    end)
    assert.same({ "1.x%2Ey.1", "1.z.1" }, { R.records(dir, "call")[1].c, R.records(dir, "call")[2].c })
    assert.is_false(result.state.ok)
    assert.matches("for items 1 and 2", result.state.message)
  end)

  it("keep what they have when the step is tried again: only the call that failed is made anew (F19)", function()
    local folder = R.folder()
    local function counted(name, code)
      return { kind = "command", idempotent = true, argv = { "sh", "-c", ("echo %s >> %s/ran; %s"):format(name, folder, code) } }
    end
    local result = run(function(_, ctx)
      ctx.await(counted("first", "true"))
      local list, message = ctx.map({ "p", "q" }, function(name)
        return ctx.await(counted(name, name == "q" and ("test -e %s/ok || { touch %s/ok; exit 75; }"):format(folder, folder) or "true"))
      end, { max_parallel = 1 })
      if not list then
        return nil, message, "transient"
      end
      return { done = true }
    end)
    assert.is_true(result.state.done, json.encode(result.state.errors))
    assert.equal("first\np\nq\nq\n", R.read(folder .. "/ran"))
  end)

  it("make no call that acted a second time, though another attempt asks otherwise in its place", function()
    local folder, attempt = R.folder(), 0
    local result, dir = run(function(_, ctx)
      attempt = attempt + 1
      local _, message, class = ctx.all {
        function() return echo(ctx, attempt == 1 and "" or "x", { idempotent = true, expect = "text" }) end,
        function() return ctx.await { kind = "command", argv = { "sh", "-c", "echo x >> " .. folder .. "/book", "try " .. attempt } } end,
      }
      return not message and {} or nil, message, class
    end, { limits = { max_errors = 1, max_retries = 3 } })
    assert.equal("failed", result.status)
    assert.matches("has diverged at call 1.2.1: it was sh, and is another sh now", result.state.errors[1].message)
    assert.equal("x\n", R.read(folder .. "/book"))
    assert.equal(2, #R.records(dir, "fail"))
  end)

  it("are a list: a table of names is refused, and not taken for an empty one", function()
    local result = run(function(_, ctx) return { ctx.all { a = function() end } } end, { limits = { max_retries = 0 } })
    assert.matches('ctx.all: needs a list, not a table of names such as "a"', result.message)
  end)

  it("may not wait inside ctx.once, nor inside a coroutine of the script's own", function()
    local result = run(function(_, ctx)
      local ok, message = pcall(ctx.once, "x", function() return ctx.sleep(0) end)
      return { ok = ok, message = message }
    end)
    assert.is_false(result.state.ok)
    assert.matches("must not wait", result.state.message)
  end)

  it("wait again after ctx.once raised", function()
    local result = run(function(_, ctx)
      local ok = pcall(ctx.once, "x", function() error "no" end)
      return { ok = ok, said = echo(ctx, "after") }
    end)
    assert.same({ false, "after" }, { result.state.ok, result.state.said }, json.encode(result.state.errors))
  end)
end)

describe("an action with each", function()
  after_each(R.clean)

  it("is performed once for each item of a list, and its updates are merged in their order", function()
    local result = run(nil, { state = { files = { "a.c", "b.c" } }, actions = {
      { id = "size", each = "files", run = function(_, ctx, item, index)
        return { sizes = { [item] = #assert(echo(ctx, item)) + index } }
      end },
      { id = "name", each = { items = function() return { "x", "y" } end, as = "names", max_parallel = 1 },
        agent = skillrt.agent.command { "printf", "%s-%s", "{item}", "{index}" } },
    } })
    assert.equal("completed", result.status, json.encode(result.state.errors))
    assert.same({ { ["a.c"] = 4, ["b.c"] = 5 }, { "x-1", "y-2" } }, { result.state.sizes, result.state.names })
  end)

  it("refuses what is no list, and unknown fields", function()
    local result = run(nil, { state = { n = 1 }, actions = { { id = "a", each = "n", run = function() end } } })
    assert.matches("is 1, not a list", result.state.errors[1].message)
    local ok, message = pcall(skillrt.skill, { name = "s", actions = { { id = "a", each = { item = "x" }, run = print } } })
    assert.is_false(ok)
    assert.matches('each": unknown field "item"', message)
  end)
end)

describe("a run", function()
  after_each(R.clean)

  it("is blocked, not done, where the action that ends it never ran (F28)", function()
    local result = run(nil, { actions = { { id = "a", run = function() end },
      { id = "end", when = "ready === true", terminal = true, run = function() end } } })
    assert.same({ "paused", "blocked" }, { result.status, result.reason })
    assert.matches("end: ready is undefined, wanted ready === true", result.message)
  end)

  it("fails as it would by returning it where a script raises what a branch's failure says, whatever its class", function()
    local function errors_of(class)
      local result = run(function(_, ctx)
        error((select(2, ctx.map({ 1 }, function() return nil, "no luck", class end))))
      end, { limits = { max_retries = 0 } })
      return result.status, result.state.errors[1].message
    end
    local status, message = errors_of "definition"
    assert.equal("failed", status)
    assert.matches("no luck$", message)
    status, message = errors_of "bogus"
    assert.equal("aborted", status)
    assert.matches('no luck %(and its class is "bogus", which is not known', message)
  end)

  it("keeps limits, ends and errors in every mode (R73, F29)", function()
    local function phases(count)
      local list = {}
      for i = 1, count do
        list[i] = { id = "p" .. i, run = function() return i, { n = i } end }
      end
      return list
    end
    local result = run(nil, { actions = {}, phases = phases(4), limits = { max_iterations = 2 } })
    assert.same({ "failed", "max_iterations", 2 }, { result.status, result.reason, result.steps })
    result = run(nil, { actions = {}, phases = phases(4), terminate = { { when = "n === 2", reason = "two" } } })
    assert.same({ "completed", "two", 2 }, { result.status, result.reason, result.steps })
    result = run(nil, { actions = {}, on_error = "continue", limits = { max_errors = 2, max_retries = 0 }, phases = {
      { id = "a", run = R.fails() }, { id = "b", run = R.fails() }, { id = "c", run = function() return 1 end } } })
    assert.same({ "failed", "error_limit", 2 }, { result.status, result.reason, result.steps })
  end)

  it("fails a phase whose condition cannot be asked, instead of skipping it", function()
    local result = run(nil, { actions = {}, phases = { { id = "a", when = function() error "lost" end, run = function() return 1 end } } })
    assert.equal("failed", result.status)
    assert.matches("its condition cannot be evaluated", result.state.errors[1].message)
  end)
end)
