-- cli/command/fleet.lua: `skillrt fleet init URL`: prepares a PostgreSQL database for runs; pauses its queues.

-- What to do with a queue: whether it is paused afterwards.
local PAUSES <const> = { pause = true, resume = false }

return {
  name = "fleet",
  summary = "Prepares a PostgreSQL database for runs: skillrt fleet init postgres://USER@HOST/DATABASE; pauses queues",
  description = "init keeps what is there; repeat it once a year for the months to come. Then skillrt run SKILL "
    .. "--work-dir URL begins a run, URL/RUN. No worker takes runs from a paused queue; those under way "
    .. "continue. See docs/run/fleet.md.",
  arguments = {
    { name = "WHAT", choices = { "init", "pause", "resume" },
      help = "init: creates the tables that are missing; pause, resume: a queue" },
    { name = "URL", help = "the database: postgres://USER@HOST/DATABASE; its password belongs into ~/.pgpass; for a "
      .. "queue also a folder of runs" },
  },
  options = {
    { name = "check", help = "changes nothing; lists what is missing, and exits with 1 if anything is" },
    { name = "queue", value = "NAME", help = "which queue is paused or resumed; default: default" },
    { name = "lease", value = "SECONDS", help = "how long a silent process holds its runs; default: 15" },
  },
  ---@param args table
  ---@return integer code
  run = function(args)
    local core, ending = require("skillrt.core"), require("skillrt.cli.ending")
    if PAUSES[args.what] ~= nil then
      local ok, why, cause = core.pause(args.url, args.queue or "default", PAUSES[args.what])
      return ok and 0 or ending.refused(why, cause)
    end
    local lease = math.tointeger(tonumber(args.lease or 0))
    if args.what ~= "init" or not lease or args.lease and (lease < 1 or lease > 3600) then
      return ending.refused("fleet init URL, with --lease from 1 to 3600 seconds", "usage")
    end
    local missing, message, code = core.prepare(args.url, lease * 1000, args.check)
    if not missing then
      return ending.refused(message, code)
    end
    require("skillrt.report.output").write(missing == "" and "the database can hold runs\n" or missing)
    return args.check and missing ~= "" and 1 or 0
  end,
}
