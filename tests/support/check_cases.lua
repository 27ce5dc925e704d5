-- check_cases.lua: for every code of skillrt check a skill that has the fault and one that has not.
--
-- `bad` and `good` are a definition, or a folder: { ["path"] = "text" }. `example` is what the row
-- of docs/reference/checks.md shows. Used by check_codes_spec.lua.

local cases = {}

local function case(code, example, bad, good)
  cases[code] = { example = example, bad = bad, good = good }
end

local function skill(actions, more)
  local definition = { name = "case", agents = { worker = { kind = "command", argv = { "true" } } },
    actions = actions }
  for _, action in ipairs(actions) do
    action.agent = action.agent or "worker"
  end
  for key, value in pairs(more or {}) do
    definition[key] = value
  end
  return definition
end

local function one(when, more)
  return skill({ { id = "scan", when = when } }, more)
end

local function phases(...)
  local list = { ... }
  for _, phase in ipairs(list) do
    phase.agent = "worker"
  end
  return { name = "case", agents = { worker = { kind = "command", argv = { "true" } } }, phases = list }
end

local HEAD = "---\nname: case\ndescription: Does a thing\nallowed-tools: Read, Write\n---\n# Case\n\nDoes it.\n"

local function action_file(more)
  return "# Action: Scan\n\nReads the files.\n\n## Preconditions\n\n- [ ] `status === 'pending'`\n\n" .. (more or "")
end

local function folder(more)
  local files = { ["SKILL.md"] = HEAD, ["phases/actions/action-scan.md"] = action_file() }
  for path, text in pairs(more or {}) do
    files[path] = text
  end
  return files
end

local CONFIG = [[{ "skill_name": "case", "description": "Does a thing", "execution_mode": "autonomous",
  "autonomous_config": { "actions": [ { "id": "action-scan" } ] }, "allowed_tools": ["Read"]%s }]]

local function config(more, files)
  local all = folder { ["skill-config.json"] = CONFIG:format(more or "") }
  for path, text in pairs(files or {}) do
    all[path] = text
  end
  return all
end

case("skill.invalid", "agents missing, unknown fields: what the skill's constructor refuses",
  { name = "case", actions = { { id = "a", wehn = "x" } } }, one())

local function script(body, meta)
  return { script = ("export const meta = { name: 'case', description: 'd'%s }\n%s\n"):format(meta or "", body) }
end
case("workflow.script", "Unexpected token '='", script "const b = = 2", script "return 1")
case("workflow.schema", "the schema of judge: schema: type must be one of ...",
  script "await agent('x', { label: 'judge', schema: { type: 'nothing' } })",
  script "await agent('x', { label: 'judge', schema: { type: 'object' } })")
case("workflow.reference", "ReferenceError: fils is not defined",
  script "return await parallel([() => fils.length])", script "return await parallel([() => 1])")
case("workflow.option", "agent: the option lable is not known and has no effect; did you mean label?",
  script "await agent('x', { lable: 'judge' })", script "await agent('x', { label: 'judge' })")
case("workflow.refused", "isolation: 'remote' is not supported: 'worktree' is, on this machine",
  script "await agent('x', { isolation: 'remote' })", script "await agent('x')")
case("workflow.phase", 'phase "Judge" is not among those of meta',
  script("phase('Judge')", ", phases: [{ title: 'Scan' }]"),
  script("phase('Scan')", ", phases: [{ title: 'Scan' }]"))
case("workflow.throws", "TypeError: Cannot read properties of undefined",
  script "return args.files.length", script "return args?.files")

case("condition.syntax", "`files.length >`", one("files.length >"),
  one("files.length > 0", { state = { files = {} } }))
case("condition.never", "`n > 3 && false`", one("n > 3 && false", { state = { n = 0 } }),
  one("n > 1 && n < 3", { state = { n = 2 } }))
case("condition.always", "`1 < 2`", one("1 < 2"), one("n < 2", { state = { n = 0 } }))
case("effect.syntax", "`files are read`", skill { { id = "scan", effects = { "files are == read ==" } } },
  skill { { id = "scan", effects = { "files.length>0" } } })
case("key.undeclared", "`reviewed` in no state, schema or effect", one("!reviewed"),
  one("!reviewed", { state = { reviewed = false } }))
case("reference.action", "`completed_actions.includes('scna')`",
  skill { { id = "scan" }, { id = "report", when = "completed_actions.includes('scna')" } },
  skill { { id = "scan" }, { id = "report", when = "completed_actions.includes('scan')" } })
case("reference.phase", "`outputs['02-plan'].ok` without a phase 02-plan",
  phases({ id = "01-read" }, { id = "03-write", when = "outputs['02-plan'].ok" }),
  phases({ id = "01-read" }, { id = "03-write", when = "outputs['01-read'].ok" }))
case("reference.file", 'prompt = "prompts/scan.md", which is not there',
  skill { { id = "scan", prompt = "prompts/no-such-file.md" } }, skill { { id = "scan", prompt = "Read the files" } })
case("reference.template", '"templates": [{ "path": "templates/report.md" }]',
  config ', "templates": [{ "path": "templates/report.md", "purpose": "p" }]',
  config(', "templates": [{ "path": "templates/report.md", "purpose": "p" }]',
    { ["templates/report.md"] = "# Report {{x}}\n" }))
case("reference.tool", "`AskUserQuestion(...)` in an action's code, but not in allowed-tools",
  folder { ["phases/actions/action-scan.md"] = action_file "```javascript\nconst a = AskUserQuestion({})\n```\n" },
  folder { ["phases/actions/action-scan.md"] = action_file "```javascript\nconst a = Read('x')\n```\n" })
case("reference.tool-set", '"x_skillrt": { "actions": { "scan": { "tool_set": "analyse" } } } without such a set',
  config ', "x_skillrt": { "actions": { "action-scan": { "tool_set": "analyse" } } }',
  config(', "x_skillrt": { "actions": { "action-scan": { "tool_set": "a" } },'
    .. ' "skills": [{ "name": "a", "tools": ["Read"] }] }'))
case("reference.strategy", 'strategy = "prioritty"', one(nil, { strategy = "prioritty" }),
  one(nil, { strategy = "sequential" }))
case("reference.orphan", "phases/actions/action-old.md, which the config does not declare",
  config("", { ["phases/actions/action-old.md"] = action_file() }), config())

case("input.skippable", "a phase needs `b.json`, whose phase has a condition of its own",
  phases({ id = "01-a", output = "a.json" }, { id = "02-b", output = "b.json", when = "outputs['01-a'].ok" },
    { id = "03-c", input = { "b.json" } }),
  phases({ id = "01-a", output = "a.json" }, { id = "02-b", output = "b.json" },
    { id = "03-c", input = { "b.json" } }))
case("output.twice", "two phases with output = \"report.md\"",
  phases({ id = "01-a", output = "r.md" }, { id = "02-b", output = "r.md" }),
  phases({ id = "01-a", output = "r.md" }, { id = "02-b", output = "s.md" }))

local STATES <const> = { "idle", "gathered", "work", "checked", "completed", "failed", "waiting" }

-- A skill whose script says its table: rows of action, from, to, condition and limit.
local function machine(...)
  local made = { name = "case", mode = "machine", actions = {} }
  made.machine = { initial = "idle", states = {}, edges = {} }
  local seen = {}
  for _, row in ipairs { ... } do
    table.insert(made.machine.edges, { action = row[1], from = row[2], to = row[3], when = row[4], max_runs = row[5] })
    made.actions[#made.actions + 1] = not seen[row[1]] and { id = row[1], run = print } or nil
    seen[row[1]], seen["in " .. row[2]], seen["in " .. row[3]] = true, true, true
  end
  for _, name in ipairs(STATES) do
    made.machine.states[#made.machine.states + 1] = seen["in " .. name] and { name = name } or nil
  end
  return { skill = made }
end
local function moves(...)
  return machine({ "gather", "idle", "gathered" }, { "prepare", "gathered", "work" },
    { "run", "work", "checked", nil, 3 },
    { "give_up", "work", "failed", "tired" }, { "verify", "checked", "completed" }, ...)
end
local GOOD = moves()
-- The same, with routes.
local function routed(routes)
  return { skill = { name = "case", machine = { initial = "idle", states = { { name = "idle" }, { name = "work" },
    { name = "completed" }, { name = "failed" } }, edges = { { action = "gather", from = "idle", to = "work" },
    { action = "finish", from = "work", to = "completed" }, { action = "give_up", from = "work", to = "failed" } },
    routes = routes }, mode = "machine", actions = { { id = "gather", run = print }, { id = "finish", run = print },
    { id = "give_up", run = print } } } }
end
local ROUTED = routed { idle = { "gather" }, work = { { action = "finish", when = "done" }, "give_up" } }
case("machine.forbidden", '`routes = { work = { "gather" } }`, an edge from `idle` only',
  routed { idle = { "gather" }, work = { "gather", "finish", "give_up" } }, ROUTED)
case("machine.unreachable", "a state `waiting` to which no action leads",
  moves { "wake", "waiting", "work", nil, 2 }, GOOD)
case("machine.no-route", "routes that say nothing of `work`, which is left by `finish`",
  routed { idle = { "gather" } }, ROUTED)
case("machine.never-routed", "`give_up` is an edge and no route names it",
  routed { idle = { "gather" }, work = { "finish" } }, ROUTED)
case("machine.unregistered", '`routes = { work = { "complete" } }` without such an edge',
  routed { idle = { "gather" }, work = { "complete" } }, ROUTED)
case("machine.no-failure", "states up to `completed`, none called failed or aborted",
  machine({ "gather", "idle", "work" }, { "finish", "work", "completed" }), GOOD)
case("machine.loop", "`rest` leads from `work` back to `gathered`",
  moves { "rest", "work", "gathered", "tired" }, GOOD)
case("machine.shadowed", "`give_up` leaves `checked`, behind `finish`, which needs nothing",
  moves { "give_up", "checked", "failed" },
  machine({ "verify", "idle", "completed", "done" }, { "give_up", "idle", "failed" }))
case("machine.leaves-end", "a row from `completed` to `work`",
  moves { "reopen", "completed", "work" }, GOOD)
case("machine.ambiguous", "`verify` leads from `checked` to `completed` or `work`, and no column says when",
  moves { "verify", "checked", "gathered", nil, 2 }, GOOD)

case("prompt.placeholder", "`# Review {{target}}`",
  folder { ["phases/actions/action-scan.md"] = "# Review {{target}}\n\nReviews.\n" },
  folder { ["phases/actions/action-scan.md"] = "# Review\n\nReview {{target}}.\n" })
case("prompt.todo", "`TODO: describe the steps`",
  folder { ["phases/actions/action-scan.md"] = action_file "TODO: describe the steps\n" },
  folder { ["phases/actions/action-scan.md"] = action_file "Count the words TODO and FIXME.\n" })
case("prompt.empty", "a document of headings only",
  folder { ["phases/actions/action-scan.md"] = "# Action: Scan\n" }, config())
case("spec.empty", "a spec of headings only",
  config(', "specs": [{ "path": "specs/rules.md", "purpose": "p" }]', { ["specs/rules.md"] = "# Rules\n" }),
  config(', "specs": [{ "path": "specs/rules.md", "purpose": "p" }]',
    { ["specs/rules.md"] = "# Rules\n\nBe brief.\n" }))

case("reach.never", "`stage === 'checked'`, and effects make it `'read'` only",
  skill({ { id = "scan", effects = { "stage=read" } }, { id = "report", when = "stage === 'checked'" } },
    { state = { stage = "new" } }),
  skill({ { id = "scan", effects = { "stage=read" } }, { id = "report", when = "stage === 'read'" } },
    { state = { stage = "new" } }))
case("reach.blocked", "after `scan` chooses `deep`, nothing is left that may run",
  skill({ { id = "scan", effects = { "depth!=null" } },
    { id = "quick", when = "depth === 'low'", optional = true, effects = { "done=true" } },
    { id = "action-complete", when = "done" } },
    { state = { done = false }, schema = { depth = "string" } }),
  skill({ { id = "scan", effects = { "depth!=null" } }, { id = "action-complete", when = "depth !== null" } },
    { state = {}, schema = { depth = "string" } }))
case("reach.goal", "`action-complete` waits for `done`, which only an unreachable action sets",
  skill({ { id = "scan", effects = { "stage=read" } },
    { id = "report", when = "stage === 'checked'", effects = { "done=true" } },
    { id = "action-complete", when = "done", priority = -1 } }, { state = { stage = "new" } }),
  skill({ { id = "scan", effects = { "stage=read" } },
    { id = "report", when = "stage === 'read'", effects = { "done=true" } },
    { id = "action-complete", when = "done", priority = -1 } }, { state = { stage = "new" } }))
case("reach.over", "terminate = { \"rounds >= limit\" } where both are null",
  one(nil, { terminate = { "rounds >= 0" }, state = { rounds = 0 } }),
  one(nil, { terminate = { "rounds >= 3" }, state = { rounds = 0 } }))
case("reach.loop", "`open` makes `x` true, `close` makes it false, and no more",
  skill({ { id = "open", repeatable = true, when = "!x", effects = { "x=true" } },
    { id = "close", repeatable = true, when = "x", effects = { "x=false" } } }, { state = { x = false } }),
  skill({ { id = "open", repeatable = true, when = "n < 3", effects = { "n++" } } }, { state = { n = 0 } }))
case("reach.shadowed", "`count` (priority 5) may run whenever `look` (priority 0) may",
  skill({ { id = "count", priority = 5, repeatable = true, when = "n < 3", effects = { "n++" } },
    { id = "look", when = "n < 2", optional = true },
    { id = "stop", when = "n >= 3", terminal = true } }, { state = { n = 0 } }),
  skill({ { id = "count", priority = 5, repeatable = true, when = "n < 3", effects = { "n++" } },
    { id = "look", when = "n < 2", priority = 6 },
    { id = "stop", when = "n >= 3", terminal = true } }, { state = { n = 0 } }))
case("reach.limit", "max_iterations = 5, and ten steps to the end",
  skill({ { id = "count", when = "n < 10", max_runs = 20, effects = { "n++" } },
    { id = "stop", when = "n >= 10", terminal = true } }, { state = { n = 0 }, limits = { max_iterations = 5 } }),
  skill({ { id = "count", when = "n < 10", max_runs = 20, effects = { "n++" } },
    { id = "stop", when = "n >= 10", terminal = true } }, { state = { n = 0 }, limits = { max_iterations = 12 } }))
case("reach.unset", "`action-complete` waits for `approved`, and no effect names it",
  skill({ { id = "read", effects = { "done=true" } },
    { id = "action-complete", when = { "done", "approved" } } }, { state = { done = false, approved = false } }),
  skill({ { id = "read", effects = { "done=true" } }, { id = "ask", when = "done" },
    { id = "action-complete", when = { "done", "approved" } } }, { state = { done = false, approved = false } }))
local many = {}
for i = 1, 14 do
  many[i] = { id = "a" .. i }
end
case("reach.bound", "--max-states 100 and a skill with more",
  { skill = skill(many, { strategy = "user_driven" }), options = { max_states = 100 } }, one())

return cases
