-- stated_spec.lua: what documents state of conditions, outputs and roles, as a run of the folder does it.
local files = require "skillrt.base.files"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

local SKILL = "---\nname: sorter\ndescription: Sorts.\n---\n# Sorter\n"

local function put(folder, name, text)
  assert(files.make_folders(files.dirname(folder.path .. "/" .. name)))
  folder.file(name, text)
end

-- A program that answers each phase or action by a word of its prompt.
local function agent(folder, answers)
  local lines = { "#!/bin/sh", "prompt=$(cat)", ('printf "%%s\\n====\\n" "$prompt" >> "%s/seen"'):format(folder.path),
    'case "$prompt" in' }
  for _, one in ipairs(answers) do
    lines[#lines + 1] = ("*'%s'*) %s\necho '%s' ;;"):format(one[1], one[3] or ":", one[2])
  end
  lines[#lines + 1] = "*) echo '{\"status\":\"completed\",\"summary\":\"ok\"}' ;;\nesac"
  folder.file("agent", table.concat(lines, "\n") .. "\n")
  assert(os.execute(("chmod +x '%s/agent'"):format(folder.path)))
  return folder.path .. "/agent"
end

local function run(folder, program, ...)
  return kit.run(folder, { "run", "sorter", "--agent", program, "--work-dir", "w", ... })
end

describe("a precondition in prose", function()
  it("blocks an action that ends the run, too (F27, F28)", function()
    local folder <close> = kit.folder()
    put(folder, "sorter/SKILL.md", SKILL)
    put(folder, "sorter/phases/actions/action-read.md", "# Action: Read\n\nRead.\n\n## Preconditions\n\n- [ ] `!done`\n")
    put(folder, "sorter/phases/actions/action-complete.md",
      "# Action: Complete\n\nEnd.\n\n## Preconditions\n\n- [ ] The owner is content\n")
    put(folder, "sorter/phases/state-schema.md", '# S\n\n## Initial State\n\n```json\n{"done": false}\n```\n')
    local told = run(folder, agent(folder, {}))
    assert.is_nil(told.out:find("completed (", 1, true), told.out)
    assert.is_nil(told.out:find("Executing: action-complete", 1, true), told.out)
    assert.truthy(told.out:find("judged.includes('The owner is content')", 1, true), told.out)
    assert.truthy(told.err:find("its precondition cannot be read: The owner is content", 1, true), told.err)
  end)
end)

describe("a reply of a phase", function()
  it("that names an output_file has made that file: it is the phase's output and handed on (R23, F5)", function()
    local folder <close> = kit.folder()
    put(folder, "sorter/SKILL.md", SKILL)
    put(folder, "sorter/phases/01-read.md", "# Read\n\nDo the reading.\n")
    put(folder, "sorter/phases/02-sort.md", "# Sort\n\nDo the sorting.\n")
    local program = agent(folder, { { "Do the reading.", '{"status":"completed","output_file":"found/all.txt"}',
      ('mkdir -p "%s/w/found" && echo words > "%s/w/found/all.txt"'):format(folder.path, folder.path) } })
    local told = run(folder, program)
    assert.equal(0, told.code, told.out .. told.err)
    local second = folder.read("seen"):match "Do the sorting.*"
    assert.truthy(folder.read("seen"):find("found/all.txt", 1, true) and second, folder.read "seen")
    local state = assert(json.decode(folder.read "w/execution-state.json"))
    assert.equal("found/all.txt", state.phases_completed[1].output)
  end)

  it("that says skipped is a skip: the phase made nothing, and the next one runs (R30, F21)", function()
    local folder <close> = kit.folder()
    put(folder, "sorter/SKILL.md", SKILL)
    put(folder, "sorter/phases/01-read.md", "# Read\n\nDo the reading.\n")
    put(folder, "sorter/phases/02-sort.md", "# Sort\n\nDo the sorting.\n")
    local told = run(folder, agent(folder, { { "Do the reading.", '{"status":"skipped","summary":"nothing to read"}' } }))
    assert.equal(0, told.code, told.out .. told.err)
    local state = assert(json.decode(folder.read "w/execution-state.json"))
    assert.equal("02-sort", state.phases_completed[1].id)
    assert.equal("01-read", state.phases_skipped[1].id)
    assert.truthy(state.phases_skipped[1].reason:find("nothing to read", 1, true), state.phases_skipped[1].reason)
  end)
end)

describe("a router", function()
  it("has its workflows, or skills of its own, as alternatives: one runs where it is asked for", function()
    for word, paths in pairs {
      workflow = { "workflows/make.md", "workflows/audit.md" }, skill = { "skills/make/SKILL.md", "skills/audit/SKILL.md" },
    } do
      local folder <close> = kit.folder()
      put(folder, "sorter/SKILL.md", SKILL .. ("| Asked | Read |\n|---|---|\n| 1 | %s |\n| 2 | `%s` |\n"):format(paths[1], paths[2]))
      put(folder, "sorter/" .. paths[1], "Make it.\n")
      put(folder, "sorter/" .. paths[2], "Audit it.\n")
      local told = run(folder, agent(folder, {}), "--set", word .. "=audit")
      assert.equal(0, told.code, told.out .. told.err)
      assert.truthy(told.out:find("Executing: audit", 1, true), told.out)
      assert.is_nil(told.out:find("Executing: make", 1, true) or told.out:find("Executing: run\n", 1, true), told.out)
    end
  end)

  it("refuses a word that is none of its alternatives, and takes other inputs; so do phases by mode", function()
    local folder <close> = kit.folder()
    put(folder, "sorter/SKILL.md", SKILL)
    put(folder, "sorter/roles/reader.md", "Read.\n")
    put(folder, "sorter/roles/writer.md", "Write.\n")
    local told = run(folder, agent(folder, {}), "--set", "role=writr")
    assert.equal(2, told.code, told.out .. told.err)
    assert.truthy(told.err:find('input role must be one of reader, writer, not "writr" (did you mean "writer"?)', 1, true), told.err)
    told = run(folder, agent(folder, {}), "--set", "role=writer", "--set", "topic=birds")
    assert.equal(0, told.code, told.out .. told.err)
    put(folder, "sorter/SKILL.md", SKILL .. "| Mode | Phases |\n|---|---|\n| quick (default) | 1 |\n| full | 1, 2 |\n")
    put(folder, "sorter/phases/01-read.md", "# Read\n\nRead.\n")
    put(folder, "sorter/phases/02-sort.md", "# Sort\n\nSort.\n")
    told = kit.run(folder, { "run", "sorter", "--agent", folder.path .. "/agent", "--work-dir", "v", "--set", "mode=ful" })
    assert.equal(2, told.code, told.out .. told.err)
    assert.truthy(told.err:find("input mode must be one of quick, full", 1, true), told.err)
  end)

  it("is none where SKILL.md sends to one of them, or to none", function()
    local folder <close> = kit.folder()
    put(folder, "sorter/SKILL.md", SKILL .. "Read workflows/make.md.\n")
    put(folder, "sorter/workflows/make.md", "Make it.\n")
    put(folder, "sorter/workflows/audit.md", "Audit it.\n")
    local document = assert(require("skillrt.document.load").read(folder.path .. "/sorter", { agent = "true" }))
    assert.equal(1, #document.definition.phases)
  end)
end)
