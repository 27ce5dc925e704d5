-- run/books/moments.lua: checkpoints that a skill names, and what the books of a run become when it goes back to an
-- earlier place, or begins from another run's.
--
-- Part of books.lua, which alone calls it: the records `checkpoint` and `rollback`. What was spent stays spent.

local failed = require("skillrt.run.books.failed")
local fields = require("skillrt.run.books.fields")
local spent = require("skillrt.run.books.spent")
local state_of = require("skillrt.skill.state")
local under_way = require("skillrt.run.books.under_way")

local M = {}

---The record that takes a run back to where books stood.
---@param books skillrt.Books  as they were there
---@return table record  without `to`
function M.record(books)
  local position = {}
  for field, class in pairs(fields.BOOKS) do
    position[field] = class == "position" and books[field] or nil
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
end

-- Every key becomes what it was, also those that are gone now; but for what has happened, which is not undone.
local function restore_state(self, wanted)
  local present, of_machine = self.state.root, self.mode == "machine" and fields.MACHINE or {}
  local function grows(key)
    return (fields.STATE[key] or of_machine[key]) == "grows"
  end
  for key in pairs(state_of.copy(present)) do
    if wanted[key] == nil and not grows(key) then
      self.state:set(key, nil)
    end
  end
  for key, value in pairs(wanted) do
    if not grows(key) then
      self.state:set(key, state_of.copy(value))
    end
  end
end

---The run stands again where it stood; with `from` it is another run's place. What becomes of what says fields.lua.
---@param self skillrt.Books
---@param record table
---@param close_step fun(books: skillrt.Books, step: skillrt.Step, at: integer)
function M.rollback(self, record, close_step)
  give_up_steps(self, record, close_step)
  for field, class in pairs(fields.BOOKS) do
    if class == "position" then
      self[field] = state_of.copy(record.position[field] or fields.TABLES[field] and {} or nil)
    elseif class == "passes" then
      self[field] = nil
    end
  end
  restore_state(self, record.state)
  if record.set then
    self.state:patch(record.set)
  end
  self.state:set("current_action", nil)
  self.state:set("current_phase", nil)
  self.rollbacks = (self.rollbacks or 0) + 1
  self.rolled = (record.files or record.aside) and record.to
end

return M
