-- run/books/rounds.lua: what the books say of phases that go round: how often they did, and whether it is over.
--
-- Part of books.lua, which alone calls it: the record `rounds`. Which phases those are says the record.

local M = {}

---A further round begins, with its phases as if they had not run; or there is none.
---@param self skillrt.Books
---@param record table  { key, n, over?, phases?, inner?, left_out?, why? }
---@param time string  ISO 8601
function M.rounds(self, record, time)
  self.rounds = self.rounds or {}
  self.rounds[record.key] = { n = record.n, over = record.over }
  for _, key in ipairs(record.inner or {}) do
    self.rounds[key] = nil
  end
  for _, id in ipairs(record.phases or {}) do
    if not self.given_up[id] and not self.failed[id] then
      self.completed[id], self.skipped[id] = nil, nil
    end
  end
  for _, id in ipairs(record.left_out or {}) do
    self.skipped[id] = record.why
    self.state:append("phases_skipped", { id = id, reason = record.why, skipped_at = time })
  end
end

---Phases run again from one on: rounds that hold one of them are as if they had not begun.
---@param self skillrt.Books
---@param again table<string, boolean>
function M.rewind(self, again)
  for key in pairs(self.rounds or {}) do
    local first, last = key:match("^(.-) %.%. (.*)$")
    if again[first] or again[last] then
      self.rounds[key] = nil
    end
  end
end

return M
