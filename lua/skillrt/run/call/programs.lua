-- run/call/programs.lua: programs that run for calls: noted in the journal with their group and start, so that a
-- resume ends what a dead process left of them before anything leaves again.
--
-- A short one is not noted: it would cost a flush, and ends with its process anyway. Knows the books; what finds a
-- program again is the core's (csrc/transport/leftover.h). Called by turn.lua, resume.lua.

local core = require("skillrt.core")

local M = {}

-- How long a program runs before it is noted.
local SHORT_MS <const> = 200

---The core says that a program runs.
---@param turn skillrt.Turn
---@param what skillrt.Call|skillrt.Errand  whose it is
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

---It has run for a while: it is noted, unless it is gone.
---@param calls skillrt.Calls
---@param what table
function M.rang(calls, what)
  local call = what.call
  if what.program.session or (call.number == what.number and call:is_awaited()) then
    calls:emit(call, what.program)
  end
end

-- What the books know of programs: of calls under way, and of sessions, which outlive theirs.
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

---Ends what is left of programs of a process that died.
---@param books skillrt.Books
---@return string[]|nil told  a line for each that was still running
---@return string? message  one cannot be ended
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
