-- run_session_spec.lua: programs one talks to, as scripts use them: they stay between calls, are shared by
-- the steps of a run, and a resume starts them anew.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

local PROGRAM = { "lua5.4", "tests/support/session_program.lua", "lines" }
local next_id = 0

-- Says something to the program and gives what it answers.
local function say(ctx, what, more)
  next_id = next_id + 1
  local request = {
    kind = "session", session = "peer", argv = PROGRAM, id = next_id, expect = "json",
    message = json.encode { ["do"] = what, id = next_id },
  }
  for key, value in pairs(more or {}) do
    request[key] = value or nil
  end
  local reply, message, class = ctx.await(request)
  return reply and reply.value, message, class
end

describe("a session", function()
  before_each(function() next_id = 0 end)
  after_each(R.clean)

  it("keeps its program from call to call and from step to step", function()
    local function count(_, ctx)
      return { counted = say(ctx, "echo").count, again = say(ctx, "echo").count }
    end
    local result = assert(R.run({
      actions = { { id = "one", run = count }, { id = "two", when = "again", run = count } },
    }, { work_dir = R.folder() .. "/run" }))
    assert.same({ 3, 4 }, { result.state.counted, result.state.again }, json.encode(result.state.errors))
  end)

  it("that breaks off leaves its call in doubt; one that cannot begin fails it", function()
    local seen
    local dir = R.folder() .. "/run"
    local result = assert(R.run({ actions = { { id = "one", run = function(_, ctx)
      seen = { say(ctx, "echo", { session = "none", argv = { "/no/such/program" } }) }
      say(ctx, "die")
    end } } }, { work_dir = dir }))
    assert.same({ nil, "permanent" }, { seen[1], seen[3] }, seen[2])
    assert.matches("/no/such/program", seen[2])
    assert.same({ "paused", "needs_decision" }, { result.status, result.reason }, result.message)
    assert.matches("ended with exit code 3 before it answered: %.%.%.x+trouble$", R.records(dir, "doubt")[1].message)
  end)

  it("says things unasked: events, kept until somebody waits for them", function()
    for _, context in ipairs { "file", "memory" } do
      local result = assert(R.run({ context = context, actions = { { id = "one", run = function(_, ctx)
        say(ctx, "note")
        local first, second = ctx.wait { event = "session:peer" }, ctx.wait { event = "session:peer" }
        local late = { ctx.wait { event = "session:peer", timeout = 0.05 } }
        return { note = first.note, method = second.method, late = late[1] }
      end } } }, { work_dir = R.folder() .. "/run" }))
      assert.same({ 1, "ask", nil }, { result.state.note, result.state.method, result.state.late },
        json.encode(result.state.errors))
    end
  end)

  it("that says too much unasked is heard up to a bound, which is noted once", function()
    local dir = R.folder() .. "/run"
    local result = assert(R.run({ actions = { { id = "one", run = function(_, ctx)
      say(ctx, "flood")
      local first, again = ctx.wait { event = "session:peer" }, say(ctx, "note")
      return { note = first.note, noted = again.noted }
    end } } }, { work_dir = dir, durability = "process" }))
    assert.same({ 1, true }, { result.state.note, result.state.noted }, result.message)
    assert.equal(1001, #R.records(dir, "event"))
    local notes = R.records(dir, "note")
    assert.equal(1, #notes)
    assert.equal("session:peer: sends too many messages: 1000 wait for ctx.wait; further ones are dropped", notes[1].text)
  end)

  it("is opened wherever it begins, asks in between, and what follows a crash of it is lost", function()
    local dir, heard = R.folder() .. "/run", {}
    local more = { opening = { '{"id":0,"method":"hello","do":"echo"}' }, questions = true,
      heard = function(message) heard[#heard + 1] = message.count return true end }
    local function definition()
      return { actions = { { id = "one", run = function(_, ctx)
        local asked = say(ctx, "note", more)
        local follows = { session = "peer", follows = true, idempotent = true }
        for key, value in pairs(more) do
          follows[key] = value
        end
        local _, _, class = say(ctx, "echo", follows)
        return { method = asked.method, class = class or "none" }
      end } } }
    end
    local result = assert(R.run(definition(), { work_dir = dir }))
    assert.same({ "ask", "none" }, { result.state.method, result.state.class }, json.encode(result.state.errors))
    assert.equal(1, heard[1])
    assert.same({}, R.records(dir, "event"))
    for keep, record in ipairs(R.records(dir)) do
      if record.t == "call" and record.c == "2" then
        local copy = R.folder() .. "/cut"
        next_id = 0
        R.cut(dir, copy, keep)
        local resumed = assert(skillrt.resume(copy, { skill = R.skill(definition()) }))
        assert.equal("lost", resumed.state.class, json.encode(resumed.state.errors))
      end
    end
  end)

  -- What a function of a step that says these things comes to.
  local function talk(fn)
    local dir = R.folder() .. "/run"
    local result = assert(R.run({ actions = { { id = "one", run = function(_, ctx) return { out = fn(ctx) } end } } },
      { work_dir = dir }))
    assert.equal("completed", result.status, result.message)
    return result.state.out, dir
  end

  it("that does not answer its opening is told nothing else: the call has not left, and the next begins anew", function()
    for what, class in pairs { die = "transient", silent = "timeout" } do
      local out, dir = talk(function(ctx)
        local opening = { ('{"id":0,"method":"hello","do":"%s"}'):format(what) }
        local _, message, first = say(ctx, "echo", { opening = opening, timeout = what == "silent" and 0.2 or nil })
        return { first = first, message = message, count = say(ctx, "echo").count }
      end)
      assert.same({ class, 1 }, { out.first, out.count }, out.message)
      assert.same({}, R.records(dir, "doubt"))
      assert.is_false(R.records(dir, "result")[1].reply.sent)
    end
  end)

  it("asks when nobody takes questions: the next call that does is given it, once its message has left", function()
    local out = talk(function(ctx)
      local more = { opening = { '{"id":0,"method":"hello","do":"echo"}' }, questions = true }
      local asked = say(ctx, "wonder", more).asked
      ctx.sleep(0.1)
      return { asked = asked, method = say(ctx, "silent", more).method, count = say(ctx, "echo").count }
    end)
    assert.same({ asked = true, method = "ask", count = 4 }, out)
  end)

  it("may answer behind its question, before what follows: that is given it, and no other call", function()
    local out = talk(function(ctx)
      local all = {}
      for i = 1, 2 do
        next_id = 0
        all[2 * i - 1] = say(ctx, "note", { questions = true }).method
        ctx.sleep(0.1)
        next_id = 0
        local answer = say(ctx, i == 1 and "silent" or "echo", { questions = true, follows = i == 1 or nil,
          message = i == 2 and '{"do":"echo","id":1,"method":"x"}' or nil })
        all[2 * i] = answer.noted or answer.count
      end
      return all
    end)
    assert.same({ "ask", true, "ask", 4 }, out)
  end)

  it("is told what is not waited for any more; without ids it begins anew then", function()
    local out = talk(function(ctx)
      local _, _, class = say(ctx, "silent", { timeout = 0.2, idempotent = true, withdraw = '{"do":"echo","id":9}' })
      local event = ctx.wait { event = "session:peer", timeout = 10 }
      local first = say(ctx, "silent", { timeout = 0.2, idempotent = true, id = false })
      local ended = ctx.wait { event = "session:peer", timeout = 10 }
      return { class = class, id = event.id, first = first, message = ended.message, count = say(ctx, "echo").count }
    end)
    assert.same({ class = "timeout", id = 9, count = 1,
      message = "peer: ended, because a call without an id got no answer in time" }, out)
  end)

  it("is heard while a step of its run is in the middle of a run of its own", function()
    local out = talk(function(ctx)
      local first = ctx.await { kind = "session", session = "peer", id = 1, message = '{"id":1}', timeout = 20, argv = { "sh",
        "-c", "read x; echo \"$x\"; sleep 0.1; echo '{\"late\":true}'; cat" } }
      local inner = R.run({ actions = { { id = "one", run = function(_, inside)
        inside.sleep(0.4)
        return { slept = true }
      end } } }, { work_dir = R.folder() .. "/inner" })
      return { first.body, inner.state.slept, ctx.wait { event = "session:peer", timeout = 10 }.late }
    end)
    assert.same({ '{"id":1}', true, true }, out)
  end)

  it("gives the answers that have no ids to the calls in their order", function()
    local out = talk(function(ctx)
      return ctx.all { function() return say(ctx, "echo", { id = false }).count end,
        function() return say(ctx, "echo", { id = false }).count end }
    end)
    assert.same({ 1, 2 }, out)
  end)

  it("is checked before it begins", function()
    local problems = {}
    assert(R.run({ actions = { { id = "one", run = function(_, ctx)
      for i, more in ipairs { { message = "a\nb" }, { session = "a b" }, { id = 1.5 }, { argv = {} } } do
        problems[i] = select(2, pcall(say, ctx, "echo", more))
      end
    end } } }, { work_dir = R.folder() .. "/run" }))
    assert.matches("message must be one line", problems[1])
    assert.matches("session must be letters", problems[2])
    assert.matches("id must be a text or a whole number, not 1.5", problems[3])
    assert.matches("argv names no program", problems[4])
  end)
end)
