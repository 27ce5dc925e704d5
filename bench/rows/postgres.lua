-- postgres.lua: what a step costs whose run is in PostgreSQL, one step a commit, against libpq alone that inserts the
-- same bytes: into a table without a key, into one with the key (run, batch), and into the fleet's own journal.
--
-- The server is started here, on the disk, with fsync. What a step takes beside its commit is the same on every disk,
-- so the ratio depends on how long a commit takes: the row that is asked is measured on this disk, and where the
-- server waits 2 ms before it writes, as a disk behind a network does. Wall time; a run of few steps is taken off a run
-- of many.
package.path = "./lua/?.lua;./?.lua;" .. package.path
package.cpath = (os.getenv "SKILLRT_BUILD" or "build/release") .. "/lib/?.so;" .. package.cpath

local FEW <const>, MANY <const>, ROUNDS <const> = 20, 320, 15

local SLOW <const> = "PGOPTIONS='-c commit_delay=2000 -c commit_siblings=0'"
local ROWS <const> = {
  { table = "", into = "into a table without a key", disk = "" },
  { table = "key", into = "into a table with the key", disk = "" },
  { table = "key", into = "into a table with the key, where a commit takes 2 ms more", disk = SLOW },
  { table = "journal", into = "into the journal by the statement of a step", disk = "", is_told = true },
}

return function(measure)
  local server <close>, why = require "tests.support.postgres".start "-c fsync=on"
  if not server then
    return { measure.told("a step in PostgreSQL", why) }
  end
  measure.run(("%s fleet init '%s'"):format(measure.program, server.url))
  local count = 0
  local function ours(disk)
    return { few = FEW, many = MANY, take = function(units)
      count = count + 1
      local command = ("env %s BENCH_STEPS=%d %s --quiet bench/skills/steps.lua --work-dir '%s'"):format(disk, units,
        measure.program, server.run(("bench-%d"):format(count)))
      return (measure.spawn(1, command))
    end }
  end
  ours("").take(MANY)
  local size = tonumber(server.query "select avg(length(lines))::int from skillrt.journal where run = 'bench-1'")
  local function floor(row)
    return { few = FEW, many = MANY, take = function(units)
      return (measure.spawn(1, ("env %s %s/bench/floor_postgres '%s' %d %d %s"):format(row.disk, measure.build,
        server.url, units, size, row.table)))
    end }
  end
  local findings = {}
  for _, row in ipairs(ROWS) do
    local ratio, theirs, own = measure.slopes(ROUNDS, floor(row), ours(row.disk))
    local what = "speed of a step in PostgreSQL, one a commit, against libpq inserting the same bytes " .. row.into
    local times = ("%s against %s, %d bytes"):format(measure.time(own), measure.time(theirs), size)
    findings[#findings + 1] = row.is_told and measure.told(what, ("%.3g x (%s)"):format(ratio, times))
      or measure.finding(what, ratio, ">=", 0.85, times)
  end
  return findings
end
