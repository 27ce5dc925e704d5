-- cli_runs_spec.lua: commands for many runs: which runs filters choose, what is asked first, and stop, prune, du and a
-- timer's resume.
local kit = require "tests.support.cli_kit"

local SCRIPT = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "pub", state = {}, limits = { max_retries = 0, max_errors = 1 }, actions = {
  { id = "one", run = function(_, ctx)
    if ctx.input.what == "ask" then ctx.ask { question = "Go?", options = { "yes", "no" } } end
    if ctx.input.what == "event" then ctx.wait "built" end
    if ctx.input.what == "fail" then return nil, "bad", "permanent" end
    if ctx.input.what == "sleep" then ctx.await { kind = "sleep", seconds = 60 } end
    return { done = true }
  end } } }]]

local function folder_of(...)
  local folder = kit.folder()
  folder.file("pub.lua", SCRIPT)
  for _, what in ipairs { ... } do
    kit.run(folder, { "pub.lua", "--work-dir", "runs/" .. what, "--set", "what=" .. what, "--quiet" })
  end
  return folder
end

-- The names of the runs that a list shows.
local function listed(folder, ...)
  local run = kit.run(folder, { "list", ... })
  assert.equal(0, run.code, run.err)
  local names = {}
  for name in run.out:gmatch "runs/(%S+)" do names[#names + 1] = name end
  table.sort(names)
  return names
end

describe("skillrt list", function()
  it("shows the runs that meet all filters", function()
    local folder <close> = folder_of("ask", "fail", "none")
    assert.same({ "ask", "fail", "none" }, listed(folder))
    assert.same({ "fail" }, listed(folder, "--failed"))
    assert.same({ "fail", "none" }, listed(folder, "--status", "failed", "--status", "completed"))
    assert.same({ "ask" }, listed(folder, "--waiting", "--skill", "pub", "--since", "1h"))
    assert.same({}, listed(folder, "--skill", "other"))
    assert.same({}, listed(folder, "--older-than", "1h"))
    assert.same({ "ask", "fail", "none" }, listed(folder, "--older-than", "2100-01-01", "--since", "2001-01-01"))
    local wrong = kit.run(folder, { "list", "--since", "yesterday" })
    assert.equal(2, wrong.code)
    assert.matches("write how long ago", wrong.err)
  end)

  it("reads no run that was stopped in order, and shows what its status says", function()
    local folder <close> = folder_of("ask", "none")
    local place = folder.path .. "/runs/none/journal/00000001.sj"
    local file <close> = assert(io.open(place, "r+"))
    local whole = file:read "a"
    file:seek("set", whole:find '"t":"done"')
    file:write "X"
    file:flush()
    assert.equal(2, kit.run(folder, { "context", "runs/none" }).code)
    local shown = kit.run(folder, { "list" }).out
    assert.matches("runs/none +completed %(task_completed%), 1 step, ", shown)
    assert.matches("runs/ask +paused %(waiting_for_person%), 0 steps, 1 open question, ", shown)
  end)
end)

describe("a command that names no run", function()
  it("is for the one that was active last", function()
    local folder <close> = folder_of("none", "ask")
    assert.matches("Go%?", kit.run(folder, { "status" }).out)
    assert.equal(0, kit.run(folder, { "answer", "runs/ask", "yes", "--quiet" }).code)
    assert.matches("completed", kit.run(folder, { "status" }).out)
    local nowhere <close> = kit.folder()
    local run = kit.run(nowhere, { "status", env = "XDG_STATE_HOME=" .. nowhere.path })
    assert.equal(2, run.code)
    assert.matches("contains none: name the directory of a run", run.err, 1, true)
  end)
end)

describe("a URL of PostgreSQL", function()
  it("with a password, without a database, or with a run's name that is none is refused, without asking a server", function()
    local folder <close> = kit.folder()
    for url, told in pairs { ["me:secret@host/db/run"] = "~/.pgpass", ["h/d/r?a=1&password=secret"] = "~/.pgpass",
      host = "names no database", ["host/db"] = "names no run", ["host/db/a%20b"] = "1 to 64 of",
      ["host/db/" .. ("r"):rep(65)] = "run name too long" } do
      local run = kit.run(folder, { "status", "postgres://" .. url })
      assert.equal(2, run.code)
      assert.matches(told, run.err, 1, true)
      assert.is_nil(run.err:find("secret", 1, true))
    end
  end)
end)

describe("a command for several runs", function()
  it("(F90) does nothing with runs that filters chose before somebody says so, and tells how many", function()
    local folder <close> = folder_of("fail", "none")
    local run = kit.run(folder, { "retry", "--failed" })
    assert.equal(2, run.code)
    assert.matches("1 run would be chosen: runs/fail; to retry them, add --all", run.err, 1, true)
    assert.equal(1, kit.run(folder, { "retry", "--failed", "--all", "--quiet" }).code)
    assert.matches("2 failed", kit.run(folder, { "status", "runs/fail" }).out)
    assert.matches("no run matches", kit.run(folder, { "abort", "--waiting", "--all" }).err)
  end)

  it("takes each of those that are named, and ends with the highest code", function()
    local folder <close> = folder_of("ask", "event")
    local run = kit.run(folder, { "abort", "runs/ask", "runs/event", "runs/nothing", "--quiet" })
    assert.equal(4, run.code, run.err)
    assert.same({ "ask", "event" }, listed(folder, "--status", "aborted"))
    assert.matches("runs/nothing", run.err, 1, true)
  end)
end)

describe("skillrt answer", function()
  it("(F90) answers several runs that are named or chosen by filters, and asks first where it was not told which", function()
    local folder <close> = folder_of("ask", "event", "none")
    for _, name in ipairs { "b", "c", "d" } do
      kit.run(folder, { "pub.lua", "--work-dir", "runs/" .. name, "--set", "what=ask", "--quiet" })
    end
    local asked = kit.run(folder, { "answer", "--waiting", "yes" })
    assert.equal(2, asked.code)
    assert.matches("4 runs would be chosen", asked.err, 1, true)
    assert.equal(0, kit.run(folder, { "answer", "runs/ask", "runs/b", "1", "yes", "--quiet" }).code)
    assert.same({ "ask", "b", "none" }, listed(folder, "--status", "completed"))
    local run = kit.run(folder, { "answer", "runs", "no", "--waiting", "--all", "--quiet" })
    assert.equal(0, run.code, run.err)
    assert.same({ "event" }, listed(folder, "--waiting"))
    assert.matches("no run matches", kit.run(folder, { "answer", "--waiting", "--all", "yes" }).err)
  end)

  it("answers the last run where none is named, and nothing where a word is neither a run nor the answer", function()
    local folder <close> = folder_of("none", "ask")
    for _, words in ipairs { { "runs/ask" }, {}, { "runs/ask", "so", "yes" }, { "runs/ask", "2", "yes" }, { "2", "yes" },
      { "odd", "yes" }, { "runs/ask", "perhaps" }, { "--every", "1", "yes" }, { "--file", "missing" } } do
      local run = kit.run(folder, { "answer", table.unpack(words) })
      assert.equal(2, run.code, table.concat(words, " "))
      assert.same({ "ask" }, listed(folder, "--waiting"), table.concat(words, " "))
    end
    folder.file("text", "yes\n")
    assert.equal(0, kit.run(folder, { "answer", "--file", "text", "--quiet" }).code)
    assert.same({ "ask", "none" }, listed(folder, "--status", "completed"))
  end)
end)

describe("skillrt send", function()
  it("sends to the last run where none is named", function()
    local folder <close> = folder_of("none", "event")
    for _, words in ipairs { {}, { "runs/event" }, { "odd", "built" }, { "a", "b", "c" } } do
      assert.equal(2, kit.run(folder, { "send", table.unpack(words) }).code, table.concat(words, " "))
    end
    assert.equal(0, kit.run(folder, { "send", "built", '{"at":1}' }).code)
    assert.equal(0, kit.run(folder, { "resume", "--quiet" }).code)
    assert.same({ "event", "none" }, listed(folder, "--status", "completed"))
  end)
end)

describe("skillrt stop", function()
  it("stops the process of a run, which can be resumed, and says where there is none", function()
    local folder <close> = folder_of("none")
    local run = kit.start(folder, { "pub.lua", "--work-dir", "runs/sleep", "--set", "what=sleep" })
    assert.truthy(run.says "Executing: one")
    local stopped = kit.run(folder, { "stop", "--status", "running", "--all" })
    assert.equal(0, stopped.code, stopped.err)
    assert.matches("skillrt resume runs/sleep resumes it", stopped.out, 1, true)
    assert.equal(143, run.wait().code)
    assert.same({ "sleep" }, listed(folder, "--status", "paused"))
    assert.matches("no process advances it", kit.run(folder, { "stop", "runs/none" }).err)
    assert.equal(2, kit.run(folder, { "stop", "runs/nothing" }).code)
  end)
end)

describe("skillrt prune", function()
  it("removes runs that are over, and keeps one from which another was forked", function()
    local folder <close> = folder_of("ask", "fail", "none")
    assert.equal(0, kit.run(folder, { "fork", "runs/fail", "--out", "runs/copy" }).code)
    local asked = kit.run(folder, { "prune" })
    assert.equal(2, asked.code)
    assert.matches("1 run would be chosen: runs/none", asked.err, 1, true)
    assert.equal(0, kit.run(folder, { "prune", "--older-than", "1h", "--all" }).code)
    assert.same({ "ask", "copy", "fail", "none" }, listed(folder))
    local run = kit.run(folder, { "prune", "--all" })
    assert.same({ 0, "removed runs/none\n" }, { run.code, run.out })
    assert.matches("runs/fail stays: a run that is kept was forked from it", run.err, 1, true)
    assert.same({ "ask", "copy", "fail" }, listed(folder))
  end)

  it("keeps the origins of origins, too", function()
    local folder <close> = folder_of("none")
    assert.equal(0, kit.run(folder, { "fork", "runs/none", "--out", "runs/child" }).code)
    assert.equal(4, kit.run(folder, { "abort", "runs/child", "--quiet" }).code)
    assert.equal(0, kit.run(folder, { "fork", "runs/child", "--out", "runs/grandchild" }).code)
    assert.equal(0, kit.run(folder, { "prune", "--all" }).code)
    assert.same({ "child", "grandchild", "none" }, listed(folder))
  end)

  it("finishes what an interrupted one has left, and touches no run under way", function()
    local folder <close> = folder_of("none")
    assert(os.rename(folder.path .. "/runs/none", folder.path .. "/runs/.removed-none"))
    assert.same({}, listed(folder))
    local run = kit.start(folder, { "pub.lua", "--work-dir", "runs/sleep", "--set", "what=sleep" })
    assert.truthy(run.says "Executing: one")
    assert.equal(0, kit.run(folder, { "prune", "--all", "--status", "running" }).code)
    assert.same({ "sleep" }, listed(folder))
    assert.is_nil(folder.read "runs/.removed-none/journal/00000001.sj")
    run.signal "TERM"
    run.wait()
  end)
end)

describe("skillrt du", function()
  it("says what each run takes, and all of them", function()
    local folder <close> = folder_of("none")
    folder.file("runs/none/out.txt", ("x"):rep(20000))
    local run = kit.run(folder, { "du" })
    assert.matches("^ +%d+ kB  runs/none  %(journal %d+ B, large values 0 B%)\n +%d+ kB  total, 1 run\n$", run.out)
    local sizes = require("skillrt.base.json").decode(kit.run(folder, { "du", "--json" }).out)
    assert.truthy(sizes.others >= 20000 and sizes.journal > 500 and sizes.blobs == 0)
  end)
end)

describe("skillrt resume --due", function()
  it("resumes what a timer has to, and passes over all else without a word or a record", function()
    local folder <close> = folder_of("ask", "fail", "none", "event")
    local before = folder.read "runs/ask/journal/00000001.sj" .. folder.read "runs/fail/journal/00000001.sj"
    local run = kit.run(folder, { "resume", "--due", "runs" })
    assert.same({ 0, "", "" }, { run.code, run.out, run.err })
    assert.equal(before, folder.read "runs/ask/journal/00000001.sj" .. folder.read "runs/fail/journal/00000001.sj")
    assert.equal(0, kit.run(folder, { "send", "runs/event", "built" }).code)
    local killed = kit.start(folder, { "pub.lua", "--work-dir", "runs/killed", "--set", "what=event", "--wait" })
    assert.truthy(killed.says "Executing: one")
    killed.signal "KILL"
    killed.wait()
    run = kit.run(folder, { "resume", "--due", "runs/ask", "runs/event", "runs/killed", "--quiet" })
    assert.equal(5, run.code, run.err)
    assert.same({ "event", "none" }, listed(folder, "--status", "completed"))
    assert.same({ "ask", "event", "fail", "killed", "none" }, listed(folder))
    assert.same({ "ask", "killed" }, listed(folder, "--waiting"))
  end)
end)
