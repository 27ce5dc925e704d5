-- cli/command/pull.lua: `skillrt pull URL DIR`: moves a run out of a database.

return {
  name = "pull",
  summary = "Moves a run from a PostgreSQL database into a directory",
  description = "The journal is copied to the byte, with its large values. Afterwards "
    .. "the run can be resumed only by its directory.",
  arguments = {
    { name = "URL", help = "the run: postgres://USER@HOST/DATABASE/RUN" },
    { name = "DIR", help = "where it goes; it must hold no run" },
  },
  options = {},
  ---@param args table
  ---@return integer code
  run = function(args)
    return require("skillrt.cli.moving").move(args.url, args.dir)
  end,
}
