-- cli/exit_codes.lua: the table of exit codes, and the code of each end of a run.
--
-- skill/limit/ has those of limits. --help and the manual show them; `make limits` writes those of the systemd unit.

local limits = require("skillrt.skill.limits")

local M = {}

---@class skillrt.ExitCode
---@field code integer
---@field name string
---@field text string
---@field of_all boolean?  commands that drive no run have it, too
---@field refuses boolean?  the process has not performed its run, and would not at once, either
---@field service "success"|"again"|nil  for a service: not a failure; worth a restart; nil: it waits for a person

---@type skillrt.ExitCode[]
M.TABLE = {
  { code = 0, name = "completed", of_all = true, service = "again",
    text = "the run completed, or the command succeeded" },
  { code = 1, name = "failed", text = "the run failed" },
  { code = 2, name = "usage", of_all = true, refuses = true,
    text = "nothing was done: wrong usage, an invalid script or an unusable directory" },
  { code = 3, name = "person", service = "success", text = "paused: waits for a person's answer or decision" },
  { code = 4, name = "aborted", text = "the run was aborted" },
  { code = 5, name = "paused", text = "paused for another reason, such as a blocked run or a full disk" },
  { code = 6, name = "busy", of_all = true, text = "another process is advancing the run" },
  { code = 7, name = "damaged", of_all = true, refuses = true,
    text = "the journal is damaged or has a newer format, or a receipt does not hold" },
  { code = 8, name = "changed", of_all = true, refuses = true,
    text = "refused: the script, a prompt, a strategy or state.json changed, or code needs approval" },
  { code = 9, name = "answered",
    text = "the answer was not accepted: the question already has one, or is no longer open" },
  { code = 70, name = "internal", of_all = true, refuses = true, service = "again",
    text = "an internal error of skillrt" },
  { code = 74, name = "output", of_all = true, service = "again",
    text = "success, but not all of the output could be written" },
  { code = 129, name = "hung_up", service = "success",
    text = "stopped by SIGHUP; skillrt resume resumes the run" },
  { code = 130, name = "interrupted", service = "success",
    text = "stopped by SIGINT; skillrt resume resumes the run" },
  { code = 143, name = "terminated", service = "success",
    text = "stopped by SIGTERM; skillrt resume resumes the run" },
}

for _, row in ipairs(M.TABLE) do
  M[row.name] = row.code
end

local KILLED <const> = 137

---Whether a process that ended with this code has not performed its run, and would not at once, either.
---@param code integer
---@return boolean
function M.refuses(code)
  for _, row in ipairs(M.TABLE) do
    if row.code == code then
      return row.refuses == true
    end
  end
  return code == KILLED
end

-- Codes of single limits go between those below and those above.
local function add_limits()
  local place = 1
  while M.TABLE[place].code < 10 do
    place = place + 1
  end
  for _, row in ipairs(limits.by_code()) do
    local text = ("paused at the limit %s"):format(row.name)
    table.insert(M.TABLE, place, { code = row.code, name = row.reason, text = text })
    place = place + 1
  end
end
add_limits()

local BY_STATUS = { completed = M.completed, failed = M.failed, aborted = M.aborted, paused = M.paused }

local BY_ERROR = { busy = M.busy, corrupt = M.damaged, newer = M.damaged, edited = M.changed, changed = M.changed,
  answered = M.answered,
  stopped = M.interrupted }

---The code of a run that has ended; main.c changes 130 to 129 or 143 after SIGHUP or SIGTERM.
---@param result skillrt.Result
---@return integer
function M.of_result(result)
  if result.interrupted then
    return M.interrupted
  end
  local limit = result.status == "paused" and limits.ended_by(result.reason) -- until it is raised, no answer helps
  if limit and limits.code(limit) then
    return limits.code(limit)
  end
  return result.status == "paused" and result.question and M.person or BY_STATUS[result.status] or M.paused
end

---The code of a run that could not be opened.
---@param code string|nil  of the error
---@return integer
function M.of_error(code)
  return BY_ERROR[code] or M.usage
end

return M
