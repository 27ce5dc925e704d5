-- schedule_spec.lua: which firings of a schedule begin a run, of those that were not looked at yet.
local schedule = require "skillrt.run.schedule"

local MINUTE <const> = 60000

local function plan(missed, late)
  return schedule.plan({ cron = "*/10 * * * *", missed = missed }, 0, late)
end

describe("a schedule", function()
  it("waits before its time, and begins a run at it, and up to a minute late", function()
    assert.same({ begins = {}, missed = {}, due = 0 }, plan("skip", -1))
    assert.same({ begins = { 0 }, missed = {}, due = 10 * MINUTE }, plan("skip", 0))
    assert.same({ begins = { 0 }, missed = {}, due = 10 * MINUTE }, plan("skip", MINUTE))
  end)

  it("skips, catches up the last or all of what it missed", function()
    local late = 25 * MINUTE
    assert.same({ begins = {}, missed = { 0, 10 * MINUTE, 20 * MINUTE }, due = 30 * MINUTE }, plan("skip", late))
    assert.same({ begins = { 20 * MINUTE }, missed = { 0, 10 * MINUTE }, due = 30 * MINUTE }, plan("last", late))
    assert.same({ begins = { 0, 10 * MINUTE, 20 * MINUTE }, missed = {}, due = 30 * MINUTE }, plan("all", late))
    assert.same({ begins = { 20 * MINUTE }, missed = { 0, 10 * MINUTE }, due = 30 * MINUTE }, plan("skip", 20 * MINUTE))
  end)

  it("begins at most 100 runs at once, and continues behind them", function()
    local all = plan("all", 5000 * MINUTE)
    assert.equal(100, #all.begins)
    assert.equal(1000 * MINUTE, all.due)
  end)
end)
