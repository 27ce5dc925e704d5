-- run/books/fields.lua: what each field of a run's books is, and each that the runtime writes into its state: where
-- the run stands, what only grows, what passes.
--
-- A new field is declared here: what a rollback does with it follows from its class. Pure. Part of books.lua.

local M = {}

local function classes(list)
  local of = {}
  for class, words in pairs(list) do
    for field in words:gmatch("%S+") do
      of[field] = class
    end
  end
  return of
end

---Fields that begin as empty tables.
M.TABLES = {}
for field in ("runs outputs completed skipped failed pins spent spent_by chosen same given_up handlers returned")
  :gmatch("%S+") do
  M.TABLES[field] = true
end

---Of the books:
---position: where the run stands; a rollback sets it to what it was there.
---grows: who the run is, what it has spent, what came from outside, what it did in the world; a rollback leaves it.
---passes: of what is under way, of an answer or a failure just now; a rollback forgets it.
---apart: what is built of it (steps, the state); a rollback and a snapshot see to these by themselves.
---@type table<string, "position"|"grows"|"passes"|"apart">
M.BOOKS = classes({
  position = [[runs completed skipped failed outputs given_up handlers returned last_failed loop_end fatal history_most
    rounds checkpoint abort plan tool_set phases held decided]],
  grows = [[run_id skill version mode input pins context_strategy started_at args cwd session contexts
    last_step finished at status reason message limit due spent spent_by chosen same added bounds active opened_at
    retries free_errors rollbacks cuts arrivals arrived_count events events_count asked waits undo acted epochs talking
    said]],
  passes = "questions subs retrying stands answer answers choice damaged halt signatures programs rolled",
  apart = "state steps open newest sub parent",
})

---Of the state, what the runtime writes; all else in it is the skill's own, and a position.
---@type table<string, "position"|"grows">
M.STATE = classes({
  position = [[current_action current_phase completed_actions completed_at failed_at updated_at context outputs
    phases_completed phases_skipped]],
  grows = "skill_name run_id status started_at input errors error_count iteration_count",
})

---Of the state of a machine.
---@type table<string, "position"|"grows">
M.MACHINE = classes({ position = "state history error", grows = "metrics" })

return M
