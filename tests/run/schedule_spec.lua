-- schedule_spec.lua: `skillrt schedule` in a directory, without a worker; what workers do with schedules: worker_spec.
local core = require "skillrt.core"
local json = require "skillrt.base.json"
local K = require "tests.support.cli_kit"
local travel = require "skillrt.run.travel"

describe("skillrt schedule (F76)", function()
  it("begins a run on request, prints its place, and has nothing left to begin", function()
    local folder <close> = K.folder()
    local function good(...)
      local done = K.run(folder, { ... })
      assert.equal(0, done.code, done.out .. done.err)
      return done.out
    end
    folder.file("hello.lua", K.read "examples/hello/skill.lua")
    good("submit", "q", "hello.lua", "--key", "yearly", "--cron", "@yearly", "--trust")
    local run = good("schedule", "now", "q/yearly"):match "^(%S+)\n$"
    assert.matches("^q/%d+%-%d+%-yearly$", run)
    assert.matches("submitted", good("status", run), 1, true)
    assert.matches('"begins":{},"due":', good("log", "q/yearly", "--json"):match '[^\n]*"fire"[^\n]*\n[^\n]*\n$', 1, true)
    assert.equal("", good("schedule", "pause", "q/yearly"))
    assert.matches("@yearly  paused, begun 1, missed 0", good("schedule", "list", "q"), 1, true)
    good("schedule", "resume", "q/yearly")
    assert.matches("@yearly  next %d+%-01%-01T00:00:00.000Z, begun 1, missed 0", good("schedule", "list", "q"))
  end)

  it("begins what has become due when it is resumed, as by a timer", function()
    local folder <close> = K.folder()
    folder.file("hello.lua", K.read "examples/hello/skill.lua")
    assert.equal(0, K.run(folder, { "submit", "q", "hello.lua", "--key", "yearly", "--cron", "@yearly", "--trust" }).code)
    local place, due = folder.path .. "/q/yearly", core.wall_ms() // 1000 * 1000 - 2000
    assert(travel.write(place, { { t = "fire", begins = json.array {}, due = due }, travel.stop("scheduled", "waits", due) }))
    local done = K.run(folder, { "resume", "q/yearly" })
    assert.equal(5, done.code, done.out .. done.err)
    local run = os.date("!q/%Y%m%d-%H%M%S-yearly", due // 1000)
    assert.matches("submitted", K.run(folder, { "status", run }).out, 1, true)
    assert.matches("@yearly  next %d+%-01%-01T00:00:00.000Z, begun 1, missed 0", K.run(folder, { "schedule", "list", "q" }).out)
  end)
end)
