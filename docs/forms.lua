-- forms.lua: what each command prints with --json: the one table from which `make schemas` writes
-- docs/schema/output.json (JSON Schema, $defs by command) and docs/reference/json.md.
--
-- A row is a field: its name ("!": it is always there), its type, what it is. A type is a word of LEAVES or words between
-- bars; "[x]" a list of it, "{x}" an object with values of it, "@name" another form of the table. What a form does not
-- list is not printed: tests/run/forms_spec.lua holds the output of each command against it.
local json = require "skillrt.base.json"

local M = {}

---What is said of a run, a step or a call; one word each, in JSON and in text.
local STANDING <const> = "running|interrupted|paused|completed|failed|aborted"

---@class docs.Form
---@field name string      of the command whose output it is, or of a part
---@field also string?     other commands with this output
---@field about string     a line
---@field open boolean?    its other fields are those of another page
---@field rows string      a field in each line

---@type docs.Form[]
M.LIST = {
  { name = "status", also = "list", about = "How a run is", rows = [[
work_dir! text: the run's directory, or its URL
run_id text: its id, as in the journal
skill text: its skill
mode text: sequential, autonomous, hybrid or machine
status ]] .. STANDING .. [[: what it does: `running`: a process advances it; `interrupted`: its process is gone
reason text: why it has this status
message text: more about it
limit text: the limit that it ended at
held_by @process: the process that advances it
started_at instant: when it began
updated_at instant: when its last record was written
steps whole: steps that have finished
iterations whole: how often an action was chosen
open [@step]: steps under way
completed_actions [text]: ids, in their order
phases_completed [text]: ids, in their order
errors whole: steps that failed for good
last_error @error: the last of them
retries whole: attempts after the first, of all steps and calls
state any: the state of a machine
metrics object: what a machine counts
tool_set text: the tool set in force
phases [text]: tool sets, as they were entered
limits [@used]: what of each limit is used
checkpoint text: where a rollback would lead
rollbacks whole: how often it was rolled back
question object: what is asked, of the first open question
questions [@question]: all open questions
arrived [@arrival]: events that no step waits for yet
inbox whole: answers and events that no process has taken
records whole: the number of the last record
edited any: state.json was edited by hand
prompts text: the folder with the prompts of agents
next text: the command to type next
problem text: why it cannot be read; then only `work_dir` is there, too]] },
  { name = "run", also = "resume, retry, abort, answer, skip, again, tell, adopt, compile", open = true,
    about = "One record of the journal per line, each with `run_id`, as `log --json`; the last line is the result", rows = [[
t! text: the type of the record; `result`: the last line
run_id! text: the run's id
at whole: when, in ms since 1970, UTC
status text: of a result: paused, completed, failed or aborted
reason text: why
message text: more about it
steps whole: steps that have finished
result any: what the run was asked for
used {number}: what agents used: tokens, dollars
failed [text]: of a result: what completed without these
agents any: of a workflow script: its agents
work_dir text: the run's directory
question object: what is asked, of the first open question
questions [@question]: all open questions
state object: of a run in memory: its state
exit_code whole: the exit code]] },
  { name = "log", open = true, about = "One record of the journal per line; `docs/inside/records.md` has the fields of each "
    .. "type", rows = [[
t! text: the type of the record
run_id! text: the run's id
at whole: when, in ms since 1970, UTC
changes [@change]: with --state: what a step changed]] },
  { name = "history", about = "A place in a run", rows = [[
run_id! text: the run's id
skill! text: its skill
seq! whole: the record's number: DIR@SEQ
name text: of a checkpoint
what! text: begun, resumed, done, before, checkpoint, stopped ...
text text: more about it
step whole: the step's number
id text: its action or phase
attempt whole: of the step
timestamp! instant: when
context! object: the context as it was
artifacts! [@artifact]: output files
digest! text: of the state]] },
  { name = "explain", about = "A choice", rows = [[
n whole: the iteration; missing: the next choice
seq whole: the record's number
at whole: when, in ms since 1970, UTC
sub text: the sub-run
id text: what was chosen
kind action|phase: what that is
reason text: why
state text: of a machine
skipped boolean: the phase was passed over
candidates! [@candidate]: what could have been chosen]] },
  { name = "du", about = "What a run takes on the disk, in bytes", rows = [[
work_dir! text: the run's directory
journal! whole: its journal
blobs! whole: large values
others! whole: all other files]] },
  { name = "check", about = "What is wrong with a skill", rows = [[
path! text: as it was named
findings! [@finding]: in their order
counts! {whole}: findings by level
states whole: states that were looked at
complete boolean: these are all]] },
  { name = "check_report", about = "With `check --report`: how complete a skill is", rows = [[
skill_name! text: its name
execution_mode! text: its mode
generated_at! instant: when
file_checks! object: total, existing, with_content, with_todos, details
content_checks! object: total, passed, details
scores! {whole}: by dimension, of 100
summary! object: status, score, issues, recommendations]] },
  { name = "plan", about = "The steps to a goal", rows = [[
steps! [text]: ids of actions, in their order
cost! number: the sum of their costs
states! whole: states that were looked at
begun whole: of a run: how many of them began
because text: of a run: why the plan before was left]] },
  { name = "replay", about = "Whether a run comes out the same", rows = [[
same! boolean: it does
steps! whole: that were replayed
calls! whole: that were answered from the recording
differences! [text]: between the states
notes! [text]: what limits the replay
divergence object: where it went another way: step, id, call, recorded, now, why, nearest
ended object: the step in which the recording ends: step, id
status text: of the replayed run
reason text: why]] },
  { name = "simulate", about = "What may happen in a run", rows = [[
least [text]: the shortest way that completes
most whole: steps of the longest way
rounds! boolean: it may go round until its limit
ends! {list}: by status, the shortest way there
worst! object: calls, tokens, dollars, and the limits of these
unknown! [text]: actions whose calls are not known
unmet! [text]: what never happens
states! whole: states that were looked at
complete! boolean: these are all]] },
  { name = "tokens", about = "What the tools of a skill cost in each request", rows = [[
skill! text: its name
sets! [@set]: all tools, then each set
model! text: the form of the request
written! whole: tools whose schema is not known
schemas text: the file of --schemas
tokenizer! text: how tokens are counted
calls {object}: of a run, by set: calls, absent]] },
  { name = "agents", about = "The agents on this machine", rows = [[
agents! [@agent]: programs, models and node
chosen any: the agent in force
sandbox! object: works, landlock, why]] },
  { name = "process", about = "A process that advances a run", rows = [[
pid whole: its number
host text: its machine
since text: when it began
start any: when the process began, as the kernel counts]] },
  { name = "step", about = "A step under way", rows = [[
step! whole: its number
sub text: the sub-run
skill text: of the sub-run
depth whole: of the sub-run
id! text: its action or phase
kind! action|phase: what that is
attempt! whole: the first is 1
stage! text: preparing, executing, validating; failed: it waits for its next attempt
started_at! instant: when it began
waits_for text: for people
agents! [@call]: agents that work
retry_at instant: when it is attempted again]] },
  { name = "call", about = "An agent that works", rows = [[
label! text: its label
model text: its model
at! whole: since when, in ms since 1970, UTC
words text: its place, and more]] },
  { name = "error", about = "An error", open = true, rows = [[
message! any: what happened
action text: whose
phase text: whose
class text: timeout, permanent ...
timestamp instant: when]] },
  { name = "used", about = "A limit", rows = [[
limit! text: as `--add` takes it
used! number: how much of it; of a time, seconds
most number: missing: nothing bounds it]] },
  { name = "question", about = "An open question", rows = [[
q! whole: its number, which `skillrt answer` takes
question! object: header, question, options, multiple, edit, default, approval
nonce text: for those who answer late
step whole: whose
id text: the action or phase of the step
asked_at instant: when
due instant: when it is given up]] },
  { name = "arrival", about = "An event", open = true, rows = [[
name! text: its name
at whole: when, in ms since 1970, UTC]] },
  { name = "change", about = "A value of the state that changed", rows = [[
path! text: where
from any: before; missing: there was none
to any: after; missing: it is gone]] },
  { name = "artifact", about = "An output file", rows = [[
path! text: in the run's directory
status! written|in-progress: whether it is there
by! text: the action or phase that wrote it
digest text: SHA-256 of its text]] },
  { name = "candidate", about = "What could have been chosen", rows = [[
id! text: its action or phase
priority! number: the highest first
index whole: as declared
could! boolean: it could have been chosen
chosen boolean: it was
clauses! [@clause]: its conditions
bars text: why it may not run whatever they say
needs [text]: what would have let it run]] },
  { name = "clause", about = "A part of a condition", rows = [[
text! text: as it is written
holds boolean: missing: a function, or it cannot be read
values text: what it was asked of]] },
  { name = "finding", about = "A finding", rows = [[
code! text: docs/reference/checks.md lists them
level! error|warning|note: how bad
file text: where
line whole: where
what! text: what is wrong
why text: why that matters
fix text: what to do
steps list: the way to it]] },
  { name = "set", about = "A tool set", rows = [[
name! text: its name
tools! whole: in it
bytes! whole: of their schemas
tokens! whole: about
prompt whole: bytes of the longest prompt
saved number: percent, against all tools]] },
  { name = "agent", about = "An agent", rows = [[
name! text: as `--agent` takes it
kind! program|model|runtime: what it is
found! boolean: it can be used
path text: of its program
url text: of its server
version text: of the program, or the model
keys [text]: variables that hold its key
key text: the one that is set]] },
}

local LEAVES <const> = {
  text = { type = "string" }, whole = { type = "integer", minimum = 0 }, number = { type = "number" },
  boolean = { type = "boolean" }, object = { type = "object" }, list = { type = "array" }, any = {},
  instant = { type = "string", pattern = "^[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T" },
}

local function schema_of(kind)
  local item, value, form = kind:match "^%[(.+)%]$", kind:match "^{(.+)}$", kind:match "^@(.+)$"
  if item then
    return { type = "array", items = schema_of(item) }
  elseif value then
    return { type = "object", additionalProperties = schema_of(value) }
  elseif form then
    return { ["$ref"] = "#/$defs/" .. form }
  elseif LEAVES[kind] then
    return LEAVES[kind]
  end
  local words = json.array {}
  for word in kind:gmatch "[^|]+" do words[#words + 1] = word end
  assert(words[2], "no type: " .. kind)
  return { enum = words }
end

-- The fields of a form: { name, needed, kind, text }.
local function rows_of(form)
  local rows = {}
  for line in form.rows:gmatch "[^\n]+" do
    local name, mark, kind, text = line:match "^([%w_]+)(!?) (%S-): (.+)$"
    rows[#rows + 1] = { name = assert(name, line), needed = mark == "!", kind = kind, text = text }
  end
  return rows
end

---The schema of all forms.
---@return table
function M.schema()
  local defs = {}
  for _, form in ipairs(M.LIST) do
    local properties, required = {}, json.array {}
    for _, row in ipairs(rows_of(form)) do
      local one = { description = row.text }
      for key, value in pairs(schema_of(row.kind)) do one[key] = value end
      properties[row.name] = one
      required[#required + 1] = row.needed and row.name or nil
    end
    defs[form.name] = { type = "object", description = form.about .. ".", properties = properties, required = required,
      additionalProperties = form.open and true or false }
    for name in (form.also or ""):gmatch "%w+" do
      defs[name] = { ["$ref"] = "#/$defs/" .. form.name }
    end
  end
  return { ["$schema"] = "https://json-schema.org/draft/2020-12/schema", ["$id"] = "urn:skillrt:schema:output",
    title = "output of --json", description = "A line that a command prints with --json: $defs has each command.",
    ["$defs"] = defs }
end

local function page()
  local out = { [[
# JSON

With `--json` a command prints one JSON object per line on standard output; messages for people go to standard error. The
schema of each command is `$defs/COMMAND` of [output.json](../schema/output.json). A field without "yes" may be missing; what
is missing is not `null`. `POST`s and `GET /runs/{id}` of [`skillrt serve`](../run/serve.md) give the form of `status`.

Written by `make schemas` from `docs/forms.lua`.
]] }
  for _, form in ipairs(M.LIST) do
    local also = {}
    for name in (form.also or ""):gmatch "%w+" do also[#also + 1] = (", `%s`"):format(name) end
    out[#out + 1] = ("## %s\n\n%s%s.%s\n\n| field | always | type | what it is |\n|---|---|---|---|"):format(form.name, form.about,
      #also > 0 and (" (`%s`%s)"):format(form.name, table.concat(also)) or "",
      form.open and " It may have more fields." or "")
    for _, row in ipairs(rows_of(form)) do
      out[#out + 1] = ("| `%s` | %s | `%s` | %s |"):format(row.name, row.needed and "yes" or "", row.kind:gsub("|", "\\|"),
        row.text)
    end
    out[#out] = out[#out] .. "\n"
  end
  return table.concat(out, "\n")
end

---The files as they have to be: path and text.
---@return table<string, string>
function M.pages()
  return { ["docs/schema/output.json"] = assert(json.encode(M.schema(), { sorted = true, indent = 2 })) .. "\n",
    ["docs/reference/json.md"] = page() }
end

if arg and arg[0] and arg[0]:find "docs/forms.lua$" then
  for path, text in pairs(M.pages()) do
    local file <close> = assert(io.open(path, "wb"))
    assert(file:write(text))
  end
end

return M
