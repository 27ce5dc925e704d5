-- report/closing.lua: one line about how a run ended, and the suggested next command.
--
-- The same words after a run and in `skillrt status`. Knows results, no terminal. Called by cli/ending.lua and
-- report/status.lua.

local names = require("skillrt.base.names")
local text_of = require("skillrt.base.terminal_text")

local M = {}

local MOST_FAILED <const> = 10

---@class skillrt.report.End
---@field status string
---@field reason string?
---@field questions table[]?
---@field limit string?        the limit it reached
---@field failed_step string?
---@field in_memory boolean?

-- The answer to the open questions, as a command line writes it: "retry|skip|fail", "3 VALUE".
local function answers(questions)
  local one = questions[1]
  local ids = {}
  for i, option in ipairs(one.question.options or {}) do
    ids[i] = tostring(option.id)
  end
  local words = (#ids == 0 or #ids > 6) and "VALUE" or table.concat(ids, "|")
  return #questions > 1 and ("%d %s"):format(one.q, words) or words
end

---The suggested next command, and why; nil: nothing is left to do.
---@param run skillrt.report.End
---@param dir string  as people name it here
---@return string|nil command  escaped
---@return string? why
function M.next(run, dir)
  local where = text_of.escape(text_of.shell(dir))
  if run.in_memory or run.reason == "store_lost" then
    return nil
  elseif run.questions and not run.limit then
    return ("skillrt answer %s %s"):format(where, text_of.escape(answers(run.questions))),
      #run.questions == 1 and "answers the question" or ("answers the first of %d questions"):format(#run.questions)
  elseif run.limit and run.limit ~= "max_errors" and run.limit ~= "same_failures" then -- a resume counts from zero
    return ("skillrt resume %s --add %s=NUMBER"):format(where, text_of.escape(text_of.shell(run.limit))),
      run.questions and "raises the limit; then answer the question" or "raises the limit and resumes"
  elseif run.status == "failed" and run.failed_step then
    return ("skillrt retry %s"):format(where),
      ("retries %s"):format(text_of.escape(run.failed_step))
  elseif run.reason == "agents_failed" then
    return ("skillrt resume %s"):format(where), "asks the agents again that gave no result"
  elseif run.status == "failed" then
    return ("skillrt log %s"):format(where), "shows what led to it"
  elseif run.status == "paused" and (run.reason == "blocked" or run.reason == "no_action_selected") then
    return ("skillrt resume %s --accept-changes"):format(where), "resumes after you fix the skill"
  elseif run.reason == "script_error" then
    return ("skillrt resume %s"):format(where), "resumes after you fix the script"
  elseif run.status == "completed" or run.status == "aborted" then
    return nil
  end
  local why = run.reason == "waiting_for_event" and "resumes once it has come; skillrt send sends it"
    or run.reason == "waiting_for_time" and "resumes once it is time; with --wait the process stays"
    or "resumes"
  return ("skillrt resume %s"):format(where), why
end

-- What a completed run did without.
local function without(result)
  local list = result.status == "completed" and result.failed or {}
  return list[1] and "; failed: " .. text_of.escape(names.listed(list, MOST_FAILED)) or ""
end

---"completed (task_completed): 3 steps in 0.4 s, in runs/a; failed: fetch"
---@param result skillrt.Result
---@param elapsed_ms number
---@param dir string
---@return string text  escaped
function M.line(result, elapsed_ms, dir)
  local steps = ("%d %s"):format(result.steps, result.steps == 1 and "step" or "steps")
  local where = result.in_memory and "nothing kept" or "in " .. text_of.escape(dir)
  return ("%s (%s): %s in %s, %s%s%s"):format(text_of.escape(tostring(result.status)),
    text_of.escape(tostring(result.reason)), steps, text_of.duration(elapsed_ms), where, M.at_limit(result),
    without(result))
end

---Which limit a run reached, where its reason does not name it: that of an action, or of a sub-run.
---@param run skillrt.report.End
---@return string text  escaped: "; limit fetch.calls", or nothing
function M.at_limit(run)
  return run.limit and run.limit:find("[./]") and ("; limit %s"):format(text_of.escape(run.limit)) or ""
end

---The colour of an end.
---@param status string
---@return "good"|"error"|"warning"
function M.kind(status)
  return status == "completed" and "good" or (status == "failed" or status == "aborted") and "error" or "warning"
end

return M
