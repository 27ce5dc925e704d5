-- run/look.lua: the books of a run for whoever only looks: without its lock, from the newest record
-- of all the books on, so that it costs the same however long the run is.
--
-- Knows journal payloads by way of snapshot.lua. Called by the commands that show a run.

local core = require("skillrt.core")
local books_of = require("skillrt.run.books")
local snapshot = require("skillrt.run.snapshot")

local M = {}

---@param url string  of the run's store: its directory
---@return skillrt.Books|nil books
---@return string|table message_or_report  of core.read
---@return string? code
function M.books(url)
  local books, wishes = books_of.new(), { ending = snapshot.ENDING }
  local past = snapshot.new(books)
  local report, message, code = core.read(url, function(payload, seq)
    past:add(payload, seq, wishes.blob)
    past:apply()
    return true
  end, wishes)
  if not report then
    return nil, message, code
  elseif report.records == 0 then
    return nil, ("%s: holds no run: one was begun here, and ended before its first record"):format(url), "missing"
  end
  return books, report
end

return M
