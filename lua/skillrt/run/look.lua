-- run/look.lua: the books of a run for whoever only looks: without its lock, from the newest record
-- of all the books on, so that it costs the same however long the run is.
--
-- Knows journal payloads by way of snapshot.lua. Called by the commands that show a run.

local core = require("skillrt.core")
local books_of = require("skillrt.run.books")
local record_of = require("skillrt.run.record")
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

---The records behind those that were told, told now.
---@param url string
---@param told { next: integer }  the number of the first that was not; it goes on
---@param tell fun(record: table, seq: integer)
---@return table|nil report  of core.read
---@return string? message
---@return string? code
function M.behind(url, told, tell)
  local wishes = { from = told.next }
  return core.read(url, function(payload, seq)
    if seq >= told.next then
      local record, why, code = require("skillrt.base.record").decode(payload, wishes.blob)
      if not record then
        error({ message = ("%s: record %d: %s"):format(url, seq, why), code = code }, 0)
      end
      told.next = seq + 1
      record_of.each(record, tell, seq)
    end
    return true
  end, wishes)
end

return M
