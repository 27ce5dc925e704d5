-- machine_spec.lua: a state machine as one transition table: what is derived of it, what is wrong with it, and how
-- a config says it.
local check = require "skillrt.document.check"
local config_of = require "skillrt.document.generate.config"
local generate = require "skillrt.document.generate"
local json = require "skillrt.base.json"
local machine_of = require "skillrt.document.generate.machine"
local skill_folder = require "tests.support.skill_folder"

local function config(machine, actions)
  return {
    skill_name = "machine-skill",
    description = "d",
    execution_mode = "autonomous",
    autonomous_config = { machine = machine, actions = actions },
  }
end

-- A door that opens, closes and is locked at last.
local function door()
  return {
    initial = "closed",
    states = { { name = "closed" }, { name = "open" }, { name = "locked", terminal = true } },
    transitions = {
      { from = "closed", action = "open", to = "open", when = "isFree", limit = 2 },
      { from = "closed", action = "lock", to = "locked" },
      { from = "open", action = "close", to = "closed" },
    },
    conditions = { { name = "isFree", test = "people === 0" } },
  }
end

local function refused(change)
  local machine = door()
  change(machine)
  local normal, message, _, findings = config_of.normalise(config(machine))
  return not normal and message or findings[#findings] and findings[#findings].what or "nothing"
end

describe("a transition table", function()
  it("makes the conditions and effects of its actions", function()
    local normal = assert(config_of.normalise(config(door())))
    local by_id = {}
    for _, action in ipairs(normal.autonomous_config.actions) do
      by_id[action.id] = action
    end
    assert.same({ "state.state === 'closed' && (people === 0)" }, by_id.open.preconditions)
    assert.same({ "state.state === 'closed' && !(people === 0)" }, by_id.lock.preconditions)
    assert.same({ "state=closed" }, by_id.close.effects)
    assert.equal("completed", normal.x_skillrt.actions.lock.terminal) -- any state may end the run
    assert.is_nil(normal.x_skillrt.actions.close)
  end)

  it("is written, without its diagram, where the skill is refused for something else", function()
    local refused_state = config(door())
    refused_state.autonomous_config.state_schema = { fields = { { name = "n", type = "number", description = "d" } } }
    refused_state.x_skillrt = { initial_state = { n = "three" } }
    local files, _, _, findings = generate.generate(refused_state, { templates = "templates" })
    local text
    for _, file in ipairs(assert(files)) do
      text = file.path == "phases/_orchestrator.md" and file.text or text
    end
    assert.truthy(text:find("\n### State Transitions\n\nNot drawn here: `skillrt graph .` draws it, or says why not.\n\n", 1, true))
    assert.truthy(findings[1].what:find('"n" must be number, as the schema says, not a string', 1, true))
  end)

  it("gives the same config when it is read again, also after a change", function()
    local once = assert(config_of.normalise(config(door())))
    assert.same(once, (config_of.normalise(once)))
    once.autonomous_config.machine.transitions[1].when = "rain === false"
    local again = assert(config_of.normalise(once))
    assert.same({ "state.state === 'closed' && (rain === false)" }, again.autonomous_config.actions[1].preconditions)
  end)

  -- The states that each action leaves and enters, of its registry.
  local function registry()
    local normal = assert(config_of.normalise(config("standard")))
    local machine = assert(machine_of.of(normal.autonomous_config.machine))
    local rows = {}
    for _, row in ipairs(machine_of.registry(machine)) do
      rows[row.action] = (row.any and "Any" or table.concat(row.from, " ")) .. " > " .. table.concat(row.to, " ")
    end
    return rows, machine
  end

  it("says which states are left and entered by collecting and analyzing (R128, R129)", function()
    local rows = registry()
    assert.equal("initialized collecting_context > collecting_context", rows.collect_context)
    assert.equal("collecting_context verifying error > analyzing", rows.analyze_target)
  end)

  it("says which states are left and entered by planning and executing (R130, R131)", function()
    local rows = registry()
    assert.equal("analyzing > planning", rows.create_plan)
    assert.equal("analyzing planning > executing", rows.execute_action)
  end)

  it("says which states are left and entered by verifying and completing (R132, R134)", function()
    local rows = registry()
    assert.equal("executing > verifying", rows.verify_result)
    assert.equal("verifying > completed", rows.complete)
    assert.equal("Any > failed collecting_context analyzing error", rows.handle_error)
  end)

  it("is refused with a state that nobody declared, or one that goes on behind the end (R153, F64)", function()
    assert.matches('transitions%[2%]: lock leads to "nowhere", which is no state', refused(function(machine)
      machine.transitions[2].to = "nowhere"
    end))
    assert.matches("transitions%[4%]: again leaves completed", refused(function(machine)
      machine.states[4] = { name = "completed" }
      machine.transitions[4] = { from = "completed", action = "again", to = "open" }
    end))
    assert.matches('errors%[1%]: A leads to "lost", which is no state', refused(function(machine)
      machine.errors = { { class = "A", to = "lost" } }
    end))
    assert.matches("needs execution_mode autonomous", (select(2, config_of.normalise {
      skill_name = "machine-skill", description = "d", execution_mode = "hybrid",
      autonomous_config = { machine = door() },
    })))
  end)

  it("is warned about where it goes round for ever, stops, or is never entered (R153)", function()
    assert.matches("closed comes back to itself by open without any limit", refused(function(machine)
      machine.transitions[1].limit = nil
    end))
    assert.matches("open has no edge that leaves it", refused(function(machine)
      machine.transitions[3] = nil
    end))
    assert.matches('"cellar" is never reached', refused(function(machine)
      machine.states[4] = { name = "cellar", terminal = true }
    end))
    assert.matches("open has only edges with conditions", refused(function(machine)
      machine.transitions[3].when = "wind > 3"
    end))
    assert.equal("nothing", refused(function() end))
  end)

  it("makes a folder in which check finds no contradiction, and no key it does not know (R153, F11)", function()
    local texts, declared = {}, config(door())
    declared.autonomous_config.state_schema = { fields = { { name = "people", type = "number" } } }
    for _, file in ipairs(assert(generate.generate(declared, { templates = "templates" }))) do
      texts[file.path] = file.text
    end
    local folder <close> = skill_folder.make(texts, "machine-skill")
    local result = assert(check(folder.dir))
    assert.equal(0, result.counts.error)
    for _, finding in ipairs(result.findings) do -- that a door has no state for failures is no contradiction
      assert.falsy(finding.code:find "^machine%." and finding.code ~= "machine.no-failure" or finding.code == "config.unknown-key",
        finding.what)
    end
  end)

  it("makes phases/_orchestrator.md, with all its parts (R80, R124)", function()
    local by_path = {}
    for _, file in ipairs(assert(generate.generate(config("standard"), { templates = "templates" }))) do
      by_path[file.path] = file.text
    end
    assert.is_nil(by_path["phases/orchestrator.md"])
    local text, at = by_path["phases/_orchestrator.md"], 1
    for _, piece in ipairs {
      "> **Skill**: machine-skill", "> **Type**: Autonomous (State-Driven)", "> **Version**: 1.0.0", "## Overview",
      "### State Definition", "| State | Description | Entry Condition | Exit Actions |",
      "| The skill starts | `collecting_context`, `error` |", "| A target is there | `analyzing`, `collecting_context`,",
      "| The context is ready | `planning`, `executing`,", "| The work is complex | `executing`,",
      "| The plan is ready, or none is needed | `verifying`,", "| The work is done | `completed`, `analyzing`,",
      "| An error occurred | `analyzing`, `failed` |", "| All goals are met | - |",
      "### State Transitions", "flowchart TD", "## Action Registry", "| Action | From States | To States | Description |",
      "(actions/handle_error.md) | Any | `failed`, `collecting_context`, `analyzing`, `error` |", "### Decision Tree",
      "function route(currentState, context)", "throw new UnknownStateError(currentState)", "### Condition Evaluation",
      "| `hasEnoughData` | `context.files.length > 0` | Boolean |", "### State File Structure", '"findings": []',
      '"history": []', '"state_transitions": 0', "### Save/Restore", "### Error Classification",
      "| `ContextError` | `Medium` | `RETRY_WITH_ALTERNATIVE_SOURCE` | `collecting_context` | `3` |", "`ADJUST_AND_RETRY`",
      "`TRY_ALTERNATIVE_ACTION`", "| `FatalError` | `Critical` | `ABORT` | `failed` |", "function handleError(error, state)",
      "### Tracked Metrics", "`action_duration` | Histogram", "`completion_rate` | Gauge", "### Logging",
      "### Test Scenarios", "**Happy Path**", "**Edge Cases**", "### Test Example",
    } do
      local _, stop = text:find(piece, at, true)
      assert.truthy(stop, piece .. " is not (or not there) in the document")
      at = stop
    end
    assert.is_string(by_path["phases/actions/verify_result.md"])
    assert.truthy(by_path["SKILL.md"]:find("(phases/_orchestrator.md)", 1, true))
    assert.truthy(by_path["phases/00-spec-study.md"]:find("(_orchestrator.md)", 1, true))
    assert.equal("initialized", json.decode(text:match "### State File Structure\n\n```json\n(.-)\n```").state)
  end)
end)
