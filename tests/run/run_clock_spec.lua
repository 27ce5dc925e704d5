-- run_clock_spec.lua: the wall clock is set while a run is open: what waits, waits as long as it was to, and an
-- instant is one of the wall clock. The clocks are fake ones: nothing here sleeps.
local clock = require "tests.support.fake_clock"
local R = require "tests.support.runs"
local runner = require "skillrt.run.runner"

local HOUR <const> = 3600

-- Opens a run that waits; gives what says, after the clocks have gone on, how it stands now.
local function waiting(definition)
  local run, _, policy = assert(runner.begin(R.skill(definition), { work_dir = R.folder() .. "/run", wait = true }))
  local function state()
    assert(run:event("inbox", "")) -- so that it looks
    for _ = 1, 20 do
      run:step()
    end
    local status, reason = run:status()
    return status, reason, policy.books.state.root
  end
  state()
  return run, state
end

describe("the wall clock is set while a run is open", function()
  after_each(R.clean)

  local function action(body)
    return { actions = { { id = "a", run = body } } }
  end

  it("holds a sleep until an instant for longer where it is put back", function()
    local until_ = os.date("!%Y-%m-%dT%H:%M:%SZ", clock.now // 1000 + HOUR)
    local _ <close>, state = waiting(action(function(_, ctx)
      ctx.sleep_until(until_)
      return { out = true }
    end))
    clock.set(-HOUR)
    clock.pass(HOUR + 1)
    assert.equal("", (state()))
    clock.pass(HOUR)
    assert.equal("completed", (state()))
  end)

  it("holds a sleep no longer than it is long where it was put back before a resume", function()
    local dir, skill = R.folder() .. "/run", R.skill(action(function(_, ctx)
      ctx.sleep(HOUR)
      return { out = true }
    end))
    local function stand(run)
      assert(run:event("inbox", ""))
      for _ = 1, 20 do run:step() end
      return (run:status())
    end
    local run = assert(runner.begin(skill, { work_dir = dir, wait = true }))
    stand(run)
    run:stop()
    run:wait()
    run:close()
    clock.set(-24 * HOUR)
    local again <close> = assert(runner.take_up(skill, { work_dir = dir, wait = true }))
    assert.equal("", stand(again))
    clock.pass(HOUR + 1)
    assert.equal("completed", stand(again))
  end)

  it("counts what passed for run_timeout when it is put forward or back by days, also after a resume", function()
    for _, days in ipairs { 10, -10 } do
      local dir = R.folder() .. "/run"
      local definition = action(function(_, ctx)
        ctx.sleep(600)
        ctx.ask "again?"
        ctx.sleep(600)
        return { out = true }
      end)
      definition.limits = { run_timeout = HOUR }
      local skill = R.skill(definition)
      local run = assert(runner.begin(skill, { work_dir = dir, wait = true }))
      local function on()
        assert(run:event("inbox", ""))
        for _ = 1, 20 do run:step() end
      end
      on()
      clock.pass(300)
      clock.set(days * 24 * HOUR)
      clock.pass(301)
      on()
      run:stop()
      run:wait()
      run:close()
      local list, books = R.records(dir, "clock")
      assert.equal(1, #list)
      local spent = require("skillrt.skill.limit.run_timeout").open_ms(books) // 1000
      assert.truthy(spent >= 600 and spent <= 602, spent)
      local result = assert(require("skillrt").resume(dir, { skill = skill, answer = "yes", question = 1 }))
      assert.not_equal("run_timeout", result.reason, result.message)
      _, books = R.records(dir)
      assert.truthy(require("skillrt.skill.limit.run_timeout").open_ms(books) < 700 * 1000)
    end
  end)

  it("is a record before the books that are kept in that moment, which know of it", function()
    local dir = R.folder() .. "/run"
    local run = assert(runner.begin(R.skill(action(function(_, ctx)
      for _ = 1, 3 do ctx.sleep(60) end
    end)), { work_dir = dir, wait = true, books_bytes = 1, watcher = { observe = function() end, forget = function() end,
      flush = function() clock.set(-24 * HOUR) end } })) -- the books are kept next
    for _ = 1, 4 do
      assert(run:event("inbox", ""))
      for _ = 1, 20 do run:step() end
      clock.pass(61)
    end
    run:stop()
    run:wait()
    run:close()
    assert.is_true(#R.records(dir, "clock") > 0 and #R.records(dir, "books") > 0)
    assert.is_nil((select(5, dofile "tests/support/crash_audit.lua"(dir, {}))))
  end)
end)
