-- worker_claims_spec.lua: what a claim in a database reads: it does not grow with the runs that wait, that have a process or
-- that have ended. Counted by the server's own statistics, not by time.
local postgres = require "tests.support.postgres"
local core = require "skillrt.core"

local server, why = postgres.start()
if not server then
  print("left out: " .. why)
  describe("a claim", function() pending("needs a server: " .. why) end)
  return
end

describe("a claim", function()
  setup(function()
    assert(os.execute(("%s/skillrt fleet init '%s' --lease 3600 >/dev/null"):format(os.getenv "SKILLRT_BUILD" or "build/release",
      server.url)))
  end)
  teardown(function() getmetatable(server).__close() end)

  local function count(text) return assert(math.tointeger(tonumber(server.query(text)))) end

  -- The names of the runs that claims of one run each take.
  local function take(claims)
    local queue, taken = assert(core.claims(server.url, "default")), {}
    for _ = 1, claims do
      for _, url in ipairs(assert(queue:take(1))) do taken[#taken + 1] = url:match "/([^/?]+)%?" end
    end
    return taken
  end

  -- How many rows of skillrt.run these claims read; what a connection has read is counted once it is closed.
  local function read_by(claims)
    local asked = "select coalesce(sum(idx_tup_fetch + seq_tup_read), 0) from pg_stat_user_tables"
      .. " where schemaname = 'skillrt' and relname = 'run'"
    server.query "analyze skillrt.run"
    local before, taken = count(asked), take(claims)
    for _ = 1, 100 do
      collectgarbage() -- closes the connection
      if count "select count(*) from pg_stat_activity where application_name = 'skillrt' and query not like 'listen%'" == 0 then
        return count(asked) - before, taken
      end
      os.execute "sleep 0.1"
    end
    error "the connection of the claims was not closed within 10 s"
  end

  local function add(name, many, columns, values)
    server.query(("insert into skillrt.run (run, id, queue, %s) select '%s' || i, '%s' || i, 'default', %s"
      .. " from generate_series(1, %d) i"):format(columns, name, name, values, many))
  end

  it("reads no run that waits, is performed or has ended, and takes the first that may be claimed", function()
    server.query "insert into skillrt.worker values ('w', '1 host time', 'x 1 1', clock_timestamp() + interval '1 hour')"
    add("ended", 3000, "status", "'completed'")
    add("asks", 3000, "status", "'paused'")
    add("sleeps", 3000, "status, due", "'paused', 99999999999999")
    add("held", 3000, "status, owner", "'executing', 'w'")
    local read, taken = read_by(20)
    assert.same({}, taken)
    assert.is_true(read < 100, ("20 claims read %d rows"):format(read))
    add("ready", 2, "status, prio", "'executing', i")
    add("due", 1, "status, due", "'paused', 1")
    server.query "insert into skillrt.inbox (run, key, text) values ('asks77', 'k', '')"
    read, taken = read_by(20)
    assert.same({ "ready2", "ready1", "asks77", "due1" }, taken)
    assert.is_true(read < 400, ("20 claims read %d rows"):format(read))
  end)

  it("is of a new lease where another process found that of the claimant expired", function()
    local queue = assert(core.claims(server.url, "default"))
    add("late", 2, "status, prio", "'executing', 100")
    assert.matches("/late1%?", assert(queue:take(1))[1])
    server.query "delete from skillrt.worker"
    assert(core.claims(server.url, "other")) -- behind a new connection the lease is looked at
    local urls = assert(queue:take(2))
    assert.matches("/late1%?", urls[1]) -- no process has it any more
    assert.matches("/late2%?", urls[2])
    server.query "update skillrt.run set status = 'completed' where run like 'late%'"
  end)

  it("finds what a process held whose lease has lapsed", function()
    server.query "update skillrt.worker set deadline = clock_timestamp() - interval '1 second'"
    server.query "update skillrt.run set status = 'completed' where run not like 'held%'"
    assert.matches("^held%d+$", take(1)[1])
    assert.equal(0, count "select count(*) from skillrt.run where owner = 'w'")
  end)
end)
