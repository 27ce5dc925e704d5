-- guest_spec.lua: the Lua of a folder runs in a child of the program that can do nothing but compute and ask: what it
-- gets is done outside, by the rules of a stranger's; its end is a failed step.
local R = require "tests.support.runs"
local core = require "skillrt.core"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

local function new_folder(script, files)
  local folder = kit.folder()
  os.execute(("mkdir -p '%s/s' '%s/home/.ssh'"):format(folder.path, folder.path))
  folder.file("home/.ssh/id", "the key\n")
  folder.file("s/skill.lua", script)
  for name, text in pairs(files or {}) do
    os.execute(("mkdir -p \"$(dirname '%s/%s')\""):format(folder.path, name))
    folder.file(name, text)
  end
  return folder, ("HOME='%s/home' XDG_STATE_HOME='%s/state'"):format(folder.path, folder.path)
end

local function run(folder, env, words)
  local dir = "w" .. core.uuid()
  local all = { "run", "s", "--trust", "--quiet", "--work-dir", dir, env = env }
  local told = kit.run(folder, table.move(words or {}, 1, #(words or {}), #all + 1, all))
  local state = folder.read(dir .. "/state.json")
  return state and json.decode(state), told, folder.path .. "/" .. dir
end

local WORKER <const> = [[
local skillrt = require "skillrt"
local helper = require "helper"
math.randomseed(7)
local seen = 0
return skillrt.skill {
  name = "s", state = { n = 0, list = { 1, 2, 3 }, deep = { a = { b = 1 } } },
  agents = { teller = skillrt.agent.lua(function(_, ctx) return { told = ctx.id } end) },
  actions = {
    { id = "count", max_runs = 2, priority = 5, when = function(state) return state.n < 2 end,
      run = function(state, ctx)
        seen = seen + 1
        local out = {}
        for i, one in ipairs(state.list) do out[i] = helper.double(one) end
        local mapped = ctx.map({ 1, 2 }, function(x) ctx.sleep(0.001) return x + state.deep.a.b end)
        local handle = ctx.spawn(function() ctx.sleep(0.001) return "spawned" end)
        ctx.context.set("mark", { seen = seen })
        local reply = ctx.await { kind = "command", argv = { "echo", "hello" }, expect = "text" }
        local inner = coroutine.wrap(function() coroutine.yield(state.n) end)()
        local sorted = { 3, 1, 2 }
        table.sort(sorted, function(a, b) return a + state.n < b + state.n end)
        return { n = state.n + 1, out = out, mapped = mapped, spawned = handle.await(), reply = reply.body, inner = inner,
          sorted = sorted, drawn = math.random(1000), once = ctx.once("it", function() return #state.list end),
          mark = ctx.context.get("mark").seen, keys = (function() local k = {} for key in pairs(state.deep) do
            k[#k + 1] = key end return k end)() }
      end },
    { id = "tell", agent = "teller", when = "n === 2" },
    { id = "raise", when = "told === 'tell'", run = function() error("a mistake of the script") end },
  },
  terminate = { { when = function(state) return state.n > 2 end, status = "failed" } },
}
]]
local HELPER <const> = "return { double = function(x) return 2 * x end }\n"

describe("the Lua of a folder, in a child", function()
  after_each(R.clean)

  it("does what it does in the process, and the journal is the same", function()
    local folder <close>, env = new_folder(WORKER, { ["s/helper.lua"] = HELPER })
    local state, told, dir = run(folder, env)
    assert.truthy(state, told.err)
    assert.equal(2, state.n, told.err)
    local own, also, other = run(folder, env, { "--sandbox", "off" })
    assert.truthy(own, also.err)
    for _, key in ipairs { "out", "mapped", "spawned", "reply", "inner", "sorted", "drawn", "once", "mark", "keys", "told",
      "status" } do
      assert.same(own[key], state[key], key)
    end
    assert.truthy(told.err:find("skill.lua:27: a mistake of the script", 1, true), told.err)
    assert.equal("script_error", state._skillrt.reason)
    assert.equal(#R.records(other), #R.records(dir))
  end)

  it("has no file, no program, no environment and no network, whatever it finds in its process (F101)", function()
    local folder <close>, env = new_folder([[
      local real = debug.getregistry()._LOADED
      local said = {}
      local function try(name, fn, ...)
        local ok, value = pcall(fn, ...)
        said[name] = ok and value and tostring(value) or nil
      end
      local here = (...):match "^(.*)/s/"
      try("open", io.open, here .. "/home/.ssh/id")
      try("write", io.open, here .. "/made", "w")
      try("popen", io.popen, "echo x > made")
      try("execute", os.execute, "echo x > made")
      try("getenv", os.getenv, "HOME")
      try("real open", real.io.open, here .. "/home/.ssh/id")
      try("real popen", function() return real.io.popen("echo x > " .. here .. "/made"):read "a" end)
      try("real execute", real.os.execute, "echo x > " .. here .. "/made")
      try("real remove", real.os.remove, here .. "/kept")
      try("real rename", real.os.rename, here .. "/kept", here .. "/gone")
      try("real getenv", real.os.getenv, "HOME")
      try("files", require("skillrt.base.files").read, here .. "/home/.ssh/id")
      try("files write", require("skillrt.base.files").write, here .. "/made", "x")
      try("loadlib", function() return package.loadlib("/usr/lib/x86_64-linux-gnu/libc.so.6", "*") end)
      try("a run", function()
        return require("skillrt.run.runner").run(require("skillrt.skill").check { name = "x", actions = { { id = "a",
          run = function(_, ctx) return { r = ctx.await { kind = "command", argv = { "touch", here .. "/made" } } } end } } },
          { work_dir = here .. "/made" }).status == "completed" or nil
      end)
      try("another guest", require("skillrt.core").guest.start, "/proc/self/exe")
      try("environ", real.io.open, "/proc/self/environ")
      return require("skillrt").skill { name = "s", actions = { { id = "a", run = function() return { said = said } end } } }
    ]], { kept = "kept" })
    local state, told = run(folder, env)
    assert.truthy(state, told.err)
    assert.same({}, state.said)
    assert.is_nil(folder.read "made")
    assert.equal("kept", folder.read "kept")
    state = run(folder, env, { "--sandbox", "off" })
    assert.truthy(state.said.open and state.said.execute and state.said["real open"])
  end)

  it("fails clearly where it asks for what it has not", function()
    for call, message in pairs {
      ['io.popen("true")'] = "io.popen: a script that came with a folder has no files",
      ['ctx.emit("other", "built")'] = "ctx.emit: a script that came with a folder sends no events to other runs",
    } do
      local folder <close>, env = new_folder(([[
        return require("skillrt").skill { name = "s", limits = { max_errors = 1, max_retries = 0 },
          actions = { { id = "a", run = function(_, ctx) %s end } } }
      ]]):format(call))
      local _, told = run(folder, env)
      assert.truthy((told.out .. told.err):find(message, 1, true), told.out .. told.err)
    end
  end)

  it("asks no agent that it has not declared, and reaches no program by what it is handed (F101)", function()
    local folder <close>, env = new_folder([[
      local skillrt = require "skillrt"
      local function try(ctx, where)
        local function touched(how)
          return { kind = "command", argv = { "touch", ctx.input.out .. "/" .. where .. "-" .. how }, name = how }
        end
        for _, how in ipairs { "ask", "sleep", "sleep_until", "wait", "await" } do
          pcall(function() return ctx[how] { agent = touched(how), prompt = "x", question = "q", event = "e", seconds = 0 } end)
        end
        pcall(function() return ctx.await_all { { agent = touched "all", prompt = "x" } } end)
        pcall(function() return ctx.agent("x", { agent = touched "agent" }) end)
        pcall(function() return ctx.await { kind = "command", argv = touched("command").argv, sandbox = "off" } end)
        pcall(function() return ctx.mcp("srv").ctx.await { agent = touched "mcp", prompt = "x" } end)
        pcall(function()
          return ctx.mcp({ name = "own", argv = touched("server").argv, env = {}, timeout = 1, max_reply = 100, tools = {},
            roots = {}, digest = "x", dir = "/" }):tools()
        end)
        local client = ctx.mcp "srv"
        assert(not client.ctx and not client.server and not client.live and client.tools)
      end
      return skillrt.skill { name = "s", state = {}, mcp = { srv = { command = { "no-such-server" } } },
        tools = { add = { description = "d", run = function(_, ctx) try(ctx, "tool") return "x" end } },
        agents = { me = skillrt.agent.lua(function(_, ctx) try(ctx, "agent") return { done = true } end) },
        actions = {
          { id = "one", agent = "me", max_runs = 1, priority = 3 },
          { id = "two", max_runs = 1, priority = 2, prepare = function(_, ctx) try(ctx, "prepare") return true end,
            run = function(_, ctx) try(ctx, "run") ctx.tool("add", {}) return { ran = true } end,
            validate = function(_, _, ctx) try(ctx, "validate") return true end,
            undo = function(_, ctx) try(ctx, "undo") end, cleanup = function(_, ctx) try(ctx, "cleanup") end },
          { id = "three", run = function() return nil, "so that two is undone", "fatal" end } } }
    ]])
    os.execute(("mkdir '%s/out'"):format(folder.path))
    local state, told = run(folder, env, { "--set", ("out=%s/out"):format(folder.path) })
    assert.same({ true, true }, { state.done, state.ran }, told.err .. told.out)
    assert.equal("", io.popen(("ls '%s/out'"):format(folder.path)):read "a")
  end)

  it("cannot change what its strategy chooses from, nor see how that works (F101)", function()
    local folder <close>, env = new_folder [[
      local function tried(object, name, value)
        return pcall(function() object[name] = value end)
      end
      return require("skillrt").skill { name = "s", state = { kept = false },
        strategy = function(state, available, ctx)
          local seen = {}
          for name in pairs(available) do
            seen[#seen + 1] = tostring(name)
          end
          for _, name in ipairs { "order", "rules", "tests", "put", "get", "update" } do
            seen[#seen + 1] = available[name] ~= nil and name or nil
          end
          tried(available, "get", function(_, id) return { id = id, run = function() return { other = true } end } end)
          local changed = tried(available, 1, {}) or tried(state, "kept", true)
          return available[1].id, table.concat(seen, " ") .. (changed and " changed" or "")
        end,
        actions = { { id = "a", run = function(_, ctx)
          return { ran = true, kept = true, terminate = true, mine = tried(ctx, "mine", 1) }
        end }, { id = "b", when = { "kept == true" }, run = function() return {} end } } }
    ]]
    local state, told, dir = run(folder, env)
    assert.same({ true, false, nil }, { state.ran, state.mine, state.other }, told.err .. told.out)
    local reasons = {}
    for i, entry in ipairs((R.records(dir, "start"))) do
      reasons[i] = entry.why
    end
    assert.same({ "1", "1" }, reasons)
  end)

  it("sees nothing outside of its folders by a link in them, or by a folder that it computes (F101)", function()
    local folder <close>, env = new_folder [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "s", state = {},
        agents = { teller = skillrt.agent.command { "cat", "id", cwd = "{state.place}", parse = "text" } },
        actions = { { id = "first", priority = 1, run = function(_, ctx) return { place = ctx.input.out } end },
          { id = "a", run = function(_, ctx)
          local seen = {}
          local function see(...)
            seen[#seen + 1] = table.concat({ ... }, " ")
          end
          for _, where in ipairs { "link", "s/link" } do
            local reply, why = ctx.await { kind = "command", argv = { "cat", "id" }, cwd = where }
            see(where, reply and reply.stdout or why)
            see(ctx.read(where .. "/id") or "")
            local ok, list = pcall(ctx.glob, "*", where)
            see(ok and table.concat(list or {}, " ") or list)
          end
          see((select(2, pcall(ctx.glob, "*", ctx.dir .. "/link"))))
          local answer, why = ctx.agent("look", { agent = "teller" })
          see(answer or why)
          return { seen = seen, listed = ctx.glob("*.lua", "s") }
        end } } }
    ]]
    local out <close> = kit.folder()
    out.file("id", "the key\n")
    os.execute(("cd '%s' && ln -s '%s' link && ln -s '%s' s/link"):format(folder.path, out.path, out.path))
    local state, told = run(folder, env, { "--set", "out=" .. out.path })
    assert.truthy(state and state.seen, told.err)
    local seen = table.concat(state.seen, "\n")
    assert.is_nil(seen:find("the key", 1, true) or seen:find("\nid\n", 1, true), seen)
    assert.truthy(seen:find("a link leads out of its folder", 1, true), seen)
    assert.same({ "skill.lua" }, state.listed)
    out.file("skill.lua", 'return require("skillrt").skill { name = "o", actions = { { id = "a", run = print } } }')
    folder.file("s/skill.lua", [[return require("skillrt").skill { name = "s", actions = { { id = "a", run = function(_, ctx)
      return { told = select(2, ctx.run "link/skill.lua") }
    end } } }]])
    state, told = run(folder, env)
    assert.truthy(state and state.told:find("s/link/skill.lua: leads through a link", 1, true), told.err)
    folder.file("s/skill.lua", 'return require("skillrt").skill { name = "s", dir = "link", actions = { { id = "a", run = print } } }')
    told = select(2, run(folder, env))
    assert.truthy(told.err:find("s/skill.lua: dir: s/link: leads through a link", 1, true), told.err)
  end)

  it("gets no part of a ctx that was not meant for it (F101)", function()
    local folder <close>, env = new_folder [[
      return require("skillrt").skill { name = "s", actions = { { id = "a", run = function(_, ctx)
        return { added = ctx.added == nil, given = ctx.id }
      end } } }
    ]]
    folder.file("own.lua", [[
      require("skillrt.run.ctx").functions.added = function() end
      local skill = assert(require("skillrt.document.guest").script("s/skill.lua"))
      local result = assert(require("skillrt.run.runner").run(skill, { work_dir = "w" }))
      print(result.status, result.state.added, result.state.given)
    ]])
    local told = kit.run(folder, { "own.lua", env = env })
    assert.equal("completed\ttrue\ta\n", told.out, told.err)
  end)

  it("may die: its step fails, and the run goes on with another child (F101)", function()
    local folder <close>, env = new_folder [[
      return require("skillrt").skill { name = "s", state = { n = 0 }, retry = { base = 0 }, limits = { max_errors = 9 },
        actions = { { id = "a", max_runs = 2, max_retries = 3, run = function(state, ctx)
          ctx.wait { event = "go" }
          return { n = state.n + 1 }
        end } }, goal = "n >= 2" }
    ]]
    local started = kit.start(folder, { "run", "s", "--trust", "--quiet", "--wait", "--work-dir", "w", env = env })
    local find = ("for p in /proc/[0-9]*; do [ \"$(cat $p/cmdline 2>/dev/null | tr '\\0' ' ')\" = '/proc/self/exe --guest ' ] "
      .. "&& [ \"$(readlink $p/cwd)\" = '%s' ] && basename $p; done"):format(folder.path)
    local function child()
      local pipe <close> = io.popen(find)
      return pipe:read "a":match "%d+"
    end
    assert(started.says "" and R.exists(folder.path), started.output())
    local first
    for _ = 1, 200 do
      first = child()
      if first and kit.run(folder, { "status", "w", env = env }).out:find("waits", 1, true) then break end
    end
    os.execute("kill -9 " .. first)
    for _ = 1, 5 do kit.run(folder, { "send", "w", "go", env = env }) end
    local ended = started.wait(60000)
    assert.equal(0, ended.code, ended.err)
    assert.equal(2, json.decode(folder.read "w/state.json").n)
    assert.truthy(R.records(folder.path .. "/w", "fail")[1].message:find("the process of", 1, true))
  end)

  it("has a process whose memory the kernel limits, and that leaves no core", function()
    local folder <close>, env = new_folder [[
      return require("skillrt").skill { name = "s", actions = { { id = "wait", run = function(_, ctx) ctx.sleep(30) end } } }
    ]]
    local process = kit.start(folder, { "run", "s", "--trust", "--work-dir", "w", env = env })
    local function last_below(pid)
      local child = (kit.read(("/proc/%d/task/%d/children"):format(pid, pid)) or ""):match "(%d+)%s*$"
      return child and last_below(child) or pid
    end
    local limits
    for _ = 1, 200 do
      limits = kit.read(("/proc/%d/limits"):format(last_below(process.pid))) or ""
      if limits:find "Max core file size +0 +0 " then
        break
      end
      os.execute "sleep 0.05"
    end
    process.signal "TERM"
    process.wait()
    assert.matches("Max core file size +0 +0 ", limits)
    if os.getenv "SKILLRT_MODE" ~= "asan" then
      assert.matches("Max address space +%d+ ", limits)
    end
  end)

  it("has an end of its memory and of its time", function()
    local folder <close>, env = new_folder [[
      return require("skillrt").skill { name = "s", limits = { max_errors = 1, max_retries = 0 },
        actions = { { id = "fill", run = function()
          local ok, why = pcall(function() local t = {} while true do t[#t + 1] = ("x"):rep(1 << 27) end end)
          return { why = why }
        end } } }
    ]]
    local state, told = run(folder, env)
    assert.truthy(state and state.why, told.err)
    assert.equal("not enough memory", state.why)
    folder.file("s/skill.lua", [[
      return require("skillrt").skill { name = "s", limits = { max_errors = 1, max_retries = 0, step_timeout = 1 },
        actions = { { id = "spin", run = function() while true do pcall(function() while true do end end) end end } } }
    ]])
    state, told = run(folder, env)
    assert.equal("step_timeout", state._skillrt.reason, told.out .. told.err)
    folder.file("s/skill.lua", [[
      return require("skillrt").skill { name = "s", limits = { max_errors = 1, max_retries = 0, run_timeout = 60 },
        actions = { { id = "count", run = function() local n = 0 for _ = 1, 2e7 do n = n + 1 end return { n = n } end } } }
    ]])
    state, told = run(folder, env)
    assert.same({ "completed", 20000000 }, { state.status, state.n }, told.err)
  end)

  it("has the state and the ctx of a function while that runs, and hands them on", function()
    local folder <close>, env = new_folder [[
      local kept, kept_ctx
      return require("skillrt").skill { name = "s", state = { n = 1, late = 3, deep = { a = { 1, 2 } } }, actions = {
        { id = "first", priority = 9, run = function(state, ctx)
          kept, kept_ctx = state, ctx
          local round = ctx.map({ "x", "y" }, function(one, inner)
            return one .. state.n .. #state.deep.a .. tostring(inner ~= ctx)
          end)
          ctx.context.set("whole", state.deep)
          return { round = round, deep = ctx.context.get "whole" }
        end },
        { id = "second", run = function(state)
          local ok, why = pcall(function() return kept.late end)
          local also, because = pcall(function() return kept_ctx.id end)
          return { known = kept.n, n = state.n, ok = ok, why = why, also = also, because = because }
        end } } }
    ]]
    local state, told = run(folder, env)
    assert.truthy(state, told.err)
    assert.same({ "x12true", "y12true" }, state.round)
    assert.same({ a = { 1, 2 } }, state.deep)
    assert.same({ 1, 1, false, false }, { state.known, state.n, state.ok, state.also })
    for _, why in ipairs { state.why, state.because } do
      assert.truthy(why:find("skill.lua:%d+: .*the state and ctx of a function end with it"), why)
    end
  end)

  it("is a child after a resume and in a replay, too", function()
    local folder <close>, env = new_folder [[
      pcall(io.open, "made", "w")
      return require("skillrt").skill { name = "s", actions = { { id = "a", run = function(_, ctx)
        local said = ctx.ask "Go on?"
        return { said = said, open = pcall(io.open, "/etc/passwd") }
      end } } }
    ]]
    local _, told, dir = run(folder, env)
    assert.equal(2, told.code // 1 == told.code and told.code > 0 and 2 or 0, told.err)
    kit.run(folder, { "answer", dir, "yes", env = env })
    kit.run(folder, { "resume", dir, "--quiet", env = env })
    local state = json.decode(R.read(dir .. "/state.json"))
    assert.equal("completed", state.status)
    assert.is_false(state.open)
    local again = kit.run(folder, { "replay", dir, env = env })
    assert.equal(0, again.code, again.out .. again.err)
    assert.is_nil(folder.read "made")
  end)

  it("runs what a document names of Lua, and the skills below its folder", function()
    local folder <close>, env = new_folder([[
      return require("skillrt").skill { name = "s", strategy = "own.lua", actions = { { id = "a", run = function(_, ctx)
        local inner = ctx.run("inner.lua")
        return { inner = inner and inner.state.open }
      end } } }
    ]], {
      ["s/own.lua"] = "pcall(io.open, 'made', 'w') local open = pcall(io.open, '/etc/passwd')\n"
        .. "return { select = function(_, available) return not open and available[1].id or nil, 'open' end }",
      ["s/inner.lua"] = [[return require("skillrt").skill { name = "i", actions = { { id = "b", run = function()
        return { open = pcall(io.open, "/etc/passwd") } end } } }]] })
    local state, told = run(folder, env)
    assert.equal("completed", state and state.status, told.err)
    assert.is_false(state.inner)
    assert.is_nil(folder.read "made")
  end)

  it("is refused where no child can run it, and how to continue is said", function()
    local folder <close> = new_folder("return require('skillrt').skill { name = 's' }")
    local skill, message = require("skillrt.document.guest").script(folder.path .. "/s/skill.lua") -- of `lua5.4`
    assert.is_nil(skill)
    assert.truthy(message:find("--sandbox off runs it as your own", 1, true), message)
  end)
end)

describe("what a script of a folder asks for", function()
  after_each(R.clean)

  -- What a step of it said, and all that the run left.
  local function asked(body, more, front)
    local folder <close>, env = new_folder(([[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "s", limits = { max_errors = 1, max_retries = 0 }, %s
        actions = { { id = "a", run = function(state, ctx) %s end } } }
    ]]):format(more or "", body), { ["s/page.txt"] = "a page\n", ["s/SKILL.md"] = front and
      ("---\nname: s\ndescription: Does it. Use it to test.\n%s---\n\nDo it.\n"):format(front) or nil })
    os.execute(("cd '%s/s' && ln -s ../home/.ssh/id link && ln -s ../home/.ssh folder"):format(folder.path))
    local state, told, dir = run(folder, env .. " THE_KEY=abcdefgh12345678")
    local pipe <close> = io.popen(("cat '%s'/journal/* 2>/dev/null"):format(dir))
    return state, told.out .. told.err, pipe:read "a"
  end

  it("reads the files of its folder and of its run, and no others", function()
    local state, told = asked [[return {
      page = ctx.read(ctx.dir .. "/page.txt"), link = ctx.read(ctx.dir .. "/link") or "none",
      list = pcall(ctx.glob, "*", "/etc"), here = #ctx.glob("page.txt", ctx.dir),
      far = ctx.read("/etc/passwd") or "none", up = pcall(ctx.read, "../home/.ssh/id") and "read" or "none" }]]
    assert.truthy(state and state.page, told)
    assert.same({ "a page\n", "none", "none", "none" }, { state.page, state.link, state.far, state.up })
    assert.same({ false, 1 }, { state.list, state.here })
    for kind, file in pairs { global = "folder/id", project = "s/folder/id" } do
      told = select(2, asked("return {}", ("context = { %s = %q },"):format(kind, file)))
      assert.truthy(told:find("folder/id: leads through a link, or out of its folder", 1, true), told)
    end
    state, told = asked("return { had = state.context.page }", 'context = { global = "page.txt" },')
    assert.equal("a page\n", state and state.had, told)
  end)

  it("starts programs in a sandbox that grants nothing, whatever it says", function()
    local state, told = asked [[
      local _, why = pcall(ctx.await, { kind = "command", argv = { "true" }, sandbox = "off" })
      local reply = ctx.await { kind = "command", argv = { "sh", "-c", "cat home/.ssh/id || echo none" }, expect = "text" }.stdout
      return { why = tostring(why), reply = reply }]]
    assert.truthy(state and state.why, told)
    assert.truthy(state.why:find("says sandbox itself", 1, true), state.why)
    if core.jail() then
      assert.equal("none\n", state.reply)
    end
    told = select(2, asked [[return ctx.await { kind = "command", argv = { "true" }, declared = { argv = { "false" } } }]])
    assert.truthy(told:find("declares nothing but its request", 1, true), told)
    told = select(2, asked("return {}", "sandbox = 'off',"))
    assert.truthy(told:find("says sandbox itself", 1, true), told)
    -- nor among several at once
    state, told = asked [[
      local _, why = pcall(ctx.await_all, { { kind = "command", argv = { "true" } },
        { kind = "command", argv = { "true" }, sandbox = "off" } })
      local replies = ctx.await_all { { kind = "command", argv = { "echo", "a" }, expect = "text" },
        { kind = "command", argv = { "sh", "-c", "cat home/.ssh/id || echo none" }, expect = "text" } }
      return { why = tostring(why), a = replies[1].stdout, b = replies[2].stdout }]]
    assert.truthy(state and state.why:find("says sandbox itself", 1, true), told)
    if core.jail() then
      assert.same({ "a\n", "none\n" }, { state.a, state.b })
    end
    -- nor by way of an agent that is a function, whose ctx stands before another one
    state, told = asked([[return ctx.agent("Do it.", { agent = "inner" })]],
      [[agents = { inner = skillrt.agent.lua(function(_, other)
        return { why = tostring(select(2, pcall(other.await, { kind = "command", argv = { "true" }, sandbox = "off" }))) }
      end) },]])
    assert.truthy((json.encode(state or {}) .. told):find("says sandbox itself", 1, true), json.encode(state))
    told = select(2, asked("return {}", "strategy = '/etc/passwd',"))
    assert.truthy(told:find("strategy \"/etc/passwd\" is absolute", 1, true), told)
  end)

  it("has no way to a program without one: a notice of its progress, a tool, a server, a member of a chain", function()
    local folder <close>, env = new_folder [[
      local skillrt = require "skillrt"
      local function touch(name)
        return { "touch", name }
      end
      return skillrt.skill { name = "s", state = {}, interaction = "supervised", notify = touch "notified",
        limits = { max_errors = 9, max_retries = 0 }, on_indoubt = "skip",
        mcp = { srv = { command = touch "served" } },
        tools = { run = { allow = { { "touch", "..." } } }, own = { description = "d", command = touch "used" } },
        agents = { one = skillrt.agent.chain { skillrt.agent.command(touch "asked") } },
        actions = { { id = "a", run = function(_, ctx)
          ctx.tool("run", { argv = touch "run" })
          ctx.tool("own", {})
          ctx.tool("mcp__srv__x", {})
          ctx.agent("Do it.", { agent = "one" })
          return { tried = true }
        end }, { id = "b", agent = skillrt.agent.command(touch "stepped") } } }
    ]]
    local state, told = run(folder, env)
    assert.truthy(state and state.tried, told.err)
    for _, name in ipairs { "notified", "served", "run", "used", "asked", "stepped" } do
      assert.is_false(R.exists(folder.path .. "/" .. name), name)
    end
    state, told = run(folder, env, { "--sandbox", "off" })
    assert.truthy(state and state.tried, told.err)
    for _, name in ipairs { "notified", "served", "run", "used", "asked", "stepped" } do
      assert.is_true(R.exists(folder.path .. "/" .. name), name)
    end
  end)

  it("has its variables and its network in a request only as its SKILL.md lists them", function()
    local problem = require("skillrt.skill.stranger").problem
    local granted = { env = { "GIVEN" }, network = { "*.example.org", "a.org:8080" } }
    for _, value in ipairs { { key_env = "GIVEN" }, { env = { GIVEN = true, OTHER = "a text" } }, { env = { "GIVEN" } },
      { url = "https://x.example.org/a" }, { url = "http://a.org:8080" }, { body = "{env.GIVEN}" }, { key_env = 7, env = 7 },
      { mcp = { srv = { command = { "sh", "-c", "echo ${GIVEN} $other ${workspaceFolder}" } } } }, { stdin = "${OTHER}" },
      { program = "x", key_file = "x", args = {} },
      { tools = { http_get = { hosts = { "x.example.org", "*.example.org" } }, grep = true } } } do
      assert.is_nil(problem({ inner = value }, granted))
    end
    for name, list in pairs {
      ["is not given OTHER; grant it in its SKILL.md (sandbox: { env: [\"OTHER\"] })"] = { { key_env = "OTHER" },
        { env = { OTHER = true } }, { env = { "OTHER" } }, { stdin = "x {env:OTHER}" }, { ["{secret.OTHER}"] = 1 },
        { mcp = { srv = { command = { "a", "${OTHER}" } } } }, { mcp = { srv = { env = { X = "${OTHER:-none}" } } } } },
      ["may not reach "] = { { url = "https://example.org" }, { url = "https://x.example.org:8443" }, { url = "http://a.org" },
        { kind = "openai", key_env = "GIVEN" }, { url = "ftp://a.org:8080" }, { tools = { http_get = true } },
        { tools = { look = { builtin = "http_get", hosts = { "a.org" } } } } },
      ["computes the place {input.x}.example.org:443"] = { { url = "https://{input.x}.example.org" } },
      ["says key_file itself"] = { { kind = "openai", url = "https://x.example.org", key_env = "GIVEN", key_file = "/home/a/token" } },
      ["says args itself"] = { { kind = "codex", args = { "-c", "sandbox_mode=danger-full-access" } } },
      ["says program itself"] = { { kind = "claude", program = "./mine.sh" } },
    } do
      for _, value in ipairs(list) do
        assert.truthy((problem({ inner = value }, granted) or "nothing is refused"):find(name, 1, true), name)
      end
    end
    assert.is_nil(problem({ url = "https://anywhere.org" }, { network = true }))
    assert.is_nil(problem({ url = "http://a.org" }, { network = { "*:80" } }))
    for _, url in ipairs { "http://169.254.169.254/", "http://[fd00::1]/" } do -- no star stands for an address
      assert.truthy(problem({ url = url }, { network = { "*:80" } }), url)
    end
    assert.is_nil(problem({ url = "http://10.0.0.1/" }, { network = { "10.0.0.1:80" } }))
  end)

  it("sends to what its SKILL.md lists, with the secrets that this lists, which it never has", function()
    local call = [[
      local reply, why = ctx.await { kind = "http", url = "http://127.0.0.1:9/", headers = { ["X-Key"] =
        skillrt.secret("THE_KEY") }, expect = "text", idempotent = false, connect_timeout = 1 }
      return { reply = reply, why = why, key = skillrt.secret("THE_KEY") }]]
    local _, told = asked(call)
    assert.truthy(told:find("may not reach 127.0.0.1:9", 1, true), told)
    local network = "sandbox:\n  network: [\"127.0.0.1:9\"]\n"
    told = select(2, asked(call, nil, network))
    assert.truthy(told:find("is not given THE_KEY", 1, true), told)
    local state, said, journal = asked(call, nil, network .. "  env: [THE_KEY]\n")
    assert.truthy(state and state.why, said)
    assert.equal("{secret.THE_KEY}", state.key)
    assert.is_nil(journal:find("abcdefgh12345678", 1, true))
  end)

  it("reaches by a granted name the public internet, not the person's own machine; their agent is not confined", function()
    local server = R.server "/echo\n"
    local port = server.url:match "%d+$"
    local function told(host, network)
      local state, said = asked(([[
        local reply, why = ctx.await { kind = "http", method = "POST", body = "hello",
          url = "http://%s:%s/echo", expect = "text", idempotent = true }
        return { told = reply and "reached" or why }]]):format(host, port), nil,
        ("sandbox:\n  network: [%s]\n"):format(network:gsub("PORT", port)))
      return state and state.told or said
    end
    assert.matches("inner%.localhost:%d+: [%d.:]+ is not an address that may be requested", told("inner.localhost",
      '"inner.localhost:PORT", "127.0.0.1:9"'))
    assert.equal(0, #server.log())
    assert.equal("reached", told("inner.localhost", '"inner.localhost:PORT", "127.0.0.1:PORT"'))
    assert.equal("reached", told("127.0.0.1", '"127.0.0.1:PORT"'))
    assert.equal("reached", told("localhost", '"localhost:PORT"'))
    local folder <close>, env = new_folder ""
    local theirs, count = { "--agent", ("http://inner.localhost:%s/echo"):format(port) }, 3
    for _, way in ipairs { "skillrt.chosen_agent()", "skillrt.agent.chain { skillrt.chosen_agent(), skillrt.agent.claude {} }" } do
      for _, text in ipairs { "agents = { default = %s }, actions = { { id = 'a', agent = 'default', prompt = 'Do it.' } }",
        "actions = { { id = 'a', agent = %s, prompt = 'Do it.' } }" } do
        folder.file("s/skill.lua", ("local skillrt = require 'skillrt' return skillrt.skill { name = 's', "
          .. "limits = { max_errors = 1, max_retries = 0 }, %s }"):format(text:format(way)))
        run(folder, env, theirs)
        assert.is_true(#server.log() > count, way)
        count = #server.log()
      end
    end
    server.stop()
  end)

  it("is shown before it is approved, and asked about again where it changed", function()
    local folder <close>, env = new_folder("return require('skillrt').skill { name = 's' }", { ["s/SKILL.md"] =
      "---\nname: s\ndescription: Does it.\nsandbox:\n  network: [\"far.example:443\"]\n---\n\nDo it.\n" })
    local told = kit.run(folder, { "check", "s", env = env })
    assert.equal(8, told.code)
    assert.truthy(told.err:find("network far.example:443", 1, true), told.err)
    kit.run(folder, { "check", "s", "--trust", env = env })
    assert.not_equal(8, kit.run(folder, { "check", "s", env = env }).code)
    folder.file("s/SKILL.md", (folder.read "s/SKILL.md":gsub("far.example", "other.example")))
    assert.equal(8, kit.run(folder, { "check", "s", env = env }).code)
  end)
end)
