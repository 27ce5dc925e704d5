-- worker_ends_spec.lua: how workers end, and what becomes of runs that stop with them or in other hands: the same for a
-- folder and for a database, by the real program.
local kit = require "tests.support.cli_kit"
local W = require "tests.support.worker_kit"

W.suites(function(w)
  local folder, place, url, server, good, start, witness, seen, becomes =
    w.folder, w.place, w.url, w.server, w.good, w.start, w.witness, w.seen, w.becomes

  it("gives back a run that waits for a person, and resumes it when the answer has come", function()
    good("submit", place, "ask.lua", "--key", "asked")
    local worker <close> = start("worker", place)
    becomes("asked", "Which colour")
    good("answer", url "asked", "blue")
    becomes("asked", "completed")
    worker.signal "TERM"
    local done = worker.wait()
    assert.same({ 143, "skillrt: stopped\n" }, { done.code, done.err:match "[^\n]*\n$" }) -- nothing is left to end
    assert.matches("blue", good("state", url "asked"), 1, true)
  end)

  it("on SIGTERM lets the step under way end, begins no other, and another worker resumes behind it (F74)", function()
    witness()
    good("submit", place, "slow.lua", "--key", "slow")
    local worker <close> = start("worker", place)
    seen "begun one"
    worker.signal "TERM"
    assert(worker.complains "draining")
    folder.file("go", "")
    assert.equal(143, worker.wait().code)
    assert.equal("begun one\nended one\n", witness())
    assert.matches("drained", good("status", url "slow"), 1, true)
    good("worker", place, "--once")
    assert.equal("begun two\nended two\n", witness())
    assert.matches("completed", good("status", url "slow"), 1, true)
  end)

  it("on SIGTERM cancels a call that may be repeated, and another worker repeats it (F74)", function()
    witness()
    os.remove(folder.path .. "/go")
    folder.file("endless.lua", (W.SLOW:gsub('kind = "command"', '%0, idempotent = true')))
    good("submit", place, "endless.lua", "--key", "endless")
    local worker <close> = start("worker", place)
    seen "begun one"
    worker.signal "TERM"
    assert.equal(143, worker.wait().code)
    assert.matches("drained", good("status", url "endless"), 1, true)
    folder.file("go", "")
    good("worker", place, "--once")
    assert.equal("begun one\nbegun one\nended one\nbegun two\nended two\n", witness())
    assert.matches("completed", good("status", url "endless"), 1, true)
  end)

  it("performs a script that runs its skill itself, and others meanwhile", function()
    witness()
    folder.file("itself.lua", [[
local skillrt = require "skillrt"
local result = assert(skillrt.skill { name = "itself", state = { done = false }, actions = { { id = "act", when = "!done",
run = function(_, ctx)
  ctx.await { kind = "command", argv = { "sh", "-c", "echo begun itself >> witness; while ! test -f free; do sleep 0.05; done" } }
  return { done = true }
end } } }:run {})
return result
]])
    good("submit", place, "itself.lua", "--key", "itself")
    local worker <close> = start("worker", place)
    seen "begun itself"
    good("submit", place, "alone.lua", "--key", "meanwhile", "--set", "name=meanwhile")
    becomes("meanwhile", "completed")
    folder.file("free", "")
    becomes("itself", "completed")
    worker.signal "TERM"
    worker.wait()
    os.remove(folder.path .. "/free")
  end)

  it("moves with the files of its skill", function()
    folder.file("hello.lua", kit.read "examples/hello/skill.lua")
    good("submit", place, "hello.lua", "--key", "moved", "--queue", "elsewhere")
    os.remove(folder.path .. "/hello.lua")
    good("fork", url "moved", "--out", "forked")
    good("resume", "forked", "--submitted")
    assert.matches("completed", good("status", "forked"), 1, true)
    if server then
      good("move", url "moved", "here")
      good("resume", "here", "--submitted")
      assert.matches("completed", good("status", "here"), 1, true)
    end
  end)
end)
