-- run/damage.lua: what happens to a run whose state a check found damaged: it is rolled back to its last checkpoint
-- and paused there; without a checkpoint it fails (R86).
--
-- Called by turn.lua, when nothing is under way any more; the record is made in `load`, because the old state must be
-- read.

local child = require("skillrt.run.call.kind.child")
local moment = require("skillrt.run.travel.moment")

local M = {}

---The result of the run for now.
---@param turn skillrt.Turn
---@return string status
---@return string reason
---@return string message
function M.verdict(turn)
  local books = turn.books
  local damaged, kept = books.damaged, books.checkpoint
  local text = ("%s damaged the state: %s"):format(damaged.id, table.concat(damaged.broken, "; "))
  if turn.run.keeps_nothing or not kept then
    return "failed", "state_damaged", text .. "; there is no checkpoint to roll back to"
  end
  return "paused", "rolled_back", ("%s; the run was rolled back to the checkpoint %s"):format(text, kept.name)
end

---The record that rolls the run back.
---@param turn skillrt.Turn
---@return table record
---@return string[] children  that the run waits for at that place
function M.record(turn)
  local store, name = turn.run.store, turn.books.checkpoint.name
  local dir = store.place
  local there, seq, code = moment.at(dir, name)
  if not there then
    error({ message = seq, code = code }, 0)
  end
  local record = moment.rollback(there)
  record.to, record.name = seq, name
  local rolled_files = require("skillrt.run.travel.rolled_files")
  rolled_files.tell(record, rolled_files.plan(dir, seq) or {}) -- they are written when the run is resumed
  rolled_files.tell_outputs(record, store, turn.books, there)
  return record, child.open(there)
end

return M
