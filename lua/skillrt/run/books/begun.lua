-- run/books/begun.lua: the steps under way of each kind in the order they began, for "the current action".
--
-- Part of books.lua, which alone calls it: what is over goes when it is met at the end.

local M = {}

-- The numbers of a kind's steps as they began.
local function begun_of(self, kind)
  local begun = self.begun[kind] or {}
  if not self.begun[kind] then -- books that were read back
    for number, step in pairs(self.steps) do
      begun[#begun + 1] = step.kind == kind and number or nil
    end
    table.sort(begun)
    self.begun[kind] = begun
  end
  return begun
end

---A step of a kind began.
---@param self skillrt.Books
---@param kind "action"|"phase"
---@param number integer
function M.note(self, kind, number)
  local begun = begun_of(self, kind)
  if #begun > 2 * self.open + 16 then
    self.begun[kind] = nil
    begun = begun_of(self, kind)
  end
  if begun[#begun] ~= number then
    begun[#begun + 1] = number
  end
end

---The step of a kind that began last and is under way.
---@param self skillrt.Books
---@param kind "action"|"phase"
---@return skillrt.Step|nil
function M.latest(self, kind)
  local begun = begun_of(self, kind)
  for i = #begun, 1, -1 do
    local step = self.steps[begun[i]]
    if step then
      return step
    end
    begun[i] = nil
  end
end

return M
