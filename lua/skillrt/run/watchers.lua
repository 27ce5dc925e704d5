-- run/watchers.lua: all watchers of a run, as one watcher that cannot raise into it.
--
-- An error of a watcher is reported once on standard error, and that watcher gets nothing more; the run and the other
-- watchers continue. Knows what a watcher is (run/journal.lua), none of them. Called by runner.lua.

local fatal = require("skillrt.base.fatal")

local M = {}

local HEARD <const> = { "observe", "flush", "forget", "progress", "tick", "opened", "closed" }

-- The types of records that no watcher shows.
local function dull_to_all(list)
  local dull = list[1].dull
  for i = 2, #list do
    local kept = {}
    for kind in pairs(dull or {}) do
      kept[kind] = (list[i].dull or {})[kind]
    end
    dull = kept
  end
  return dull
end

-- Calls a method of a watcher. Errors that stop the run itself are passed on.
local function hear(watcher, name, ...)
  local method = watcher[name]
  if not method or watcher.dropped then
    return
  end
  local ok, problem = pcall(method, ...)
  if not ok then
    fatal.pass_on(problem)
    watcher.dropped = tostring(problem)
    io.stderr:write("skillrt: what shows this run failed, and shows no more of it: ", watcher.dropped,
      "\nskillrt: the run itself is not affected\n")
  end
end

---@param given table|table[]|nil  a watcher, or several: the first shows the run to people
---@return table|nil watcher
function M.of(given)
  local list = given and given.observe and { given } or given
  if not (list and list[1]) then
    return nil
  end
  local self = { dull = dull_to_all(list) }
  for _, name in ipairs(HEARD) do
    for _, watcher in ipairs(list) do
      self[name] = self[name] or watcher[name] and function(...)
        for i = 1, #list do
          hear(list[i], name, ...)
        end
      end
    end
  end
  return self
end

return M
