-- run/books/old.lua: journals written before there were calls: enough of them is understood to show them
-- and to go on where no step is open.
--
-- Part of books.lua, which alone calls it: the records `send` and `reply`.

local M = {}

function M.send(self, record)
  local step = self.steps[record.step]
  local place = tostring(record.x)
  require("skillrt.run.books").own(step, "calls")[place] = { c = place, kind = record.kind, to = record.to }
  step.retry_at = nil
end

function M.reply(self, record)
  self.steps[record.step].calls[tostring(record.x)] = nil
end

return M
