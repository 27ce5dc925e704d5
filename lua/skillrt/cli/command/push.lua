-- cli/command/push.lua: `skillrt push DIR URL`: moves a run into a database.

return {
  name = "push",
  summary = "Moves a run from a directory into a PostgreSQL database",
  description = "The journal is copied to the byte, with its large values. Afterwards "
    .. "the run can be resumed only by its URL. Files that its steps wrote stay in DIR.",
  arguments = {
    { name = "DIR", help = "the directory of the run" },
    { name = "URL", help = "where it goes: postgres://USER@HOST/DATABASE, under its id, or DATABASE/NAME" },
  },
  options = {},
  ---@param args table
  ---@return integer code
  run = function(args)
    return require("skillrt.cli.moving").move(args.dir, args.url)
  end,
}
