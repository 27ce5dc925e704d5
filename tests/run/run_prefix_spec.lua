-- run_prefix_spec.lua: what a function is given that runs again after a crash, and what it may not ask then. That a run
-- which is cut short anywhere comes to the same end shows the simulator.
local R = require "tests.support.runs"
local history = require "skillrt.run.snapshot"
local skillrt = require "skillrt"

describe("a run that is resumed", function()
  after_each(R.clean)

  it("reads from its newest record of all the books on; the whole where state.json was edited (R69, R72)", function()
    local dir, definition = R.folder() .. "/run", {
      state = { n = 0 },
      terminate = { { when = "n === 30 && !go", status = "paused", reason = "tea" } },
      actions = { { id = "a", when = "n < 40", max_runs = 99, run = function(state) return { n = state.n + 1 } end } },
    }
    assert(R.run(definition, { work_dir = dir, books_bytes = 1 }))
    local new, read = history.new, 0
    finally(function() history.new = new end)
    function history.new(...)
      local self = new(...)
      function self.add(...)
        read = read + 1
        return getmetatable(self).add(...)
      end
      return self
    end
    local records = #R.records(dir)
    local result = assert(skillrt.resume(dir, { skill = R.skill(definition) }))
    assert.same({ "tea", 30 }, { result.reason, result.state.n })
    assert.is_true(records >= 90 and read > 0 and read < 6, ("%d of %d records"):format(read, records))
    R.write(dir .. "/state.json", (R.read(dir .. "/state.json"):gsub('"n": 30', '"n": 30, "go": true')))
    result = assert(skillrt.resume(dir, { skill = R.skill(definition), accept_edits = true }))
    assert.same({ "completed", 40 }, { result.status, result.state.n })
  end)
end)

describe("a function that runs again after a crash", function()
  after_each(R.clean)

  it("is given the times, numbers and ids it was given before, and the recorded replies", function()
    local seen = {}
    local function definition()
      return { actions = { { id = "a", run = function(_, ctx)
        local mine = { ctx.now(), ctx.random(), ctx.random(1, 1000000), ctx.uuid() }
        seen[#seen + 1] = mine
        local reply = ctx.await { kind = "command", argv = { "date", "+%s%N" }, idempotent = true }
        mine[5] = reply.stdout
        ctx.await { kind = "sleep", seconds = 0.05 }
        return { all = mine }
      end } } }
    end
    local dir, copy = R.folder() .. "/run", R.folder() .. "/cut"
    local first = assert(R.run(definition(), { work_dir = dir }))
    for keep, record in ipairs(R.records(dir)) do
      if record.t == "call" and record.c == "2" then
        R.cut(dir, copy, keep)
      end
    end
    local again = assert(skillrt.resume(copy, { skill = R.skill(definition()) }))
    assert.same(first.state.all, again.state.all)
    assert.same(seen[1], seen[2])
    assert.equal("integer", math.type(seen[1][1]))
    assert.matches("^%x+%-%x+%-4%x+%-[89ab]%x+%-%x+$", seen[1][4])
  end)

  it("is told from another request by all that was declared, and by nothing else", function()
    local http = { kind = "http", url = "http://127.0.0.1:1/x", method = "POST", headers = { a = "1" }, body = "b",
      idempotent = true }
    local program = { kind = "command", argv = { "printf", "a" }, stdin = "s", env = { A = "1" }, cwd = "/tmp",
      idempotent = true }
    local function with(request, field, value)
      local copy = {}
      for key, given in pairs(request) do
        copy[key] = given
      end
      copy[field] = value
      return copy
    end
    local now
    local function definition()
      return { limits = { max_errors = 1, max_retries = 0 }, actions = { { id = "a", run = function(_, ctx)
        ctx.await(now)
        ctx.ask "go on?"
        return { over = true }
      end } } }
    end
    local function resumed(before, after)
      local dir = R.folder() .. "/run"
      now = before
      assert(R.run(definition(), { work_dir = dir }))
      now = after
      local result, message, code = skillrt.resume(dir,
        { skill = R.skill(definition()), answer = "yes" })
      return result and result.status or code, message
    end
    for _, field in ipairs { "url", "method", "headers", "body" } do
      local value = field == "headers" and { a = "2" } or field == "method" and "PUT" or "http://127.0.0.1:1/y"
      assert.same("changed", (resumed(http, with(http, field, value))), field)
    end
    assert.same("changed", (resumed(http, with(http, "headers", { b = "1" }))))
    for field, value in pairs { argv = { "printf", "b" }, stdin = "t", env = { A = "2" }, cwd = "/" } do
      assert.same("changed", (resumed(program, with(program, field, value))), field)
    end
    assert.same("changed", (resumed(http, program)))
    for field, value in pairs { timeout = 9, label = "x", expect = "text", retry = { max = 1 }, judge = function() end } do
      assert.same("completed", (resumed(program, with(program, field, value))), field)
    end
    local _, words = resumed(program, with(program, "argv", { "cat" }))
    assert.matches("diverged at call 1: it was printf, and is cat now", words)
  end)

  it("is closed where it is begun anew with what has changed", function()
    local words, closed = "a", 0
    local function definition()
      return { actions = { { id = "a", run = function(_, ctx)
        local _ <close> = setmetatable({}, { __close = function() closed = closed + 1 end })
        ctx.await { kind = "command", argv = { "printf", words } }
        ctx.await { kind = "sleep", seconds = 0.01 }
        return { over = true }
      end } } }
    end
    local dir, copy = R.folder() .. "/run", R.folder() .. "/cut"
    assert(R.run(definition(), { work_dir = dir }))
    for keep, record in ipairs(R.records(dir)) do
      if record.t == "call" and record.c == "2" then
        R.cut(dir, copy, keep)
      end
    end
    words, closed = "b", 0
    local result = assert(skillrt.resume(copy, { skill = R.skill(definition()), accept_changes = true, yes = true }))
    assert.same({ "completed", 2 }, { result.status, closed }) -- the one that had diverged, and the one that ran
  end)

  it("is not gone on with when it asks no more for what had left and may have acted", function()
    local asks = 2
    local function definition()
      return { actions = { { id = "a", run = function(_, ctx)
        for _ = 1, asks do
          ctx.await { kind = "command", argv = { "cat" }, stdin = "x" }
        end
        return { over = true }
      end } } }
    end
    local dir = R.folder() .. "/run"
    assert(R.run(definition(), { work_dir = dir }))
    for _, case in ipairs { { of = "1", asks = 0 }, { of = "2", asks = 1 } } do
      local copy = R.folder() .. "/cut"
      for keep, record in ipairs(R.records(dir)) do
        if record.t == "call" and record.c == case.of then
          R.cut(dir, copy, keep)
        end
      end
      asks = case.asks
      local result, message, code = skillrt.resume(copy, { skill = R.skill(definition()) })
      assert.same({ nil, "changed" }, { result, code }, case.of)
      assert.matches("diverged at call " .. case.of .. ": it was cat, and is nothing now", message)
      result = assert(skillrt.resume(copy, { skill = R.skill(definition()), accept_changes = true, yes = true }))
      assert.equal("completed", result.status, result.message)
    end
  end)

  it("sees the state and context as they were when its step began, not what others changed since (F36)", function()
    local function definition()
      return {
        state = { n = 0 },
        strategy = function(_, available)
          local ids = {}
          for i = 1, #available do
            ids[i] = available[i].id
          end
          return ids
        end,
        actions = {
          { id = "quick", run = function(_, ctx)
            ctx.context.set("k", "new")
            return { n = 1 }
          end },
          { id = "slow", run = function(state, ctx)
            local before = { state.n, ctx.context.get "k" or "none" }
            ctx.await { kind = "sleep", seconds = 0.01 }
            return { seen = { before, { state.n, ctx.context.get "k" or "none" } } }
          end },
        },
      }
    end
    local dir, copy = R.folder() .. "/run", R.folder() .. "/cut"
    local first = assert(R.run(definition(), { work_dir = dir }))
    assert.same({ { 0, "none" }, { 0, "none" } }, first.state.seen)
    for keep, record in ipairs(R.records(dir)) do
      if record.t == "call" then
        R.cut(dir, copy, keep)
      end
    end
    assert.same(first.state.seen, assert(skillrt.resume(copy, { skill = R.skill(definition()) })).state.seen)
  end)

  it("is not run again when its definition has gone from the skill; that is said (F23)", function()
    local dir, copy = R.folder() .. "/run", R.folder() .. "/cut"
    local function definition(id)
      return { actions = { { id = id, run = function(_, ctx) ctx.await { kind = "sleep", seconds = 0.01 } end } } }
    end
    assert(R.run(definition "a", { work_dir = dir }))
    R.cut(dir, copy, 2)
    local result = assert(skillrt.resume(copy, { skill = R.skill(definition "b") }))
    assert.same({ "b" }, result.state.completed_actions)
    assert.matches("no longer part of the skill", R.records(copy, "skip")[1].why)
  end)
end)
