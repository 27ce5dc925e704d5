-- document/check/taken.lua: why the findings of the config's reader and of the loader matter, and what to do,
-- where they do not say it themselves.
--
-- Called by found.lua; shown in docs/checks.md.
local codes = require "skillrt.document.check.codes"

local M = {}

---@type table<string, { why: string, fix: string }>
M.TOLD = {}

local function told(code, why, fix)
  M.TOLD["config." .. code] = { why = why, fix = fix }
end

told("choice", "a word that is not known decides nothing", "write one of the words that are named")
told("count", "one of the two is out of date", "correct the count, or leave it out")
told("cycle", "actions that wait for each other never run", "let one of them start without the others")
told("description", "hosts refuse or cut a longer one", "shorten it; details belong into the body")
told("duplicate-field", "the second declaration is lost", "remove one")
told("duplicate-id", "two things with one id cannot be told apart in a run's records", "rename one")
told("duplicate-path", "the second entry is lost", "remove one")
told("empty", "there is nothing to run", "declare at least one")
told("field", "conditions could not name it", "use letters, digits and _")
told("id", "ids become file names and keys", "use letters, digits, '.', '_' and '-'")
told("input", "the phase fails before it starts: its input never exists", "name an output of a phase above")
told("machine", "the table leads to where nothing is", "correct the transition table")
told("machine-way", "a run stops there, goes round for ever, or never comes there", "add a row, a limit or a way")
told("missing", "nothing can be made without it", "write it")
told("moved-key", "other readers of the config look for it in its new place", "move it there")
told("name", "the name becomes a folder's and a run's", "use small letters, digits and single hyphens")
told("order", "phases would run in another order than meant", "name every phase once, and the loop")
told("output", "one of the two would overwrite the other", "choose another name")
told("path", "a file outside its folder could be read or written", "name a file below the skill's folder")
told("refused", "the folder is written, and a run of it is refused", "correct what cannot be read")
told("type", "a value of another type cannot be used", "write a value of the type that is named")
told("unknown-action", "what waits for it never runs", "declare the action, or correct its name")
told("unknown-key", "nothing reads it", "correct its name, remove it, or begin it with x_")
told("unknown-termination", "an end that nothing decides never comes", "use a known reason or a field of the state")
told("unused", "it is left out of the run", "remove it, or change the execution mode")

-- For findings of the loader that only say what is the case.
M.BY_LEVEL = {
  error = { why = "what cannot be read cannot be run", fix = "mend the place that is named" },
  warning = { why = "it is read otherwise than it may be meant", fix = "write it as the documentation says" },
  note = { why = "it changes nothing in a run", fix = "nothing has to be done" },
}

---@param finding { code: string, level: string, why: string?, fix: string? }
function M.fill(finding)
  local known = M.TOLD[finding.code] or codes.CODES[finding.code] or M.BY_LEVEL[finding.level]
  finding.why, finding.fix = finding.why or known.why, finding.fix or known.fix
end

return M
