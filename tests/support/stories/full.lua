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
}
