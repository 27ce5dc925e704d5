-- cli/command/report.lua: `skillrt report DIR --html FILE`: writes a run as a page for a browser.
--
-- Takes no lock, so it also works for a run under way.

local core = require("skillrt.core")

return {
  name = "report",
  summary = "Writes a page about a run: its steps and calls over time, its path, state and cost",
  description = "The page is one file that loads nothing else. Long texts are truncated.",
  arguments = { require("skillrt.cli.selection").RUN },
  options = {
    { name = "record", value = "LANGUAGE", choices = { "en", "zh" }, help = "prints the execution record instead "
      .. "and, for a failed run, the error report: en or zh" },
    { name = "html", value = "FILE", help = "the file to write; -: standard output; default: DIR/report.html" },
  },
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    if args.record then
      local records, story_of = require("skillrt.run.records"), require("skillrt.run.story")
      local story, why, cause = story_of.read(args.dir, nil, story_of.MOST)
      if not story then
        return nil, why, cause
      end
      local failed = story.status == "failed" or story.status == "aborted"
      core.terminal.write(1, records.record(story, args.record))
      core.terminal.write(1, failed and "\n" .. records.report(story, args.record, args.dir) or "")
      return 0
    end
    local html, message, code = require("skillrt.report.page").of(args.dir)
    if not html then
      return nil, message, code
    end
    local store = require("skillrt.run.store").at(args.dir)
    local path = args.html or store:make() and store:path("report.html")
    if path == "-" then
      core.terminal.write(1, html)
      return 0
    end
    local written, why, cause = require("skillrt.base.files").write(path, html)
    if not written then
      return nil, why, cause
    end
    local text_of = require("skillrt.base.terminal_text")
    require("skillrt.report.output").write(text_of.escape(path) .. "\n")
    return 0
  end,
}
