-- run_sub_spec.lua: a skill run by a step of another (ctx.run, skill = ... on an action): one journal, the same
-- end wherever it is killed, cancel, what is refused.
local kit = require "tests.support.cli_kit"
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local function say(ctx, folder, word)
  return assert(ctx.await { kind = "command", idempotent = true,
    declared = { argv = { "say", word } }, -- whatever the folder
    argv = { "sh", "-c", ("echo %s >> %s/said; echo %s"):format(word, folder, word) } })
end

-- What commands have said, in order.
local function said(folder)
  return ((R.read(folder .. "/said") or ""):gsub("\n", " "))
end

-- An inner skill of two actions and a phase; it says what it does.
local function inner(folder)
  return R.skill {
    name = "inner", state = { total = 0 },
    phases = { { id = "report", trailing = true, output = "report.txt", run = function(state)
      return "total " .. state.total
    end } },
    actions = {
      { id = "one", priority = 2, run = function(state, ctx)
        return { total = state.total + tonumber(state.input.n), word = say(ctx, folder, "one").stdout }
      end },
      { id = "two", run = function(state, ctx)
        say(ctx, folder, "two")
        return { total = state.total * 2 }
      end },
    },
  }
end

local function outer(folder, run)
  return {
    actions = {
      { id = "before", priority = 3, run = function(_, ctx) say(ctx, folder, "before") return { b = 1 } end },
      { id = "inside", priority = 2, run = run or function(_, ctx)
        local first = assert(ctx.run(inner(folder), { n = 3 }))
        local second = assert(ctx.run(inner(folder), { n = 4 }))
        return { totals = { first.state.total, second.state.total }, report = first.outputs.report, steps = first.steps }
      end },
      { id = "after", priority = 1, run = function(_, ctx) say(ctx, folder, "after") return { a = 1 } end },
    },
  }
end

describe("a skill run by a step of another", function()
  after_each(R.clean)

  it("is refused before its first step where the host has not the functions that its agents call", function()
    local calls = R.skill { agents = { tell = { kind = "host", call = "weather" } },
      actions = { { id = "ask", agent = "tell" } } }
    local result = assert(R.run { actions = { { id = "inside", run = function(_, ctx)
      return { said = select(2, ctx.run(calls)) }
    end } } })
    assert.matches('agent "tell" calls "weather": it is a function of the program that embeds skillrt',
      tostring(result.state.said))
    assert.equal(1, result.steps)
  end)

  it("is told of functions of the host as any other is", function()
    local asks = R.skill { actions = { { id = "ask", run = function(_, ctx)
      return { said = { pcall(ctx.await, { kind = "host", name = "weather" }) } }
    end } } }
    local result = assert(R.run { actions = { { id = "inside", run = function(_, ctx)
      return assert(ctx.run(asks)).state
    end } } })
    assert.matches("function weather: it is a function of the program that embeds skillrt, and this one has none",
      result.state.said[2])
  end)

  it("has a state of its own, in the same journal, and gives what it came to", function()
    local folder = R.folder()
    local result = assert(R.run(outer(folder), { work_dir = folder .. "/run" }))
    assert.equal("completed", result.status, result.message)
    assert.same({ { 6, 8 }, "total 6", 3, 3 }, { result.state.totals, result.state.report, result.state.steps, result.steps })
    assert.is_nil(result.state.total)
    assert.equal("before one two one two after ", said(folder))
    assert.equal("total 6", R.read(folder .. "/run/sub/2.1/report.txt"))
    local subs = R.records(folder .. "/run", "run")
    assert.same({ "2.1", "2.2" }, { subs[2].sub, subs[3].sub })
    local _, books = R.records(folder .. "/run")
    assert.is_nil(books.subs)
    assert.is_nil(next(books.steps))
  end)

  -- Three skills inside each other, two of each at once; `calls` counts what was made.
  local function nest(folder, depth)
    return R.skill { name = "nest" .. depth, limits = { max_parallel = 2 }, actions = {
      { id = "deep", run = function(state, ctx)
        if depth == 0 then
          return { n = tonumber(say(ctx, folder, tostring(state.input.n)).stdout) }
        end
        local list = assert(ctx.map({ 1, 2 }, function(i)
          return assert(ctx.run(nest(folder, depth - 1), { n = state.input.n * 10 + i })).state
        end))
        return { n = list[1].n + list[2].n }
      end },
      { id = "more", run = function() return { more = depth } end },
    } }
  end

  it("that fails is a failure of its call, with what it came to; one that is not there is one, too", function()
    local result = assert(R.run { actions = { { id = "a", run = function(_, ctx)
      local failing = R.skill { name = "bad", limits = { max_errors = 1 }, state = { n = 1 },
        actions = { { id = "x", run = R.fails "no luck" } } }
      local nothing, message, class, what = ctx.run(failing)
      local _, missing = ctx.run "nowhere.lua"
      assert(nothing == nil and class == "permanent")
      return { message = message, came = what.status, n = what.state.n, missing = missing }
    end } } })
    assert.equal("completed", result.status, result.message)
    assert.matches("^bad: failed %(error_limit%).*no luck", result.state.message)
    assert.same({ "failed", 1 }, { result.state.came, result.state.n })
    assert.matches("nowhere.lua", result.state.missing)
  end)

  it("is refused where it is none, and 9 deep", function()
    local result = assert(R.run { limits = { max_errors = 1 }, actions = { { id = "a", run = function(_, ctx)
      local ok, message = pcall(ctx.run, 42)
      local listed, why = pcall(ctx.run, "x.lua", { 1 })
      assert(not ok and not listed)
      local function deep(n)
        return R.skill { name = "deep", limits = { max_errors = 1, max_retries = 0 }, actions = {
          { id = "d", run = function(_, inside) return { n = assert(inside.run(deep(n + 1))).state.n } end } } }
      end
      local _, too_deep = ctx.run(deep(1))
      return { message = message, why = why, too_deep = too_deep }
    end } } })
    assert.equal("completed", result.status, result.message)
    assert.matches("ctx.run: needs a skill or the path of one, not 42", result.state.message)
    assert.matches("ctx.run: the input must hold names and values", result.state.why)
    assert.matches("sub%-runs are nested 8 deep already", result.state.too_deep)
  end)

  it("pauses the run where it is blocked, and goes on when it no longer is", function()
    local dir, open = R.folder() .. "/run", false
    local function definition()
      return { actions = { { id = "a", run = function(_, ctx)
        local gated = R.skill { name = "gated", actions = {
          { id = "x", priority = 1, run = R.sets { n = 1 } },
          { id = "y", when = function() return open end, run = R.sets { m = 2 } } } }
        return { m = assert(ctx.run(gated)).state.m }
      end } } }
    end
    local result = assert(R.run(definition(), { work_dir = dir }))
    assert.same({ "paused", "blocked" }, { result.status, result.reason })
    assert.matches("^gated %(sub%-run 1%.1%): y", result.message)
    open = true
    result = assert(skillrt.resume(dir, { skill = R.skill(definition()) }))
    assert.same({ "completed", 2 }, { result.status, result.state.m })
  end)

  it("that nobody waits for any more is ended: nothing begins in it, what is under way is awaited", function()
    local folder = R.folder()
    local result = assert(R.run({ actions = { { id = "a", run = function(_, ctx)
      local slow = R.skill { name = "slow", limits = { max_parallel = 3 }, phases = {
        { id = "acts", parallel = true, run = function(_, inside)
          return inside.await { kind = "command", argv = { "sh", "-c", "sleep 0.3; echo acts >> " .. folder .. "/said" } }.code
        end },
        { id = "sleeps", parallel = true, run = function(_, inside) inside.sleep(30) end },
        { id = "never", run = function(_, inside) say(inside, folder, "never") end },
      } }
      local value, _, class = ctx.within(0.1, function() return ctx.run(slow) end)
      return { class = class, none = value == nil, said = said(folder) }
    end } } }, { work_dir = folder .. "/run" }))
    assert.equal("completed", result.status, result.message)
    assert.same({ "timeout", true, "acts " }, { result.state.class, result.state.none, result.state.said })
    local _, books = R.records(folder .. "/run")
    assert.is_nil(books.subs)
  end)

  it("uses up the run's limits of calls, as the action does that runs it", function()
    local folder = R.folder()
    local result = assert(R.run({ actions = { { id = "a", limits = { calls = 3 }, run = function(_, ctx)
      return { t = assert(ctx.run(nest(folder, 2), { n = 1 })).state.n }
    end } } }, { work_dir = folder .. "/run" }))
    assert.same({ "paused", "call_limit" }, { result.status, result.reason }, result.message)
    assert.equal(3, select(2, said(folder):gsub(" ", "")))
  end)

  it("performs an action, a phase or an item by `skill`, found beside the script", function()
    local folder = R.folder()
    R.write(folder .. "/double.lua", [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "double", durability = "process", actions = { { id = "d", run = function(state)
        return { twice = 2 * state.input.n } end } } }]])
    R.write(folder .. "/main.lua", [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "main", durability = "process", state = { list = { 3, 4 } },
        phases = { { id = "first", skill = { "double.lua", input = { n = 1 } } } },
        actions = {
          { id = "plain", skill = "double.lua" },
          { id = "named", skill = { "double.lua", as = "result", input = function(state) return { n = #state.list } end } },
          { id = "items", each = { items = "list", as = "all" },
            skill = { "double.lua", as = "last", input = function(_, item) return { n = item } end } },
        } }]])
    local skill = assert(skillrt.load(folder .. "/main.lua"))
    local result = assert(skill:run { work_dir = folder .. "/run", input = { n = 10 } })
    assert.equal("completed", result.status, result.message)
    local state = result.state
    assert.same({ { twice = 2 }, { twice = 20 }, { twice = 4 }, { twice = 8 } },
      { state.outputs.first, state.plain, state.result, state.last })
    for _, wrong in ipairs { { skill = "x", run = print }, { skill = 42 }, { skill = { "x", inputs = {} } }, { skill = "" } } do
      wrong.id = "a"
      assert.is_false((pcall(skillrt.skill, { name = "w", actions = { wrong } })))
    end
  end)

  it("is refused on resume where its script or a helper of it changed, but by --accept-changes", function()
    local folder = R.folder()
    for _, changed in ipairs { "in.lua", "helper.lua" } do
      R.write(folder .. "/helper.lua", "return 1")
      R.write(folder .. "/in.lua", [[
        require "helper"
        return require "skillrt".skill { name = "in", actions = { { id = "x", run = function() end },
          { id = "y", when = "input.go", run = function() end } } }]])
      local function definition()
        return { dir = folder, actions = { { id = "a", run = function(_, ctx) assert(ctx.run("in.lua")) end } } }
      end
      local dir = R.folder() .. "/run"
      assert.equal("blocked", assert(R.run(definition(), { work_dir = dir })).reason)
      R.write(folder .. "/" .. changed, R.read(folder .. "/" .. changed) .. " -- changed")
      local result, message, code = skillrt.resume(dir, { skill = R.skill(definition()) })
      assert.is_nil(result)
      assert.equal("changed", code)
      assert.matches("of the sub%-run 1%.1 %(in%) changed since it began: [helper ]*" .. changed, message)
      result = assert(skillrt.resume(dir, { skill = R.skill(definition()), accept_changes = true }))
      assert.equal("blocked", result.reason)
      assert.equal("blocked", assert(skillrt.resume(dir, { skill = R.skill(definition()) })).reason)
    end
  end)

  it("goes on where it came from a file that the script loads", function()
    local folder = R.folder()
    R.write(folder .. "/main.lua", "return dofile 'whole.lua'")
    R.write(folder .. "/whole.lua", [[
      local skillrt = require "skillrt"
      local inner = skillrt.skill { name = "inner", actions = {
        { id = "wait", when = "input.go", run = function() end } } }
      return skillrt.skill { name = "main", actions = { { id = "in", skill = inner } } }]])
    assert.equal(5, kit.run({ path = folder }, { "main.lua", "--work-dir", "w" }).code)
    local run = kit.start({ path = folder }, { "resume", "w" }).wait()
    assert.equal(5, run.code, run.err) -- blocked again, and not refused
    assert.truthy(run.ms < 5000, run.ms) -- at once: an inbox that is not there is empty
  end)

  it("is shown below its step in the log, in the status and live", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", [[
      local skillrt = require "skillrt"
      local inner = skillrt.skill { name = "inner", actions = {
        { id = "one", priority = 1, run = function(_, ctx) ctx.log("hello") return {} end },
        { id = "gate", when = "input.go", run = function() return {} end } } }
      return skillrt.skill { name = "outer", actions = { { id = "top", skill = inner } } }]])
    local run = kit.run(folder, { "s.lua", "--work-dir", "w" })
    assert.equal(5, run.code, run.err)
    local wanted = "%[Iteration 1%] Executing: top\n  %[Sub%-run 1%.1%] inner 1%.0%.0 %(autonomous%)\n"
      .. "  %[Iteration 1%] Executing: one\n  %[Iteration 1%] one: hello\n  %[Iteration 1%] Completed: one\n"
    assert.matches(wanted, run.out)
    assert.matches("Z    %[Sub%-run 1%.1%] inner[^\n]*\n[^\n]*Z    %[Iteration 1%] Executing: one\n", kit.run(folder, { "log", "w" }).out)
    local status = kit.run(folder, { "status", "w" }).out
    assert.matches("open +top, since [^\n]*, waits for inner %(call 1%)", status)
    assert.matches("because +inner %(sub%-run 1%.1%): gate: ", status)
  end)

  it("costs the same however many run at once, and needs no folder", function()
    local function seconds(count)
      local one = R.skill { name = "one", actions = { { id = "x", run = function(state, ctx)
        ctx.sleep(0.001)
        return { n = state.input.n }
      end } } }
      local began = os.clock()
      local result = assert(R.run { context = "memory", actions = { { id = "a", run = function(_, ctx)
        local list = {}
        for i = 1, count do list[i] = i end
        local sum = 0
        for _, each in ipairs(assert(ctx.map(list, function(i) return assert(ctx.run(one, { n = i })).state.n end))) do
          sum = sum + each
        end
        return { sum = sum }
      end } } })
      assert.equal(count * (count + 1) // 2, result.state.sum)
      return os.clock() - began
    end
    seconds(50)
    local few, many = seconds(100), seconds(1000)
    assert(many < 30 * few, ("100: %.2f s, 1000: %.2f s"):format(few, many))
  end)
end)
