-- worker_fleet_spec.lua: three workers on one database, which are killed and stopped again and again, with the processes
-- of their runs. A file that each call writes to is the witness: nothing is lost, and what may not be repeated is not.
-- At night that is done again and again, for 20,000 strikes or an hour.
local kit = require "tests.support.cli_kit"
local postgres = require "tests.support.postgres"

local server, why = postgres.start()
if not server then
  print("left out: " .. why)
  describe("three workers", function() pending("need a server: " .. why) end)
  return
end

local CALM <const>, RUNS <const>, STEPS <const>, STRIKES <const> = 12, 30, 4, 24
local MOST_STRIKES <const> = os.getenv "SKILLRT_NIGHTLY" and 20000 or STRIKES
local MOST_SECONDS <const> = 3600

-- Each step has two programs write to the witness: the first may be repeated, the second may not. Where it is not known
-- whether that was executed, the step continues without it.
local SKILL <const> = [[
local skillrt = require "skillrt"
local function write(ctx, what, idempotent)
  local reply, message = ctx.await { kind = "command", idempotent = idempotent,
    argv = { "sh", "-c", "echo " .. what .. " $PPID >> witness; sleep 0.03" } }
  if not reply then ctx.log(what .. ": " .. tostring(message)) end
end
local actions = {}
for n = 0, STEPS - 1 do
  actions[n + 1] = { id = "count" .. n, when = "n === " .. n, run = function(_, ctx)
      write(ctx, "may-" .. ctx.input.name .. "-" .. n, true)
      write(ctx, "once-" .. ctx.input.name .. "-" .. n, false)
      return { n = n + 1 }
    end }
end
return skillrt.skill { name = "counting", on_indoubt = "skip", state = { n = 0 }, actions = actions }
]]

describe("three workers", function()
  local folder = kit.folder()
  local env = ("HOME=%s XDG_STATE_HOME=%s NO_COLOR=1"):format(folder.path, folder.path)
  local workers, begun = {}, {}

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
    workers[i] = kit.start(folder, { env = env, "worker", server.url, "--concurrency", "5" })
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
  local function signal(name, pid) os.execute(("kill -%s %d 2>/dev/null"):format(name, pid)) end
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
  -- How often each call is in the witness. Who lost a run starts no program any more: as often as the process in the
  -- witness of a run changes, the run was taken over, and that is a segment of its journal.
  local function witnessed()
    local seen, last, changes = {}, {}, {}
    for call, run, pid in (folder.read "witness" or ""):gmatch "(%a+%-(%w+%-?%d*)%-%d+) (%d+)\n" do
      seen[call] = (seen[call] or 0) + 1
      changes[run] = (changes[run] or 0) + (last[run] and last[run] ~= pid and 1 or 0)
      last[run] = pid
    end
    for run, count in pairs(changes) do
      local taken = counted(("select max(segment) from skillrt.journal where run = '%s'"):format(run))
      assert.is_true(count < taken, ("%s: %d processes, taken %d times"):format(run, count + 1, taken))
    end
    os.remove(folder.path .. "/witness")
    return seen
  end
  local function submit_all(prefix, count)
    for i = 1, count do
      good("submit", server.url, "counting.lua", "--key", prefix .. i, "--set", "name=" .. prefix .. i)
    end
  end
  -- A run whose processes were struck three times in a row before anything of it ended is taken for poison.
  local function completes()
    for _ = 1, 1200 do
      if is_over() then return end
      for run in server.query "select run from skillrt.run where about like '%poison%'":gmatch "%S+" do
        kit.run(folder, { env = env, "resume", server.run(run), "--trust", "--quiet" })
      end
      os.execute "sleep 0.05"
    end
    error("not all has completed within 60 s: " .. server.query
      "select run, status, about from skillrt.run where status <> 'completed'")
  end

  setup(function()
    folder.file("counting.lua", (SKILL:gsub("STEPS", STEPS)))
    good("fleet", "init", server.url, "--lease", "60") -- however slow this machine is
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

  -- Kills or stops a worker, or the process of a run; one that is stopped wakes when others have taken its run, or have
  -- not yet.
  local function strike_at(strike)
    local held, i = holders(), strike % 3 + 1
    local victim = held[strike % math.max(1, #held) + 1]
    local wakes = ("(sleep %d; kill -CONT %%d 2>/dev/null) &"):format(strike % 4 == 1 and 1 or 4)
    if strike % 12 == 11 then
      assert(server.restart())
    elseif strike % 12 == 6 then
      server.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'skillrt' and random() < 0.5")
    elseif strike % 8 == 0 then -- with the processes of its runs
      workers[i].signal "KILL"
      workers[i].wait()
      start(i)
    elseif strike % 8 == 4 then
      workers[i].signal "STOP"
      os.execute(wakes:format(workers[i].pid))
    elseif victim then
      signal(strike % 2 == 0 and "KILL" or "STOP", victim)
      if strike % 2 == 1 then
        os.execute(wakes:format(victim))
      end
    end
  end

  -- One round: runs, strikes while they are under way, and what the witness says.
  local function round(number, first)
    local prefix = ("hard%d-"):format(number)
    submit_all(prefix, RUNS)
    for strike = first, first + STRIKES - 1 do
      goes_on()
      strike_at(strike)
    end
    completes()
    local seen = witnessed()
    for i = 1, RUNS do
      for n = 0, STEPS - 1 do
        local once, may = ("once-%s%d-%d"):format(prefix, i, n), ("may-%s%d-%d"):format(prefix, i, n)
        assert.is_true((seen[once] or 0) <= 1, once .. " was repeated")
        assert.is_true((seen[may] or 0) >= 1, may .. " was lost: " .. good("log", server.run(prefix .. i)))
      end
      assert.matches(('"n":%d'):format(STEPS), good("state", server.run(prefix .. i)):gsub("%s", ""), 1, true)
    end
  end

  it("lose no run and repeat no call that may not be repeated, killed and stopped again and again (F75)", function()
    good("fleet", "init", server.url, "--lease", "2")
    for i = 1, 3 do start(i) end
    local strikes, number, until_s = 0, 0, os.time() + MOST_SECONDS
    repeat
      number = number + 1
      round(number, strikes + 1)
      strikes = strikes + STRIKES
    until strikes >= MOST_STRIKES or os.time() > until_s
    print(("%d strikes at %d runs"):format(strikes, number * RUNS))
  end)
end)
