-- load_folder_spec.lua: skill folders as skills: from data, from lists and tables, from prose;
-- what could not be read is named.
local load = require "skillrt.document.load"
local skill_folder = require "tests.support.skill_folder"

local SKILL, action, loaded = skill_folder.SKILL, skill_folder.action, skill_folder.loaded
local ids, places, when = skill_folder.ids, skill_folder.places, skill_folder.when

describe("a folder of phases", function()
  it("runs them in the order of their numbers, each with its document as prompt (R10, R20)", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL,
      ["phases/10-last.md"] = "# Phase 4: Last\n\n## Input\n- Dependency: `sorted.json`\n- Dependency: `ghost.json`\n",
      ["phases/02-sort.md"] = "# Phase 2: Sort\n\nSorts all.\n\n## Objective\n- no doubles\n\n## Output\n- **File**: `sorted.json`\n",
      ["phases/02.5-check.md"] = "# Check\n\n## Input\n- Runs only if: `outputs['02-sort'].count > 1`\n",
      ["phases/1-collect.md"] = "# Phase 1: Collect\n",
      ["phases/orchestrator.md"] = "# Orchestrator\n",
      ["phases/00-spec-study.md"] = "# Phase 0\n",
      ["phases/notes.md"] = "# Notes\n",
    }
    local skill, found = loaded(folder)
    assert.equal("sequential", skill.mode)
    assert.same({ "1-collect", "02-sort", "02.5-check", "10-last" }, ids(skill.phases))
    local sort = skill.phases[2]
    assert.same({ "Sort", "Sorts all.", "phases/02-sort.md", "sorted.json" }, { sort.name, sort.description, sort.prompt, sort.output })
    assert.same({ "no doubles" }, sort.objectives)
    assert.same({ "1-collect.json" }, sort.input)
    assert.same({ "sorted.json" }, skill.phases[4].input)
    assert.same({ "outputs['02-sort'].count > 1" }, when(skill.phases[3]))
    assert.same({ "phases/10-last.md:5" }, places(found, "load.phase-input"))
    assert.same({ "phases/notes.md" }, places(found, "load.phase-other"))
  end)

  it("without numbers runs them in the order of SKILL.md's links, and says so", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL .. "1. [second](phases/write.md)\n2. [first](phases/read.md)\n",
      ["phases/read.md"] = "# Read\n",
      ["phases/write.md"] = "# Write\n",
    }
    local skill, found = loaded(folder)
    assert.same({ "write", "read" }, ids(skill.phases))
    assert.same({ "phases" }, places(found, "load.phase-order"))
  end)

  it("gives an id to a name that is none, and keeps its document as the prompt (F13)", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL,
      ["phases/01-\u{5BA1}\u{67E5} files.md"] = "# Review\nall of them\n",
    }
    local skill, found = loaded(folder)
    assert.equal("01-files", skill.phases[1].id)
    assert.equal("# Review\nall of them\n\n", skill.phases[1].prompt)
    assert.equal(1, #places(found, "load.phase-id"))
  end)

  it("tells a condition that is prose: the phase always runs", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL,
      ["phases/01-a.md"] = "# A\n\n## Input\n- Runs only if: there is anything to do\n",
    }
    local skill, found = loaded(folder)
    assert.same({}, skill.phases[1].when)
    assert.same({ "phases/01-a.md:4" }, places(found, "load.condition-unread"))
  end)

  it("that has none and no actions runs SKILL.md as one step", function()
    local folder <close> = skill_folder.make { ["SKILL.md"] = SKILL, ["scripts/x.sh"] = "true\n" }
    local skill, found = loaded(folder)
    assert.same({ "demo-skill", "Reads and sorts." }, { skill.name, skill.description })
    assert.same({ "run", "SKILL.md", "run.md" }, { skill.phases[1].id, skill.phases[1].prompt, skill.phases[1].output })
    assert.same({}, found)
  end)

  it("is read by its skill.md where that is what it is called, and says so", function()
    local folder <close> = skill_folder.make { ["skill.md"] = SKILL .. "\nDo it.\n" }
    for _, path in ipairs { folder.dir, folder.dir .. "/skill.md" } do
      local document = load.read(path, {})
      local phase = document.definition.phases[1]
      assert.same({ "demo-skill", "run", "skill.md" }, { document.definition.name, phase.id, phase.prompt })
      assert.same({ "skill.md" }, places(document.findings, "load.no-skill-md"))
    end
  end)

  it("is told no error where it runs all the same: what hosts refuse is a warning", function()
    local folder <close> = skill_folder.make { ["SKILL.md"] = "---\ndescription: Reads.\ncompatibility: [a]\n---\n# S\n" }
    local document = load.read(folder.dir, {})
    assert.truthy(document.definition)
    assert.same({ error = 0, warning = 2, note = 0 }, document.findings:counts())
  end)

  it("promises files below it: no variable, and nothing of a home", function()
    local document = "# Plan\n\nPlans.\n\n## Output\n\n- **Variables**: `sessionId`, `resolvedFiles`\n"
      .. "- **File**: `~/.plans/all.json`\n- **Files**: `plan.json`\n"
    local folder <close> = skill_folder.make { ["SKILL.md"] = SKILL, ["phases/01-plan.md"] = document,
      ["phases/02-end.md"] = "# End\n" }
    assert.equal("plan.json", loaded(folder).phases[1].output)
  end)

  it("tells that an agent.yml in it is not read, and nothing where there is none or it is all there is", function()
    local agent = "skills:\n  - name: analysis\n    tools: [Reader]\n"
    local both <close> = skill_folder.make { ["SKILL.md"] = SKILL, ["agent.yml"] = agent }
    local skill, found = loaded(both)
    assert.same({ "run" }, ids(skill.phases))
    assert.same({ "agent.yml" }, places(found, "load.agent-unread"))
    local without <close> = skill_folder.make { ["SKILL.md"] = SKILL, ["config/agent.yml"] = agent }
    assert.same({}, places(select(2, loaded(without)), "load.agent-unread"))
    local alone <close> = skill_folder.make { ["agent.yml"] = agent }
    skill, found = loaded(alone)
    assert.same({ "analysis" }, ids(skill.phases))
    assert.same({}, places(found, "load.agent-unread"))
  end)

  it("without a SKILL.md names what it is read by instead of its agent.yml", function()
    local folder <close> = skill_folder.make { ["phases/01-a.md"] = "# A\n", ["agent.yaml"] = "skills: []\n" }
    local _, found = loaded(folder)
    assert.same({ "agent.yaml" }, places(found, "load.agent-unread"))
    for _, one in ipairs(found) do
      assert.is_true(one.code ~= "load.agent-unread" or one.level == "note" and one.what:find("phases/", 1, true) ~= nil)
    end
  end)
end)

describe("a folder's name and description", function()
  it("may be as the specification allows, also where a config's may not", function()
    local folder <close> = skill_folder.make({
      ["SKILL.md"] = ("---\nname: x\ndescription: %s\n---\n"):format(("\u{5BA1}"):rep(1000)),
    }, "x")
    local skill, found = loaded(folder)
    assert.same({ "x", 3000 }, { skill.name, #skill.description })
    assert.equal(0, #found)
  end)
end)

describe("a folder of actions", function()
  it("are described by the first paragraph of their documents, whatever stands before it", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL,
      ["phases/actions/action-read.md"] = "# Read\n\n- quick\n- safe\n\nReads all.\n\nAnd more.\n",
      ["phases/actions/action-none.md"] = "# None\n\n- quick\n\n## Then\n\nNothing of its own.\n",
    }
    local actions = loaded(folder).actions
    assert.same({ "action-none", "action-read" }, ids(actions))
    assert.is_nil(actions[1].description)
    assert.equal("Reads all.", actions[2].description)
  end)

  it("has their lists as preconditions, updates as effects, and the state of its schema", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL,
      ["phases/state-schema.md"] = "# State\n\n```typescript\ninterface DemoState {\n  status: string;\n  ready: boolean; // all read\n"
        .. "  files: string[];\n  extra?: { a: number };\n}\n```\n\n## Initial State\n\n```json\n"
        .. '{"status": "pending", "ready": false, "files": []}\n```\n',
      ["phases/actions/action-read.md"] = action("Read", { "state.ready === false" }, "## State Updates\n\n```javascript\n"
        .. "return { stateUpdates: { ready: true, mood: 'good', files: list } };\n```\n"),
      ["phases/actions/action-sort.md"] = action("Sort", { "`ready`", "files.length > 0" }),
      ["phases/actions/action-complete.md"] = action("Done", { "None" }),
    }
    local skill, found = loaded(folder)
    assert.equal("autonomous", skill.mode)
    assert.same({ "action-complete", "action-read", "action-sort" }, ids(skill.actions))
    assert.same({ {}, { "state.ready === false" }, { "ready", "files.length > 0" } }, {
      when(skill.actions[1]), when(skill.actions[2]), when(skill.actions[3]),
    })
    local read = skill.actions[2]
    assert.same({ "Read", "ready=true", "mood='good'", "phases/actions/action-read.md" },
      { read.name, read.effects[1].text, read.effects[2].text, read.prompt })
    assert.is_false(skill.state.ready)
    assert.same({}, skill.state.files)
    assert.is_nil(skill.state.status)
    assert.equal("completed", skill.actions[1].terminal)
    assert.equal(0, #places(found, "load.condition-unread"))
  end)

  it("names an effect it cannot read", function()
    local folder <close> = skill_folder.make { ["SKILL.md"] = SKILL, ["phases/actions/action-a.md"] = action("A", { "state.x === 1" })
      .. "\n## State Updates\n\n- all is better\n- much is sorted\n\n```js\nreturn { stateUpdates: { x: 2 } }\n```\n" }
    local found = select(2, loaded(folder))
    assert.same({ "phases/actions/action-a.md:12" }, places(found, "load.effect-unread"))
    for _, one in ipairs(found) do
      if one.code == "load.effect-unread" then
        assert.equal("action action-a: its effect cannot be read: all is better, and 1 more", one.what)
      end
    end
  end)

  it("names each precondition it cannot read, and lets nothing through it (R47, F31)", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL,
      ["phases/actions/action-a.md"] = action("A", { "state.x === 1", "all files are read (n.length === 6)", "`x ===`" }),
      ["phases/actions/action-b.md"] = "# Action: B\n",
    }
    local skill, found = loaded(folder)
    assert.same({ "state.x === 1", "judged.includes('all files are read (n.length === 6)')", "judged.includes('x ===')" },
      when(skill.actions[1]))
    assert.same({ "phases/actions/action-a.md:8", "phases/actions/action-a.md:9" }, places(found, "load.condition-unread"))
    assert.same({ "phases/actions/action-b.md:1" }, places(found, "load.no-preconditions"))
    for _, one in ipairs(found) do
      if one.line == 8 then
        assert.equal("write `n.length === 6`", one.fix)
      end
    end
  end)

  it("takes what belongs to a precondition in words as one, which is asked about as a whole", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL,
      ["phases/actions/a.md"] = action("A", { "\u{4EFB}\u{4E00}:\n  - `n > 1`\n  - `done`", "`ready`\n  - said by its owner" }),
      ["phases/actions/b.md"] = "# B\n\n## Preconditions\n\nEither of these:\n\n- `n > 1`\n- `done`\n",
    }
    local skill, found = loaded(folder)
    assert.same({ "judged.includes('\u{4EFB}\u{4E00}:; n > 1; done')", "ready", "judged.includes('said by its owner')" },
      when(skill.actions[1]))
    assert.same({ "judged.includes('Either of these:; n > 1; done')" }, when(skill.actions[2]))
    assert.same({ "phases/actions/a.md:7", "phases/actions/a.md:11", "phases/actions/b.md:5" },
      places(found, "load.condition-unread"))
  end)

  it("takes tables where nothing better is there, and tells where documents differ (R45, R84)", function()
    local rows = "| Action | Purpose | Preconditions |\n|---|---|---|\n"
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL .. "\n| Error | Action | Description |\n|---|---|---|\n| x | retry | again |\n",
      ["phases/orchestrator.md"] = "# O\n\n" .. rows .. "| [b-two](actions/b-two.md) | writes | n > 1 \\|\\| m |\n"
        .. "| [a-one](actions/a-one.md) | reads | status=pending |\n| not an id! | x | - |\n",
      ["phases/actions/a-one.md"] = action("One", { "`ready`" }),
    }
    local skill, found = loaded(folder)
    assert.same({ "b-two", "a-one" }, ids(skill.actions))
    assert.same({ { "n > 1 || m" }, { "ready" } }, { when(skill.actions[1]), when(skill.actions[2]) })
    assert.same({ "phases/orchestrator.md:6" }, places(found, "load.condition-differs"))
    assert.same({ "phases/orchestrator.md:7" }, places(found, "load.table-row"))
    assert.same({ "phases/orchestrator.md:5" }, places(found, "load.no-document"))
  end)

  it("takes termination conditions and limits by what they mean (R73, R89)", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL,
      ["phases/actions/a.md"] = action("A", { "None" }),
      ["phases/orchestrator.md"] = "# O\n\n```js\nfunction selectNextAction(state) {\n  const MAX_ITERATIONS = 20, MAX_LOOP = 3;\n}\n"
        .. "```\n\n## Termination Conditions\n\n- `state.status === 'completed'` - done\n- `state.error_count >= 5`\n"
        .. "- `iteration >= MAX_ITERATIONS`\n- **all good**: `quality > 80`\n- `state.status === 'paused'`\n- when people say so\n",
    }
    local skill, found = loaded(folder)
    local ends = {}
    for i, one in ipairs(skill.terminate) do
      ends[i] = one.text
    end
    assert.same({ "task_completed", "error_limit", "max_iterations", "quality > 80" }, ends)
    assert.same({ 20, 5 }, { skill.limits.max_iterations, skill.limits.max_errors })
    assert.same({}, places(found, "config.unknown-key")) -- MAX_LOOP is the document's own
    assert.same({ "phases/orchestrator.md:16" }, places(found, "load.termination-unread"))
    assert.same({ "phases/orchestrator.md:4" }, places(found, "load.decision-code"))
  end)

  it("repeats an action that may follow itself only where a condition ends it (F33)", function()
    local next_one = "## Next Actions\n\n- more: go on with `action-a`\n- else: action-b\n"
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL,
      ["phases/actions/action-a.md"] = action("A", { "left > 0" }, next_one),
      ["phases/actions/action-b.md"] = action("B", { "nobody knows" }, next_one:gsub("action%-a", "action-b", 1)),
    }
    local skill, found = loaded(folder)
    assert.same({ math.huge, 1 }, { skill.actions[1].max_runs, skill.actions[2].max_runs })
    assert.same({ "phases/actions/action-b.md:11" }, places(found, "load.repeat-unread"))
  end)

  it("collects what documents name as the next action, for the check", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL,
      ["phases/actions/action-a.md"] = action("A", { "None" }, "## Next Actions\n\n- failed: action-abort\n"),
    }
    local document = load.read(folder.dir)
    local links = {}
    for i, link in ipairs(document.prose.links) do
      links[i] = ("%s>%s %d"):format(link.from, link.to, link.line)
    end
    assert.same({ "action-a>action-abort 11" }, links)
  end)

  it("tells an action that sets what only the runtime writes (F34)", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL,
      ["phases/actions/a.md"] = action("A", { "None" }, "```js\nupdateState({ iteration_count: 1, context: x, status: 'running' })\n```\n"),
    }
    local _, found = loaded(folder)
    assert.same({ "phases/actions/a.md:10" }, places(found, "load.reserved-field"))
  end)
end)

describe("a folder of another shape", function()
  local SETS = "name: helper\nskills:\n  - name: plan\n    description: Plans.\n    tools: [read]\n"

  it("that holds only an agent.yml is that agent", function()
    local folder <close> = skill_folder.make { ["agent.yml"] = SETS }
    local document = load.read(folder.dir)
    assert.equal("agent", document.kind)
    assert.equal("plan", document.definition.phases[1].id)
    folder:write("SKILL.md", SKILL)
    assert.equal("folder", load.read(folder.dir).kind)
  end)

  it("that holds nothing of a skill is told so, not what a config would lack", function()
    local folder <close> = skill_folder.make { ["notes.txt"] = "nothing\n" }
    local document = load.read(folder.dir)
    assert.is_nil(document.definition)
    assert.same({ "." }, places(document.findings, "load.nothing"))
    assert.same({}, places(document.findings, "config.empty"))
    folder:write("eslint.config.js", "export default []\n")
    assert.has_no_match("name a script", load.read(folder.dir).findings:errors(), 1, true)
    folder:write("one.js", "export const meta = {}\n")
    assert.has_match("; name a script: " .. folder.dir .. "/one.js", load.read(folder.dir).findings:errors(), 1, true)
    folder:write("skills/b/SKILL.md", SKILL)
    folder:write("plugins/x/skills/a/skill.md", SKILL)
    assert.has_match("give one of the skills below it (2): " .. folder.dir .. "/plugins/x/skills/a",
      load.read(folder.dir).findings:errors(), 1, true)
    folder:write("SKILL.md", "\xFF")
    document = load.read(folder.dir)
    assert.same({ "SKILL.md:1" }, places(document.findings, "load.encoding"))
    assert.same({}, places(document.findings, "load.nothing"))
    assert.same({}, places(document.findings, "config.empty"))
  end)

  it("tells a document that is a folder, or a pipe, instead of passing it over", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL,
      ["phases/actions/action-a.md"] = action("a", { "`x`" }),
      ["phases/actions/action-b.md/notes.txt"] = "",
    }
    assert(os.execute(("mkfifo '%s/phases/actions/action-c.md'"):format(folder.dir)))
    local skill, message, _, found = load.load(folder.dir)
    assert.is_nil(skill)
    assert.matches("phases/actions/action-b.md: error: is a folder, not a document", message, 1, true)
    assert.same({ "phases/actions/action-b.md", "phases/actions/action-c.md" }, places(found, "load.unreadable"))
  end)

  it("runs beside a pipe that is none of its documents", function()
    local folder <close> = skill_folder.make { ["SKILL.md"] = SKILL }
    assert(os.execute(("mkfifo '%s/pipe'"):format(folder.dir)))
    local _, found = loaded(folder)
    assert.same({ "pipe" }, places(found, "load.unreadable"))
    for _, one in ipairs(found) do
      assert.not_equal("error", one.level)
    end
  end)

  it("has a finding for a path in a code span that is nearly one of its files, and none for a path that stands for several", function()
    local folder <close> = skill_folder.make { ["SKILL.md"] = SKILL .. "\nRead `references/01-fast.md`, `references/NN-first.md`, "
        .. "`references/XX-first.md`, `references/0N-first.md`, `references/...first.md`, `references/01-first` and "
        .. "`python references/01-frist.py --x`; write `references/../01-firs.md` and `other/01-firs.md`.\n",
      ["references/01-first.md"] = "# First\n", ["references/01-first.py"] = "print(1)\n",
      ["phases/actions/action-a.md"] = action("a", { "`n < 1`" }) }
    local said = {}
    for _, one in ipairs(require("skillrt.document.check").check(folder.dir).findings) do
      said[#said + 1] = one.code == "load.reference-missing" and one.what:match '"(.-)"' or nil
    end
    assert.same({ "references/01-fast.md", "references/01-frist.py" }, said)
  end)

  it("has the fields of an interface that is one line", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL,
      ["phases/actions/action-a.md"] = action("a", { "`n < 1`" }),
      ["phases/state-schema.md"] = "# State\n\n```typescript\ninterface Other { m: string }\ninterface DemoState {n: number;"
        .. " all: Map<string, number>; found?: boolean; names: string[] }\n```\n",
    }
    local skill = loaded(folder)
    assert.same({ n = 0, all = {}, names = {}, pending_items = {}, results = {} }, skill.state)
  end)

  it("declares the keys of its list of fields, also where another state is written down", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL,
      ["phases/actions/action-a.md"] = action("a", { "`extra.ready !== true`", "`other !== true`" }),
      ["phases/state-schema.md"] = "# State\n\n```typescript\ninterface DemoState {\n  name: string\n"
        .. "  extra?: {\n    ready: boolean\n  }\n}\n```\n\n## Initial State\n\n```json\n{ \"name\": \"x\" }\n```\n",
    }
    local undeclared = {}
    for _, one in ipairs(require("skillrt.document.check").check(folder.dir).findings) do
      undeclared[#undeclared + 1] = one.code == "key.undeclared" and one.what:match '"(.-)"' or nil
    end
    assert.same({ "other" }, undeclared)
  end)
end)
