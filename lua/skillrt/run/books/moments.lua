-- run/books/moments.lua: checkpoints that a skill names, and what the books of a run become when it goes back to an
-- earlier place, or begins from another run's.
--
-- Part of books.lua, which alone calls it: the records `checkpoint` and `rollback`. What was spent stays spent.

local failed = require("skillrt.run.books.failed")
local spent = require("skillrt.run.books.spent")
local state_of = require("skillrt.skill.state")
local under_way = require("skillrt.run.books.under_way")

local M = {}

-- Where a run stands: what a rollback takes from the place it goes back to. All else of the books only grows.
local TABLES <const> = { "runs", "completed", "skipped", "failed", "outputs", "given_up", "handlers", "returned" }
local MAYBE <const> = { "last_failed", "loop_end", "fatal", "history_most", "checkpoint" }

-- What the state keeps of the time since: what has happened is not undone, nor is it free.
-- And who it is stays.
local GROWS <const> = { run_id = true, skill_name = true, started_at = true, input = true, errors = true,
  error_count = true, iteration_count = true, status = true, metrics = true }

---The record that takes a run back to where books stood.
---@param books skillrt.Books  as they were there
---@return table record  without `to`
function M.record(books)
  local position = {}
  for _, fields in ipairs({ TABLES, MAYBE }) do
    for _, field in ipairs(fields) do
      position[field] = books[field]
    end
  end
  return { t = "rollback", position = position, state = books.state.root }
end

---A skill names the place where it stands.
---@param self skillrt.Books
---@param record table
function M.checkpoint(self, record)
  self.checkpoint = { name = record.name or record.checkpoint, step = record.step, at = record.at }
end

---A step left the state in a way that the skill says it must never be.
---@param self skillrt.Books   of the run or sub-run that the step belongs to
---@param whole skillrt.Books  the run's
---@param step skillrt.Step
---@param record table
---@param time string
function M.damaged(self, whole, step, record, time)
  whole.damaged = { id = step.id, broken = record.damaged }
  spent.add(self, step.id, "max_errors", 1)
  failed.note(self, step, { class = "state_damaged" }, table.concat(record.damaged, "; "), time)
end

-- Steps under way, also those of sub-runs, are as if they had not begun.
local function give_up_steps(self, record, close_step)
  local list = {}
  for _, step in pairs(self.steps) do
    list[#list + 1] = step
  end
  table.sort(list, function(a, b) return a.number > b.number end)
  for _, step in ipairs(list) do
    if step.sub then
      under_way.remove(self.subs[step.sub], step)
    else
      close_step(self, step, record.at)
    end
  end
  self.subs, self.questions = nil, nil
end

-- Every key becomes what it was, also those that are gone now.
local function restore_state(self, wanted)
  local present = self.state.root
  for key in pairs(state_of.copy(present)) do
    if wanted[key] == nil and not GROWS[key] then
      self.state:set(key, nil)
    end
  end
  for key, value in pairs(wanted) do
    if not GROWS[key] then
      self.state:set(key, state_of.copy(value))
    end
  end
end

---The run stands again where it stood; with `from` it is another run's place.
---@param self skillrt.Books
---@param record table
---@param close_step fun(books: skillrt.Books, step: skillrt.Step, at: integer)
function M.rollback(self, record, close_step)
  give_up_steps(self, record, close_step)
  for _, field in ipairs(TABLES) do
    self[field] = state_of.copy(record.position[field] or {})
  end
  for _, field in ipairs(MAYBE) do
    self[field] = state_of.copy(record.position[field])
  end
  self.retrying, self.answer, self.answers, self.choice = nil, nil, nil, nil
  self.damaged = nil
  restore_state(self, record.state)
  if record.set then
    self.state:patch(record.set)
  end
  self.state:set("current_action", nil)
  self.state:set("current_phase", nil)
  self.rollbacks = (self.rollbacks or 0) + 1
end

return M
