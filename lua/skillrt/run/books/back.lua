-- run/books/back.lua: what the books forget when a person lets a run go back: a retry, phases run again.
--
-- Part of books.lua, which alone calls it: the records `retry` and `rewind`.

local failed = require("skillrt.run.books.failed")
local json = require("skillrt.base.json")
local rounds = require("skillrt.run.books.rounds")

local M = {}

local function without(list, field, gone)
  local kept = json.array({})
  for _, row in ipairs(list) do
    if not gone[field and row[field] or row] then
      kept[#kept + 1] = row
    end
  end
  return kept
end

local function as_set(list)
  local set = {}
  for _, id in ipairs(list) do
    set[id] = true
  end
  return set
end

-- Terminal actions are as if they never had run.
local function forget(self, ids)
  local forgotten = as_set(ids or {})
  for id in pairs(forgotten) do
    self.completed[id], self.failed[id], self.runs[id] = nil, nil, nil
  end
  if next(forgotten) then
    self.state:set("completed_actions", without(self.state.root.completed_actions, nil, forgotten))
  end
end

---A failed step is tried again: what stands in its way is forgotten.
---@param self skillrt.Books
---@param record table
---@param close_step fun(books: skillrt.Books, step: skillrt.Step, at: integer)
function M.retry(self, record, close_step)
  self.retrying, self.stands = record.action or record.phase, record.stands
  local is_error = not record.stands or self.failed[self.retrying] or self.given_up[self.retrying]
  if (self.free_errors or 0) > 0 and self.given_up[self.retrying] then
    self.free_errors = self.free_errors - 1
  end
  failed.forgive(self, self.retrying)
  if record.scratch then -- all that it had got, too
    for _, step in pairs(self.steps) do
      if step.id == self.retrying and step.sub == self.sub then
        close_step(self, step, record.at)
      end
    end
    if self.held then
      self.held[self.retrying] = nil
    end
  end
  if self.decided and not record.stands then
    self.decided[self.retrying] = nil -- a later decision
  end
  if record.action then
    self.loop_end = nil
  end
  forget(self, record.forget)
  if is_error then
    self.state:set("error_count", math.max(0, self.state.root.error_count - 1))
  end
end

---Phases run again, as if they never had.
---@param self skillrt.Books
---@param record table
---@param close_step fun(books: skillrt.Books, step: skillrt.Step, at: integer)
function M.rewind(self, record, close_step)
  local again = as_set(record.phases)
  for id in pairs(again) do
    self.completed[id] = nil
    if self.held then
      self.held[id] = nil
    end
    failed.forgive(self, id)
    self.state:replace("outputs", id, nil)
  end
  for file, id in pairs(self.outputs) do
    if again[id] then
      self.outputs[file] = nil
    end
  end
  for _, step in pairs(self.steps) do
    if again[step.id] and not step.sub then
      close_step(self, step, record.at)
    end
  end
  rounds.rewind(self, again)
  for _, list in ipairs({ "phases_completed", "phases_skipped" }) do
    self.state:set(list, without(self.state.root[list], "id", again))
  end
  if record.loop then
    self.loop_end = nil
  end
  forget(self, record.forget)
  if record.forgive then
    failed.forgive(self, record.forgive)
  end
end

return M
