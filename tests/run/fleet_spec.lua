-- fleet_spec.lua: runs in PostgreSQL, by the real program and a server of the spec's own: every command on a URL, moves,
-- kills and a server that crashes. A file that each step writes to is the witness of what was really done.
local kit = require "tests.support.cli_kit"
local postgres = require "tests.support.postgres"

local server, why = postgres.start()
if not server then
  print("left out: " .. why)
  describe("runs in PostgreSQL", function() pending("need a server: " .. why) end)
  return
end

local STEPS <const> = 50

-- Each step has a program write its number to the witness, and cannot be repeated: the witness is one that counts.
local COUNTING <const> = [[
local skillrt = require "skillrt"
return skillrt.skill {
  name = "counting",
  state = { n = 0 },
  limits = { max_iterations = 1000 },
  actions = {
    { id = "count", when = "n < STEPS", max_runs = STEPS, run = function(state, ctx)
        local reply, message = ctx.await { kind = "command", idempotent = IDEMPOTENT,
          argv = { "sh", "-c", "echo " .. state.n .. " >> witness; sleep 0.02" } }
        if not reply and message then ctx.log(message) end
        return { n = state.n + 1 }
      end },
  },
}
]]

describe("runs in PostgreSQL", function()
  local folder, serial = kit.folder(), 0
  local env = "HOME=" .. folder.path .. " NO_COLOR=1"

  local function skillrt(...) return kit.run(folder, { env = env, ... }) end
  local function good(...)
    local result = skillrt(...)
    assert.equal(0, result.code, result.out .. result.err)
    return result.out
  end
  local function place(name)
    serial = serial + 1
    return server.run(name .. serial)
  end

  setup(function()
    folder.file("hello.lua", kit.read "examples/hello/skill.lua")
    folder.file("ask.lua", [[
local skillrt = require "skillrt"
return skillrt.skill { name = "ask", state = { done = false }, actions = {
  { id = "ask", when = "!done", run = function(_, ctx)
      return { done = true, colour = ctx.await { kind = "ask", question = "Which colour?" } }
    end } } }
]])
  end)
  teardown(function()
    getmetatable(server).__close()
    getmetatable(folder).__close()
  end)

  it("says what is missing until fleet init made it, which may be repeated", function()
    local before = skillrt("fleet", "init", server.url, "--check")
    assert.equal(1, before.code)
    assert.matches("skillrt.journal is missing", before.out, 1, true)
    assert.matches("skillrt fleet init URL", skillrt("list", server.url).err, 1, true)
    good("fleet", "init", server.url, "--lease", "3")
    good("fleet", "init", server.url)
    assert.equal("3000", server.query "select lease_ms from skillrt.fleet")
    assert.is_nil(skillrt("fleet", "init", server.url, "--check").out:find("missing", 1, true))
    server.query "drop index skillrt.run_due"
    assert.matches("skillrt.run_due is missing", skillrt("fleet", "init", server.url, "--check").out, 1, true)
    good("fleet", "init", server.url)
    server.query "update skillrt.fleet set version = 7"
    assert.matches("use a newer skillrt", skillrt("list", server.url).err, 1, true)
    assert.matches("use a newer skillrt", skillrt("fleet", "init", server.url).err, 1, true)
    -- an earlier one is brought up to date, with the runs that it holds
    server.query "update skillrt.fleet set version = 1"
    server.query "alter table skillrt.run drop column claimed, drop column about, drop column limit_ms"
    assert.matches("of an earlier version", skillrt("list", server.url).err:gsub("%s+", " "), 1, true)
    assert.matches("older than version 6", skillrt("fleet", "init", server.url, "--check").out, 1, true)
    good("fleet", "init", server.url)
    good("list", server.url)
  end)

  it("brings tables of the version before up to date while workers perform runs, which lose nothing (F75)", function()
    folder.file("slow.lua", (COUNTING:gsub("STEPS", 40):gsub("IDEMPOTENT", "false")))
    local names, workers = {}, {}
    for i = 1, 12 do
      names[i] = "slow" .. i
      good("submit", server.url, "slow.lua", "--key", names[i], "--trust")
    end
    for i = 1, 2 do
      workers[i] = kit.start(folder, { env = env, "worker", server.url, "--concurrency", "6", "--quiet" })
    end
    local _ <close> = setmetatable({}, { __close = function()
      for i = 1, 2 do workers[i].signal "KILL" end
    end })
    local function completed()
      return tonumber(server.query "select count(*) from skillrt.run where status = 'completed' and run like 'slow%'")
    end
    local rounds = 0
    repeat os.execute "sleep 0.05" until server.query "select count(distinct owner) from skillrt.run" == "2"
    repeat -- undoes the last step, and has it done again
      repeat
        local told = server.query [[begin; set local lock_timeout = '300ms'; lock skillrt.worker, skillrt.run;
          alter table skillrt.run drop constraint if exists run_owner_lease; update skillrt.fleet set version = 3; commit]]
      until not told:find "ERROR"
      assert.matches("older than version 6", skillrt("fleet", "init", server.url, "--check").out, 1, true)
      assert.matches("fleet init URL", skillrt("list", server.url).err, 1, true)
      good("fleet", "init", server.url)
      rounds = rounds + 1
      assert.is_true(rounds < 200)
      os.execute "sleep 0.3"
    until completed() == 12
    for i = 1, 2 do
      workers[i].signal "TERM"
      for line in workers[i].wait(20000).out:gmatch "skillrt: [^\n]+" do -- it looked between the two
        assert.matches("of an earlier version", line, 1, true)
      end
    end
    assert.is_true(rounds > 1)
    local count = select(2, folder.read "witness":gsub("\n", ""))
    assert.equal(12 * 40, count) -- each call once
    os.remove(folder.path .. "/witness")
    assert.equal("1", server.query "select count(*) from pg_constraint where conname = 'run_owner_lease'")
  end)

  it("opens a run by few statements", function()
    local url = place "counted"
    skillrt("run", "ask.lua", "--work-dir", url)
    server.query "alter system set log_statement = 'all'"
    server.query "select pg_reload_conf()"
    local before = #kit.read(server.dir .. "/data/log")
    good("answer", url, "blue")
    server.query "alter system reset log_statement"
    server.query "select pg_reload_conf()"
    local log, opens = kit.read(server.dir .. "/data/log"):sub(before), 0
    for statement in log:gmatch "LOG:  execute [^:]*: ([^\n]*)" do
      opens = opens + (statement:find "skillrt.run" and 1 or 0)
    end
    assert.is_true(opens > 2 and opens <= 8, opens .. " statements: " .. log)
  end)

  it("takes every command that looks at a run, under its own id where no name is given", function()
    local told = good("run", "hello.lua", "--work-dir", server.url)
    local url = good("latest", server.url):match "%S+"
    assert.matches(url, told, 1, true)
    assert.matches("/%d+%-%d+%-%x+%?", url)
    assert.matches("completed", good("list", server.url), 1, true)
    assert.matches("is in a database, which tells the sizes of its tables", skillrt("du", server.url).err, 1, true)
    assert.matches("4 finished", good("status", url), 1, true)
    assert.matches("Hello, Grace!", good("log", url), 1, true)
    assert.matches("because", good("explain", url), 1, true)
    assert.matches("done greet", good("history", url), 1, true)
    assert.matches("greeted", good("state", url), 1, true)
    assert.matches("<html", good("report", url, "--html", "-"), 1, true)
    assert.matches("report.html", good("report", url), 1, true)
    assert.matches("completed", good("metrics", url), 1, true)
    assert.equal(0, tonumber(server.query "select count(*) from skillrt.worker"))
  end)

  it("names the batch and the record that are damaged in its tables, and changes nothing", function()
    local url, other = place "damaged", place "other"
    good("run", "hello.lua", "--work-dir", url)
    good("run", "hello.lua", "--work-dir", other)
    local run, rest = url:match "([^/]+)%?", other:match "([^/]+)%?"
    local of = ("run = '%s' and batch = "):format(run)
    local function change(text) return ("update skillrt.journal set %s where %s"):format(text, of) end
    local function lines_of(name, batch)
      return ("lines = (select lines from skillrt.journal where run = '%s' and batch = %d)"):format(name, batch)
    end
    server.query "create table kept as select * from skillrt.journal"
    local back = ("delete from skillrt.journal where run = '%s'; insert into skillrt.journal select * from kept where run = '%s'")
      :format(run, run)
    for _, one in ipairs {
      { change "lines = set_byte(lines, 40, 255 - get_byte(lines, 40))" .. 2, "batch 2, record %d+: no valid record" },
      { change "lines = ''" .. 2, "batch 2, record %d+: no record" },
      { change "lines = lines || '\\x0a'::bytea" .. 2, "batch 2, record %d+: " },
      { change "seq = seq + 1" .. 2, "batch 2, record %d+: its row says another number" },
      { change "records = records + 1" .. 2, "its row says another number of records" },
      { change(lines_of(run, 1)) .. 2, "batch 2, record %d+: valid, but of another batch" },
      { change(lines_of(rest, 2)) .. 2, "valid, but not written behind the record before it" },
      { change(lines_of(rest, 0)) .. 0, "not written behind the record before it" },
      { change(lines_of(run, 1)) .. 0, "batch 0, record %d+: valid, but of another batch" },
      { "delete from skillrt.journal where " .. of .. 2, "a batch before it is missing" },
      { "delete from skillrt.journal where " .. of .. 0, "its first batch is missing" },
    } do
      server.query(one[1])
      local told = skillrt("log", url)
      assert.equal(7, told.code, one[1] .. told.out)
      assert.matches(one[2], told.err:gsub("%s+", " "))
      assert.matches("put the table skillrt.journal back from a backup", told.err:gsub("%s+", " "), 1, true)
      server.query(back)
      good("log", url)
    end
    assert.equal("0", server.query "select count(*) from (select * from kept except select * from skillrt.journal) as changed")
  end)

  it("rolls back, forks into a database and out of it, and resumes both", function()
    local url, young = place "forked", place "young"
    good("run", "hello.lua", "--work-dir", url)
    good("rollback", url, "--to", "3")
    assert.matches("rolled_back", good("status", url), 1, true)
    assert.matches("completed (task_completed): 7 steps", good("resume", url), 1, true)
    good("fork", url .. "@5", "--out", young)
    assert.matches("completed", good("resume", young), 1, true)
    good("fork", young, "--out", "out")
    assert.matches("forked", good("status", "out"), 1, true)
    assert.matches("is in a database", skillrt("run", "hello.lua", "--work-dir", url, "--reset").err)
    assert.matches("is in a database", skillrt("prune", server.url, "--all").err, 1, true)
    assert.matches("completed", good("status", young), 1, true)
    assert.matches("only a journal in a directory is cut", skillrt("recover", url, "--cut").err, 1, true)
  end)

  it("asks, takes an answer from its inbox, and wakes at once where it waits", function()
    local url = place "asked"
    local paused = skillrt("run", "ask.lua", "--work-dir", url)
    assert.matches("paused", paused.out, 1, true)
    assert.matches("Which colour", good("status", url), 1, true)
    local waits = kit.start(folder, { env = env, "resume", url, "--wait" })
    local held = os.time() + 20
    while not skillrt("status", url).out:find("executing", 1, true) and os.time() < held do
      os.execute "sleep 0.1"
    end
    good("answer", url, "blue")
    local over = waits.wait(20000)
    assert.equal(0, over.code, over.out .. over.err)
    assert.matches("blue", good("state", url), 1, true)
    assert.equal("taken", server.query "select distinct fate from skillrt.inbox")
  end)

  it("moves to a database and back, to the byte, and is in one place at a time", function()
    local url = place "moved"
    good("run", "hello.lua", "--work-dir", "here")
    local journal = folder.read "here/journal/00000001.sj"
    good("move", "here", url)
    assert.matches("contains no run", skillrt("status", "here").err, 1, true)
    assert.matches("4 finished", good("status", url), 1, true)
    assert.matches("holds a run already", skillrt("move", (good("fork", url, "--out", "other") and "other"), url).err, 1, true)
    assert.matches("forked", good("status", "other"), 1, true)
    good("move", url, "there")
    assert.equal(journal, folder.read "there/journal/00000001.sj")
    assert.matches("contains no run", skillrt("status", url).err, 1, true)
    assert.matches("contains no run", skillrt("move", url, "elsewhere").err, 1, true)
    good("move", "there", url)
    assert.matches("4 finished", good("status", url), 1, true)
  end)

  it("says where a run went, and finishes a move that was cut short by the same command, or undoes it", function()
    local url, host = place "short", require("skillrt.run.store").host()
    local name = url:match "/([^/?]+)%?"
    local function cut(to)
      server.query(("update skillrt.run set stood = status, status = 'moved', away_to = '%s' where run = '%s'"):format(to, name))
    end
    assert.equal(3, skillrt("run", "ask.lua", "--work-dir", url, "--quiet").code)
    local there = folder.path .. "/short-there"
    cut(there .. " on " .. host)
    local unfinished = ("%s: contains no run: its move to %s on %s is not finished\nfinish it: skillrt move '%s' %s; or undo it, "
      .. "unless it has arrived: skillrt move '%s' '%s'\n"):format(url, there, host, url, there, url, url)
    for _, words in ipairs { { "status", url }, { "resume", url }, { "answer", url, "red" } } do
      local run = skillrt(table.unpack(words))
      assert.equal(2, run.code)
      assert.equal("skillrt: " .. unfinished, run.err)
    end
    assert.matches(("%s  +its move to %s on %s is not finished\n"):format(url:gsub("%p", "%%%0"), there:gsub("%p", "%%%0"), host),
      good("list", server.url))
    local other = skillrt("move", url, "short-else")
    assert.equal(2, other.code)
    assert.equal("skillrt: " .. unfinished:gsub("contains no run: ", "", 1), other.err)
    good("move", url, "short-there")
    assert.matches("paused", good("status", "short-there"), 1, true)
    local gone = skillrt("status", url)
    assert.equal(("skillrt: %s: contains no run: it was moved to %s on %s\nsee it there: skillrt status %s\n")
      :format(url, there, host, there), gone.err)
    server.query(("update skillrt.run set away_to = null where run = '%s'"):format(name)) -- as a move to there begins
    assert(os.rename(there .. "/journal", there .. "/journal.leaving"))
    local id = server.query(("select id from skillrt.run where run = '%s'"):format(name))
    folder.file("short-there/journal.to", ("%s %s\n"):format(id, url))
    assert.matches("is not finished\nfinish it: skillrt move short-there 'postgres:", skillrt("status", "short-there").err, 1, true)
    assert.equal("short-there contains its run again\n", good("move", "short-there", "short-there"))
    good("move", "short-there", url)
    cut "/elsewhere on another-machine"
    assert.matches("its move to /elsewhere on another-machine is not finished", skillrt("move", url, "/elsewhere").err, 1, true)
    assert.matches("contains its run again", good("move", url, url), 1, true)
    cut(there .. " on " .. host)
    assert(os.rename(there .. "/journal.moved", there .. "/journal"))
    local arrived = skillrt("move", url, url)
    assert.equal(2, arrived.code)
    assert.matches("the run has arrived at " .. there, arrived.err, 1, true)
    assert.matches("completed", good("answer", "short-there", "red"), 1, true)
  end)

  it("does not move a run that is damaged in its tables", function()
    local url = place "damaged"
    good("run", "hello.lua", "--work-dir", url)
    local run = url:match "/([^/?]+)%?"
    server.query(("update skillrt.journal set lines = set_byte(lines, 40, 255 - get_byte(lines, 40)) where run = '%s' and batch = 2")
      :format(run))
    assert.matches("batch 2, record %d+: no valid record", skillrt("move", url, "healed").err)
    assert.matches("contains no run", skillrt("status", "healed").err, 1, true)
  end)

  it("moves a run that waits, which the list then names as what it is", function()
    local url = place "waiting"
    assert.equal(3, skillrt("run", "ask.lua", "--work-dir", "waiting").code)
    good("move", "waiting", url)
    local row = good("list", server.url):match("[^\n]*" .. url:match "/([^/?]+)%?" .. "[^\n]*")
    assert.matches("paused", row, 1, true)
    assert.matches("completed", good("answer", url, "blue"), 1, true)
  end)

  it("moves values that are kept apart", function()
    folder.file("large.lua", [[
local skillrt = require "skillrt"
return skillrt.skill { name = "large", state = { done = false }, actions = {
  { id = "large", when = "!done", run = function() return { done = true, text = ("large "):rep(40000) } end } } }
]])
    local url = place "large"
    good("run", "large.lua", "--work-dir", "big")
    local state = good("state", "big")
    assert.is_true(#state > 200000)
    good("move", "big", url)
    assert.equal(state, good("state", url))
    good("move", url, "back")
    assert.equal(state, good("state", "back"))
  end)

  it("removes months whose runs are all finished, and keeps the others", function()
    for _, month in ipairs { "01", "02", "03" } do
      server.query(("create table skillrt.journal_2025%s partition of skillrt.journal for values from ('2025%s') to ('2025%02d')")
        :format(month, month, month + 1))
    end
    good("run", "hello.lua", "--work-dir", server.run "20250103-done", "--quiet")
    good("run", "hello.lua", "--work-dir", server.run "20250203-done", "--quiet")
    local asks = server.run "20250204-asks"
    assert.equal(3, skillrt("run", "ask.lua", "--work-dir", asks, "--quiet").code)
    assert.matches("needs --before with a month", skillrt("fleet", "drop", server.url).err, 1, true)
    local asked = skillrt("fleet", "drop", server.url, "--before", "2025-03")
    assert.equal(2, asked.code)
    assert.matches("1 month would be chosen: 2025-01, 1 run; to remove them, add --all", asked.err, 1, true)
    local dropped = skillrt("fleet", "drop", server.url, "--before", "2025-03", "--all")
    assert.equal("removed 2025-01: 1 run\n", dropped.out)
    assert.matches("2025-02 stays: 1 of its 2 runs not finished, 20250204-asks is one of them", dropped.err, 1, true)
    assert.equal("f", server.query "select to_regclass('skillrt.journal_202501') is not null")
    assert.matches("contains no run", skillrt("status", server.run "20250103-done").err, 1, true)
    good("status", server.run "20250203-done")
    good("answer", asks, "red", "--quiet")
    assert.equal("removed 2025-02: 2 runs\n", good("fleet", "drop", server.url, "--before", "2025-03", "--all"))
    assert.equal("0", server.query "select count(*) from skillrt.inbox where run like '2025%'")
    assert.equal("t", server.query "select to_regclass('skillrt.journal_202503') is not null")
    assert.matches("no month is to be removed", skillrt("fleet", "drop", server.url, "--before", "2025-03").err, 1, true)
    local moves = server.run "20250305-moves"
    assert.equal(3, skillrt("run", "ask.lua", "--work-dir", moves, "--quiet").code)
    good("move", moves, "moved-away")
    server.query "update skillrt.run set stood = 'paused' where run = '20250305-moves'"
    assert.matches("2025-03 stays: 1 of its 1 run not finished, 20250305-moves is one of them",
      skillrt("fleet", "drop", server.url, "--before", "2025-04", "--all").err, 1, true)
    server.query "update skillrt.run set stood = null where run = '20250305-moves'"
    assert.equal("removed 2025-03: 1 run\n", good("fleet", "drop", server.url, "--before", "2025-04", "--all"))
  end)

  it("removes a run or lets it be rolled back, and never half of it, where both are asked for at the same moment", function()
    local removed = 0
    for round = 1, 10 do
      server.query "create table skillrt.journal_202504 partition of skillrt.journal for values from ('202504') to ('202505')"
      local url = server.run "20250401-raced"
      good("run", "hello.lua", "--work-dir", url, "--quiet")
      -- A transaction that has the run's row lets both come to it before either has it.
      local holds = io.popen(("psql -X -q -A -t '%s' -c \"begin; select 1 from skillrt.run where run = '20250401-raced' for update; "
        .. "select pg_sleep(0.5); commit\" 2>&1"):format(server.url))
      local first, second = { "rollback", url, "--to", "3" }, { "fleet", "drop", server.url, "--before", "2025-05", "--all" }
      if round % 2 == 0 then first, second = second, first end
      first.env, second.env = env, env
      os.execute "sleep 0.1"
      local one = kit.start(folder, first)
      os.execute "sleep 0.05"
      local other = kit.start(folder, second)
      one.wait(20000)
      other.wait(20000)
      holds:close()
      local runs = server.query "select count(*) from skillrt.run where run = '20250401-raced'"
      local rows = server.query "select count(*) > 0 from skillrt.journal where run = '20250401-raced'"
      assert.equal(runs == "1" and "t" or "f", rows)
      removed = removed + (runs == "0" and 1 or 0)
      if runs == "1" then
        good("log", url, "--verify")
        good("resume", url, "--quiet")
        good("fleet", "drop", server.url, "--before", "2025-05", "--all")
      end
    end
    assert.is_true(removed > 0 and removed < 10, removed .. " of 10 times removed")
  end)

  -- What the witness saw, in order.
  local function witnessed()
    local list = {}
    for number in (folder.read "witness" or ""):gmatch "%d+" do list[#list + 1] = tonumber(number) end
    os.remove(folder.path .. "/witness")
    return list
  end
  local function write_counting(idempotent)
    os.remove(folder.path .. "/witness")
    folder.file("counting.lua", (COUNTING:gsub("IDEMPOTENT", tostring(idempotent)):gsub("STEPS", STEPS)))
  end
  -- All were performed, in their order; twice only what was under way when a process died, at most once for each death.
  local function each_once(url, deaths)
    local list, twice = witnessed(), 0
    for i, number in ipairs(list) do
      twice = twice + (number == list[i - 1] and 1 or 0)
      assert.equal(i - 1 - twice, number, "step " .. number .. " was performed out of its order")
    end
    assert.equal(STEPS, #list - twice)
    assert.is_true(twice <= deaths, twice .. " were performed twice")
    assert.matches("completed", good("status", url), 1, true)
    assert.matches('"n":' .. STEPS, good("state", url):gsub("%s", ""), 1, true)
  end
  -- Waits until the witness has that many bytes.
  local function grown(size)
    for _ = 1, 500 do
      if #(folder.read "witness" or "") >= size then return end
      os.execute "sleep 0.02"
    end
    error "no step was performed within 10 s"
  end

  it("loses no record and repeats no call when its process is killed again and again", function()
    write_counting(true)
    local url, kills = place "killed", 5
    for kill = 1, kills do
      local words = kill == 1 and { env = env, "run", "counting.lua", "--work-dir", url } or { env = env, "resume", url }
      local size = #(folder.read "witness" or "")
      local run = kit.start(folder, words)
      -- behind some steps of its own, at any moment of the next one
      grown(size + 6)
      os.execute(("sleep %.3f"):format(kill * 0.007))
      run.signal "KILL"
      local result = run.wait()
      assert.equal(137, result.code, result.out .. result.err)
    end
    good("resume", url)
    each_once(url, kills)
  end)

  it("goes on when the server crashes and is started anew in the middle", function()
    write_counting(false)
    local url = place "restarted"
    local run = kit.start(folder, { env = env, "run", "counting.lua", "--work-dir", url })
    grown(1)
    for _ = 1, 3 do
      os.execute "sleep 0.1"
      assert(server.restart())
    end
    local over = run.wait(60000)
    assert.equal(0, over.code, over.out .. over.err)
    each_once(url, 0)
  end)

  it("has commands wait for a server that restarts, and say after 10 s that there is none", function()
    local nowhere = kit.start(folder, { env = env, "list", "postgres://me@/skills?host=/nowhere" })
    folder.file("stop", (kit.read(server.dir .. "/restart"):gsub(" restart </dev/null", " stop </dev/null")))
    assert(os.execute("bash " .. folder.path .. "/stop"))
    local submitted = kit.start(folder, { env = env, "submit", server.url, "hello.lua", "--key", "patient", "--trust" })
    os.execute "sleep 1"
    assert(server.restart())
    local over = submitted.wait(30000)
    assert.equal(0, over.code, over.out .. over.err)
    assert.matches("patient", good("list", server.url), 1, true)
    over = nowhere.wait(30000)
    assert.equal(2, over.code, over.out .. over.err)
    assert.matches("(tried for 10 s)", over.err:gsub("%s+", " "), 1, true)
  end)

  it("goes on when its connections are cut in the middle", function()
    write_counting(false)
    local url = place "cut"
    local run = kit.start(folder, { env = env, "run", "counting.lua", "--work-dir", url })
    local cut = 0
    grown(1)
    for _ = 1, 12 do
      os.execute "sleep 0.04"
      cut = cut + tonumber(server.query "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'skillrt'")
    end
    local over = run.wait(60000)
    assert.equal(0, over.code, over.out .. over.err)
    assert.is_true(cut > 3, cut .. " cut")
    each_once(url, 0)
  end)

  it("has one holder: a second process is told who, and one that was stopped past its lease sends nothing more", function()
    write_counting(true)
    local url = place "held"
    local first = kit.start(folder, { env = env, "run", "counting.lua", "--work-dir", url })
    grown(1)
    local second = skillrt("resume", url)
    assert.equal(6, second.code, second.out .. second.err)
    assert.matches("held by process " .. first.pid, second.err, 1, true)
    first.signal "STOP"
    local began = os.time()
    local over
    repeat
      os.execute "sleep 0.2"
      over = skillrt("resume", url)
    until over.code == 0 or os.time() - began > 20
    assert.equal(0, over.code, over.out .. over.err)
    assert.is_true(os.time() - began <= 12)
    first.signal "CONT"
    local lost = first.wait(30000)
    assert.matches("store_lost", lost.out, 1, true)
    each_once(url, 1)
  end)

  it("ends the programs of a process that is stopped for longer than its lease (F75)", function()
    folder.file("ticking.lua", [[
local skillrt = require "skillrt"
return skillrt.skill { name = "ticking", state = { done = false }, actions = { { id = "tick", when = "!done",
  run = function(_, ctx)
    ctx.await { kind = "command", argv = { "sh", "-c", "trap '' TERM; while :; do cut -d' ' -f1 /proc/uptime >> ticks; sleep 0.1; done" } }
    return { done = true }
  end } } }
]])
    local url = place "ticking"
    local run = kit.start(folder, { env = env, "run", "ticking.lua", "--work-dir", url })
    local function ticks() return folder.read "ticks" or "" end
    for _ = 1, 100 do
      if #ticks() > 0 then break end
      os.execute "sleep 0.1"
    end
    local before = #ticks()
    os.execute "sleep 4" -- longer than the lease, which is renewed
    assert.is_true(#ticks() > before)
    local stopped = tonumber(kit.read "/proc/uptime":match "%S+")
    run.signal "STOP"
    os.execute "sleep 5"
    run.signal "KILL"
    run.wait()
    local last = tonumber(ticks():match "(%S+)%s*$")
    assert.is_true(last - stopped < 3 + 1, ("a program was alive %.1f s after its process was stopped"):format(last - stopped))
    assert.equal("", kit.run(folder, { env = env, "status", url }).err)
  end)

  it("repeats a call whose program was ended so, once its process continues and nobody has taken the run; or asks", function()
    folder.file("cut.lua", [[
local skillrt = require "skillrt"
local function call(name, idempotent)
  return { id = name, when = "!" .. name, run = function(_, ctx)
    local reply, message = ctx.await { kind = "command", idempotent = idempotent,
      argv = { "sh", "-c", "echo " .. name .. " >> cuts; sleep 4; echo whole" } }
    return { [name] = reply and reply.stdout or message }
  end }
end
return skillrt.skill { name = "cut", state = {}, actions = { call("may", true), call("once") } }
]])
    local url = place "cut"
    local run = kit.start(folder, { env = env, "run", "cut.lua", "--work-dir", url })
    local function cuts() return ((folder.read "cuts" or ""):gsub("%s+", " ")) end
    for _, wanted in ipairs { "may ", "may may once " } do
      for _ = 1, 200 do
        if cuts() == wanted then break end
        os.execute "sleep 0.1"
      end
      assert.equal(wanted, cuts())
      run.signal "STOP"
      os.execute "sleep 4" -- longer than the lease
      run.signal "CONT"
    end
    local ended = run.wait(30000)
    assert.equal(3, ended.code, ended.out .. (ended.err or ""))
    assert.equal("may may once ", cuts())
    assert.matches("lease of this process had lapsed", kit.run(folder, { env = env, "status", url }).out)
    assert.matches('"may":%s*"whole', kit.run(folder, { env = env, "state", url }).out)
  end)
end)
