-- cli/command/history.lua: `skillrt history DIR`: the places of a run that one can return to. Takes no lock, changes
-- nothing.

local function line_of(point, iso)
  local text_of = require("skillrt.base.terminal_text")
  local what = point.name and ("checkpoint %s"):format(text_of.escape(point.name)) or point.what
  local about = point.id and point.name ~= point.id and (" " .. text_of.escape(point.id)) or ""
  local line = point.text and text_of.lines(point.text)[1]
  local text = point.text and ": " .. text_of.escape(line or "") or ""
  return ("%6d  %s  %s%s%s"):format(point.seq, iso(point.at), what, about, text)
end

return {
  name = "history",
  summary = "Lists the places of a run that you can show, roll back to, or fork from",
  description = "Each line starts with its SEQ: show, fork and diff take it as DIR@SEQ, rollback as --to SEQ; a "
    .. "checkpoint's name works in its place. `before` marks the place just before a call that must not be repeated.",
  arguments = { require("skillrt.cli.selection").RUN },
  options = {
    { name = "checkpoints", help = "lists only the checkpoints that the skill named" },
    { name = "json", help = "prints one JSON object per line, in the execution protocol's form of a checkpoint" },
  },
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local moment = require("skillrt.run.travel.moment")
    local output = require("skillrt.report.output")
    local iso = require("skillrt.base.instant").iso
    local ok, message, code = moment.points(args.dir, function(point, books)
      if point.name or not args.checkpoints then
        if args.json then
          output.write_json(moment.told(point, books))
        else
          output.write(line_of(point, iso) .. "\n")
        end
      end
    end)
    return ok and 0 or nil, message, code
  end,
}
