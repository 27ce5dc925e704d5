-- workflows.lua: workflow scripts in tests: a script's body, run in a folder of its own by agents of a few words.
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local M = {}

---What every script begins with.
M.META = "export const meta = { name: 'tried', description: 'a script of the tests' }\n"

---Of how many records a run is cut behind each.
M.EACH = os.getenv "SKILLRT_NIGHTLY" and 1 or 8

-- Answers with the last word of its prompt; `fail` in it fails, `{` is repeated as it is.
local AGENT = [[p=$(cat); echo x >> "$0.asked"; case "$p" in
  *fail*) exit 3;; *'{'*) printf %s "$p" | grep -o '{.*}' | head -1;; *) printf '%s' "${p##* }";; esac]]

function M.agent(folder)
  return { kind = "command", argv = { "sh", "-c", AGENT, folder .. "/agent" }, stdin = "{prompt}", idempotent = true }
end

---How often the agent of a folder was asked.
function M.asked(folder)
  return select(2, (R.exists(folder .. "/agent.asked") and R.read(folder .. "/agent.asked") or ""):gsub("x", ""))
end

---The skill of a script with this body.
function M.load(folder, body, options)
  R.write(folder .. "/tried.js", (options and options.meta or M.META) .. body)
  return skillrt.load(folder .. "/tried.js", { agent = M.agent(folder) })
end

---Runs a script's body; gives the result, the run's folder, and that of the script.
function M.run(body, options)
  local folder = R.folder()
  local skill = assert(M.load(folder, body, options))
  return assert(skill:run { work_dir = folder .. "/run", args = options and options.args,
    limits = options and options.limits }), folder .. "/run", folder
end

---What a script returned.
function M.value_of(body, options)
  local result = M.run(body, options)
  assert(result.status == "completed", result.message)
  return result.state.result
end

return M
