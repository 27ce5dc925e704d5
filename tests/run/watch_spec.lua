-- watch_spec.lua: `skillrt watch`: a run of another process as it goes on, until it stops or is killed; on a terminal
-- the live view. Nothing is polled: what is written is shown at once.
local core = require "skillrt.core"
local kit = require "tests.support.cli_kit"

local SCRIPT = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "slow", state = { n = 0 }, actions = {
  { id = "first", priority = 2, run = function(_, ctx) ctx.log("one") ctx.wait "go" ctx.log("two") end },
  { id = "second", priority = 1, run = function(_, ctx) ctx.wait "end" return { n = 1 } end } } }]]

local function started(folder)
  folder.file("slow.lua", SCRIPT)
  local run = kit.start(folder, { "slow.lua", "--work-dir", "w", "--wait" })
  assert.truthy(run.says "first: one")
  return run
end

describe("skillrt watch", function()
  it("shows what has happened and what happens, and ends with the run", function()
    local folder <close> = kit.folder()
    local run = started(folder)
    local watch = kit.start(folder, { "watch", "w" })
    assert.truthy(watch.says "first: one")
    kit.run(folder, { "send", "w", "go" })
    assert.truthy(watch.says "Executing: second")
    kit.run(folder, { "send", "w", "end" })
    assert.equal(0, run.wait().code)
    local seen = watch.wait()
    assert.equal(0, seen.code, seen.err)
    assert.truthy(seen.out:find("Completed: second", 1, true) and seen.out:find("completed (task_completed)", 1, true), seen.out)
    local _, ones = seen.out:gsub("first: one", "")
    assert.equal(1, ones)
    local again = kit.run(folder, { "watch", "w" }) -- of one that is over: how it ended
    assert.truthy(again.code == 0 and again.out:find("completed (task_completed)", 1, true), again.out)
  end)

  it("is told by the system: what is written is shown long before a second has passed, and it costs no time to wait", function()
    local folder <close> = kit.folder()
    local run = started(folder)
    local watch <close> = assert(core.watch(folder.path .. "/w"))
    while watch:wait(300) do end
    local began = core.mono_ns()
    os.execute(("(sleep 0.2; cd %s && %s send w go) >/dev/null 2>&1 &"):format(kit.quoted(folder.path), kit.quoted(kit.program)))
    assert.is_true(watch:wait(10000))
    assert.truthy(core.mono_ns() - began < 5000000000, "it slept on")
    run.signal "KILL"
    run.wait()
  end)

  it("ends where the run was killed, and says what to type next; says what is no run", function()
    local folder <close> = kit.folder()
    local run = started(folder)
    local watch = kit.start(folder, { "watch", "w" })
    assert.truthy(watch.says "first: one")
    run.signal "KILL"
    run.wait()
    local seen = watch.wait()
    assert.equal(0, seen.code)
    assert.truthy(seen.out:find("interrupted: its process is gone", 1, true), seen.out)
    assert.truthy((seen.out .. seen.err):find("next: skillrt resume w", 1, true), seen.err)
    assert.equal(2, kit.run(folder, { "watch", "nothing" }).code)
    assert.is_nil(core.files.stat(folder.path .. "/nothing"))
  end)

  it("has the live view on a terminal: what is under way, below the lines", function()
    if not kit.has_terminal() then return pending "no pseudo-terminals here" end
    local folder <close> = kit.folder()
    local run = started(folder)
    local out = folder.path .. "/screen"
    os.execute(("cd %s && TERM=xterm timeout 3 script -qec '%s watch w' /dev/null >%s 2>&1 </dev/null"):format(kit.quoted(folder.path),
      kit.program, kit.quoted(out)))
    local screen = kit.read(out)
    assert.truthy(screen:find("> first", 1, true), screen)
    run.signal "KILL"
    run.wait()
  end)
end)
