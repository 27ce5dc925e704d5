-- cli_limits_spec.lua: limits as people meet them: endless loops end with file and line, exit codes tell
-- limits apart, resume --add raises them.
local kit = require "tests.support.cli_kit"

-- A skill whose function never waits, and takes no error for an answer.
local SPIN = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "spin", limits = { %s }, actions = {
  { id = "a", %s run = function()
    while true do
      pcall(function()
        while true do end
      end)
    end
  end },
} }
]]

-- The same inside of a sub-run, whose own time it is, or that of the one around it.
local INSIDE = [[
local skillrt = require "skillrt"
local spin = { id = "a", run = function()
  while true do
    pcall(function() while true do end end)
  end
end }
local function sub(name, limits, action)
  return skillrt.skill { name = name, limits = limits, actions = { action } }
end
local function runs(skill)
  return { id = "b", run = function(_, ctx) assert(ctx.run(skill)) end }
end
return sub("out", {}, runs(%s))
]]

-- The limit is that of the action around the sub-run.
local HELD = INSIDE:format("sub('in', { run_timeout = 50 }, spin)"):gsub("id = \"b\",", "%0 limits = { run_timeout = 0.3 },")

local CHOOSING = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "spin", limits = { step_timeout = 0.2 },
  strategy = function()
    while true do end
  end,
  actions = { { id = "a", run = function() end } } }
]]

local CALLS = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "calls", limits = { calls = 2 }, actions = {
  { id = "a", run = function(_, ctx)
    for _ = 1, 4 do assert(ctx.await { kind = "command", argv = { "true" }, acts = false }) end
  end },
} }
]]

describe("an endless loop in Lua", function()
  for text, is in pairs {
    [SPIN:format("step_timeout = 0.2", "")] = { 14, "step_timeout", "s.lua:6: Lua code did not yield for longer than step_timeout" },
    [SPIN:format("run_timeout = 0.3", "")] = { 12, "run_timeout", "s.lua:6: the run took longer than run_timeout" },
    [SPIN:format("", "timeout = 0.2,")] = { 14, "step_timeout", "s.lua:6: Lua code did not yield for longer than the timeout" },
    [INSIDE:format "sub('in', { run_timeout = 0.3 }, spin)"] = { 12, "run_timeout",
      "s.lua:4: sub-run 1.1 took longer than run_timeout, 0.3 seconds" },
    [INSIDE:format "sub('mid', { run_timeout = 0.3 }, runs(sub('in', { run_timeout = 50 }, spin)))"] = { 12,
      "run_timeout", "s.lua:4: sub-run 1.1 took longer than run_timeout, 0.3 seconds" },
    [SPIN:format("run_timeout = 50", "limits = { run_timeout = 0.3 },")] = { 12, "run_timeout",
      "s.lua:6: the steps of a took longer than run_timeout, 0.3 seconds", "a.run_timeout" },
    [INSIDE:format "(function() spin.limits = { run_timeout = 0.3 } return sub('in', { run_timeout = 50 }, spin) end)()"]
      = { 12, "run_timeout", "s.lua:4: the steps of a in sub-run 1.1 took longer than", "sub/1.1/a.run_timeout" },
    [HELD] = { 12, "run_timeout", "s.lua:4: the steps of b took longer than run_timeout, 0.3 seconds", "b.run_timeout" },
    [CHOOSING] = { 14, "step_timeout", "s.lua:4: Lua code did not yield" },
  } do
    it("ends at " .. is[2] .. " and says file and line, as a pause without an error: " .. is[3], function()
      local folder <close> = kit.folder()
      folder.file("s.lua", text)
      local done = kit.run(folder, { "s.lua", "--work-dir", "w" })
      assert.equal(is[1], done.code, done.out .. done.err)
      assert.truthy((done.out .. done.err):find(is[3], 1, true), done.out .. done.err)
      assert.truthy(done.out:find("paused (" .. is[2] .. "): 0 steps", 1, true), done.out)
      local status = kit.objects(kit.run(folder, { "status", "w", "--json" }).out)[1]
      assert.equal(0, status.errors)
      local full = is[4] or is[3]:find("sub-run", 1, true) and "sub/1.1/run_timeout"
      local named = full and "--add " .. full .. "=" or ""
      assert.truthy(done.out:find(named, 1, true) or done.err:find(named, 1, true), done.out .. done.err)
    end)
  end

  it("does not count the time that a function waits", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", [[
local skillrt = require "skillrt"
return skillrt.skill { name = "s", limits = { step_timeout = 0.4 }, actions = {
  { id = "a", run = function(_, ctx)
    for _ = 1, 3 do
      ctx.sleep(0.2)
      local until_ = os.clock() + 0.1
      for i = 1, 1e6 do i = i + 1 end
    end
  end },
} }
]])
    local done = kit.run(folder, { "s.lua", "--work-dir", "w" })
    assert.equal(0, done.code, done.out .. done.err)
  end)
end)

describe("the timeout of a sub-run's action", function()
  it("holds for its Lua alone, not for that of the step that runs it", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", [[
local skillrt = require "skillrt"
local inner = skillrt.skill { name = "inner", actions = { { id = "x", timeout = 0.2, run = function() return { n = 1 } end } } }
return skillrt.skill { name = "s", limits = { max_errors = 1 }, actions = { { id = "a", run = function(_, ctx)
  assert(ctx.run(inner))
  local until_ = os.clock() + 0.6
  while os.clock() < until_ do end
  return { done = true }
end } } }
]])
    local done = kit.run(folder, { "s.lua", "--work-dir", "w" })
    assert.equal(0, done.code, done.out .. done.err)
  end)
end)

describe("what holds the Lua of an action", function()
  local SKILL <const> = [[
local skillrt = require "skillrt"
local function busy(seconds)
  local until_ = os.clock() + seconds
  while os.clock() < until_ do end
  return { n = 1 }
end
return skillrt.skill { name = "s", strategy = "sequential", limits = { step_timeout = 60, max_errors = 1 }, actions = {
  { id = "a", run = function() return { n = 0 } end }, %s } }
]]

  it("is its own timeout, and not that of the action before", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", SKILL:format [[{ id = "b", timeout = 0.2, run = function() return { n = 2 } end },
      { id = "c", run = function() return busy(0.6) end }]])
    local done = kit.run(folder, { "s.lua", "--work-dir", "w" })
    assert.equal(0, done.code, done.out .. done.err)
  end)

  it("is its own run_timeout, too, behind an action that has none", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", SKILL:format [[{ id = "b", limits = { run_timeout = 0.3 }, run = function() return busy(60) end }]])
    local done = kit.run(folder, { "s.lua", "--work-dir", "w" })
    assert.matches("paused %(run_timeout%)", done.out .. done.err)
  end)
end)

describe("an exchange that says no time", function()
  it("has that of its action, or step_timeout, where a script asks itself", function()
    for _, limit in ipairs { { "limits = { step_timeout = 0.2 },", "" }, { "", "timeout = 0.2," } } do
      local folder <close> = kit.folder()
      folder.file("s.lua", ([[
local skillrt = require "skillrt"
local function ask(_, ctx)
  local reply, message, class = ctx.await { kind = "command", argv = { "sleep", "30" }, acts = false }
  return { class = class }
end
return skillrt.skill { name = "s", %s agents = { own = skillrt.agent.lua(ask) }, actions = {
  { id = "a", %s run = ask }, { id = "b", %s agent = "own" } } }
]]):format(limit[1], limit[2], limit[2]))
      local begun = os.time()
      local done = kit.run(folder, { "s.lua", "--work-dir", "w" })
      assert.equal(0, done.code, done.out .. done.err)
      assert.is_true(os.time() - begun < 20)
      assert.truthy(folder.read "w/state.json":find('"class": "timeout"', 1, true))
    end
  end)
end)

describe("skillrt status", function()
  local USES <const> = [[
    local skillrt = require "skillrt"
    return skillrt.skill { name = "uses", limits = { calls = 3, usage = { tokens = 1000 }, run_timeout = 60, max_errors = 5 },
      actions = {
        { id = "ok", run = function(_, ctx) ctx.used { tokens = 120, dollars = 0.25 } end },
        { id = "a", limits = { calls = %d, run_timeout = 50 }, run = function(_, ctx)
          for _ = 1, 4 do assert(ctx.await { kind = "command", argv = { "sleep", "0.05" }, acts = false }) end
        end },
      } }
  ]]

  it("shows what is used up of each limit, with what was added, and of a changed script", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", USES:format(2))
    local done = kit.run(folder, { "s.lua", "--work-dir", "w" })
    assert.equal(10, done.code, done.out .. done.err)
    local out = kit.run(folder, { "status", "w" }).out
    assert.truthy(out:find("\nlimits     calls 2 of 3, max_errors 0 of 5, max_iterations %d of 100, run_timeout 0%.%d+ of 60 s, "
      .. "usage%.dollars 0%.25, usage%.tokens 120 of 1000, a%.calls 2 of 2, a%.run_timeout 0%.%d+ of 50 s\n"), out)
    assert.equal(10, kit.run(folder, { "resume", "w", "--add", "a.calls=1" }).code)
    local by = {}
    for _, one in ipairs(kit.objects(kit.run(folder, { "status", "w", "--json" }).out)[1].limits) do
      by[one.limit] = one
    end
    assert.same({ limit = "calls", used = 3, most = 3 }, by.calls)
    assert.same({ limit = "a.calls", used = 3, most = 3 }, by["a.calls"])
    assert.same({ limit = "usage.dollars", used = 0.25 }, by["usage.dollars"])
    assert.truthy(by.run_timeout.used >= 0.15 and by.run_timeout.used < 60)
    assert.truthy(by["a.run_timeout"].used >= 0.15 and by["a.run_timeout"].used <= by.run_timeout.used)
    folder.file("s.lua", USES:format(7))
    kit.run(folder, { "resume", "w", "--accept-changes" })
    out = kit.run(folder, { "status", "w" }).out
    assert.truthy(out:find("a.calls 3 of 8,", 1, true), out)
  end)
end)

describe("skillrt resume --add", function()
  it("raises a limit that the run ended at, and the end says how", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", CALLS)
    local done = kit.run(folder, { "s.lua", "--work-dir", "w" })
    assert.equal(10, done.code)
    assert.truthy(done.err:find("next: skillrt resume w --add calls=NUMBER", 1, true), done.err)
    assert.equal(10, kit.run(folder, { "resume", "w", "--add", "calls=1" }).code)
    done = kit.run(folder, { "resume", "w", "--add", "calls=1", "--add", "calls=1" })
    assert.equal(0, done.code, done.err)
  end)

  it("refuses what is no limit or no number, and says what to write", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", CALLS)
    kit.run(folder, { "s.lua", "--work-dir", "w" })
    for word, told in pairs {
      call = "--add \"call\": write LIMIT=NUMBER, such as calls=50",
      ["call=1"] = 'this run has no limit "call" (did you mean "calls"?)',
      ["calls=-1"] = "the amount added to calls must be a whole number above 0, not -1",
    } do
      local done = kit.run(folder, { "resume", "w", "--add", word })
      assert.equal(2, done.code)
      assert.truthy(done.err:find(told, 1, true), done.err)
    end
  end)

  it("names the limit that a run ended at, although a question is open, by exit code, last line, next and status", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", [[
local skillrt = require "skillrt"
return skillrt.skill { name = "both", actions = { { id = "fetch", limits = { calls = 1 }, run = function(_, ctx)
  local asked = ctx.spawn(function() return ctx.ask "Which?" end)
  for i = 1, 2 do ctx.await { kind = "command", argv = { "echo", tostring(i) } } end
  return { which = asked:await() }
end } } }]])
    local run = kit.run(folder, { "s.lua", "--work-dir", "w" })
    assert.equal(10, run.code, run.out .. run.err)
    assert.truthy(run.out:find("\npaused %(call_limit%): .*; limit fetch.calls\n"), run.out)
    assert.truthy(run.err:find("next: skillrt resume w --add fetch.calls=NUMBER", 1, true), run.err)
    local status = kit.run(folder, { "status", "w" })
    assert.truthy(status.out:find("paused (call_limit); limit fetch.calls", 1, true), status.out)
    assert.truthy(status.out:find("fetch.calls limit reached (1 of 1)", 1, true), status.out)
    run = kit.run(folder, { "resume", "w", "--add", "fetch.calls=1" })
    assert.equal(3, run.code, run.out)
    assert.truthy(run.err:find("next: skillrt answer w", 1, true), run.err)
  end)
end)
