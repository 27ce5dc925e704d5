-- fleet.lua: what many runs on PostgreSQL cost: steps of many runs of a process, claims, and what becomes of runs whose
-- worker is killed or ended.
--
-- The server is started here, on the disk, with fsync.
package.path = "./lua/?.lua;./?.lua;" .. package.path
package.cpath = (os.getenv "SKILLRT_BUILD" or "build/release") .. "/lib/?.so;" .. package.cpath

local core = require "skillrt.core"
local postgres = require "tests.support.postgres"

local ROUNDS <const> = 5
local EVENTS <const>, OWNED <const>, FINISHED <const>, WAITING <const>, LEASE <const> = 100, 24, 1000000, 10000, 3
local HELD <const>, BATCH <const> = 10000, 1500
local STEPS <const>, FLOOR_STEPS <const> = 200, 200

-- Each claim, and when it was made, on the server's clock.
local CLAIMS <const> = {
  "create table bench_claims (run text, at timestamptz)",
  "create function bench_note() returns trigger language plpgsql as 'begin insert into bench_claims"
    .. " values (new.run, clock_timestamp()); return new; end'",
  "create trigger bench_note after update of owner on skillrt.run for each row when (new.owner is not null and"
    .. " new.owner is distinct from old.owner) execute function bench_note()",
}
local DELAY <const> = "select percentile_disc(%g) within group (order by delay) from (select extract(epoch from"
  .. " (select min(c.at) from bench_claims c where c.run = i.run and c.at > i.came) - i.came) * 1000 as delay"
  .. " from skillrt.inbox i) d"

local function seconds_since(start)
  return (core.mono_ns() - start) / 1e9
end

-- Waits until a query says so; the seconds that took.
local function until_it_is(server, query, wanted)
  local start = core.mono_ns()
  while server.query(query) ~= wanted do
    assert(seconds_since(start) < 120, query)
    os.execute "sleep 0.02"
  end
  return seconds_since(start)
end

-- A worker in the background: its pid.
local function worker(measure, server, concurrency)
  local command = "setsid %s worker '%s' --concurrency %d --quiet >/dev/null 2>&1 & echo $!"
  return measure.run(command:format(measure.program, server.url, concurrency)):match "%d+"
end

local function submit(measure, server, skill, prefix, count)
  for i = 1, count do
    measure.run(("%s submit '%s' bench/skills/%s.lua --key %s%d"):format(measure.program, server.url, skill, prefix, i))
  end
end

local function claims_after_events(measure, server, findings)
  submit(measure, server, "waiting", "event", EVENTS)
  local pid = worker(measure, server, 64)
  local waiting = "select count(*) from skillrt.run where about like '%waiting_for_event%' and owner is null"
  until_it_is(server, waiting, tostring(EVENTS))
  for i = 1, EVENTS do
    measure.run(("%s send '%s' go"):format(measure.program, server.run("event" .. i)))
  end
  until_it_is(server, "select count(*) from skillrt.run where status = 'completed' and run like 'event%'",
    tostring(EVENTS))
  os.execute("kill -TERM " .. pid)
  for _, one in ipairs { { 0.5, 5, "p50" }, { 0.99, 30, "p99" } } do
    findings[#findings + 1] = measure.finding("claim after an event, " .. one[3], tonumber(server.query(DELAY:format(
      one[1]))), "<=", one[2], ("%d events, on the server's clock"):format(EVENTS), "ms")
  end
end

local OWNED_QUERY <const> = "select count(distinct owner) || ' ' || count(*) from skillrt.run where run like 'owned%'"
  .. " and owner is not null and status = 'executing'"

local function ends_of_workers(measure, server, findings)
  measure.run(("%s fleet init '%s' --lease %d"):format(measure.program, server.url, LEASE))
  submit(measure, server, "sleeping", "owned", OWNED)
  local pid = worker(measure, server, OWNED)
  until_it_is(server, OWNED_QUERY, "1 " .. OWNED)
  local owner = server.query "select min(owner) from skillrt.run where run like 'owned%'"
  local other = worker(measure, server, OWNED)
  os.execute("sleep 1; kill -9 " .. pid)
  local took = until_it_is(server, OWNED_QUERY .. (" and owner <> '%s'"):format(owner), "1 " .. OWNED)
  findings[#findings + 1] = measure.finding(("kill -9 of a worker: all of its %d runs are resumed"):format(OWNED), took,
    "<=", LEASE * 4 / 3 + 1, ("lease of %d s"):format(LEASE), "s")
  os.execute "sleep 2" -- their programs have been started again
  os.execute("kill -TERM " .. other)
  took = until_it_is(server, "select count(*) from skillrt.worker", "0")
  local ending = ("SIGTERM of a worker with %d runs"):format(OWNED)
  findings[#findings + 1] = measure.finding(ending, took, "<=", 1, "their calls may be repeated", "s")
  server.query "update skillrt.run set queue = 'past' where run like 'owned%'" -- no worker performs them any more
end

local function polls(measure, server, findings)
  server.query(("insert into skillrt.run (run, id, queue, status) select 'done' || g, 'done', 'default', 'completed'"
    .. " from generate_series(1, %d) g"):format(FINISHED))
  server.query "vacuum analyze skillrt.run"
  local times = {}
  do
    local claims = assert(core.claims(server.url, "default"))
    for i = 1, 200 do
      local start = core.mono_ns()
      assert(#assert(claims:take(1)) == 0)
      times[i] = (core.mono_ns() - start) / 1e6
    end
  end
  collectgarbage() -- closes its connection; then what it did is counted
  findings[#findings + 1] = measure.finding(("an empty claim beside %d finished runs"):format(FINISHED),
    measure.median(times), "<=", 1, "the middle one of 200", "ms")
  server.query(("insert into skillrt.run (run, id, queue, status) select 'wait' || g, 'wait', 'default', 'paused'"
    .. " from generate_series(1, %d) g"):format(WAITING))
  local count = "select sum(seq_scan + coalesce(idx_scan, 0)) from pg_stat_user_tables where schemaname = 'skillrt'"
  local pid = worker(measure, server, 8)
  os.execute "sleep 3"
  local before = tonumber(server.query(count))
  os.execute "sleep 10"
  local each = (tonumber(server.query(count)) - before) / 10
  os.execute("kill -TERM " .. pid)
  local what = ("scans of tables by a worker beside %d runs that wait"):format(WAITING)
  findings[#findings + 1] = measure.finding(what, each, "<=", 20, "it polls about once a second", "a second")
end

-- What a process that holds so many runs, which all wait, asks of the database: it renews its lease. Counts of an idle
-- connection reach the server's tables within 10 s.
local function owned(measure, server, findings)
  local ready = server.dir .. "/held"
  local command = ("%s bench/owned.lua '%s' %d >%s"):format(measure.lua, server.url, HELD, ready)
  local host = assert(io.popen(command, "w"))
  local start = core.mono_ns()
  while not core.files.stat(ready) or core.files.stat(ready).size == 0 do
    assert(seconds_since(start) < 600, "the runs were not opened within 600 s")
    os.execute "sleep 0.2"
  end
  local held = server.query "select count(*) from skillrt.run where run like 'held-%' and owner is not null"
  assert(held == tostring(HELD), held)
  os.execute "sleep 15"
  local count = "select sum(n_tup_upd + n_tup_ins + n_tup_del + seq_scan + coalesce(idx_scan, 0)) from"
    .. " pg_stat_user_tables where schemaname = 'skillrt'"
  local before = tonumber(server.query(count))
  os.execute "sleep 40"
  findings[#findings + 1] = measure.finding(("changes and scans by a process that holds %d waiting runs"):format(HELD),
    (tonumber(server.query(count)) - before) / 8, "<=", 4, "an update of its lease is a scan and a change", "in 5 s")
  host:close()
end

-- Runs of ten steps, performed by one worker: before a transaction pins old rows, and once that has lasted for a while.
local function pinned(measure, server, findings)
  local function performed()
    measure.run(("yes '{}' | head -n %d | %s submit '%s' bench/skills/ten.lua --each -"):format(BATCH, measure.program,
      server.url))
    local start = core.mono_ns()
    measure.run(("%s worker '%s' --once --concurrency 64 --quiet 2>/dev/null"):format(measure.program, server.url))
    return BATCH / seconds_since(start)
  end
  -- Each change or removal of a row leaves a dead one; n_dead_tup is an estimate. A lease is renewed 720 times an hour.
  local dead <const> = "select coalesce(sum(n_tup_upd + n_tup_del), 0) from pg_stat_user_tables"
    .. " where schemaname = 'skillrt' and relname <> 'worker'"
  performed()
  local before, after = {}, {}
  for round = 1, ROUNDS do before[round] = performed() end
  server.query "vacuum skillrt.run, skillrt.worker, skillrt.inbox, skillrt.slot, skillrt.rate"
  os.execute(("psql '%s' -qc 'begin isolation level repeatable read; select count(*) from skillrt.run; select"
    .. " pg_sleep(600)' >/dev/null 2>&1 &"):format(server.url))
  until_it_is(server, "select count(*) from pg_stat_activity where query like 'begin isolation%'"
    .. " and wait_event = 'PgSleep'", "1")
  os.execute "sleep 1" -- what a process counts reaches the server's tables when it ends
  local count = tonumber(server.query(dead))
  for _ = 1, ROUNDS do performed() end
  for round = 1, ROUNDS do after[round] = performed() end
  os.execute "sleep 1"
  count = tonumber(server.query(dead)) - count
  server.query "select pg_terminate_backend(pid) from pg_stat_activity where query like 'begin isolation%'"
  local said = ("%.0f runs a second against %.0f, behind %d runs"):format(measure.median(after), measure.median(before),
    ROUNDS * BATCH)
  findings[#findings + 1] = measure.finding("speed where a transaction pins old rows, against the speed without one",
    measure.median(after) / measure.median(before), ">=", 0.95, said)
  findings[#findings + 1] = measure.finding("dead rows that it pins, for each run that was submitted and performed",
    count / (2 * ROUNDS * BATCH), "<=", 2, ("%d rows"):format(count), "rows")
end

return function(measure)
  local server <close>, why = postgres.start "-c fsync=on"
  if not server then
    return { measure.told("many runs in PostgreSQL", why) }
  end
  measure.run(("%s fleet init '%s'"):format(measure.program, server.url))
  local findings, serial = {}, 0

  -- Steps in a second, of so many processes with so many runs each at the same time.
  local function speed(processes, runs)
    local words = {}
    for i = 1, processes do
      serial = serial + 1
      words[i] = ("%s bench/many.lua '%s' many%d %d %d"):format(measure.lua, server.url, serial, runs, STEPS)
    end
    local total = 0
    for ns in measure.run(table.concat(words, " & ") .. " & wait"):gmatch "%d+" do
      total = total + 1e9 / tonumber(ns)
    end
    return total
  end
  speed(1, 8)
  local size = server.query "select avg(length(lines))::int from skillrt.journal where batch > 10"
  for _, one in ipairs { { 1, 256, 15000 }, { 4, 64, 5000 } } do
    local ours, floors = {}, {}
    for round = 1, ROUNDS do
      ours[round] = speed(one[1], one[2])
      local floor = "%s/bench/floor_postgres '%s' %d %s key %d"
      floors[round] = 1e9 / tonumber(measure.run(floor:format(measure.build, server.url, FLOOR_STEPS, size, one[2])))
    end
    local what = ("durable steps in a second, processes: %d, runs in each: %d"):format(one[1], one[2])
    local beside = ("libpq alone, %d rows of %s bytes a commit: %.0f"):format(one[2], size, measure.median(floors))
    findings[#findings + 1] = measure.finding(what, measure.median(ours), ">=", one[3], beside, "a second")
  end
  for _, statement in ipairs(CLAIMS) do
    server.query(statement)
  end
  claims_after_events(measure, server, findings)
  ends_of_workers(measure, server, findings)
  measure.run(("%s fleet init '%s' --lease 15"):format(measure.program, server.url))
  pinned(measure, server, findings)
  owned(measure, server, findings)
  polls(measure, server, findings)
  return findings
end
