-- flow_spec.lua: what documents state of the order of phases: read where it has a stated shape, quoted
-- where it has none.
local folder_of = require "tests.support.skill_folder"
local of_folder = require "skillrt.document.load.folder"
local modes_of = require "skillrt.document.load.flow.modes"

-- A folder with phases of these names, beside a SKILL.md with this text.
local function folder(text, names, more)
  local files = { ["SKILL.md"] = folder_of.SKILL .. text }
  for i, name in ipairs(names or { "01-plan", "02-write", "03-check" }) do
    files[("phases/%s.md"):format(name)] = ("# %s\n\nDoes %d.\n"):format(name:gsub("^[%d-]+", ""), i)
  end
  for path, other in pairs(more or {}) do
    files[path] = other
  end
  return folder_of.make(files)
end

local function read(text, names, more)
  local made <close> = folder(text, names, more)
  local document = assert(of_folder.read(made.dir, {})) -- before a phase asks for the mode
  return document.definition, document.findings
end

local function conditions(phases)
  local out = {}
  for i, one in ipairs(phases) do
    out[i] = one.when or false
  end
  return out
end

local function told(found, code)
  local out = {}
  for _, one in ipairs(found) do
    out[#out + 1] = one.code == "load." .. code and one.what or nil
  end
  return table.concat(out, "\n")
end

describe("the order of phases", function()
  it("takes 01-5 as 1.5, before 02 (R28)", function()
    local skill = read("", { "02-write", "01-5-clarify", "01-plan", "10-end" })
    assert.same({ "01-plan", "01-5-clarify", "02-write", "10-end" }, folder_of.ids(skill.phases))
  end)

  it("takes a phase whose name only holds the word orchestrator as a phase", function()
    local skill = read("", { "01-plan", "02-orchestrator-design", "02-orchestrator" })
    assert.same({ "01-plan", "02-orchestrator-design" }, folder_of.ids(skill.phases))
  end)

  it("is the order of SKILL.md's table where that differs from the names, which is told (R28)", function()
    local skill, found = read([[
| Phase | Document |
|---|---|
| 1 | phases/02-write.md |
| 2 | phases/01-plan.md |
| 3 | phases/03-check.md |
]])
    assert.same({ "02-write", "01-plan", "03-check" }, folder_of.ids(skill.phases))
    assert.same({ "SKILL.md:8" }, folder_of.places(found, "load.phase-order"))
  end)
end)

describe("a table of phases", function()
  it("gives conditions, groups and modes (R13, F20)", function()
    local skill, found = read([[
| Phase | Document | Mode | Condition | Parallel |
|---|---|---|---|---|
| 1 | [plan](phases/01-plan.md) | all | - | no |
| 2 | [write](phases/02-write.md) | full (default) | `outputs['01-plan'].ok` | yes |
| 3 | [check](phases/03-check.md) | full, quick | always | yes |
]])
    assert.same({ false, "(outputs['01-plan'].ok) && (!input.mode || input.mode === 'full')", false },
      conditions(skill.phases))
    assert.is_true(skill.phases[2].parallel and skill.phases[3].parallel)
    assert.equal("", told(found, "flow-mode"))
  end)

  it("declares outputs: a path alone, of a phase whose document says nothing of its own (R13, R24)", function()
    local skill = read([[
| Phase | Document | Output |
|---|---|---|
| 1 | phases/01-plan.md | `plan.json` |
| 2 | phases/02-write.md | an updated text.md |
| 3 | phases/03-check.md | other.md |
]], nil, { ["phases/03-check.md"] = "# Check\n\nChecks.\n\n## Output\n\n- beside `notes.md`\n- **File**: `checks.md`\n" })
    local out = {}
    for i, one in ipairs(skill.phases) do
      out[i] = one.output_free and "" or one.output
    end
    assert.same({ "plan.json", "", "checks.md" }, out)
  end)

  it("quotes a condition that it cannot read, and leaves the phase running (F31)", function()
    local skill, found = read([[
| Phase | Document | Condition |
|---|---|---|
| 2 | phases/02-write.md | the plan is large |
]])
    assert.same({ false, false, false }, conditions(skill.phases))
    assert.truthy(told(found, "flow-condition"):find('"the plan is large"', 1, true))
  end)

  it("knows a set of phases that one of the modes runs", function()
    local modes = modes_of.new()
    for _, row in ipairs { { 2, "full" }, { 3, "full" }, { 1, "quick" }, { 1, "full" } } do
      modes_of.add(modes, row[1], row[2])
    end
    for text, wanted in pairs { ["1"] = true, ["1 2 3"] = true, ["2 3"] = false, ["1 2"] = false } do
      local named = {}
      for n in text:gmatch "%d" do named[#named + 1] = math.tointeger(tonumber(n)) end
      assert.equal(wanted, modes_of.has_set(modes, named, 3), text)
    end
  end)

  it("of modes says which phases run in which; without a default the mode has to be given", function()
    local skill, found = read("| Mode | Phases |\n|---|---|\n| quick | 1, 3 |\n| full | 1-3 |\n")
    assert.same({ false, "input.mode === 'full'", false }, conditions(skill.phases))
    assert.truthy(told(found, "flow-mode"):find("quick, full", 1, true))
  end)

  it("says by \"Used By\" which mode runs what; headings name the modes that no row does", function()
    local skill, found = read([[
## Auto Mode

## Single Role Mode Execution

| Phase | Document | Used By |
|---|---|---|
| 1 | phases/01-plan.md | Both modes |
| 2 | phases/02-write.md | Auto mode only |
| 3 | phases/03-check.md | All modes |
]])
    assert.same({ false, "input.mode === 'auto'", false }, conditions(skill.phases))
    assert.truthy(told(found, "flow-mode"):find("auto, single-role", 1, true))
  end)

  it("may give a mode as a condition, and takes one that it calls the default", function()
    local skill = read("| # | Phase | File | Condition |\n|---|---|---|---|\n| 1 | Plan | phases/01-plan.md | Always |\n"
      .. "| 2 | Write | phases/02-write.md | mode==parallel |\n| 3 | Check | phases/03-check.md | kind == small |\n")
    assert.same({ false, "input.mode === 'parallel'", "kind === 'small'" }, conditions(skill.phases))
    skill = read("| Mode | Phases | Trigger |\n|---|---|---|\n| full | 1 -> 2 -> 3 | Default: a page |\n"
      .. "| short | 1 -> 3 | --short |\n| none | 1 | never |\n")
    assert.same({ false, false, false }, conditions(skill.phases)) -- "1 -> 3" may mean two or three of them
    skill = read("| Mode | Phases | Trigger |\n|---|---|---|\n| full | 1 -> 2 -> 3 | Default: a page |\n"
      .. "| short | 1, 3 | --short |\n")
    assert.same({ false, "!input.mode || input.mode === 'full'", false }, conditions(skill.phases))
  end)

  it("that names a document which is not there is told with the nearest one", function()
    local _, found = read("| Phase | Document |\n|---|---|\n| 1 | phases/01-plan.md |\n| 2 | phases/02-writ.md |\n")
    assert.truthy(told(found, "reference-missing"):find("did you mean phases/02-write.md?", 1, true))
  end)
end)

describe("a section of SKILL.md", function()
  it("about a phase that has no document is what that phase is told; others have theirs", function()
    local skill, found = read([[
### Phase 0: Study of specs

Reads them.

### Phase 1: Find

Finds.

#### Step 1.1

Looks around.

### Phase 2: Write

Ref: phases/02-write.md
]], { "02-write", "03-check" })
    assert.same({ "phase-1", "02-write", "03-check" }, folder_of.ids(skill.phases))
    assert.equal("### Phase 1: Find\n\nFinds.\n\n#### Step 1.1\n\nLooks around.\n\n", skill.phases[1].prompt)
    assert.equal("phases/02-write.md", skill.phases[2].prompt)
    assert.same({ "SKILL.md" }, skill.documents)
    assert.same({ "SKILL.md:10" }, folder_of.places(found, "load.phase-section"))
  end)

  it("under another number than its document's leaves all sections alone", function()
    local skill = read("### Phase 1: Plan\n\nphases/00-plan.md\n\n### Phase 2: Look\n\nLooks.\n", { "00-plan", "01-end" })
    assert.same({ "00-plan", "01-end" }, folder_of.ids(skill.phases))
  end)

  it("for each mode says what it runs", function()
    local skill, found = read "## Quick Mode\n\nRun phase 1 only.\n\n## Full Mode (default)\n\nRun all 3 phases.\n"
    local full = "!input.mode || input.mode === 'full'"
    assert.same({ false, full, full }, conditions(skill.phases))
    assert.equal("", told(found, "flow-condition") .. told(found, "flow-choice"))
  end)
end)

describe("a sentence about phases", function()
  local function kinds(text, names, more)
    local _, found = read(text, names, more)
    local out = {}
    for _, one in ipairs(found) do
      out[#out + 1] = one.code:match "^load%.flow%-(.*)$" and ("%s %s:%s"):format(one.code:sub(11), one.file, one.line)
        or nil
    end
    return table.concat(out, ", ")
  end

  it("that states a loop is quoted once, however often it is said", function()
    assert.equal("loop SKILL.md:6", kinds "Phases 1-3 repeat until good.\n\n### Phase 2: Write (per iteration)\n")
    assert.equal("loop phases/04-end.md:3",
      kinds("", nil, { ["phases/04-end.md"] = "# End\n\nIf it is bad, go back to Phase 2.\n" }))
  end)

  it("that states a choice, a condition or a group is quoted", function()
    assert.equal("choice SKILL.md:6", kinds "Only one phase runs, never both.\n")
    assert.equal("condition SKILL.md:6", kinds "- Phase 2: Write (optional)\n")
    assert.equal("parallel SKILL.md:6", kinds "Phases 1 and 3 are executed concurrently.\n")
  end)

  it("keeps every character of what it quotes", function()
    local _, found = read("## Flow\n\n```\n│ Phase 2: 解决 (conditional: risk ≥ medium)\n```\n")
    assert.truthy(told(found, "flow-condition"):find("解决 (conditional: risk ≥ medium)", 1, true))
    _, found = read "`plan` leads to phases 1-3; `check` runs Phase 3 only.\n"
    assert.truthy(told(found, "flow-condition"):find("`plan` leads to phases 1-3; `check` runs", 1, true))
  end)

  it("that has the stated shape is obeyed: neighbours run at once (R13, F22)", function()
    local skill, found = read "Phases 2 and 3 run in parallel.\n"
    assert.is_true(skill.phases[2].parallel and skill.phases[3].parallel and not skill.phases[1].parallel)
    assert.equal("", told(found, "flow-parallel"))
  end)

  it("below a heading of examples, templates or errors says nothing", function()
    assert.equal("", kinds "## Example\n\nRepeat phase 2 until good.\n\n## Error handling\n\nSkip Phase 2.\n")
  end)
end)
