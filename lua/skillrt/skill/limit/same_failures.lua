-- skill/limit/same_failures.lua: how often in a row an action may fail in the same way.
--
-- The books keep what its last failures had in common. Found by its name, by skill/limits.lua.

---@type skillrt.Limit
local M = { name = "same_failures", type = "positive", unit = "failures", status = "paused", reason = "same_failure",
  code = 15, text = "how often in a row an action may fail in the same way" }

local SIGNATURE <const> = 200

-- What failures of the same kind have in common: numbers are ignored.
local function signature(failure)
  return (("%s: %s"):format(failure.class, failure.message):gsub("%d+", "#"):sub(1, SIGNATURE))
end

---An action's attempt failed: how often in a row it did so in the same way.
---@param books skillrt.Books
---@param id string
---@param failure table  { class, message }
---@return integer
function M.count(books, id, failure)
  local sign = signature(failure)
  books.signatures = books.signatures or {}
  local known = books.signatures[id]
  if not known or known.told ~= sign then
    known = { told = sign, n = 0 }
    books.signatures[id] = known
  end
  known.n = known.n + 1
  return known.n
end

---Whether an action that fails now has reached its limit of equal failures.
function M.at_failure(bound, id, failure)
  local known = bound.books.signatures and bound.books.signatures[id]
  if bound.most > 1 and not known then
    return false
  end
  return (known and known.told == signature(failure) and known.n or 0) + 1 >= bound.most
end

return M
