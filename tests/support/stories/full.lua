-- full.lua: stories of runs with agents, workflow scripts and damage; see transcripts.lua.
-- luacheck: no max line length

-- An agent that answers by a word in its task.
local AGENT <const> = [[#!/bin/sh
task=$(cat)
part=$(printf '%s' "$task" | sed -n '/^.ACTION\|^.PHASE/,/^.RETURN/p')
case ${part:-$task} in
*rubbish*) echo 'I have done it all.' ;;
*keyless*) echo 'no key here' >&2; exit 9 ;;
*busy*) echo 'come back later' >&2; exit 75 ;;
*needs*) echo '{"status":"needs_context","question":"Which file?"}' ;;
*fails*) echo '{"status":"failed","error":"it is broken","retryable":false}' ;;
*concerned*) echo '{"status":"done_with_concerns","concerns":["the tests are slow"],"stateUpdates":{"made":1},"summary":"made"}' ;;
*) echo '{"status":"completed","stateUpdates":{"made":1},"output":{"text":"well"},"summary":"it is made"}' ;;
esac
]]

return {
  { "agents that err, ask and refuse", [[
! chmod +x agent
run s.lua --agent ./agent --work-dir r
status r
log r
explain r
answer r notes.md
status r
history r
retry r --step fail --quiet
check s.lua
prompt s.lua rubbish
simulate s.lua
run s.lua --agent ./agent --dry-run --work-dir dry
]], [[
local skillrt = require "skillrt"
local function step(id, more)
  local one = { id = id, agent = "default", prompt = id .. " it now", max_runs = 1, max_retries = 1, on_error = "skip" }
  for key, value in pairs(more or {}) do one[key] = value end
  return one
end
return skillrt.skill { name = "asks", strategy = "sequential", retry = { base = 0.001 }, state = { made = 0 },
  agents = { default = skillrt.chosen_agent() or skillrt.agent.command { "true" } },
  actions = { step "make", step("rubbish", { output = "rubbish.md" }), step("busy", { idempotent = true }), step "keyless", step "concerned",
    step "fail", step "needs" } }
]], { agent = AGENT } },
  { "a workflow script", [[
! chmod +x agent
check w.js
plan w.js
graph w.js --format text
simulate w.js
run w.js --agent ./agent --work-dir r --trust -- apples
status r
explain r
graph r --format text
graph r --format mermaid
state r
replay r
resume r
run w.js --agent ./agent --work-dir p --trust --print -- pears
run bad.js --agent ./agent --trust
check bad.js
]], nil, { agent = AGENT, ["w.js"] = [[
export const meta = { name: 'w', description: 'Makes things', phases: [{ title: 'Make' }, { title: 'Judge' }] }
phase('Make')
const made = []
for (const item of [`make ${args}`, 'rubbish', 'fails']) made.push(await agent(item, { label: item }))
log('made', made.filter(Boolean).length)
phase('Judge')
const judged = await parallel([() => agent('judge them', { label: 'judge', schema: { type: 'object', required: ['status'] } })])
return { made, judged, left: budget.remaining() > 0 }
]], ["bad.js"] = "export const meta = { name: 'bad', description: 'd' }\nawait agent('x', { isolation: 'remote' })\nreturn nothing.at.all\n" } },
  { "a folder in prose", [[
! chmod +x agent
check f
check f --json
check f --report
run f --agent ./agent --work-dir r -- write
status r
explain r
history r
graph f --format text
graph f --format mermaid
simulate f
plan f
! chmod +x compiler
compile f --agent ./compiler --work-dir c
status c
answer c write
check f
run f --agent ./agent --work-dir r2 --set deep:=true -- write
compile f --agent ./compiler
compile f --agent ./agent
prompt f 01-plan
]], nil, { agent = AGENT, ["f/SKILL.md"] = [[
---
name: f
description: Writes a text. Use it for texts.
allowed-tools: Read, Write, Fly
colour: green
---
# F

| Phase | Document | Purpose |
|---|---|---|
| 1 | phases/01-plan.md | plans |
| 2 | phases/02-write.md | writes |
| 3 | phases/03-review.md | reviews |

Skip phase 3 unless it has to be deep.
Repeat phase 2 until the text is good.
See [the rules](rules.md).
]], ["f/phases/01-plan.md"] = "# Phase 1: Plan\n\nPlan it. TODO: more\n", ["f/phases/02-write.md"] = "# Phase 2: Write\n\nWrite it.\n",
    ["f/phases/03-review.md"] = "# Phase 3: Review\n\nReview it.\n",
    compiler = [[#!/bin/sh
cat >/dev/null
echo '{"statements":[{"lines":[1],"says":"only_if","phases":["03-review"],"condition":"input.deep"},{"lines":[2],"says":"nothing"}]}'
]] } },
  { "files that are damaged", [[
run hello.lua --work-dir r --quiet
! cp -r r a; cp -r r b; cp -r r c
! printf 'J1 rubbish' >>a/journal/00000001.sj
status a
resume a
log a
! sed -i 's/Grace/Gracy/' b/journal/00000001.sj
status b
log b
recover b
recover b --cut
status b
resume b --quiet
! rm c/journal/00000001.sj
status c
list .
list . --json
recover r
! mkdir d; echo x >d/run.lock
status d
]] },
  { "a script that changes", [[
run s.lua --work-dir r --quiet
! sed -i 's/"Which?"/"Which one?"/; s/n = 1/n = 2/' s.lua
answer r red
resume r
resume r --accept-changes
resume r --accept-changes --yes
status r
log r
diff r@1 r
! echo 'return nil +' >s.lua
resume r
fork r@2 --out f
! rm s.lua
status f
resume f
resume f --script t.lua
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "changes", state = {}, actions = { { id = "a", max_runs = 1, run = function(_, ctx)
  local n = ctx.once("one", function() return { n = 1 } end)
  return { n = n.n, said = ctx.ask { question = "Which?", options = { "red", "blue" } } }
end } } }
]] },
  { "strategies, routes and ends", [[
run s.lua --work-dir r
explain r
run s.lua --strategy mine.lua --work-dir m
explain m
run s.lua --strategy idle.lua --work-dir i
run s.lua --strategy none.lua
run s.lua --strategy broken.lua --work-dir b
run s.lua --strategy sequential --work-dir q --quiet
explain q --at 2
check s.lua
]], [[
return require "skillrt".skill { name = "ends", state = { n = 0, score = 7 }, limits = { max_iterations = 9 },
  terminate = { { when = "n > 2 && score < 9", status = "failed", reason = "gave_up" } },
  actions = { { id = "add", priority = 1, run = function(s) return { n = s.n + 1 } end },
    { id = "sub", priority = 1, when = "n > 1", run = function(s) return { n = s.n - 1 } end } } }
]], { ["mine.lua"] = "return function(candidates) return candidates[#candidates].id, 'the last comes first' end\n",
      ["idle.lua"] = "return function() return nil, 'it is too early' end\n",
      ["broken.lua"] = "return function() return { id = 'nobody' } end\n" } },
  { "receipts", [[
run hello.lua --work-dir r --quiet
receipt r > r.receipt
verify r.receipt
verify r.receipt r
! head -c 900 r.receipt >half
verify half
! printf x >>r.receipt
verify r.receipt
! sed -i 's/Ada/Eve/' r/journal/00000001.sj
receipt r
]] },
  { "contexts", [[
context s.lua
context s.lua --session talk
run s.lua --work-dir r --session talk
status r
context s.lua --session talk
run s.lua --work-dir r2 --session ../talk
! rm style.md
run s.lua --work-dir r3
check s.lua
]], [[
return require "skillrt".skill { name = "knows", context = { global = { "style.md", { file = "gone.md", optional = true } },
  session = "talk" }, actions = { { id = "a", max_runs = 1, run = function(_, ctx)
    ctx.log((ctx.context.global and "knows" or "knows not") .. " its style")
    return {}
  end } } }
]], { ["style.md"] = "Be brief.\n" } },
  { "a page by section", [[
! chmod +x agent
check s
run s --agent ./agent --by-section --work-dir r -- the cat
status r
log r
explain r
prompt s
run s --agent ./agent --work-dir whole -- the cat
run s
]], nil, { agent = AGENT, ["s/SKILL.md"] = [[
---
name: s
description: Looks and mends. Use it for cats.
model: opus
hooks: { Stop: [] }
---
# S

## Step 1: Look
Look for $ARGUMENTS.

## Step 2: Mend
Mend $1, see @notes.md and ${CLAUDE_EFFORT}.
]], ["s/notes.md"] = "A note.\n" } },
  { "people decide", [[
run s.lua --work-dir r
status r
answer r perhaps
answer r approve
answer r 1,4
answer r 1,3
answer r --file words
answer r --every retry
answer r
log r
explain r
history r
run s.lua --work-dir n --quiet
list . --waiting
answer n deny
status n
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "people", interaction = "interactive", limits = { max_retries = 0 }, state = {}, actions = {
  { id = "acts", priority = 3, max_runs = 1, run = function(_, ctx)
      local reply, why, class = ctx.await { kind = "command", argv = { "echo", "done" } }
      return { said = reply and reply.stdout or why, class = class }
    end },
  { id = "asks", priority = 2, max_runs = 1, run = function(_, ctx)
      local many = ctx.ask { header = "Many", question = "Which?", multiple = true, options = { "a", "b", "c" } }
      local text = ctx.ask { question = "What is new?", edit = "Nothing." }
      local late, why, class = ctx.ask { question = "Still there?", timeout = 0.01 }
      local given = ctx.ask { question = "Or so?", options = { "x", "y" }, timeout = 0.01, default = "y" }
      return { many = many, text = text, late = late, why = why, class = class, given = given }
    end } } }
]], { words = "All of it.\nTwo lines.\n" } },
  { "outcomes that nobody knows", [[
run s.lua --work-dir r
status r
explain r
answer r perhaps
answer r skip
status r
log r
! rm -f once
run s.lua --work-dir f --quiet
answer f fail
retry f --step acts
retry f --step acts --from-scratch
history f
! rm -f once
run s.lua --work-dir t --quiet
answer t retry
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "unsure", limits = { max_errors = 1, max_retries = 0 }, state = {}, actions = {
  { id = "acts", max_runs = 1, run = function(_, ctx)
      local reply, why, class = ctx.await { kind = "command", argv = { "sh", "-c", "[ -e once ] && exit; touch once; sleep 9" },
        timeout = 1 }
      return { said = reply and reply.code, why = why, class = class }
    end } } }
]] },
  { "records for people", [[
run s.lua --work-dir r
! cat r/execution-record.md r/error-report.md | sed 's/[0-9-]* [0-9][0-9]:[0-9][0-9]\(:[0-9][0-9]\)*/DATE/; s/[0-9][0-9]:[0-9][0-9]:[0-9][0-9]/TIME/g'
! sed 's/records = "en"/records = "zh"/' s.lua >z.lua
run z.lua --work-dir z
! cat z/execution-record.md z/error-report.md | sed 's/[0-9-]* [0-9][0-9]:[0-9][0-9]\(:[0-9][0-9]\)*/DATE/; s/[0-9][0-9]:[0-9][0-9]:[0-9][0-9]/TIME/g'
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "told", records = "en", limits = { max_errors = 1, max_retries = 0 },
  state = {}, actions = { { id = "well", priority = 1, max_runs = 1, run = function() return { well = true } end },
    { id = "badly", run = function() return nil, "it broke", "permanent" end } } }
]] },
  { "tool sets", [[
! cp EXAMPLES/tool_sets/* .
check agent.yml
tokens agent.yml
tokens agent.yml --schemas schemas.json
tokens agent.yml --schemas schemas.json --json
tokens agent.yml --schemas gone.json
graph agent.yml --format text
! sed -i 's/name: repair/name: analysis/; s/description: All tools/descripton: All/' agent.yml
check agent.yml
]] },
  { "by their names", [[
! chmod +x agent; mkdir -p .claude/skills/mends .claude/commands .claude/agents; mv SKILL.md .claude/skills/mends; mv say.md .claude/commands; mv judge.md .claude/agents
run
run mends --agent ./agent --work-dir r -- it
run say --agent ./agent --work-dir c -- it now
run judge --agent ./agent --work-dir a -- it
run mend --agent ./agent
check mends
check say
check judge
prompt say -- one two
prompt judge -- it
graph mends --format text
]], nil, { agent = AGENT, ["SKILL.md"] = "---\nname: mends\ndescription: Mends things.\n---\n# Mend\nMend $ARGUMENTS.\n",
    ["say.md"] = "---\ndescription: Says things\nargument-hint: [word]\n---\nSay $1 and $ARGUMENTS, then $2.\n",
    ["judge.md"] = "---\nname: judge\ndescription: Judges\ntools: Read, Grep\nmodel: opus\n---\nJudge it.\n" } },
  { "what was used, and agents in a chain", [[
! chmod +x first second
run s.lua --work-dir r
status r
log r
resume r --add usage.tokens=500
status r --json
]], [[
local skillrt = require "skillrt"
local function program(name) return skillrt.agent.command { name, stdin = "{prompt}", parse = "json" } end
return skillrt.skill { name = "uses", limits = { usage = { tokens = 100 }, max_retries = 0 }, state = {},
  agents = { both = skillrt.agent.chain { program "./first", program "./second" } },
  actions = { { id = "one", agent = "both", priority = 2, max_runs = 1 }, { id = "two", agent = "both", max_runs = 1 } } }
]], { first = "#!/bin/sh\ncat >/dev/null; echo '{\"error\":\"too many requests\",\"class\":\"rate_limit\"}'; exit 1\n",
      second = "#!/bin/sh\ncat >/dev/null; echo '{\"status\":\"done\",\"stateUpdates\":{\"a\":1},\"used\":{\"tokens\":120,\"dollars\":0.5}}'\n" } },
  { "a config", [[
! chmod +x agent
check skill-config.json
plan skill-config.json
simulate skill-config.json
graph skill-config.json --format text
run skill-config.json --agent ./agent --work-dir r
status r
explain r
log r
generate skill-config.json --out made
generate skill-config.json --out made --dry-run
! sed -i 's/It finds/It looks for/' made/SKILL.md; sed -i 's/It finds/It sees/; s/"priority": 2/"priorty": 2/' skill-config.json
check skill-config.json
generate skill-config.json --out made
generate skill-config.json --out made --force --quiet
! sed -i 's/"action-find"/"action-look"/; s/mad > 0/mad >/' skill-config.json
check skill-config.json
simulate skill-config.json
run skill-config.json
generate skill-config.json --out made
]], nil, { agent = AGENT, ["skill-config.json"] = [[
{ "skill_name": "finder", "display_name": "Finder", "description": "It finds things. Use it to find.", "execution_mode": "autonomous",
  "autonomous_config": {
    "state_schema": { "fields": [{ "name": "made", "type": "number", "description": "how many" }, { "name": "found", "type": "boolean", "description": "whether it is found" }] },
    "termination_conditions": ["made > 0 && found"],
    "actions": [
      { "id": "action-look", "name": "Look", "purpose": "looks", "priority": 2, "effects": ["made=1"] },
      { "id": "action-find", "name": "Find", "purpose": "finds", "preconditions": ["made > 0"], "effects": ["found"] } ] },
  "allowed_tools": ["Read", "Wirte"], "x_skillrt": { "limits": { "calls": 4 } } }
]] } },
  { "a server of runs", [[
! mkdir -p skills/asks skills/hello; cp s.lua skills/asks/skill.lua; cp hello.lua skills/hello/skill.lua
run skills/hello --trust --work-dir runs/hello --quiet
run skills/asks --trust --work-dir runs/ask --quiet
run skills/asks --work-dir runs/fails --set fails=yes --quiet
GET /skills
GET /runs
GET /runs?status=paused
GET /runs?status=nothing
GET /runs?limit=1
GET /runs?limit=x
GET /runs/hello
GET /runs/hello/files
GET /runs/ask
GET /runs/ask/files
GET /runs/ask/files?path=notes.md
GET /runs/ask/files?path=../s.lua
GET /runs/ask/files?path=gone.md
GET /runs/none
GET /runs/hello/nothing
GET /nothing
PUT /runs
POST /runs/ask/answer {"question":1,"value":"green"}
POST /runs/ask/answer {"value":"blue","question":7}
POST /runs/ask/answer {}
POST /runs/ask/answer [1]
POST /runs/ask/answer {"value":
POST /runs/ask/answer {"valeu":"blue"}
POST /runs/ask/answer {"question":1,"value":"blue"}
UNTIL ask completed
GET /runs/ask
GET /runs/ask/files
GET /runs/ask/files?path=notes.md
POST /runs/ask/answer {"question":1,"value":"blue"}
POST /runs/ask/resume {}
POST /runs/ask/retry {}
POST /runs/ask/stop {}
POST /runs/ask/abort {}
POST /runs/ask/send {"event":"go"}
POST /runs/ask/tell {"agent":"a","text":"m"}
POST /runs/ask/tell {"agent":"a","text":""}
POST /runs/ask/tell {"agent":"","text":"m"}
POST /runs/fails/retry {"step":"other"}
POST /runs/fails/resume {"add":{"calls":"x"}}
POST /runs/fails/resume {"add":{"nothing":3}}
POST /runs/fails/rollback {"to":"nowhere"}
POST /runs/hello/rollback {"to":4}
GET /runs/hello
POST /runs/hello/fork {"at":3}
POST /runs/hello/fork {"at":"x"}
POST /runs {"skill":"nothing"}
POST /runs {"skill":"asks","input":{"whom":1}}
POST /runs {"skill":"asks","limits":{"calls":"x"}}
POST /runs {}
POST /hooks/ask/go {}
GET /answer/ask/1/x
HEADER Content-Type text/plain
POST /runs {"skill":"asks"}
HEADER Idempotency-Key ]] .. ("k"):rep(300) .. [[

POST /runs/fails/resume {}
HEADER Idempotency-Key one
POST /runs/fails/fork {"at":"gone"}
HEADER Idempotency-Key one
POST /runs/fails/fork {"at":"gone"}
HEADER Idempotency-Key one
POST /runs/fails/fork {"at":"other"}
HEADER Last-Event-ID x
GET /runs/ask/events
HEADER Last-Event-ID -1
GET /runs/ask/events
HEADER Origin http://evil.example
GET /runs
POST /runs/fails/send {"event":"a b"}
POST /runs/fails/send {"event":"go"}
POST /runs/hello/send {"event":"go"}
POST /runs/fails/skip {"agent":"x"}
POST /runs/fails/again {"agent":"x"}
POST /runs/fails/abort {"x":1}
GET /runs/none/events
GET /runs/fails/log
GET /runs?skill=asks&limit=1
GET /runs?status=failed,paused
GET /runs?after=x
DELETE /runs/fails
HEAD /runs/fails
GET /openapi.json
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "asks", description = "Asks a colour.", limits = { max_errors = 1, max_retries = 0 },
  inputs = { fails = { type = "string", default = "" } }, phases = {
  { id = "ask", output = "notes.md", run = function(_, ctx)
      if ctx.input.fails ~= "" then return nil, "it broke", "permanent" end
      return "It is " .. ctx.ask { question = "Which?", options = { "red", "blue" } }
    end } } }
]] },
}
