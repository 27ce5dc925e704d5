-- cli_check_spec.lua: `skillrt check` and `skillrt graph` as people use them.
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

local HEAD = [[
local skillrt = require "skillrt"
return skillrt.skill {
  name = "case",
  state = { stage = "new" },
  agents = { worker = skillrt.agent.command { "true" } },
  actions = {
]]

local function script(folder, actions)
  return folder.file("case.lua", HEAD .. actions .. "  },\n}\n")
end

local GOOD = '{ id = "scan", agent = "worker", effects = { "stage=read" } },\n'
  .. '{ id = "report", agent = "worker", when = "stage === \'read\'" },\n'

local CONFIG = [[{
  "skill_name": "case",
  "description": "Reads and reports",
  "execution_mode": "autonomous",
  "autonomous_config": {
    "state_schema": { "fields": [{ "name": "stage", "type": "string", "description": "how far" }] },
    "actions": [
      { "id": "action-scan", "name": "Scan", "effects": ["stage=read"] },
      { "id": "action-report", "name": "Report", "preconditions": ["stage === 'read'"] }
    ]
  }
}]]

-- A generated folder named as its skill.
local function generated(folder)
  folder.file("skill-config.json", CONFIG)
  local made = kit.run(folder, { "generate", "skill-config.json", "--out", "case" })
  assert.equal(0, made.code, made.err)
end

describe("a command that looks at a skill", function()
  it("says that nothing lies at a path", function()
    local folder <close> = kit.folder()
    for _, command in ipairs { "check", "graph", "plan", "prompt", "simulate", "tokens" } do
      local run = kit.run(folder, { command, "nowhere" })
      assert.same({ 2, "skillrt: nowhere: No such file or directory" }, { run.code, run.err:match "^[^\n]*" }, command)
    end
  end)
end)

describe("skillrt check", function()
  it("says of five placeholders in the titles of a document that they are left, and of no more", function()
    local folder <close> = kit.folder()
    assert(os.execute(("mkdir -p '%s/s/phases'"):format(folder.path)))
    folder.file("s/SKILL.md", "---\nname: s\ndescription: Does a thing.\n---\n# S\n")
    folder.file("s/phases/01-a.md", ("# Phase 1: {{it}}\nDo it.\n\n"):rep(7))
    local _, count = kit.run(folder, { "check", "s" }).out:gsub("the placeholder {{it}} is left", "")
    assert.equal(5, count)
  end)

  it("says that a placeholder in a script's prompt is not expanded", function()
    local folder <close> = kit.folder()
    for prompt, name in pairs { ["Write to {state.to}."] = "state.to", ["Write to {{input.who}}, to them."] = "input.who",
      ["Write to whom `to` names, in {braces}."] = false } do
      script(folder, ('{ id = "scan", agent = "worker", prompt = "%s" },\n'):format(prompt))
      local run = kit.run(folder, { "check", "case.lua" })
      local found = run.out:find(("warning: {%s} in a prompt is not expanded [prompt.placeholder]"):format(name), 1, true)
      assert.equal(name ~= false, found ~= nil, run.out)
    end
  end)

  it("says that a clean skill is clean, with code 0", function()
    local folder <close> = kit.folder()
    script(folder, GOOD)
    local done = kit.run(folder, { "check", "case.lua" })
    assert.equal(0, done.code, done.out .. done.err)
    assert.truthy(done.out:find("0 errors, 0 warnings, 0 notes, 3 states searched", 1, true), done.out)
  end)

  it("finds nothing wrong with our own examples, whose folders hold a script and no SKILL.md", function()
    local folder <close> = kit.folder()
    assert(os.execute(("cp -r examples '%s'"):format(folder.path)))
    for _, name in ipairs { "hello", "http_agent", "machine/", "own_strategy", "review_machine", "sequential" } do
      local done = kit.run(folder, { "check", "examples/" .. name, "--trust" })
      assert.same({ 0, "" }, { done.code, (done.out:gsub("[^\n]*: 0 errors, 0 warnings, 0 notes[^\n]*\n", "")) })
    end
    assert.equal(2, kit.run(folder, { "check", "examples/systemd" }).code)
  end)

  it("tells code, place, what, why and what to do, with code 2 for errors (F28, F33)", function()
    local folder <close> = kit.folder()
    script(folder, GOOD:gsub("'read'", "'checked'"))
    local done = kit.run(folder, { "check", "case.lua" })
    assert.equal(2, done.code)
    assert.truthy(done.out:find('case.lua:8: warning: action "report" can never run: no action makes `stage === \'checked\'` true', 1,
      true), done.out)
    assert.truthy(done.out:find("[reach.goal]", 1, true))
    assert.truthy(done.out:find("\n    why: ", 1, true) and done.out:find("\n    do:  ", 1, true))
  end)

  it("gives one object with --json", function()
    local folder <close> = kit.folder()
    script(folder, GOOD:gsub("'read'", "'checked'"))
    local done = kit.run(folder, { "check", "case.lua", "--json" })
    local got = assert(json.decode(done.out))
    assert.equal(1, got.counts.error)
    assert.equal("reach.goal", got.findings[1].code)
    assert.same({ "scan" }, { table.unpack(got.findings[1].steps) })
    assert.is_true(got.complete)
  end)

  it("names what cannot be read, with code 2, and never a traceback", function()
    local folder <close> = kit.folder()
    folder.file("broken.lua", "return skillrt.skill {")
    folder.file("broken.json", "{ ")
    for _, path in ipairs { "broken.lua", "broken.json", "no-such-thing" } do
      local done = kit.run(folder, { "check", path })
      assert.equal(2, done.code, path)
      assert.is_nil((done.out .. done.err):find("traceback", 1, true))
      assert.truthy((done.out .. done.err):find(path, 1, true))
    end
    assert.equal(2, kit.run(folder, { "check", "broken.lua", "--max-states", "none" }).code)
  end)

  it("passes what skillrt generates, in the folder and as a config (R78, R79)", function()
    local folder <close> = kit.folder()
    generated(folder)
    for _, path in ipairs { "case", "case/skill-config.json", "skill-config.json" } do
      local done = kit.run(folder, { "check", path })
      assert.equal(0, done.code, path .. "\n" .. done.out .. done.err)
    end
  end)

  it("does not pass a fresh folder before somebody has filled it in, and gives less for what is missing", function()
    local folder <close> = kit.folder()
    generated(folder)
    local done = kit.run(folder, { "check", "case", "--report" })
    assert.truthy(done.out:find("case: REVIEW (79 of 100), autonomous", 1, true), done.out)
    assert.truthy(done.out:find("action-scan.md is as it was generated", 1, true), done.out)
    for _, name in ipairs { "phases/actions/action-scan.md", "phases/actions/action-report.md" } do
      folder.file("case/" .. name, folder.read("case/" .. name) .. "\nRead every file below src and list its faults.\n")
    end
    done = kit.run(folder, { "check", "case", "--report" })
    assert.truthy(done.out:find("case: PASS (100 of 100), autonomous", 1, true), done.out)
    for _, name in ipairs { "phases/actions/action-scan.md", "phases/state-schema.md", "specs/action-catalog.md",
      "phases/orchestrator.md" } do
      os.remove(folder.path .. "/case/" .. name)
    end
    local got = assert(json.decode(kit.run(folder, { "check", "case", "--report", "--json" }).out))
    assert.truthy(({ REVIEW = true, FAIL = true })[got.summary.status], got.summary.status)
    assert.equal(4, got.file_checks.total - got.file_checks.existing)
    assert.equal("case", got.skill_name)
    assert.truthy(got.generated_at:find "^%d+%-%d%d%-%d%dT%d%d:%d%d:%d%dZ$")
    assert.truthy(#got.summary.issues > 0 and #got.summary.recommendations > 0)
  end)

  it("reports on a file alone too: its contents are no documents and do not count", function()
    local folder <close> = kit.folder()
    script(folder, GOOD)
    folder.file("agent.yml", "skills:\n  - name: analysis\n    tools: [Reader]\n")
    folder.file("workflow.json", '{"skill_name": "ab", "phases": [{"id": "a", "name": "A", "output": "a.md"}]}')
    folder.file("skill-config.json", '{"skill_name": "demo", "description": "d", "execution_mode": "sequential"}')
    for path, status in pairs { ["case.lua"] = "PASS", ["agent.yml"] = "PASS", ["workflow.json"] = "PASS",
      ["skill-config.json"] = "FAIL" } do
      local done = kit.run(folder, { "check", path, "--report" })
      assert.truthy(done.out:find((": %s ("):format(status), 1, true), path .. "\n" .. done.out .. done.err)
      assert.truthy(done.out:find("\nfiles: 1 of 1 there, 1 with content", 1, true), done.out)
      assert.is_nil(done.out:find("contents", 1, true), done.out)
    end
    local got = assert(json.decode(kit.run(folder, { "check", "agent.yml", "--report", "--json" }).out))
    assert.same({ files = 100, references = 100, behaviour = 100 }, got.scores)
    assert.equal("agent.yml", got.file_checks.details[1].path)
  end)

  it("refuses a schema of a workflow's agent that allows no object", function()
    local folder <close> = kit.folder()
    for kind, code in pairs { array = 2, object = 0 } do
      folder.file("w.js", "export const meta = { name: 'w', description: 'd' }\n"
        .. ("await agent('x', { label: 'judge', schema: { type: '%s' } })\n"):format(kind))
      local done = kit.run(folder, { "check", "w.js" })
      assert.equal(code > 0, done.out:find("the schema of judge: schema: its type must be object", 1, true) ~= nil, done.out)
      assert.equal(code, done.code, done.out .. done.err)
    end
  end)

  it("has exit codes of its own, and help that names no others", function()
    local folder <close> = kit.folder()
    local help = kit.run(folder, { "check", "--help" }).out
    assert.truthy(help:find("Exit code 0: no warnings", 1, true))
    assert.is_nil(help:find("the run failed", 1, true))
    assert.truthy(kit.run(folder, { "run", "--help" }).out:find("the run failed", 1, true))
  end)

  it("checks several paths, each by itself; the highest code counts, --strict makes warnings errors", function()
    local folder <close> = kit.folder()
    script(folder, GOOD)
    folder.file("bad.lua", folder.read("case.lua"):gsub("'read'", "'checked'"))
    folder.file("warned.md", "---\nname: x\ndescription: Use: it\n---\nDo it.\n")
    local done = kit.run(folder, { "check", "case.lua", "bad.lua", "warned.md" })
    assert.equal(2, done.code, done.out)
    assert.truthy(done.out:find("\nbad.lua: 1 error,", 1, true) and done.out:find("case.lua: 0 errors", 1, true), done.out)
    assert.equal(1, kit.run(folder, { "check", "case.lua", "warned.md" }).code)
    assert.equal(2, kit.run(folder, { "check", "case.lua", "warned.md", "--strict" }).code)
    assert.equal(0, kit.run(folder, { "check", "case.lua", "--strict" }).code)
    local list = kit.objects(kit.run(folder, { "check", "case.lua", "bad.lua", "--json" }).out)
    assert.same({ "case.lua", "bad.lua" }, { list[1].path, list[2].path })
    assert.equal(2, kit.run(folder, { "check", "case.lua", "no-such-thing" }).code)
  end)

  it("writes SARIF: a rule for each code, a place for each finding, paths as they are from here", function()
    local folder <close> = kit.folder()
    script(folder, GOOD:gsub("'read'", "'checked'"))
    os.execute(("mkdir -p '%s/my skill'"):format(folder.path))
    folder.file("my skill/SKILL.md", "---\nname: my-skill\ndescription: Does a thing.\n---\n# D\n\nSee [x](gone.md).\n")
    local done = kit.run(folder, { "check", "case.lua", "my skill", "--format", "sarif" })
    assert.equal(2, done.code)
    local log = assert(json.decode(done.out))
    local driver, results = log.runs[1].tool.driver, log.runs[1].results
    assert.same({ "2.1.0", "skillrt" }, { log.version, driver.name })
    local seen = {}
    for _, one in ipairs(results) do
      local place = one.locations[1].physicalLocation
      assert.equal(one.ruleId, driver.rules[one.ruleIndex + 1].id)
      assert.truthy(({ error = true, warning = true, note = true })[one.level] and #one.message.text > 0)
      seen[one.ruleId] = ("%s:%s"):format(place.artifactLocation.uri, place.region and place.region.startLine)
    end
    assert.equal("case.lua:8", seen["reach.never"])
    assert.equal("my%20skill/SKILL.md:7", seen["load.reference-missing"])
  end)

  it("takes the name of a page in .claude, as run and the other commands do", function()
    local folder <close> = kit.folder()
    assert(require("skillrt.base.files").make_folders(folder.path .. "/.claude/commands"))
    folder.file(".claude/commands/review.md", "# Review\n\nReview $ARGUMENTS.\n")
    folder.file(".claude/commands/run.md", "# Run\n")
    folder.file("run", "-- a file of that name goes first\n")
    for line, shown in pairs { ["check review"] = ".claude/commands/review.md: 0 errors", ["prompt review"] = "Review",
      ["graph review"] = "Review", ["simulate review"] = "1 step", ["mcp --list review"] = '"name":"review"',
      ["check review nonesuch"] = "nonesuch: No such file", ["check run"] = "run: error: " } do
      local words = {}
      for word in line:gmatch "%S+" do words[#words + 1] = word end
      local done = kit.run(folder, words)
      assert.matches(shown, done.out .. done.err, 1, true)
    end
  end)

  it("waits for nothing that a folder links to, such as a pipe without a writer", function()
    local folder <close> = kit.folder()
    assert(os.execute(("cd '%s' && mkdir s s/x && mkfifo pipe && ln -s ../pipe s/a && ln -s ../../pipe s/x/b.lua")
      :format(folder.path)))
    folder.file("s/SKILL.md", "---\nname: s\ndescription: Reads.\n---\n# S\n\nRead it.\n")
    local done = kit.run(folder, { "check", "s" })
    assert.equal(1, done.code, done.err)
    assert.matches("a: warning: is a symbolic link, as is another", done.out, 1, true)
  end)

  it("fails the report of a folder in which nothing can run", function()
    local folder <close> = kit.folder()
    folder.file("notes.txt", "nothing\n")
    local done = kit.run(folder, { "check", folder.path, "--report" })
    assert.truthy(done.out:find("^%S+: FAIL %(18 of 100%)"), done.out)
  end)
end)

describe("skillrt graph", function()
  it("writes Mermaid, text and SVG (F9, R54)", function()
    local folder <close> = kit.folder()
    script(folder, GOOD)
    local mermaid = kit.run(folder, { "graph", "case.lua" })
    assert.equal(0, mermaid.code, mermaid.err)
    assert.truthy(mermaid.out:find("^flowchart TD\n"))
    assert.truthy(mermaid.out:find("|\"stage === 'read'\"|", 1, true))
    local text = kit.run(folder, { "graph", "case.lua", "--format", "text" })
    assert.truthy(text.out:find("^Start\n  %-> "), text.out)
    local svg = kit.run(folder, { "graph", "case.lua", "--format", "svg" })
    assert.equal(0, svg.code)
    assert.truthy(svg.out:find "^<svg.*</svg>\n$")
  end)

  it("writes into a file, in the language that its name says", function()
    local folder <close> = kit.folder()
    script(folder, GOOD)
    for name, first in pairs { ["g.svg"] = "^<svg", ["g.mmd"] = "^flowchart TD" } do
      local done = kit.run(folder, { "graph", "case.lua", "-o", name })
      assert.same({ 0, "" }, { done.code, done.out }, done.err)
      assert.truthy(folder.read(name):find(first))
    end
    assert.equal(2, kit.run(folder, { "graph", "case.lua", "--output", "no/such/g.svg" }).code)
  end)
end)
