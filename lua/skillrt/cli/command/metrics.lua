-- cli/command/metrics.lua: `skillrt metrics DIR|RUNS`: prints a run, or all runs of a folder, as Prometheus metrics.
--
-- Takes no lock. A run that cannot be read is reported on standard error and skipped.

local core = require("skillrt.core")

return {
  name = "metrics",
  summary = "Prints metrics of a run, or of all runs in a folder, in Prometheus' text format",
  description = "For node_exporter's textfile collector: skillrt metrics runs > DIR/skillrt.prom.",
  arguments = { { name = "DIR", optional = true, is_run = true,
    help = "the directory of a run, or a folder of runs; default: the project's last run" } },
  options = {},
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local ending = require("skillrt.cli.ending")
    local story_of = require("skillrt.run.story")
    local metrics = require("skillrt.report.metrics").new()
    local dirs = { args.dir }
    if not require("skillrt.run.store").at(args.dir):exists() then
      local list, message, code = require("skillrt.report.runs").of(args.dir)
      if not list or not list[1] then
        return nil, message or ("%s: contains no runs"):format(args.dir), code or "missing"
      end
      for i, one in ipairs(list) do
        dirs[i] = one.dir
      end
    end
    local taken = 0
    for _, dir in ipairs(dirs) do
      local story, message, code = story_of.read(dir)
      if story then
        metrics:add(story)
        taken = taken + 1
      elseif #dirs == 1 then
        return nil, message, code, dir
      else
        ending.complain(tostring(message))
      end
    end
    core.terminal.write(1, taken > 0 and metrics:text() or "")
    return 0
  end,
}
