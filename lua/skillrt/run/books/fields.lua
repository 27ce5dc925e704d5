-- run/books/fields.lua: the fields of a run's books, and the fields that the runtime writes into its state.
-- A new field is declared here; new books, snapshots, rollbacks and the table in docs/inside/architecture.md follow
-- from its row, and an undeclared one raises. Pure. Called by books.lua, snapshot.lua and record/rollback.lua.

local M = {}

---A row is { name, class, type, description, empty = its initial value, kept = false if snapshots leave it out }.
---position: where the run is; a rollback restores it.
---grows: identity, usage, arrivals, effects on the outside; a rollback does not change it.
---passes: what is under way, a recent answer or failure; a rollback clears it.
---apart: structures (steps, the state) that rollbacks and snapshots handle separately.
---@type { [1]: string, [2]: "position"|"grows"|"passes"|"apart", [3]: string, [4]: string, empty: any, kept: any }[]
M.ROWS = {
  { "runs", "position", "table", "how often each action or phase completed", empty = {} },
  { "completed", "position", "table", "which did at all", empty = {} },
  { "skipped", "position", "table", "which were left out, and why", empty = {} },
  { "failed", "position", "table", "which failed for good", empty = {} },
  { "outputs", "position", "table", "who wrote an output file", empty = {} },
  { "given_up", "position", "table", "what failed too often, and what follows", empty = {} },
  { "handlers", "position", "table", "who takes over next", empty = {} },
  { "returned", "position", "table", "what an action gave last", empty = {}, kept = false },
  { "last_failed", "position", "table?", "the step that failed last, until its action completes" },
  { "loop_end", "position", "table?", "how the loop of a hybrid run ended" },
  { "fatal", "position", "string?", "the action that ends the run by having failed" },
  { "history_most", "position", "integer?", "of a machine: entries of its history at most" },
  { "rounds", "position", "table?", "of repeating phases: how many rounds, and whether they have finished" },
  { "checkpoint", "position", "table?", "the newest one: name, step, at" },
  { "abort", "position", "table?", "that the run is being aborted: reason, message, left" },
  { "plan", "position", "table?", "the plan that is followed" },
  { "tool_set", "position", "string?", "the active one" },
  { "phases", "position", "table?", "results of the phases that were entered" },
  { "held", "position", "table?", "what failed steps have got, by action" },
  { "decided", "position", "table?", "what was decided about an action's call whose outcome is unknown" },
  { "run_id", "grows", "string?", "who the run is" },
  { "skill", "grows", "string?", "" },
  { "version", "grows", "string?", "" },
  { "mode", "grows", "string?", "" },
  { "input", "grows", "table?", "" },
  { "pins", "grows", "table", "digests of everything that decides", empty = {} },
  { "context_strategy", "grows", "string?", "" },
  { "started_at", "grows", "integer?", "UTC ms" },
  { "args", "grows", "table?", "" },
  { "cwd", "grows", "string?", "" },
  { "session", "grows", "table?", "what it was begun with" },
  { "contexts", "grows", "table?", "what it was given to know" },
  { "last_step", "grows", "integer", "the highest number of a step", empty = 0 },
  { "finished", "grows", "integer", "finished steps", empty = 0 },
  { "at", "grows", "integer", "UTC ms, of the last record", empty = 0 },
  { "status", "grows", "string", "pending executing completed failed aborted paused", empty = "pending" },
  { "reason", "grows", "string?", "" },
  { "message", "grows", "string?", "" },
  { "limit", "grows", "string?", "the full name of the limit that it ended at" },
  { "due", "grows", "integer?", "when the run resumes automatically" },
  { "spent", "grows", "table", 'how much of its limits is used: "calls", "usage.tokens"', empty = {} },
  { "spent_by", "grows", "table", "the same, of each action and phase", empty = {} },
  { "chosen", "grows", "table", "the state's progress when an action or phase began last", empty = {} },
  { "same", "grows", "table", "how often an action began in a state, by its fingerprint", empty = {} },
  { "added", "grows", "table?", "what was added to limits, by their full names" },
  { "bounds", "grows", "table?", "which limits hold: of skill/limits.lua" },
  { "active", "grows", "number?", "ms that it was open before it was opened last" },
  { "opened_at", "grows", "integer?", "UTC ms, when that was" },
  { "retries", "grows", "integer?", "" },
  { "free_errors", "grows", "integer?", "those that do not count for max_errors" },
  { "rollbacks", "grows", "integer?", "" },
  { "cuts", "grows", "table?", "files of what was cut off its journal" },
  { "arrivals", "grows", "table?", "ids of what came from outside" },
  { "arrived_count", "grows", "integer?", "" },
  { "events", "grows", "table?", "that no step has received yet, in a queue for each name" },
  { "events_count", "grows", "integer?", "" },
  { "asked", "grows", "integer?", "the highest number of a question" },
  { "waits", "grows", "integer?", "the highest number of a wait for an event" },
  { "schedule", "grows", "table?", "of a schedule: cron, due, the times whose runs begin, counts" },
  { "submitted", "grows", "boolean?", "workers perform it" },
  { "child_of", "grows", "table?", "the run whose step waits for it: run, depth" },
  { "undo", "grows", "table?", "steps that can be undone" },
  { "acted", "grows", "boolean?", "of a sub-run: something in it may have acted" },
  { "epochs", "grows", "table?", "the newest program of each session" },
  { "talking", "grows", "table?", "... while it runs" },
  { "said", "grows", "integer?", "the newest message to a session" },
  { "questions", "passes", "table?", "that are open, by number", kept = false },
  { "subs", "passes", "table?", "the books of sub-runs under way, by scope", kept = false },
  { "retrying", "passes", "string?", "the action or phase that is performed again" },
  { "permission", "passes", "string?", "... or a sub-run that had failed: it repeats what is harmless, or allowed" },
  { "answer", "passes", "any", "to the question of a mode" },
  { "answers", "passes", "table?", "... to each of its questions" },
  { "choice", "passes", "integer?", "the number of its question" },
  { "fruitless", "passes", "integer?", "how often it was resumed since a call or a step ended, or the run stopped" },
  { "damaged", "passes", "table?", "a step left the state as it must never be" },
  { "halt", "passes", "table?", "what ends or pauses the run: status, reason, message" },
  { "signatures", "passes", "table?", "how often an action failed in the same way" },
  { "doubtful", "passes", "boolean?", "steps that begin now may be among what was cut off its journal" },
  { "programs", "passes", "table?", "of sessions, that run" },
  { "outcome", "passes", "table?", "of a child: how it has ended, until its parent was told" },
  { "rolled", "passes", "integer?", "files are to be as they were behind this record" },
  { "state", "apart", "skillrt.State", "", kept = false },
  { "steps", "apart", "table", "those under way, by number, of all scopes", empty = {}, kept = false },
  { "open", "apart", "integer", "how many of this scope", empty = 0, kept = false },
  { "newest", "apart", "table", "the newest of each kind, of a list as they began", empty = {}, kept = false },
  { "sub", "apart", "string?", "of a sub-run: its scope" },
  { "parent", "apart", "integer?", "of a sub-run: the step whose call waits for it" },
}

---@class skillrt.Books
---@field state skillrt.State
---@field [string] any  as the rows say

local declared <const>, not_nil <const> = {}, {}
for _, row in ipairs(M.ROWS) do
  declared[row[1]] = row
  not_nil[row[1]] = row.empty
end
M.DECLARED = declared

-- An undeclared field would be lost by a snapshot and survive a rollback. Costs nothing where a field exists.
local Books <const> = { __newindex = function(books, name, value)
  if not declared[name] then
    error(("books: the field %q is not declared in run/books/fields.lua"):format(tostring(name)), 2)
  end
  rawset(books, name, value)
end }

---@return skillrt.Books
function M.new()
  local books = {}
  for name, empty in next, not_nil do
    books[name] = type(empty) == "table" and {} or empty
  end
  return setmetatable(books, Books)
end

-- The classes of fields, by their names.
local function classes(list)
  local of = {}
  for class, words in pairs(list) do
    for field in words:gmatch("%S+") do
      of[field] = class
    end
  end
  return of
end

---Fields of the state that the runtime writes; all others are the skill's own, and a position.
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
