-- run/books/old.lua: journals written before there were calls: enough of them is understood to show them
-- and to go on where no step is open.
--
-- Part of books.lua, which alone calls it: the records `send` and `reply`.

local M = {}

function M.send(self, record)
  local step = self.steps[record.step]
  local call = { t = "call", c = tostring(record.x), kind = record.kind, to = record.to, key = record.key, at = record.at }
  require("skillrt.run.books").own(step, "calls")[call.c] = call
  step.retry_at = nil
end

function M.reply(self, record)
  self.steps[record.step].calls[tostring(record.x)] = nil
end

return M
