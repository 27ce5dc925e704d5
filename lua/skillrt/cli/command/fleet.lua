-- cli/command/fleet.lua: `skillrt fleet init URL`: makes a PostgreSQL database fit to hold runs.

return {
  name = "fleet",
  summary = "Prepares a PostgreSQL database for runs: skillrt fleet init postgres://USER@HOST/DATABASE",
  description = "What is there stays, so it can be repeated: once a year, it adds the months to come. A run is then "
    .. "begun by skillrt run SKILL --work-dir URL, and named URL/RUN. See docs/run/fleet.md.",
  arguments = {
    { name = "WHAT", choices = { "init" }, help = "init: creates the tables that are missing" },
    { name = "URL", help = "the database: postgres://USER@HOST/DATABASE; its password belongs into ~/.pgpass" },
  },
  options = {
    { name = "check", help = "changes nothing; lists what is missing, and exits with 1 if anything is" },
    { name = "lease", value = "SECONDS", help = "how long a silent process holds its runs; default: 15" },
  },
  ---@param args table
  ---@return integer code
  run = function(args)
    local core, ending = require("skillrt.core"), require("skillrt.cli.ending")
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
