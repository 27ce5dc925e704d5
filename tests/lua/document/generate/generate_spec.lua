-- generate_spec.lua: what the generated documents say, row by row, and configs that are out to break them.
local generate = require "skillrt.document.generate"
local json = require "skillrt.base.json"

local function config_of(name)
  local file <close> = assert(io.open(("tests/golden/configs/%s.json"):format(name), "rb"))
  return assert(json.decode(file:read "a"))
end

local function folder(config, options)
  options = options or {}
  options.templates = options.templates or "templates"
  local files = assert(generate.generate(type(config) == "string" and config_of(config) or config, options))
  local by_path = {}
  for _, file in ipairs(files) do
    by_path[file.path] = file.text
  end
  return by_path, files
end

local function has(text, ...)
  for _, piece in ipairs { ... } do
    assert.truthy(text:find(piece, 1, true), piece .. "\n is not in\n" .. text:sub(1, 200))
  end
end

local function in_order(text, ...)
  local at = 1
  for _, piece in ipairs { ... } do
    local found, stop = text:find(piece, at, true)
    assert.truthy(found, piece .. "\n is not (or not there) in\n" .. text:sub(at, at + 200))
    at = stop
  end
end

describe("a sequential skill", function()
  local files = folder "release-notes"

  it("has its files (R7, R9)", function()
    for _, path in ipairs {
      "SKILL.md", "phases/_orchestrator.md", "workflow.json", "phases/01-range.md", "phases/02-commits.md",
      "phases/02-issues.md", "phases/02.5-check.md", "phases/03-notes.md", "skill-config.json", "skill.lua",
    } do
      assert.is_string(files[path], path)
    end
    assert.is_nil(files["phases/orchestrator.md"])
  end)

  it("has its phases as data (R8, R11)", function()
    local flow = json.decode(files["workflow.json"])
    assert.same({ "01-range", "02-commits", "02-issues", "02.5-check", "03-notes" }, flow.phases_to_run)
    assert.equal("release-notes 1.0.0 sequential file",
      table.concat({ flow.skill_name, flow.version, flow.execution_mode, flow.context_strategy }, " "))
    assert.same({ on_success = "all_phases_completed", on_error = "stop_and_report", max_retries = 3 }, flow.termination)
    local first, second, check = flow.phases[1], flow.phases[2], flow.phases[4]
    assert.same({ 1, json.null, false, json.null }, { first.order, first.input, first.parallel, first.condition })
    assert.same({ type = "Explore", run_in_background = false }, first.agent)
    assert.same({ 2, "range.json", true, "commits.json" }, { second.order, second.input, second.parallel, second.output })
    assert.equal("outputs['02-commits'].breaking.length > 0", check.condition)
  end)

  it("has an orchestrator with all its parts (R17, R18)", function()
    in_order(files["phases/_orchestrator.md"], "# Sequential Orchestrator", "## Workflow Definition",
      "## Orchestration Logic", "async function runSequentialWorkflow(workDir", "makeFolder(`${workDir}/context`);",
      "async function executePhase(phaseId, phaseConfig, workDir)", "[PHASE] ${phaseId}", "[WORK_DIR]", "[INPUT]",
      "[OUTPUT]", "## Execution Plan", "| Order | Phase | Input | Output | Agent |",
      "| 1 | 01-range | - | range.json | Explore |", "| 2 | 02-commits | range.json | commits.json | llm (qwen) |",
      "## Error Recovery", "async function resumeFromPhase(phaseId, workDir)", "Phase not found: ${phaseId}")
  end)

  it("has a document for each phase with all its sections (R19, R25)", function()
    in_order(files["phases/02.5-check.md"], "# Phase 4: Cross-check", "Execute Cross-check", "## Objective", "## Input",
      "`commits.json`", "`issues.md`", "`{workDir}/skill-config.json`", "`file`", "outputs['02-commits']",
      "## Specifications", "## Execution Steps", "### Step 1", "JSON.parse(Read(`${workDir}/commits.json`))",
      "Read(`${workDir}/issues.md`)", "### Step 2", "status: 'completed'", "data: {}", "phase: '02.5-check'", "### Step 3",
      "Write(`${workDir}/02.5-check.json`, JSON.stringify(result, null, 2))", "output_file: '02.5-check.json'",
      "summary: 'Phase 4 done'", "## Output", "- **File**: `02.5-check.json`", "- **Format**: JSON",
      "## Quality Checklist", "- [ ]", "- [ ]", "- [ ]", "- [ ]", "## Next Phase", "→ [Phase 5: 03-notes](03-notes.md)")
    has(files["phases/01-range.md"], "- Dependency: `user input`", "The first phase starts from the config.")
  end)

  it("ends with its last phase, and follows the format of an output (R24, R26)", function()
    local last = files["phases/03-notes.md"]
    has(last, "## Completion", "- **Format**: Markdown", "Write(`${workDir}/notes.md`, text)", "with\ntwo lines of advice")
    assert.falsy(last:find("## Next Phase", 1, true))
  end)

  it("has the objectives it was given", function()
    in_order(files["phases/02-issues.md"], "## Objective", "- List closed issues", "- Drop duplicates")
  end)

  it("has Phase 0 in SKILL.md before all else, and its file (R78, R79)", function()
    in_order(files["SKILL.md"], "---\nname: release-notes\ndescription: \"Collect", 'Triggers on \\"release notes\\"',
      "allowed-tools:", "---\n", "# Release Notes", "## Architecture Overview", "Phase 0: Specification Study",
      "phases/_orchestrator.md", "01-range: Range", "## Mandatory Prerequisites", "specs/tone.md", "Tone \\| length",
      "Read before 03-notes", "## Execution Flow", "phases/00-spec-study.md", "phases/01-range.md")
    has(files["phases/00-spec-study.md"], "# Phase 0", "(../specs/tone.md)", "SHA-256", "(01-range.md)")
    has(files["phases/_orchestrator.md"], "requireSpecsRead();")
  end)

  it("keeps nothing on disk under the memory strategy (R18, R21)", function()
    local config = config_of "release-notes"
    config.context_strategy = "memory"
    local memory = folder(config)
    has(memory["phases/_orchestrator.md"], "const state = { context: {} };")
    has(memory["phases/02-commits.md"], "state.context['01-range_output']", "state.context['02-commits_output'] = result;")
    assert.falsy(memory["phases/02-commits.md"]:find("Write(", 1, true))
    assert.equal("memory", json.decode(memory["workflow.json"]).context_strategy)
  end)
end)

describe("an autonomous skill", function()
  local files = folder "link-fixer"

  it("has its orchestrator in its place (R37, R75)", function()
    assert.is_string(files["phases/orchestrator.md"])
  end)

  it("has a catalog, and a document for each action (R38, R39)", function()
    for _, path in ipairs {
      "phases/state-schema.md", "specs/action-catalog.md", "phases/actions/action-scan.md",
      "phases/actions/action-repair.v2.md", "phases/00-spec-study.md", "SKILL.md", "skill.lua",
    } do
      assert.is_string(files[path], path)
    end
    assert.is_nil(files["workflow.json"])
  end)

  it("has an orchestrator with all its parts (R42, R80)", function()
    in_order(files["phases/orchestrator.md"], "# Orchestrator (Enhanced)", "> **Skill**: link-fixer",
      "> **Type**: Autonomous (State-Driven)", "> **Version**: 2.1.0", "## Role", "## Configuration",
      "- **Context strategy**: file", "user_exit, error_limit", "const ACTION_CATALOG = [", "const ContextManager = {",
      "init:", "readState:", "writeState:", "updated_at", "readContext:", "null;", "writeContext:", "## State Management",
      "function updateState(updates)", "## Decision Logic", "function selectNextAction(state", "'action-abort'",
      "'action-complete'", "## Execution Loop", "const MAX_ITERATIONS = 40;", "requireSpecsRead();",
      "[STATE]", "[WORK_DIR]", "[CONTEXT_STRATEGY]", "[ACTION]", "[RETURN FORMAT]", "await Agent({", "## Action Catalog",
      "## Termination Conditions", "- user_exit", "## Error Recovery", "at most 1 times", "last stable state",
      "allow resuming", "## Debug and Recovery", "resumeFromState", "retryFailedAction", "Math.max(0")
  end)

  it("has its table of actions, and SKILL.md says what they are for (R45)", function()
    in_order(files["phases/orchestrator.md"], "| Action | Priority | Preconditions | Effects |",
      "| [action-scan](actions/action-scan.md) | 50 | `status === 'pending'` | `scanned=true`, `status=running` |",
      "| [action-report](actions/action-report.md) | -1 | - | - |")
    in_order(files["SKILL.md"], "| Action | Purpose |", "| [action-probe](phases/actions/action-probe.md) | Ask for every link \\| once |")
  end)

  it("tests what terminates, in the order of the config (R82, R89)", function()
    in_order(files["phases/orchestrator.md"], 'if (state.status === "user_exit") return null;',
      'if (state.error_count >= 5) return "action-abort";', 'if (state.status === "completed") return null;',
      'if (state.iteration_count >= 40) return "action-abort";', "if (state.verdict === 'bad') return null;",
      "if (state.error_count >= 5) return 'action-abort';", "'action-complete'")
  end)

  it("has lines that choose for a template of one's own, in the order of the config (R84, R90)", function()
    local own = folder("link-fixer", {
      templates = function(name)
        return name == "orchestrator" and "{{{action_selection_logic}}}\n{{{action_catalog_table}}}\n" or nil
      end,
    })
    in_order(own["phases/orchestrator.md"],
      "if (state.status === 'pending' && !state.completed_actions.includes('action-scan')) return 'action-scan';",
      [[if (evaluateCondition('completed_actions.includes(\'action-scan\')', state) && ]], "return 'action-probe';",
      "if (!state.completed_actions.includes('action-report')) return 'action-report';",
      "| [action-probe](actions/action-probe.md) | Ask for every link \\| once | `completed_actions.includes('action-scan')`,")
  end)

  it("has in its catalog how often an action runs, is tried, and how the run ends with it (R41, F19)", function()
    local text = files["phases/orchestrator.md"]:match "const ACTION_CATALOG = (%b[]);"
    local by_id = {}
    for _, entry in ipairs(json.decode(text)) do
      by_id[entry.id] = entry
    end
    assert.same({ 1, 3, 1 }, { by_id["action-scan"].max_runs, by_id["action-probe"].max_runs,
      by_id["action-scan"].max_retries })
    assert.equal("completed", by_id["action-complete"].terminal)
    assert.same({ type = "llm", tool = "gemini" }, by_id["action-repair.v2"].agent)
    assert.same(by_id["action-probe"].preconditions,
      json.decode(files["specs/action-catalog.md"]:match "```json\n(.-)\n```")[2].preconditions)
  end)

  it("maps the statuses of agents as the runtime does (F18)", function()
    local rows, reply = 0, require "skillrt.agent.reply"
    for words, meaning in files["phases/orchestrator.md"]:gmatch "\n| (`completed`.-) | (%a+)[^\n]*\n| (`partial`) | (%a+)" do
      assert.equal("completed", meaning)
      for word in words:gmatch "`([%l_]+)`" do
        rows = rows + 1
        assert.equal("completed", reply.outcome({ status = word }, {}).status, word)
      end
    end
    for word in files["phases/orchestrator.md"]:match("\n| (`failed`.-) | failed"):gmatch "`([%l_]+)`" do
      rows = rows + 1
      assert.is_nil((reply.outcome({ status = word }, {})))
    end
    assert.equal(13, rows)
  end)

  it("has a document for each action with all its sections (R46, R50)", function()
    local probe = files["phases/actions/action-probe.md"]
    in_order(probe, "# Action: Probe [all]", "Ask for every link | once", "## Purpose", "## Preconditions",
      "- [ ] `completed_actions.includes('action-scan')`", "## Specifications", "(../../specs/link-rules.md)",
      "## Context Access (file strategy)", "'shared'", "## Execution", "async function execute(state, workDir)", "'input'",
      "'action_probe_result'", "## State Updates", "// Effect: checked++", "## Error Handling", "## Next Actions (Hints)")
    assert.falsy(probe:find("completed_actions:", 1, true))
    has(files["phases/actions/action-report.md"], "- [ ] No special preconditions", "No effects beyond the result.")
  end)

  it("says in each of them what follows a failure, and what comes next (R51, R52)", function()
    in_order(files["phases/actions/action-probe.md"], "## Error Handling",
      "| The data does not validate | Return an error; the state is not updated |",
      "| Exception while executing | It is recorded and error_count rises by 1 |",
      "| The context cannot be read | Use a default value or skip |",
      "## Next Actions (Hints)", "ACTION_CATALOG", "action-abort")
  end)

  it("has a catalog with definitions, graph and priorities (R53, R55)", function()
    in_order(files["specs/action-catalog.md"], "# Action Catalog", "Link Fixer", "```json", '"action-scan"', "```mermaid",
      'n1(("Start"))', 'n2["Scan<br/>', 'n3["Probe [all]<br/>', '(("End"))', "n1 -.-> n2",
      "| Priority | Action | Description |", "| 60 | action-probe |", "| 50 | action-scan |", "| 50 | action-repair.v2 |",
      "| 0 | action-complete |", "| -1 | action-report | Report |")
  end)

  it("has the graph that skillrt graph draws (R54)", function()
    local graph_of = require "skillrt.document.graph"
    local text = folder("code-reviewer-auto")["specs/action-catalog.md"]
    local drawn = graph_of.of((require("skillrt.document.load.config").definition(config_of "code-reviewer-auto",
      { agents_required = false })))
    assert.is_true(#drawn.edges >= 5)
    has(text, "```mermaid\n" .. graph_of.text(drawn, "mermaid") .. "```\n")
  end)

  it("has a state whose first values are data (R36, R72)", function()
    local text = files["phases/state-schema.md"]
    in_order(text, "# State Schema", "interface LinkFixerState {", "dead: Link[]; // Links that lead nowhere")
    local first = json.decode(text:match "## Initial State\n\n```json\n(.-)\n```")
    assert.same({ "pending", json.null, 0, 0, false, json.null },
      { first.status, first.current_action, first.error_count, first.checked, first.scanned, first.verdict })
    assert.same({ {}, {}, { "README.md" }, {} }, { first.completed_actions, first.errors, first.files, first.dead })
    has(text, "| `verdict` | `string` | `null` | good \\| bad |")
  end)

  it("does without files under the memory strategy (R48, R49)", function()
    local config = config_of "link-fixer"
    config.context_strategy = "memory"
    local memory = folder(config)
    has(memory["phases/orchestrator.md"], "structuredClone(initialState)", "ContextManager.state.context[key] = data;")
    has(memory["phases/actions/action-probe.md"], "state.context.shared", "context: { action_probe_result: result }")
  end)
end)

describe("a hybrid skill", function()
  it("has leading phases, loop and trailing phases (F7)", function()
    local files = folder "data-import"
    in_order(files["phases/orchestrator.md"], "[01-open](01-open.md)", "[02-columns](02-columns.md)", "**this loop**",
      "[04-close](04-close.md)", "still run")
    local flow = json.decode(files["workflow.json"])
    assert.same({ "01-open", "02-columns", "@autonomous", "04-close" }, flow.loop.order)
    assert.same({ "run_finalize", "phases/orchestrator.md" }, { flow.loop.on_loop_failed, flow.loop.orchestrator })
    assert.is_string(files["phases/actions/end.md"])
    assert.is_string(files["phases/_orchestrator.md"])
  end)

  it("has Phase 0 though it names no document (R76, R79)", function()
    local files = folder "data-import"
    in_order(files["SKILL.md"], "## Architecture Overview", "Phase 0: Specification Study", "phases/_orchestrator.md")
    has(files["phases/00-spec-study.md"], "# Phase 0", "None yet", "(01-open.md)")
  end)

  it("links its phases to the loop, not past it (R26, F7)", function()
    local files = folder "data-import"
    has(files["phases/01-open.md"], "→ [Phase 2: 02-columns](02-columns.md)")
    has(files["phases/02-columns.md"], "## Next Phase", "→ [The loop](orchestrator.md)")
    has(files["phases/04-close.md"], "## Completion")
  end)

  it("defines each function once (R16, R40)", function()
    local files, seen = folder "data-import", {}
    for _, path in ipairs { "phases/_orchestrator.md", "phases/orchestrator.md" } do
      for name in files[path]:gmatch "\n[%a ]*function ([%w_]+)%(" do
        assert.is_nil(seen[name], name .. " stands there twice")
        seen[name] = true
      end
    end
    for name in ("runSequentialWorkflow executePhase resumeFromPhase selectNextAction checkPreconditions runOrchestrator " ..
      "resumeFromState retryFailedAction updateState"):gmatch "%a+" do
      assert.is_true(seen[name], name)
    end
  end)
end)
