-- steady_spec.lua: times of the wall clock as those of a clock that is never set, with both clocks in the test's hand.
local core = require "skillrt.core"

describe("times that waits count on", function()
  local steady, mono_ns, wall_ns
  local real = { mono_ns = core.mono_ns, mono_ms = core.mono_ms, wall_ms = core.wall_ms }

  before_each(function()
    mono_ns, wall_ns = 1000 * 1000000, 5000 * 1000000 + 900000
    core.mono_ns = function() return mono_ns end
    core.mono_ms = function() return mono_ns // 1000000 end
    core.wall_ms = function() return wall_ns // 1000000 end
    package.loaded["skillrt.run.steady"] = nil
    steady = require "skillrt.run.steady"
  end)
  after_each(function()
    for name, fn in pairs(real) do core[name] = fn end
    package.loaded["skillrt.run.steady"] = nil
  end)

  local function pass(ns) mono_ns, wall_ns = mono_ns + ns, wall_ns + ns end

  it("keep their order, a millisecond apart, whenever each is asked for", function()
    local run, before = {}, nil
    for i = 1, 50 do
      local at = steady.at(run, 7000 + i)
      assert.equal(before and before + 1 or at, at)
      before = at
      pass(370000)
    end
  end)

  it("are no millisecond too early", function()
    for _ = 1, 20 do
      local due = core.wall_ms() + 10
      local at = steady.at({}, due)
      while core.mono_ms() < at do pass(10000) end
      assert.is_true(core.wall_ms() >= due)
      pass(330000)
    end
  end)

  it("follow a wall clock that was set by more than two looks differ, and no less", function()
    local at = steady.at({}, 9000)
    wall_ns = wall_ns + 100 * 1000000
    assert.equal(at, steady.at({}, 9000))
    wall_ns = wall_ns + 1000000
    assert.equal(at - 101, steady.at({}, 9000))
    wall_ns = wall_ns - 3600 * 1000 * 1000000
    assert.equal(at - 101 + 3600000, steady.at({}, 9000))
  end)

  it("are never longer away than asked, and know by what a host has moved the run's time", function()
    assert.equal(core.mono_ms() + 250, steady.at({}, 1000000, 250))
    assert.equal(steady.at({}, 5100), steady.at({ shift = 40 }, 5140))
    assert.is_true(steady.at({}, 5100, 250) < core.mono_ms() + 250)
  end)

  it("are looked at again after a minute where the clock of people decides", function()
    assert.equal(core.mono_ms() + 60000, steady.look(10000000))
    assert.equal(steady.at({}, 5500), steady.look(5500))
    assert.equal(core.wall_ms() + 77, steady.utc(core.mono_ms() + 77))
  end)
end)
