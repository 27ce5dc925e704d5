-- skill/limit/poison.lua: how many processes in a row may die in a run before one of its calls or steps finishes.
--
-- Checked before a worker resumes a run: a process may die before it can decide anything, so the count must be right
-- then. Called by books.lua for each record after a resume; found by its name, by skill/limits.lua.

---@type skillrt.Limit
local M = { name = "poison", type = "positive", is_field = false, default = 3, unit = "processes", status = "paused",
  reason = "poison", text = "processes that end in a run before a call or a step of it does" }

---The pause reason of a run whose process died before it recorded anything: it is no end of its own.
M.DIED = "died"

local ADVANCES <const> = { done = true, result = true, fail = true, stop = true }

---A record was applied.
---@param books skillrt.Books  the run's
---@param record table
function M.count(books, record)
  if record.t == "resume" then
    books.fruitless = (books.fruitless or 0) + 1
  elseif ADVANCES[record.t] and record.reason ~= M.DIED then
    books.fruitless = nil
  end
end

---Whether the next process would be the last: it is to have no other run, which would be stopped with it.
---@param books skillrt.Books
---@return boolean
function M.is_suspect(books)
  return (books.fruitless or 0) >= M.default - 1
end

---Why no further process is started for a run.
---@param books skillrt.Books
---@return string|nil message
function M.reached(books)
  local count = books.fruitless or 0
  if count < M.default then
    return nil
  end
  local open = {}
  for _, step in pairs(books.steps) do
    open[#open + 1] = step.id
  end
  table.sort(open)
  local errors = books.state.root.errors
  local last = books.reason == M.DIED and { message = books.message } or errors[#errors]
  return ("%d processes ended in it, and no call or step did%s%s"):format(count,
    open[1] and "; in progress: " .. table.concat(open, ", ") or "",
    last and "; last error: " .. tostring(last.message) or "")
end

return M
