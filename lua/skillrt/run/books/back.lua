-- run/books/back.lua: what the books forget when a person rolls a run back.
--
-- Called by record/retry.lua and record/rewind.lua.

local json = require("skillrt.base.json")

local M = {}

---A list without the removed rows.
---@param list any[]
---@param field string|nil  the field that identifies a row; nil: the row itself
---@param gone table<string, boolean>
---@return any[]
function M.without(list, field, gone)
  local kept = json.array({})
  for _, row in ipairs(list) do
    if not gone[field and row[field] or row] then
      kept[#kept + 1] = row
    end
  end
  return kept
end

---@param list string[]
---@return table<string, boolean>
function M.as_set(list)
  local set = {}
  for _, id in ipairs(list) do
    set[id] = true
  end
  return set
end

---Terminal actions count as never run.
---@param books skillrt.Books
---@param ids string[]|nil
function M.forget(books, ids)
  local forgotten = M.as_set(ids or {})
  for id in pairs(forgotten) do
    books.completed[id], books.failed[id], books.runs[id] = nil, nil, nil
  end
  if next(forgotten) then
    books.state:set("completed_actions", M.without(books.state.root.completed_actions, nil, forgotten))
  end
end

return M
