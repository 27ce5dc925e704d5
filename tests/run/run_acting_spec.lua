-- run_acting_spec.lua: calls that are functions of this process which change something: their intent is durable
-- before they run, and after a crash what may have happened is in doubt.
local R = require "tests.support.runs"
local runner = require "skillrt.run.runner"

local function counted(ran, more)
  return { actions = { { id = "a", run = function(_, ctx)
    local request = { kind = "local", name = "count", run = function()
      ran.n = ran.n + 1
      return { n = ran.n }
    end }
    for key, value in pairs(more or {}) do request[key] = value end
    local reply, message, class = ctx.await(request)
    local other = ctx.await { kind = "command", argv = { "true" }, idempotent = true }
    return { got = reply and reply.value.n, class = class, message = message, code = other.code }
  end } } }
end

describe("a call that is a function of this process", function()
  after_each(R.clean)

  it("has an intent and a result, and its value is given back", function()
    local ran, dir = { n = 0 }, R.folder() .. "/run"
    local result = R.run(counted(ran), { work_dir = dir })
    assert.equal("completed", result.status, result.message)
    assert.equal(1, result.state.got)
    local call, over = R.records(dir, "call")[1], R.records(dir, "result")[1]
    assert.same({ "local", "count", "1" }, { call.kind, call.to, call.c })
    assert.is_nil(call.a) -- the first attempt is not counted out
    assert.same({ "1", { n = 1 } }, { over.c, over.value })
  end)

  it("is in doubt where it may have run, made again where it is idempotent, and never once it has a result", function()
    for _, idempotent in ipairs { false, true } do
      local ran, base = { n = 0 }, R.folder()
      local definition = counted(ran, { idempotent = idempotent })
      assert(R.run(definition, { work_dir = base .. "/run" }))
      local list = R.records(base .. "/run")
      for keep = 1, #list - 1, R.EVERY do
        local dir, kind = ("%s/cut%d"):format(base, keep), list[keep].t
        R.cut(base .. "/run", dir, keep)
        ran.n = 0
        local result = assert(runner.go_on(R.skill(definition), { work_dir = dir }))
        local at = ("%s, cut behind record %d (%s)"):format(idempotent, keep, kind)
        if keep < 2 or list[keep].c == "1" and idempotent then
          assert.equal(1, ran.n, at)
          assert.equal("completed", result.status, at)
        elseif list[keep].c == "1" then -- of a batch that was cut in two nothing is left but what came before
          assert.equal(0, ran.n, at)
          assert.same({ "paused", "needs_decision" }, { result.status, result.reason }, at)
        else
          assert.equal(0, ran.n, at)
          assert.equal("completed", result.status, at)
        end
      end
    end
  end)

  it("fails as its function does, and may not wait", function()
    local result = R.run(counted({ n = 0 }, { run = function() return nil, "no room", "transient" end }))
    assert.same({ "no room", "transient" }, { result.state.message, result.state.class })
    result = R.run(counted({ n = 0 }, { run = function() error("broken", 0) end }))
    assert.same({ "broken", "permanent" }, { result.state.message, result.state.class })
    result = R.run({ actions = { { id = "a", run = function(_, ctx)
      local _, message = ctx.await { kind = "local", name = "waits", run = function() return ctx.sleep(1) end }
      return { message = message }
    end } } })
    assert.matches("not inside a coroutine of your own", result.state.message)
  end)
end)
