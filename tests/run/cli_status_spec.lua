-- cli_status_spec.lua: `skillrt status` and `skillrt log`: of a run under way, a crashed one and
-- one that is over; for people and as JSON.
local json = require "skillrt.json"
local kit = require "tests.support.cli_kit"

local WAIT = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "wait", state = { n = 0 }, limits = { max_errors = 9, max_retries = 0 }, actions = {
  { id = "bad", when = "error_count === 0", run = function() return nil, "no \27[2Jluck\nsecond line" end, optional = true },
  { id = "long", when = "error_count > 0", run = function(_, ctx) ctx.await { kind = "sleep", seconds = 60 } end } } }]]

describe("skillrt status", function()
  it("shows a running run without its lock, then an interrupted one, and what to type next", function()
    local folder <close> = kit.folder()
    folder.file("wait.lua", WAIT)
    local run = kit.start(folder, { "wait.lua", "--work-dir", "w" })
    assert.truthy(run.says "Executing: long")
    local status = kit.run(folder, { "status", "w" })
    assert.equal(0, status.code, status.err)
    assert.truthy(status.out:find("status     running, process " .. run.pid, 1, true), status.out)
    assert.truthy(status.out:find("open       long, since ", 1, true))
    assert.truthy(status.out:find("last error bad: no \\x1B[2Jluck\n           second line\n", 1, true), status.out)
    assert.is_nil(status.out:find "\27")
    assert.is_nil(status.out:find("next ", 1, true))
    local object = json.decode(kit.run(folder, { "status", "w", "--json" }).out)
    assert.same({ "wait", "executing", false, run.pid, "long" },
      { object.skill, object.status, object.interrupted, object.held_by.pid, object.open[1].id })
    run.signal "KILL"
    run.wait()
    status = kit.run(folder, { "status", "w" })
    assert.truthy(status.out:find("interrupted: no process holds it", 1, true))
    assert.truthy(status.out:find("next       skillrt resume w\n", 1, true))
  end)

  it("says that a directory holds no run", function()
    local folder <close> = kit.folder()
    local status = kit.run(folder, { "status", "." })
    assert.equal(2, status.code)
    assert.truthy(status.err:find("holds no run", 1, true))
  end)
end)

local MANY = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "many", state = { n = 0 }, durability = "process", limits = { max_iterations = 1e6 // 1 | 0 },
  actions = { { id = "more", when = "n < %d", max_runs = 1000000, run = function(s) return { n = s.n + 1 } end } } }]]

describe("skillrt log", function()
  it("shows the lines of the run again, each with its time (R67)", function()
    local folder <close> = kit.folder()
    folder.file("wait.lua", (WAIT:gsub('ctx.await {[^}]*}', "ctx.log('half way')")))
    local live = kit.run(folder, { "wait.lua", "--work-dir", "w" })
    local log = kit.run(folder, { "log", "w" })
    local shown = {}
    for line in log.out:gmatch "[^\n]+" do
      assert.truthy(line:find "^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.%d%d%dZ  ")
      shown[#shown + 1] = line:sub(27)
    end
    local text = table.concat(shown, "\n") .. "\n"
    assert.truthy(text:find("long: half way\n", 1, true))
    local last = live.out:match "\n[^\n]*\n$"
    assert.equal(live.out:sub(1, -#last), text)
  end)

  it("gives the journal's records as JSON, also of a run in segments, and stops when nobody reads", function()
    local folder <close> = kit.folder()
    folder.file("many.lua", MANY:format(3000))
    assert.equal(0, kit.run(folder, { "many.lua", "--work-dir", "w", "--quiet" }).code)
    local events = kit.objects(kit.run(folder, { "log", "w", "--json" }).out)
    assert.equal(3000 * 2 + 2, #events)
    assert.equal(events[1].run, events[6002].run_id)
    local pipe <close> = io.popen(("cd %s && %s log w 2>&1 | head -1; true"):format(folder.path, kit.program))
    assert.truthy(pipe:read("a"):find "^[^\n]*Orchestrator Started ===\n$")
  end)

  it("names a damaged journal, with code 7", function()
    local folder <close> = kit.folder()
    folder.file("many.lua", MANY:format(3))
    kit.run(folder, { "many.lua", "--work-dir", "w" })
    local journal = folder.read "w/journal/00000001.sj"
    folder.file("w/journal/00000001.sj", (journal:gsub('"t":"start"', '"t":"stXrt"', 1)))
    for _, command in ipairs { "log", "status" } do
      local run = kit.run(folder, { command, "w" })
      assert.equal(7, run.code, run.err)
      assert.truthy(run.err:find("00000001.sj", 1, true))
    end
  end)
end)
