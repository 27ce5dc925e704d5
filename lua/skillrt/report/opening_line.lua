-- report/opening_line.lua: the message about a run that was opened after it had stopped abnormally.
--
-- Called by the watchers.

local output = require("skillrt.report.output")

local M = {}

-- Other causes that may have shortened a file are unknown.
local TORN <const> = "the journal's last record was cut short: %d bytes were cut off and kept in %s; that is what a "
  .. "kill leaves, and no finished step is lost then; after other damage the steps reported last may be"
local DOUBTFUL <const> = "the journal's end is damaged: %d bytes were cut off and kept in %s; that is what a power cut "
  .. "leaves, and no finished step is lost then; after other damage the steps reported last may be"

---A message about a torn end or an unclean stop; nil: all was well.
---@param report table  of core.open
---@return string|nil text
---@return boolean cut
function M.text(report)
  if report.cut_bytes and report.cut_bytes > 0 then
    return (report.cut_doubtful and DOUBTFUL or TORN):format(report.cut_bytes, report.cut_file), true
  elseif report.unclean then
    return "the previous process did not close the run; resuming from its last record", false
  end
  return nil, false
end

---@param report table
---@param books skillrt.Ledger
---@param quiet boolean?
function M.tell(report, books, quiet)
  local text, cut = M.text(report)
  if text and (cut or not quiet) then
    output.say("warning", ("skillrt: run %s: %s"):format(books.run_id or "?", text))
  end
end

return M
