-- worker_standby_spec.lua: the server is lost, and a standby is promoted that has not all that was committed.
local kit = require "tests.support.cli_kit"
local postgres = require "tests.support.postgres"

local server, why = postgres.start()
if not server then
  print("left out: " .. why)
  describe("a promoted standby", function() pending("need a server: " .. why) end)
  return
end

local RUNS <const>, STEPS <const> = 3, 8
local SKILL <const> = [[
local skillrt = require "skillrt"
local actions = {}
for n = 0, STEPS - 1 do
  actions[n + 1] = { id = "count" .. n, when = "n === " .. n, run = function(_, ctx)
      ctx.await { kind = "command", idempotent = true,
        argv = { "sh", "-c", "sleep 0.2; echo " .. ctx.input.name .. "-" .. n .. " >> witness" } }
      return { n = n + 1 }
    end }
end
return skillrt.skill { name = "counting", state = { n = 0 }, actions = actions }
]]

describe("a promoted standby", function()
  local folder = kit.folder()
  local env = ("HOME=%s XDG_STATE_HOME=%s NO_COLOR=1"):format(folder.path, folder.path)
  local standby = server.dir .. "/standby"
  local url = ("postgres://skillrt@/postgres?host=%s,%s&target_session_attrs=read-write"):format(server.dir, standby)
  local alone = ("postgres://skillrt@/postgres?host=%s"):format(standby)
  local worker

  local function good(...)
    local result = kit.run(folder, { env = env, ... })
    assert.equal(0, result.code, result.out .. result.err)
    return result.out
  end
  -- Waits until the witness has so many lines, or until the time is over.
  local function witnessed(count)
    local lines = 0
    for _ = 1, 600 do
      lines = select(2, (folder.read "witness" or ""):gsub("\n", ""))
      if lines >= count then return lines end
      os.execute "sleep 0.05"
    end
    error(("the witness has %d lines after 30 s, not %d"):format(lines, count))
  end
  local function start_standby()
    local settings = ("-k %s -c listen_addresses= -c max_connections=200 -c fsync=off"):format(standby)
    assert(server.act(("pg_ctl -D %s -s -w -t 30 -l %s/log -o '%s' start"):format(standby, standby, settings)))
  end

  setup(function()
    folder.file("counting.lua", (SKILL:gsub("STEPS", STEPS)))
    good("fleet", "init", server.url, "--lease", "3")
    assert(server.act(("pg_basebackup -D %s -R -c fast -h %s -U skillrt"):format(standby, server.dir)))
    start_standby()
  end)
  teardown(function()
    if worker then worker.signal "KILL" end
    server.act(("pg_ctl -D %s -s -m immediate stop"):format(standby))
    getmetatable(server).__close()
    getmetatable(folder).__close()
  end)

  it("lost commits: the worker says so, drops the runs, and resumes them from what the standby has", function()
    for i = 1, RUNS do
      good("submit", url, "counting.lua", "--key", "run" .. i, "--set", "name=run" .. i)
    end
    for _ = 1, 200 do
      if server.query "select count(*) from pg_stat_replication" == "1" then break end
      os.execute "sleep 0.05"
    end
    worker = kit.start(folder, { env = env, "worker", url, "--concurrency", tostring(RUNS) })
    witnessed(RUNS)
    assert(server.act(("pg_ctl -D %s -s -m immediate stop"):format(standby)))
    local before = witnessed(0)
    witnessed(before + 2 * RUNS)
    assert(server.act(("pg_ctl -D %s/data -s -m immediate stop"):format(server.dir)))
    start_standby()
    local kept = server.query("select sum(records) from (select max(records) as records from skillrt.journal group by run) j",
      alone)
    assert(server.act(("pg_ctl -D %s -s -w promote"):format(standby)))
    for _ = 1, 1200 do
      if server.query("select count(*) from skillrt.run where status = 'completed'", alone) == tostring(RUNS) then break end
      os.execute "sleep 0.05"
    end
    worker.signal "TERM"
    local said = worker.wait()
    assert.matches("the server has fsync = off: a power cut may lose what was recorded", said.err, 1, true)
    assert.matches("the server waits for none of its standbys (1)", said.err, 1, true)
    local counts = {}
    for call in folder.read "witness":gmatch "%S+" do counts[call] = (counts[call] or 0) + 1 end
    local repeated = 0
    for i = 1, RUNS do
      local place = alone:gsub("%?", "/run" .. i .. "?")
      assert.matches("completed", good("status", place))
      for n = 0, STEPS - 1 do
        local times = counts[("run%d-%d"):format(i, n)] or 0
        assert.is_true(times >= 1, ("run%d-%d is missing"):format(i, n))
        repeated = repeated + times - 1
      end
    end
    assert.is_true(tonumber(kept) > 0)
    assert.is_true(repeated >= RUNS, "the standby had all: nothing was lost")
    local lost = select(2, (said.out .. said.err):gsub("the database has lost what was committed of this run", ""))
    assert.equal(RUNS, lost, said.out .. said.err)
  end)
end)
