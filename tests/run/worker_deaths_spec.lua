-- worker_deaths_spec.lua: runs that end the processes which perform or load them: the same for a folder and for a database,
-- by the real program.
local kit = require "tests.support.cli_kit"
local W = require "tests.support.worker_kit"

W.suites(function(w)
  local folder, place, url, server, skillrt, good, start, witness, seen, becomes =
    w.folder, w.place, w.url, w.server, w.skillrt, w.good, w.start, w.witness, w.seen, w.becomes

  it("pauses a run that ends three processes, until a person resumes it (F73)", function()
    witness()
    -- a claim lasts as long as a lease: from here on not for long
    if server then good("fleet", "init", place, "--lease", "2") end
    good("submit", place, "poison.lua", "--key", "poison")
    local worker <close> = start("worker", place)
    local told = becomes("poison", "3 processes ended in it")
    worker.signal "TERM"
    worker.wait()
    assert.matches("3 processes ended in it", told, 1, true)
    assert.equal("died\ndied\ndied\n", witness())
    assert.equal("", good("worker", place, "--once"))
  end)

  it("resumes the runs that were in a process with one that ended it, which is found out (F73)", function()
    witness()
    folder.file("patient.lua", [[
local skillrt = require "skillrt"
return skillrt.skill { name = "patient", state = { done = false }, actions = { { id = "wait", when = "!done",
run = function(_, ctx)
  ctx.await { kind = "command", idempotent = true, argv = { "sh", "-c", "echo begun " .. ctx.input.name .. " $PPID >> witness; "
    .. "while [ $(grep -c died witness) -lt 2 ]; do sleep 0.05; done" } }
  return { done = true }
end } } }
]])
    local worker <close> = start("worker", place, "--concurrency", "4")
    for i = 1, 3 do
      good("submit", place, "patient.lua", "--key", "patient" .. i, "--set", "name=" .. i)
      seen("begun " .. i)
    end
    good("submit", place, "poison.lua", "--key", "killer")
    becomes("killer", "3 processes ended in it")
    for i = 1, 3 do becomes("patient" .. i, "completed") end
    worker.signal "TERM"
    worker.wait()
    local text = witness()
    assert.equal(3, select(2, text:gsub("died", "")), text)
    local first, last = {}, {}
    for name, pid in text:gmatch "begun (%d) (%d+)" do
      first[name], last[name] = first[name] or pid, pid
    end
    assert.is_true(first["1"] == first["2"] and first["2"] == first["3"], text)
    assert.is_true(last["1"] ~= first["1"], text)
  end)

  it("pauses a run that kills whoever loads it (F73)", function()
    witness()
    good("submit", place, "deadly.lua", "--key", "deadly")
    folder.file("armed", "")
    local worker <close> = start("worker", place)
    local told = becomes("deadly", "3 processes ended in it")
    worker.signal "TERM"
    worker.wait()
    assert.matches("a process ended with 137 before it recorded anything", told, 1, true)
    assert.equal("died\ndied\ndied\n", witness())
    assert.equal("", good("worker", place, "--once"))
    os.remove(folder.path .. "/armed")
    good("resume", url "deadly", "--trust")
  end)

  if not server then
    it("leaves a run alone that a person has taken back", function()
      folder.file("hello.lua", kit.read "examples/hello/skill.lua")
      good("run", "hello.lua", "--work-dir", url "back")
      good("rollback", url "back", "--to", "3")
      assert.matches("rolled_back", good("list", place, "--status", "paused"), 1, true)
      assert.equal("", good("worker", place, "--once"))
    end)

    it("finds no run of another queue before it has its label", function()
      os.execute(("mkdir -p %s/labelled/other/label"):format(folder.path)) -- a label cannot be written
      assert.is_true(skillrt("submit", "labelled", "ask.lua", "--key", "other", "--queue", "other").code > 0)
      assert.equal("", good("worker", "labelled", "--once"))
      assert.equal(2, skillrt("status", "labelled/other").code)
    end)

    it("has one worker for each queue of a folder", function()
      local worker <close> = start("worker", place)
      good("submit", place, "alone.lua", "--key", "served", "--set", "name=served")
      becomes("served", "completed")
      local second = skillrt("worker", place)
      assert.equal(6, second.code)
      assert.matches("held by process " .. worker.pid, second.err, 1, true)
      assert.matches("several workers need a database", second.err, 1, true)
      good("worker", place, "--queue", "other", "--once")
    end)
  end

  if server then
    it("continues when the server was started anew after a crash", function()
      local worker <close> = start("worker", place)
      good("submit", place, "alone.lua", "--key", "before", "--set", "name=before")
      becomes("before", "completed")
      assert(server.restart())
      good("submit", place, "alone.lua", "--key", "behind", "--set", "name=behind")
      becomes("behind", "completed")
      worker.signal "TERM"
      assert.equal(143, worker.wait().code)
    end)
  end
end)
