-- loaded_spec.lua: skills that are folders and files run as `skillrt run PATH --agent PROGRAM`.
local kit = require "tests.support.cli_kit"

-- Performs whatever it is asked: reports the changes named in the prompt's own words.
local AGENT = [[
#!/usr/bin/env lua5.4
local task = io.read "a"
local updates = task:match "return (%b{}) when done" or "{}"
print('{"status":"completed","summary":"ok","output":{"n":1},"stateUpdates":' .. updates .. "}")
]]

local SKILL = "---\nname: sorter\ndescription: Sorts.\n---\n# Sorter\n"

local function put(folder, name, text)
  local sub = name:match "^(.*)/"
  assert(not sub or os.execute(("mkdir -p '%s/%s'"):format(folder.path, sub)))
  folder.file(name, text)
end

local function agent(folder, text)
  folder.file("agent", text or AGENT)
  assert(os.execute(("chmod +x '%s/agent'"):format(folder.path)))
  return folder.path .. "/agent"
end

local function prose(folder)
  put(folder, "sorter/SKILL.md", SKILL)
  put(folder, "sorter/phases/state-schema.md", '# S\n\n## Initial State\n\n```json\n{"read": false, "sorted": 0}\n```\n')
  put(folder, "sorter/phases/actions/action-read.md",
    "# Action: Read\n\nreturn {\"read\":true} when done\n\n## Preconditions\n\n- [ ] `!read`\n")
  put(folder, "sorter/phases/actions/action-sort.md",
    "# Action: Sort\n\nreturn {\"sorted\":2} when done\n\n## Preconditions\n\n- [ ] `read`\n- [ ] `sorted < 2`\n")
  put(folder, "sorter/phases/actions/action-complete.md", "# Action: Complete\n\n## Preconditions\n\n- [ ] `sorted === 2`\n")
end

describe("skillrt run PATH", function()
  it("runs a folder of Markdown by its preconditions (R60)", function()
    local folder <close> = kit.folder()
    prose(folder)
    local run = kit.run(folder, { "run", "sorter", "--agent", agent(folder), "--work-dir", "w" })
    assert.equal(0, run.code, run.err)
    local read, sort = run.out:find("Executing: action-read", 1, true), run.out:find("Executing: action-sort", 1, true)
    assert.truthy(read and sort and read < sort, run.out)
    assert.truthy(run.out:find("completed (task_completed): 3 steps", 1, true), run.out)
  end)

  it("does not start without an agent, and says what to give", function()
    local folder <close> = kit.folder()
    prose(folder)
    local run = kit.run(folder, { "run", "sorter", "--work-dir", "w" })
    assert.equal(2, run.code)
    assert.truthy(run.err:find("sorter: no agent is chosen; next:", 1, true), run.err)
    assert.is_nil(io.open(folder.path .. "/w/state.json"))
  end)

  it("goes on with a folder only where its documents did not change", function()
    local folder <close> = kit.folder()
    prose(folder)
    local program = agent(folder, "#!/bin/sh\nexit 3\n")
    local run = kit.run(folder, { "run", "sorter", "--agent", program, "--work-dir", "w", "--quiet" })
    assert.not_equal(0, run.code)
    agent(folder)
    put(folder, "sorter/phases/actions/action-sort.md", "# Action: Sort\n\n## Preconditions\n\n- [ ] `never`\n")
    run = kit.run(folder, { "retry", "w", "--agent", program })
    assert.not_equal(0, run.code)
    assert.truthy((run.out .. run.err):find("action-sort.md", 1, true), run.err)
    prose(folder)
    run = kit.run(folder, { "retry", "w", "--agent", program })
    assert.equal(0, run.code, run.err .. run.out)
  end)

  it("runs phases by their numbers, and a workflow.json", function()
    local folder <close> = kit.folder()
    put(folder, "sorter/SKILL.md", SKILL)
    put(folder, "sorter/phases/01-read.md", "# Phase 1: Read\n")
    put(folder, "sorter/phases/02-sort.md", "# Phase 2: Sort\n")
    local program = agent(folder)
    local run = kit.run(folder, { "run", "sorter", "--agent", program, "--work-dir", "w" })
    assert.equal(0, run.code, run.err)
    assert.truthy(run.out:find("Executing: 01%-read.*Executing: 02%-sort"), run.out)
    put(folder, "sorter/workflow.json", '{"phases_to_run": ["02-sort"], "phases": [{"id": "01-read"}, {"id": "02-sort"}]}')
    run = kit.run(folder, { "run", "sorter/workflow.json", "--agent", program, "--work-dir", "v" })
    assert.equal(0, run.code, run.err)
    assert.is_nil(run.out:find("01-read", 1, true))
  end)

  it("runs the repair loop of an agent.yml until it verifies (R107, R109)", function()
    local folder <close> = kit.folder()
    folder.file("agent.yml", "workflow:\n  max-retries: 3\nskills:\n  - {name: analysis, tools: [A]}\n  - {name: generation, tools: [B]}\n"
      .. "  - {name: verification, tools: [C]}\n  - {name: repair, tools: [D]}\n")
    local program = agent(folder, [[
#!/usr/bin/env lua5.4
local task = io.read "a"
local n = tonumber(task:match '"retry_count":%s*(%d+)')
local updates = "{}"
if task:find("verification: ", 1, true) then
  updates = ('{"verified":true,"success":%s}'):format(n == 2)
elseif task:find("repair: ", 1, true) then
  updates = ('{"verified":false,"retry_count":%d}'):format(n + 1)
end
print('{"status":"completed","summary":"ok","stateUpdates":' .. updates .. "}")
]])
    local run = kit.run(folder, { "run", "agent.yml", "--agent", program, "--work-dir", "w" })
    assert.equal(0, run.code, run.err .. run.out)
    local _, repairs = run.out:gsub("Executing: repair", "")
    local _, checks = run.out:gsub("Executing: verification", "")
    assert.same({ 2, 3 }, { repairs, checks })
    assert.truthy(run.out:find("completed (task_completed)", 1, true), run.out)
  end)

  it("names what cannot be loaded, with file and line, and ends with 2", function()
    local folder <close> = kit.folder()
    put(folder, "sorter/skill-config.json", '{\n"skill_name": 1,\n"x" }')
    local run = kit.run(folder, { "run", "sorter" })
    assert.equal(2, run.code)
    assert.truthy(run.err:find("skill-config.json:3: error: is no JSON", 1, true), run.err)
  end)
end)

describe("what a skill's documents state and skillrt does not do", function()
  local function phases(folder, text)
    put(folder, "sorter/SKILL.md", SKILL .. text)
    put(folder, "sorter/phases/01-read.md", "# Read\n\nRead.\n")
    put(folder, "sorter/phases/02-sort.md", "# Sort\n\nSort.\n")
  end

  it("is said before the run, with the line; --strict refuses, --quiet says nothing (F31)", function()
    local folder <close> = kit.folder()
    phases(folder, "Phases 1-2 repeat until sorted.\n")
    local run = kit.run(folder, { "run", "sorter", "--agent", agent(folder), "--work-dir", "w" })
    assert.equal(0, run.code, run.err)
    assert.truthy(run.err:find("^SKILL%.md: note: runs 01%-read, 02%-sort once each, in this order; nothing else was read"
      .. '.-\nSKILL%.md:6: warning: names a phase and was not read: "Phases 1%-2 repeat until sorted%."'), run.err)
    run = kit.run(folder, { "run", "sorter", "--agent", agent(folder), "--work-dir", "v", "--strict" })
    assert.equal(2, run.code, run.out)
    assert.truthy(run.err:find("names a phase and was not read", 1, true), run.err)
    assert.is_nil(io.open(folder.path .. "/v/state.json"))
    phases(folder, "Sorts.\n")
    put(folder, "sorter/phases/02-sort.md", "# Sort\n\nBack to phase 1 where it is wrong.\n") -- a note
    run = kit.run(folder, { "run", "sorter", "--agent", agent(folder), "--work-dir", "v", "--strict" })
    assert.equal(2, run.code, run.out)
    phases(folder, "Phases 1-2 repeat until sorted.\n")
    run = kit.run(folder, { "run", "sorter", "--agent", agent(folder), "--work-dir", "u", "--quiet" })
    assert.is_nil(run.err:find("nothing else", 1, true))
    phases(folder, ("Phases 1-2 repeat.\n\n"):rep(30))
    run = kit.run(folder, { "run", "sorter", "--agent", agent(folder), "--work-dir", "t" })
    assert.equal(8, select(2, run.err:gsub("was not read:", "")))
    assert.truthy(run.err:find("and 22 more lines name phases and were not read", 1, true), run.err)
  end)

  it("runs the phases of the mode that is asked for, and asks for one where none is", function()
    local folder <close> = kit.folder()
    phases(folder, "| Mode | Phases |\n|---|---|\n| scan | 1 |\n| full | 1-2 |\n")
    local run = kit.run(folder, { "run", "sorter", "--agent", agent(folder), "--work-dir", "w" })
    assert.equal(3, run.code, run.out)
    assert.truthy(run.out:find("Which mode? (--set mode=scan says it at once)", 1, true), run.out)
    run = kit.run(folder, { "run", "sorter", "--agent", agent(folder), "--work-dir", "u", "--set", "mode=scan" })
    assert.equal(0, run.code, run.err)
    assert.truthy(run.out:find("Skipping 02-sort (condition not met)", 1, true), run.out)
    run = kit.run(folder, { "run", "sorter", "--agent", agent(folder), "--work-dir", "v", "--set", "mode=full" })
    assert.is_nil(run.out:find("Skipping 02-sort", 1, true), run.out)
  end)

  it("runs one role of a router, or SKILL.md where none is asked for", function()
    local folder <close> = kit.folder()
    put(folder, "sorter/SKILL.md", SKILL .. "Load the matching file.\n")
    put(folder, "sorter/roles/reader.md", "# Reader\n\nRead.\n")
    put(folder, "sorter/roles/writer/role.md", "# Writer\n\nWrite.\n")
    local run = kit.run(folder, { "run", "sorter", "--agent", agent(folder), "--work-dir", "w", "--set", "role=writer" })
    assert.equal(0, run.code, run.err)
    assert.truthy(run.out:find("Executing: writer", 1, true) and not run.out:find("Executing: run\n", 1, true), run.out)
    run = kit.run(folder, { "run", "sorter", "--agent", agent(folder), "--work-dir", "v" })
    assert.truthy(run.out:find("Executing: run\n", 1, true) and not run.out:find("Executing: reader", 1, true), run.out)
  end)

  it("blocks an action whose precondition is prose, and the run says its words (F28, F31)", function()
    local folder <close> = kit.folder()
    prose(folder)
    put(folder, "sorter/phases/actions/action-sort.md", "# Action: Sort\n\n## Preconditions\n\n- [ ] All is well read\n")
    local run = kit.run(folder, { "run", "sorter", "--agent", agent(folder), "--work-dir", "w" })
    assert.truthy(run.out:find("judged.includes('All is well read')", 1, true), run.out .. run.err)
    assert.is_nil(run.out:find("Executing: action-sort", 1, true))
  end)

  it("demands no output of a phase that names none (R23)", function()
    local folder <close> = kit.folder()
    phases(folder, "")
    local program = agent(folder, "#!/bin/sh\ncat > /dev/null\necho '{\"status\":\"completed\",\"summary\":\"ok\"}'\n")
    local run = kit.run(folder, { "run", "sorter", "--agent", program, "--work-dir", "w" })
    assert.equal(0, run.code, run.out .. run.err)
    put(folder, "sorter/phases/02-sort.md", "# Sort\n\nSort.\n\n## Output\n\n- **File**: `sorted.md`\n")
    run = kit.run(folder, { "run", "sorter", "--agent", program, "--work-dir", "v" })
    assert.equal(1, run.code)
    assert.truthy((run.out .. run.err):find("sorted.md was neither returned nor written", 1, true), run.out)
  end)
end)

describe("values of a config", function()
  local CONFIG = [[{ "skill_name": "demo", "display_name": "D", "description": "d", "triggers": ["d"],
  "execution_mode": "autonomous", "autonomous_config": { "actions": [{ "id": "action-a", "name": "A" }] },
  "x_skillrt": { "initial_state": { "nest": { "a": {}, "b": [] }, "top": {}, "list": [] } } }]]

  it("stay objects and lists, from the config to the state and the prompt (R43, F70)", function()
    local folder <close> = kit.folder()
    folder.file("skill-config.json", CONFIG)
    local program = agent(folder, "#!/bin/sh\ncat > " .. folder.path .. "/seen\necho '{\"status\":\"completed\"}'\n")
    local run = kit.run(folder, { "run", "skill-config.json", "--agent", program, "--work-dir", "w" })
    assert.equal(0, run.code, run.out .. run.err)
    for _, text in ipairs { folder.read "w/state.json", folder.read "seen" } do
      local plain = text:gsub("%s", "")
      assert.truthy(plain:find('"nest":{"a":{},"b":[]}', 1, true), text)
      assert.truthy(plain:find('"top":{}', 1, true) and plain:find('"list":[]', 1, true), text)
    end
  end)

  it("may name an input by the phase that makes it (R13, F6)", function()
    local folder <close> = kit.folder()
    folder.file("skill-config.json", [[{ "skill_name": "demo", "display_name": "D", "description": "d", "triggers": ["d"],
      "execution_mode": "sequential", "sequential_config": { "phases": [
        { "id": "api", "name": "A", "output": "api.md" }, { "id": "b", "name": "B", "output": "b.md" },
        { "id": "c", "name": "C", "output": "c.md", "input": ["api"] }] } }]])
    local loaded = assert(require("skillrt.document.load").load(folder.path .. "/skill-config.json", { agent = "true" }))
    assert.same({ "api.md" }, loaded.phases[3].input)
  end)

  it("are read through a symbolic link to the folder too", function()
    local folder <close> = kit.folder()
    prose(folder)
    assert(os.execute(("ln -s sorter '%s/linked'"):format(folder.path)))
    local checked = kit.run(folder, { "check", "linked" })
    assert.is_nil((checked.out .. checked.err):find("neither a folder", 1, true), checked.out)
    assert.equal(0, kit.run(folder, { "run", "linked", "--agent", agent(folder), "--work-dir", "w" }).code)
  end)
end)
