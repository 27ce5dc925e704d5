-- postgres.lua: what a step costs whose run is in PostgreSQL, one step a commit, against libpq alone that inserts the
-- same bytes: into a table without a key, and into one with the key (run, batch).
--
-- The server is started here, on the disk, with fsync. Wall time; a run of few steps is taken off a run of many.
package.path = "./lua/?.lua;./?.lua;" .. package.path
package.cpath = (os.getenv "SKILLRT_BUILD" or "build/release") .. "/lib/?.so;" .. package.cpath

local FEW <const>, MANY <const>, ROUNDS <const> = 20, 320, 15

return function(measure)
  local server <close>, why = require "tests.support.postgres".start "-c fsync=on"
  if not server then
    return { measure.told("a step in PostgreSQL", why) }
  end
  measure.run(("%s fleet init '%s'"):format(measure.program, server.url))
  local count = 0
  local function ours(units)
    count = count + 1
    local url = server.run(("bench-%d"):format(count))
    return (measure.spawn(1, ("env BENCH_STEPS=%d %s --quiet bench/skills/steps.lua --work-dir '%s'"):format(units,
      measure.program, url)))
  end
  ours(MANY)
  local size = tonumber(server.query "select avg(length(lines))::int from skillrt.journal where run = 'bench-1'")
  local function floor(key)
    return { few = FEW, many = MANY, take = function(units)
      return (measure.spawn(1, ("%s/bench/floor_postgres '%s' %d %d %s"):format(measure.build, server.url, units, size,
        key)))
    end }
  end
  local findings = {}
  for _, one in ipairs({ { "", "a table without a key" }, { "key", "a table with the key" } }) do
    local ratio, theirs, own = measure.slopes(ROUNDS, floor(one[1]), { few = FEW, many = MANY, take = ours })
    findings[#findings + 1] = measure.finding(
      "speed of a step in PostgreSQL, one a commit, against libpq inserting the same bytes into " .. one[2],
      ratio, ">=", 0.85, ("%s against %s, %d bytes"):format(measure.time(own), measure.time(theirs), size))
  end
  return findings
end
