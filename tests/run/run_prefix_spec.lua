-- run_prefix_spec.lua: a crash after any record: each mode's reference run is cut short behind
-- every record in turn, resumed, and has to arrive at the same state, doing nothing twice.
local R = require "tests.support.runs"
local history = require "skillrt.run.snapshot"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

local function sh(script, parse)
  return skillrt.agent.command { "sh", "-c", script, parse = parse or "text", idempotent = true }
end

-- A state as text, without what differs from run to run: times, and which of two parallel
-- phases was over first.
local function told(state)
  local plain = R.without_times(state)
  table.sort(plain.phases_completed, function(a, b)
    return a.id < b.id
  end)
  return assert(json.encode(plain, { indent = 1 }))
end

-- Nothing that was recorded as over or answered is done again.
local function check_once(dir)
  local seen = {}
  for _, record in ipairs(R.records(dir)) do
    local what = record.t == "done" and ("done %d"):format(record.step)
      or record.t == "result" and ("result %d/%s"):format(record.step, record.c)
    if what then
      assert(not seen[what], what .. " was recorded twice")
      seen[what] = true
    end
  end
end

-- Resumes behind every record. `definition` is called anew for each run.
local function prefixes_at(definition, status, books_bytes)
  local dir = R.folder() .. "/run"
  local reference = assert(R.run(definition(), { work_dir = dir, books_bytes = books_bytes }))
  assert.equal(status or "completed", reference.status, reference.message)
  local wanted, count = told(reference.state), #R.records(dir)
  for keep = 1, count - 1, R.EVERY do
    local copy = R.folder() .. "/cut"
    R.cut(dir, copy, keep)
    local result, message = skillrt.resume(copy, { skill = R.skill(definition()), books_bytes = books_bytes })
    assert(result, ("cut behind record %d: %s"):format(keep, message))
    assert.equal(wanted, told(result.state), ("cut behind record %d of %d"):format(keep, count))
    check_once(copy)
    os.execute(("rm -rf '%s'"):format(copy))
  end
  return count
end

-- The same once more with all the books in a record before every step, from which the reading begins.
local function prefixes(definition, status)
  local count = prefixes_at(definition, status)
  assert.is_true(prefixes_at(definition, status, 1) > count)
  return count
end

describe("a run that is resumed from every prefix of its journal", function()
  after_each(R.clean)

  it("ends the same in sequential mode, with parallel phases, a skip and a failure (F17, F23)", function()
    local count = prefixes(function()
      return {
        on_error = "continue",
        phases = {
          { id = "a", run = function() return { n = 1 } end },
          { id = "skipped", when = "outputs.a.n > 1", run = function() return 0 end },
          { id = "p1", parallel = true, output = "p1.txt", agent = sh "sleep 0.004; echo one" },
          { id = "p2", parallel = true, output = "p2.txt", agent = sh "echo two" },
          { id = "bad", output = "bad.txt", agent = sh "exit 1" },
          { id = "z", input = { "p1.txt", "p2.txt" }, output = "z.md", run = function(state)
            return state.outputs.p1 .. state.outputs.p2
          end },
        },
      }
    end, "failed")
    assert.is_true(count > 14)
  end)

  it("ends the same in autonomous mode, with waiting, context, retries and errors (R69, F26)", function()
    local count = prefixes(function()
      local tries = 0
      return {
        state = { n = 0, list = {}, text = "ä\0b" },
        agents = { add = sh([[echo '{"status":"completed","stateUpdates":{"box":{"x":[]}}}']], "json") },
        actions = {
          { id = "loop", priority = 9, when = "n < 2", max_runs = 2, run = function(state, ctx)
            local said = ctx.await { kind = "command", argv = { "echo", "say " .. state.n }, idempotent = true }
            ctx.await { kind = "sleep", seconds = 0.001 }
            ctx.context.set("k" .. state.n, said.stdout)
            local list = { table.unpack(state.list) }
            list[#list + 1] = said.stdout
            return { n = state.n + 1, list = list }
          end },
          { id = "agent", priority = 8, agent = "add" },
          { id = "again", priority = 7, run = function(_, ctx)
            tries = ctx.attempt
            if ctx.attempt < 3 then
              return nil, "not yet", "transient"
            end
            return { tries = tries }
          end },
          { id = "bad", priority = 6, when = "error_count < 2", run = R.fails "never works" },
        },
        limits = { max_errors = 5 },
      }
    end, "paused")
    assert.is_true(count > 14, count)
  end)

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

  it("ends the same in hybrid mode, with a loop that failed and its finalizing phases (F7, F40)", function()
    prefixes(function()
      return {
        on_loop_failed = "run_finalize",
        limits = { max_errors = 2 },
        phases = {
          { id = "init", run = function() return "i", { ready = true } end },
          { id = "end-1", trailing = true, parallel = true, run = function() return "1", { more = true } end },
          { id = "end-2", trailing = true, parallel = true, output = "end.txt", agent = sh "echo 2" },
        },
        actions = {
          { id = "good", priority = 2, when = "ready", run = function() return { good = 1 } end },
          { id = "bad", run = R.fails "no" },
          { id = "late", when = "more", run = function() return { late = true } end },
        },
      }
    end, "failed")
  end)

  it("ends the same where several actions run at once (F22)", function()
    prefixes(function()
      local function put(key)
        return function(state, ctx)
          ctx.await { kind = "sleep", seconds = 0.001 }
          return { box = { [key] = (state.box[key] or 0) + 1 } }
        end
      end
      return {
        state = { box = { x = 0 } },
        strategy = function(_, available)
          local ids = {}
          for i = 1, #available do
            ids[i] = available[i].id
          end
          return ids
        end,
        actions = { { id = "a", run = put "a" }, { id = "b", run = put "b" }, { id = "c", run = put "c" } },
      }
    end)
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

  it("is not gone on with when it asks for something else than before; both are named", function()
    local word = "one"
    local function definition()
      return { actions = { { id = "a", run = function(_, ctx)
        local reply = ctx.await { kind = "command", argv = { "cat" }, stdin = word, idempotent = true }
        ctx.await { kind = "sleep", seconds = 0 }
        return { said = reply.stdout }
      end } } }
    end
    local dir, copy = R.folder() .. "/run", R.folder() .. "/cut"
    assert(R.run(definition(), { work_dir = dir }))
    R.cut(dir, copy, 5)
    word = "two"
    local result, message, code = skillrt.resume(copy, { skill = R.skill(definition()) })
    assert.is_nil(result)
    assert.equal("changed", code)
    assert.matches("step 1 %(a%) has diverged at call 1: it was cat, and is another cat now", message)
    assert.equal(0, #R.records(copy, "resume")) -- nothing was written
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
    local function resumed(before, after, accept)
      local dir = R.folder() .. "/run"
      now = before
      assert(R.run(definition(), { work_dir = dir }))
      now = after
      local result, message, code = skillrt.resume(dir,
        { skill = R.skill(definition()), answer = not accept and "yes" or nil, accept_changes = accept })
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
    _, words = resumed(program, with(program, "argv", { "cat" }), true)
    assert.matches("forgotten: 1 %(printf%)\n", words)
  end)

  it("is not gone on with when it asks for nothing where it asked before", function()
    local waits = true
    local function definition()
      return { actions = { { id = "a", run = function(_, ctx)
        if waits then
          ctx.await { kind = "command", argv = { "cat" }, stdin = "x" }
          ctx.await { kind = "command", argv = { "cat" }, stdin = "y" }
        end
        return { over = true }
      end } } }
    end
    local dir, copy = R.folder() .. "/run", R.folder() .. "/cut"
    assert(R.run(definition(), { work_dir = dir }))
    R.cut(dir, copy, 6) -- up to the first result
    waits = false
    local result, message, code = skillrt.resume(copy, { skill = R.skill(definition()) })
    assert.same({ nil, "changed" }, { result, code })
    assert.matches("diverged at call 1", message)
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
