-- cli_status_spec.lua: `skillrt status` and `skillrt log`: of a run under way, a crashed one and
-- one that is over; for people and as JSON.
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

local WAIT = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "wait", state = { n = 0 }, limits = { max_errors = 9, max_retries = 0 }, actions = {
  { id = "bad", when = "error_count === 0", run = function() return nil, "no \27[2Jluck\nsecond line" end, optional = true },
  { id = "long", when = "error_count > 0", run = function(_, ctx) ctx.await { kind = "sleep", seconds = 60 } end } } }]]

describe("a folder of runs", function()
  local SCRIPT = [[
    local skillrt = require "skillrt"
    return skillrt.skill { name = "asks", state = {}, actions = { { id = "a", run = function(_, ctx)
      return { v = ctx.ask "which?" }
    end } } }]]

  it("is listed, the newest first; latest names the newest", function()
    local folder <close> = kit.folder()
    folder.file("asks.lua", SCRIPT)
    for _, name in ipairs { "one", "two" } do
      kit.run(folder, { "asks.lua", "--work-dir", "runs/" .. name })
      os.execute "sleep 0.02"
    end
    assert.equal(0, kit.run(folder, { "answer", "runs/one", "x" }).code)
    for _, args in ipairs { { "list" }, { "list", "runs" } } do
      local run = kit.run(folder, args)
      assert.equal(0, run.code, run.err)
      local first, second = run.out:match "^([^\n]+)\n([^\n]+)\n$"
      assert.truthy((first or ""):find("^runs/one  completed %(task_completed%), 1 step, "), run.out)
      assert.truthy((second or ""):find("^runs/two  paused %(waiting_for_person%), 0 steps, 1 open question, "), run.out)
    end
    assert.equal("runs/one\n", kit.run(folder, { "latest" }).out)
    local listed = kit.run(folder, { "list", "--json" }).out
    assert.equal("completed", json.decode(listed:match "^[^\n]+").status)
    assert.equal(listed, kit.run(folder, { "--json", "list" }).out) -- a flag may stand before the command
    local empty = kit.run(folder, { "latest", "." })
    assert.same({ 2, "skillrt: .: contains no runs\n" }, { empty.code, empty.err })
  end)

  it("is followed as it goes on, until it is over", function()
    local folder <close> = kit.folder()
    folder.file("asks.lua", SCRIPT)
    local run = kit.start(folder, { "asks.lua", "--work-dir", "w", "--wait" })
    assert.truthy(run.says "Question 1")
    local log = kit.start(folder, { "log", "w", "--follow" })
    assert.truthy(log.says "Question 1")
    assert.equal(0, kit.run(folder, { "answer", "w", "x" }).code)
    run.wait()
    assert.equal(0, log.wait().code)
    assert.truthy(log.wait().out:find("Answer: x", 1, true))
  end)
end)

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
    assert.same({ "wait", "running", run.pid, "long" },
      { object.skill, object.status, object.held_by.pid, object.open[1].id })
    run.signal "KILL"
    run.wait()
    status = kit.run(folder, { "status", "w" })
    assert.truthy(status.out:find("interrupted: its process is gone", 1, true))
    assert.truthy(status.out:find("next       skillrt resume w\n", 1, true))
    assert.equal("interrupted", json.decode(kit.run(folder, { "status", "w", "--json" }).out).status)
  end)

  it("counts the attempts after the first, of steps that are over, and of calls, too", function()
    local folder <close> = kit.folder()
    folder.file("again.lua", [[
      return require "skillrt".skill { name = "again", retry = { base = 0.001 }, limits = { max_errors = 1, max_retries = 2 },
        actions = { { id = "well", priority = 1, run = function(_, ctx)
          if ctx.attempt == 1 then return nil, "not yet", "transient" end
        end },
        { id = "calls", priority = 2, run = function(_, ctx)
          ctx.await { kind = "http", url = "http://127.0.0.1:1/", retry = { max = 1, base = 0.001 } } -- nobody listens there
        end },
        { id = "never", run = function() return nil, "never", "transient" end } } }
    ]])
    kit.run(folder, { "again.lua", "--work-dir", "w" })
    local status = kit.run(folder, { "status", "w" })
    assert.truthy(status.out:find("steps      3 finished, 0 in progress, 1 failed, 4 retries\n", 1, true), status.out)
    assert.equal(4, json.decode(kit.run(folder, { "status", "w", "--json" }).out).retries)
  end)

  it("says that a directory contains no run, and which runs leave none", function()
    local folder <close> = kit.folder()
    local status = kit.run(folder, { "status", "." })
    assert.equal(2, status.code)
    assert.truthy(status.err:find("contains no run\nname the directory of a run", 1, true), status.err)
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
    assert.equal(live.out:sub(1, -#last) .. "Run completed (task_completed)\n", text)
  end)

  it("gives the journal's records as JSON, also of a run in segments, and stops when nobody reads", function()
    local folder <close> = kit.folder()
    folder.file("many.lua", MANY:format(3000))
    assert.equal(0, kit.run(folder, { "many.lua", "--work-dir", "w", "--quiet" }).code)
    local events = kit.objects(kit.run(folder, { "log", "w", "--json" }).out)
    assert.equal(3000 * 2 + 2, #events)
    assert.equal(events[1].run, events[6002].run_id)
    local pipe <close> = io.popen(("cd %s && %s log w 2>&1 | head -1; true"):format(folder.path, kit.program))
    assert.truthy(pipe:read("a"):find "^[^\n]*Skill: many [^\n]*\n$")
  end)

end)

-- All files of a run with their bytes, but for the lock's.
local function bytes_of(folder)
  local list <close> = io.popen(("cd %s/w && find . -type f ! -name run.lock | sort"):format(folder.path))
  local all = {}
  for name in list:lines() do all[#all + 1] = name .. "\n" .. folder.read("w/" .. name) end
  return table.concat(all, "\n")
end

describe("a damaged journal", function()
  local function damaged(folder)
    folder.file("many.lua", MANY:format(3))
    kit.run(folder, { "many.lua", "--work-dir", "w" })
    local journal = folder.read "w/journal/00000001.sj"
    local at = journal:find '"step":2,"t":"done"'
    local line = journal:sub(1, at):find "[^\n]*$"
    folder.file("w/journal/00000001.sj", journal:sub(1, at - 1) .. "X" .. journal:sub(at + 1))
    return line - 1
  end

  it("is refused with code 7 by all commands, which name the file, the offset and what is to be done (F41)", function()
    local folder <close> = kit.folder()
    local offset = damaged(folder)
    local before = bytes_of(folder)
    for _, words in ipairs { { "status", "w" }, { "resume", "w" }, { "retry", "w" }, { "answer", "w", "1" } } do
      local run = kit.run(folder, words)
      assert.equal(7, run.code, run.err)
      assert.equal("", run.out)
      assert.truthy(run.err:find(("w/journal/00000001.sj: offset %d, record "):format(offset), 1, true), run.err)
      local advice = "nothing was changed; put the journal back from a copy, or see what skillrt recover can do\n"
      assert.truthy(run.err:find(advice, 1, true), run.err)
      assert.truthy(run.err:find("what can be read of it: skillrt log w\n", 1, true), run.err)
    end
    assert.equal(before, bytes_of(folder))
  end)

  it("is shown by skillrt log as far as it can be read, then where the damage begins, with code 7", function()
    local folder <close> = kit.folder()
    local offset = damaged(folder)
    local log = kit.run(folder, { "log", "w" })
    assert.equal(7, log.code)
    assert.truthy(log.out:find("Iteration 1%] Completed: more\n$"), log.out)
    assert.truthy(log.err:find(("w/journal/00000001.sj: offset %d, record "):format(offset), 1, true), log.err)
    assert.truthy(log.err:find("the rest cannot be read; skillrt does not resume a damaged run\n", 1, true))
    local events = kit.run(folder, { "log", "w", "--json" })
    assert.equal(7, events.code)
    assert.same({ "run", "start", "done" }, (function(kinds)
      for i, event in ipairs(kit.objects(events.out)) do kinds[i] = event.t end
      return kinds
    end) {})
  end)

  it("of a newer format is refused by all commands: where, which, what to do; nothing is touched (F41)", function()
    local folder <close> = kit.folder()
    folder.file("many.lua", MANY:format(3))
    kit.run(folder, { "many.lua", "--work-dir", "w" })
    folder.file("w/journal/00000001.sj", kit.read("tests/fuzz/corpus/journal/newer"):sub(2))
    local before = bytes_of(folder)
    for _, words in ipairs { { "log", "w" }, { "status", "w" }, { "resume", "w" }, { "retry", "w" }, { "answer", "w", "1" },
      { "many.lua", "--work-dir", "w" } } do
      local run = kit.run(folder, words)
      if words[1] ~= "many.lua" then
        assert.equal(7, run.code, words[1] .. ": " .. run.err)
        assert.equal("skillrt: w/journal/00000001.sj: written in journal format 2, and this skillrt reads format 1: "
          .. "use a newer skillrt; nothing was changed\n", run.err)
      end
      assert.is_true(run.code ~= 0)
      assert.equal("", run.out)
    end
    assert.equal(before, bytes_of(folder))
  end)
end)
