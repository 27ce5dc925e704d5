-- worker_fleet_spec.lua: three workers on one database, which are killed and stopped again and again, with the processes
-- of their runs. A file that each call writes to is the witness: nothing is lost, and what may not be repeated is not.
-- At night that is done again and again, until 10,000 processes were killed and as many stopped, or for an hour.
local kit = require "tests.support.cli_kit"
local postgres = require "tests.support.postgres"

local server, why = postgres.start()
if not server then
  print("left out: " .. why)
  describe("three workers", function() pending("need a server: " .. why) end)
  return
end

local IS_NIGHT <const> = os.getenv "SKILLRT_NIGHTLY" ~= nil
local CALM <const>, RUNS <const>, STEPS <const> = 12, IS_NIGHT and 90 or 30, IS_NIGHT and 40 or 4
local WORKERS <const>, PROCESSES <const>, CONCURRENCY <const> = IS_NIGHT and 6 or 3, IS_NIGHT and 3 or 1,
  IS_NIGHT and 15 or 5
local STRIKES <const> = IS_NIGHT and 2000 or 24 -- of a round
local EACH <const>, MOST_SECONDS <const> = 10000, 3600
local LEASE_S <const> = 2
-- So long after another process took the run, a call may still reach the witness: the program of a process that was
-- killed is killed after it, and one that was begun in time needs a moment to write.
local LATE_S <const>, ALIVE_S <const> = 0.3, 1

-- Each step has two programs write to the witness: the first may be repeated, the second may not. Where it is not known
-- whether that was executed, the step continues without it. The last step's program writes for longer than a lease.
local SKILL <const> = [[
local skillrt = require "skillrt"
local function write(ctx, what, idempotent, script)
  local reply, message = ctx.await { kind = "command", idempotent = idempotent, argv = { "bash", "-c",
    (script:gsub("WRITE", "echo " .. what .. " $PPID $EPOCHREALTIME >> witness")) } }
  if not reply then ctx.log(what .. ": " .. tostring(message)) end
end
local actions = {}
for n = 0, STEPS - 1 do
  actions[n + 1] = { id = "count" .. n, when = "n === " .. n, run = function(_, ctx)
      write(ctx, "may-" .. ctx.input.name .. "-" .. n, true, "WRITE; sleep SLEEP")
      write(ctx, "once-" .. ctx.input.name .. "-" .. n, false, "WRITE; sleep SLEEP")
      if n == STEPS - 1 then
        write(ctx, "beat-" .. ctx.input.name .. "-" .. n, true, "for i in {1..25}; do WRITE; sleep 0.1; done")
      end
      return { n = n + 1 }
    end }
end
return skillrt.skill { name = "counting", on_indoubt = "skip", state = { n = 0 }, actions = actions }
]]

describe("three workers", function()
  local folder = kit.folder()
  local env = ("HOME=%s XDG_STATE_HOME=%s NO_COLOR=1"):format(folder.path, folder.path)
  local workers, begun, revived = {}, {}, {}

  local function good(...)
    local result = kit.run(folder, { env = env, ... })
    assert.equal(0, result.code, result.out .. result.err)
    return result.out
  end
  local function counted(text)
    local number = server.query(text)
    return assert(tonumber(number), number)
  end
  local function start(i)
    workers[i] = kit.start(folder, { env = env, "worker", server.url, "--concurrency", CONCURRENCY, "--processes", PROCESSES })
    begun[#begun + 1] = workers[i]
  end
  -- The processes that hold runs now, as their leases tell.
  local function holders()
    local list = {}
    for line in server.query("select line from skillrt.worker"):gmatch "[^\n]+" do
      list[#list + 1] = math.tointeger(tonumber(line:match "^%d+"))
    end
    return list
  end
  -- Sends a signal to a process of ours, if it is still there; 1 where it was not stopped already, so that it counts.
  local function signal(name, pid)
    local words, stat = kit.read(("/proc/%d/cmdline"):format(pid)), kit.read(("/proc/%d/stat"):format(pid))
    if not (words and words:find(server.dir, 1, true)) then return 0 end
    os.execute(("kill -%s %d 2>/dev/null"):format(name, pid))
    return name == "STOP" and (stat or ""):find "%) T" and 0 or 1
  end
  local function is_over() return counted "select count(*) from skillrt.run where status <> 'completed'" == 0 end
  -- Until something more is in the witness, or all is over.
  local function goes_on()
    local before = #(folder.read "witness" or "")
    for _ = 1, 1500 do
      if #(folder.read "witness" or "") > before or is_over() then return end
      os.execute "sleep 0.02"
    end
    error("no step was performed within 30 s: " .. server.query "select run, status, due, owner, claimed from skillrt.run")
  end
  -- When each segment of each run began, by the clock of the database: its first batch is the fence.
  local function fences()
    local list = {}
    for run, at in server.query("select run, extract(epoch from min(stamped)) from skillrt.journal group by run, segment" ..
      " order by run, segment"):gmatch "([^|\n]+)|([%d.]+)" do
      list[run] = list[run] or {}
      table.insert(list[run], tonumber(at))
    end
    return list
  end
  -- How often each call is in the witness. Who lost a run starts no program any more, and what it started is dead: after a
  -- fence one process alone writes for the run, until the next fence.
  local function witnessed()
    local seen, began, writer = {}, fences(), {}
    for call, kind, run, pid, at in (folder.read "witness" or ""):gmatch "((%a+)%-(%w+%-?%d*)%-%d+) (%d+) ([%d.]+)\n" do
      seen[call] = (seen[call] or 0) + 1
      local segment, time = 1, tonumber(at)
      while began[run][segment + 1] and began[run][segment + 1] < time do segment = segment + 1 end
      if time > began[run][segment] + (kind == "beat" and ALIVE_S or LATE_S) then
        local key = run .. " " .. segment
        writer[key] = writer[key] or pid
        assert.equal(writer[key], pid, ("%s in segment %d, %.3f s after its fence, beside another process"):format(call,
          segment, time - began[run][segment]))
      end
    end
    os.remove(folder.path .. "/witness")
    return seen
  end
  local function submit_all(prefix, count)
    for i = 1, count do
      good("submit", server.url, "counting.lua", "--key", prefix .. i, "--set", "name=" .. prefix .. i)
    end
  end
  -- A run whose processes were struck three times in a row before anything of it ended is taken for poison; a person
  -- resumes it.
  local function revive()
    for run in server.query "select run from skillrt.run where about like '%poison%'":gmatch "%S+" do
      if (revived[run] or 0) < os.time() then
        revived[run] = os.time() + LEASE_S
        begun[#begun + 1] = kit.start(folder, { env = env, "resume", server.run(run), "--trust", "--quiet" })
      end
    end
  end
  local function completes()
    for _ = 1, 1200 do
      if is_over() then return end
      revive()
      os.execute "sleep 0.05"
    end
    error("not all has completed within 60 s: " .. server.query
      "select run, status, about from skillrt.run where status <> 'completed'")
  end

  setup(function()
    folder.file("counting.lua", (SKILL:gsub("STEPS", STEPS):gsub("SLEEP", IS_NIGHT and 0.5 or 0.03)))
    good("fleet", "init", server.url, "--lease", "60") -- however slow this machine is
    server.query "alter table skillrt.journal add stamped timestamptz default clock_timestamp()"
  end)
  teardown(function()
    for _, worker in ipairs(begun) do worker.signal "KILL" end
    getmetatable(server).__close()
    getmetatable(folder).__close()
  end)

  it("begin each run in one process where nothing happens to them", function()
    submit_all("calm", CALM)
    for i = 1, 3 do start(i) end
    completes()
    local times = {}
    for i = 1, 3 do
      workers[i].signal "TERM"
      for name in workers[i].wait().out:gmatch "/(calm%d+)%S*: begun" do times[name] = (times[name] or 0) + 1 end
    end
    local seen = witnessed()
    for i = 1, CALM do
      assert.equal(1, times["calm" .. i], "calm" .. i .. " was begun more than once")
      for n = 0, STEPS - 1 do
        assert.equal(1, seen[("once-calm%d-%d"):format(i, n)])
        assert.equal(1, seen[("may-calm%d-%d"):format(i, n)])
      end
    end
  end)

  local kills, stops, cuts, held = 0, 0, 0, {}
  local function stop(pid, seconds)
    stops = stops + signal("STOP", pid)
    os.execute(("(sleep %d; kill -CONT %d 2>/dev/null) &"):format(seconds, pid))
  end
  -- Kills or stops a worker, or the process of a run; one that is stopped wakes when others have taken its run, or have
  -- not yet.
  local function strike_at(strike)
    local i = strike // 4 % WORKERS + 1
    if strike % (IS_NIGHT and 12 or 1) == 0 then held = holders() end
    local victim = table.remove(held, strike % math.max(1, #held) + 1)
    if strike % (IS_NIGHT and 600 or 12) == 11 then
      cuts = cuts + 1
      assert(server.restart())
    elseif strike % (IS_NIGHT and 60 or 12) == 6 then
      cuts = cuts + 1
      server.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'skillrt' and random() < 0.5")
    elseif strike % 8 == 0 then -- with the processes of its runs
      kills = kills + 1
      workers[i].signal "KILL"
      workers[i].wait()
      start(i)
    elseif strike % 8 == 4 then
      stop(workers[i].pid, strike % 3 == 0 and 1 or 4)
    elseif victim and strike % 8 == 2 then
      kills = kills + signal("KILL", victim)
    elseif victim then
      stop(victim, strike % 4 == 1 and 3 or 1)
    end
  end

  -- One round: runs, strikes while they are under way, and what the witness says.
  local function round(number, first)
    local prefix = ("hard%d-"):format(number)
    submit_all(prefix, RUNS)
    local strike = first
    while strike < first + STRIKES do
      if not IS_NIGHT then goes_on() end
      strike_at(strike)
      strike = strike + 1
      if IS_NIGHT and strike % 50 == 0 then
        if is_over() then break end
        revive()
      end
    end
    completes()
    local seen = witnessed()
    for i = 1, RUNS do
      for n = 0, STEPS - 1 do
        local once, may = ("once-%s%d-%d"):format(prefix, i, n), ("may-%s%d-%d"):format(prefix, i, n)
        assert.is_true((seen[once] or 0) <= 1, once .. " was repeated")
        if not seen[may] then error(may .. " was lost: " .. good("log", server.run(prefix .. i))) end
      end
      assert.matches(('"n":%d'):format(STEPS), good("state", server.run(prefix .. i)):gsub("%s", ""), 1, true)
    end
    return strike
  end

  it("lose no run and repeat no call that may not be repeated, killed and stopped again and again (F75)", function()
    good("fleet", "init", server.url, "--lease", LEASE_S)
    for i = 1, WORKERS do start(i) end
    local strike, number, until_s = 1, 0, os.time() + MOST_SECONDS
    repeat
      number = number + 1
      strike = round(number, strike)
      io.stderr:write(("%d kills, %d stops and %d cuts at %d runs\n"):format(kills, stops, cuts, number * RUNS))
    until math.min(kills, stops) >= EACH or os.time() > until_s or not IS_NIGHT
  end)
end)
