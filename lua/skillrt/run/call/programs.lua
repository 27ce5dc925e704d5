-- run/call/programs.lua: programs that run for calls: recorded with their group and start time, so that a resume ends
-- what a dead process left running before it sends anything.
--
-- A short-lived program is not recorded: that would cost a flush, and it ends with its process anyway. Knows the
-- books; the core finds a program again (csrc/transport/leftover.h). Called by turn.lua, resume.lua.

local core = require("skillrt.core")

local M = {}

-- How long a program runs before it is recorded.
local SHORT_MS <const> = 200

---The core reports that a program runs.
---@param turn skillrt.Turn
---@param what skillrt.Call|skillrt.Errand  the call or errand it belongs to
---@param text string     "<pid> <start>"
function M.started(turn, what, text)
  local pid, start = text:match("^(%d+) (%S+)$")
  if pid then
    turn.calls.due:put(core.mono_ms() + SHORT_MS, {
      program = { t = "program", pid = math.tointeger(tonumber(pid)), since = start,
        session = what.session and what.session.name },
      call = what.session and what.session.starter or what,
      number = what.number,
    })
  end
end

---It has run for a while: records it, unless it has ended.
---@param calls skillrt.Calls
---@param what table
function M.rang(calls, what)
  local call = what.call
  if what.program.session or (call.number == what.number and call:is_awaited()) then
    calls:emit(call, what.program)
  end
end

-- The programs in the books: those of calls under way, and those of sessions, which outlive their calls.
local function noted(books)
  local list = {}
  for _, step in pairs(books.steps) do
    for _, call in pairs(step.calls) do
      list[#list + 1] = call.program
    end
  end
  for _, program in pairs(books.programs or {}) do
    list[#list + 1] = program
  end
  table.sort(list, function(a, b)
    return a.pid < b.pid
  end)
  return list
end

---Ends programs that a dead process left running.
---@param books skillrt.Books
---@return string[]|nil told  a line for each that was still running
---@return string? message  one of them cannot be ended
function M.end_left(books)
  local told, programs = {}, noted(books)
  if not programs[1] then
    return told
  end
  local found, message = core.end_leftovers(programs)
  for i, program in ipairs(found and programs or {}) do
    told[#told + 1] = found[i]
      and ("program %d was left running by a process that died; it was ended"):format(program.pid) or nil
  end
  return found and told, message
end

return M
