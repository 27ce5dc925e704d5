-- run_loops_spec.lua: loops of a step: what their rounds record, and what is forgotten with a round. That a run killed
-- anywhere goes on as it would have shows the simulator.
local R = require "tests.support.runs"
local skillrt = require "skillrt"
local json = skillrt.json

describe("loops in branches that take turns", function()
  after_each(R.clean)

  it("go on killed behind any record, though what a round took place for is forgotten (F40)", function()
    local function turns()
      return { name = "turns", limits = { max_errors = 1, max_retries = 0 }, actions = { { id = "a", run = function(_, ctx)
        return { out = assert(ctx.map({ 1, 2, 3, 4 }, function(item)
          return ctx.loop("", function(text, round)
            local parts = assert(ctx.map({ 1, 2, 3 }, function(part)
              local name = ("%d%d%d"):format(item, round, part)
              return assert(ctx.await { kind = "command", argv = { "printf", "%s", name }, idempotent = true }).stdout
            end, { max_parallel = 2 }))
            return text .. table.concat(parts, " ") .. " ", round == 2
          end)
        end, { max_parallel = 3 })) }
      end } } }
    end
    local dir = R.folder() .. "/run"
    local result = R.run(turns(), { work_dir = dir })
    assert.equal("completed", result.status, json.encode(result.state.errors))
    for keep = 3, #R.records(dir) - 1, R.EVERY do
      local cut = R.folder() .. "/run"
      R.cut(dir, cut, keep)
      local again, message = skillrt.resume(cut, { skill = R.skill(turns()) })
      assert.equal("completed", again and again.status, ("cut behind %d: %s"):format(keep, message))
      assert.same(result.state.out, again.state.out)
    end
  end)
end)

describe("loops inside a loop", function()
  after_each(R.clean)

  it("that call nothing are recorded and read again", function()
    local dir = R.folder() .. "/run"
    local result = R.run({ name = "nested", actions = { { id = "a", run = function(_, ctx)
      return { text = ctx.loop("", function(text, round)
        local inner = ctx.loop("", function(value, n)
          ctx.log(value)
          return value .. n, n == 2
        end)
        return text .. inner .. "|", round == 2
      end) }
    end } } }, { work_dir = dir })
    assert.equal("completed", result.status, json.encode(result.state.errors))
    assert.equal("12|12|", result.state.text)
    assert.equal("completed", assert(require("skillrt.run.runner").read(dir)).state.root.status)
  end)
end)

describe("a round that began what it does not wait for", function()
  after_each(R.clean)

  it("ends when that has ended: its places are forgotten with it (F40)", function()
    local dir = R.folder() .. "/run"
    local result = R.run({ name = "left", actions = { { id = "a", run = function(_, ctx)
      return { out = ctx.loop("", function(text, round)
        ctx.spawn(function()
          return ctx.await { kind = "command", argv = { "sh", "-c", "sleep 0.05" } }
        end)
        ctx.sleep(0.001)
        return text .. round, round == 2
      end) }
    end } } }, { work_dir = dir })
    assert.equal("completed", result.status, json.encode(result.state.errors))
    local open = 0
    for _, entry in ipairs(R.records(dir)) do
      local kind = entry.t == "call" and entry.kind == "command" and 1 or entry.t == "result" and entry.c:find "%.1%.1$" and -1
      open = open + (kind or 0)
      assert.is_true(entry.t ~= "round" or open == 0, "a round is over, and a call of it is under way")
    end
    assert.equal("12", result.state.out)
  end)
end)

describe("a resumed combinator with a limit", function()
  after_each(R.clean)

  it("gives its places to what had them, though a loop before it is over at once (F40)", function()
    local function waiting()
      return R.skill { name = "waiting", actions = { { id = "a", run = function(_, ctx)
        return { out = assert(ctx.map({ 1, 2 }, function(item)
          ctx.loop("", function(_, round)
            ctx.log(item)
            return "", round == 1
          end)
          local asked = ctx.spawn(ctx.ask, { question = "Question " .. item })
          return { ctx.wait { event = "shared" }, asked.await() }
        end, { max_parallel = 2 })) }
      end } } }
    end
    local dir = R.folder() .. "/run"
    waiting():run { work_dir = dir }
    os.execute(("mkdir -p '%s/inbox'"):format(dir))
    R.write(dir .. "/inbox/1.json", '{"event": "shared", "value": "came", "id": "1"}')
    assert(skillrt.resume(dir, { skill = waiting(), answer = "yes" }))
    local taken = {}
    for _, result in ipairs((R.records(dir, "result"))) do
      taken[#taken + 1] = result.took and result.c
    end
    assert.same({ "1.1.3" }, taken)
  end)

  it("gives them to a branch that began while a round that is forgotten had none (F40)", function()
    local function rounds()
      return R.skill { name = "rounds", limits = { max_retries = 0 }, actions = { { id = "a", run = function(_, ctx)
        local function echo(text, pure)
          return assert(ctx.await { kind = "command", argv = { "echo", text }, pure = pure, idempotent = true })
        end
        return { out = assert(ctx.map({ 1, 2 }, function(item)
          if item == 2 then
            return ctx.ask { question = "Which?" }
          end
          return ctx.loop("", function(_, round)
            echo "sent"
            echo("made", true)
            return "over", round == 2
          end)
        end, { max_parallel = 1 })) }
      end } } }
    end
    local dir = R.folder() .. "/run"
    rounds():run { work_dir = dir }
    assert(skillrt.resume(dir, { skill = rounds() }))
    assert.equal(3, #R.records(dir, "call"), "a question is open, and takes the only place")
    local result = assert(skillrt.resume(dir, { skill = rounds(), answer = "this" }))
    assert.same({ "completed", { "over", "this" } }, { result.status, result.state.out })
  end)
end)

describe("a changed script", function()
  after_each(R.clean)

  it("repeats no recorded call before somebody says yes to that", function()
    local function skill(text)
      return R.skill { name = "repeats", actions = { { id = "a", run = function(_, ctx)
        ctx.await { kind = "command", argv = { "printf", text } }
        ctx.ask "Now?"
      end } } }
    end
    local dir = R.folder() .. "/run"
    assert(skill "before":run { work_dir = dir })
    local options = { skill = skill "after", accept_changes = true }
    local _, message, code = skillrt.resume(dir, options)
    assert.equal("changed", code)
    assert.matches("discarded: 1 %(printf, may have acted%)\nto resume and repeat them: %-%-accept%-changes %-%-yes", message)
    options.yes = true
    assert.equal("waiting_for_person", assert(skillrt.resume(dir, options)).reason)
  end)

  it("repeats nothing of a sub-run that it left, and whose own sub-run had asked about a call", function()
    local folder = R.folder()
    local acted, attempts = folder .. "/acted", 0
    local innermost = R.skill { name = "innermost", actions = { { id = "acts", run = function(_, ctx)
      return { out = ctx.await { kind = "command", argv = { "sh", "-c", ("echo x >> '%s'; kill -9 $$"):format(acted) } } }
    end } } }
    local inner = R.skill { name = "inner", actions = { { id = "runs", run = function(_, ctx)
      return { out = ctx.run(innermost, {}).status }
    end } } }
    local other = R.skill { name = "other", actions = { { id = "nothing", run = function() end } } }
    local function skill(run)
      return R.skill { name = "left", limits = { max_errors = 3 }, actions = { { id = "a", run = run } } }
    end
    local function before(_, ctx)
      return { out = ctx.all { function() return ctx.run(inner, {}) end } }
    end
    local dir = folder .. "/run"
    assert.equal("needs_decision", skill(before):run { work_dir = dir }.reason)
    local result = assert(skillrt.resume(dir, { accept_changes = true, yes = true, answer = "fail", skill = skill(function(now, ctx)
      attempts = attempts + 1
      return attempts == 1 and { out = ctx.run(other, {}) } or before(now, ctx)
    end) }))
    assert.equal("x\n", R.read(acted), result.status .. ": " .. tostring(result.message))
  end)

  it("repeats nothing that it did around the place of a sub-run that it left, when a person retries", function()
    local folder = R.folder()
    local paid, dir = folder .. "/paid", folder .. "/run"
    local asks = R.skill { name = "asks", actions = { { id = "ask", run = function(_, ctx) return { said = ctx.ask "Now?" } end } } }
    local function skill(run)
      return R.skill { name = "around", limits = { max_errors = 1 }, actions = { { id = "a", run = run } } }
    end
    local function after(_, ctx)
      return { out = ctx.map({ 1 }, function()
        return ctx.loop("", function()
          assert(ctx.await { kind = "command", argv = { "sh", "-c", ("echo x >> '%s'"):format(paid) } })
          return "paid", true
        end)
      end) }
    end
    assert.equal("waiting_for_person", skill(function(_, ctx) ctx.run(asks, {}) end):run { work_dir = dir }.reason)
    local result = assert(skillrt.resume(dir, { skill = skill(after), accept_changes = true, yes = true, answer = "yes" }))
    assert.same({ "failed", "x\n" }, { result.status, R.read(paid) })
    result = assert(skillrt.resume(dir, { skill = skill(after), retry = true, add = { max_errors = 5 } }))
    assert.same({ "completed", "x\n" }, { result.status, R.read(paid) })
  end)

  it("sends no other request with the idempotency key that a call of a finished round had (F19)", function()
    local function skill(run)
      return R.skill { name = "keys", actions = { { id = "a", run = run } } }
    end
    local function send(ctx, text)
      return assert(ctx.await { agent = skillrt.agent.command { "printf", "%s", text .. " {key}", parse = "text",
        idempotent = true }, prompt = text }).output
    end
    local dir, said = R.folder() .. "/run", {}
    skill(function(_, ctx)
      ctx.loop("", function(_, round)
        said[#said + 1] = send(ctx, "before")
        return "", round == 2
      end)
      ctx.ask { question = "Now?" }
    end):run { work_dir = dir }
    assert(skillrt.resume(dir, { accept_changes = true, skill = skill(function(_, ctx)
      said[#said + 1] = assert(ctx.map({ 1 }, function() return send(ctx, "after") end))[1]
    end) }))
    local keys = {}
    for _, call in ipairs((R.records(dir, "call"))) do
      keys[#keys + 1] = call.key and call.c .. " " .. call.key
    end
    for i, place in ipairs { "1.1.1", "1.2.1", "1.1.1" } do
      assert.equal(place .. " " .. said[i]:match "%S+$", keys[i], "{key} is the key that is recorded")
    end
    assert.not_equal(keys[1], keys[3])
  end)
end)
