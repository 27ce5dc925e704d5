-- cli/command/show.lua: `skillrt show DIR@PLACE`: a run as it was after one of its records. Takes no lock, changes
-- nothing.

return {
  name = "show",
  summary = "Prints a run's state at a place in its history, as JSON",
  arguments = { { name = "PLACE", help = "DIR@SEQ or DIR@NAME: a place that `skillrt history DIR` lists" } },
  options = {},
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local moment = require("skillrt.run.travel.moment")
    local dir, place = moment.split(args.place)
    if not place then
      return nil, ("%s: name a place: %s@SEQ, or %s@NAME of a checkpoint"):format(dir, dir, dir), "usage"
    end
    local books, seq, code = moment.at(dir, place)
    if not books then
      return nil, seq, code, dir
    end
    local point = { seq = seq, at = books.at, name = not tonumber(place) and place or nil, step = books.last_step }
    local told = moment.told(point, books)
    told.context, told.state = nil, require("skillrt.run.views").state(books)
    require("skillrt.report.output").write(assert(require("skillrt.core").json.encode(told, { indent = 2 })) .. "\n")
    return 0
  end,
}
