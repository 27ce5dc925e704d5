-- foreign_spec.lua: documents that are no skill's folder: commands and agents' files run as one step, those of
-- other programs are named as what they are.
local files = require "skillrt.base.files"
local folder_of = require "tests.support.skill_folder"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"
local load = require "skillrt.document.load"

local function findings(text, name)
  local folder <close> = kit.folder()
  local document = assert(load.read(folder.file(name, text), { agent = "true" }))
  local out = {}
  for i, one in ipairs(document.findings) do
    out[i] = one.what
  end
  return document.definition, table.concat(out, "\n")
end

describe("a document of another kind", function()
  it("is named as what it is, and nothing of it is told besides", function()
    for name, case in pairs {
      ["triage.md"] = { "---\non: push\npermissions: read-all\n---\n# T\n", "a GitHub agentic workflow" },
      ["moved.md"] = { "---\nredirect: other/plan.md\n---\n", "a redirect to another document" },
      ["notes.md"] = { "# Notes\n", "a document without front matter, neither a command nor an agent's file" },
      ["package.json"] = { '{ "name": "x", "dependencies": {} }', "a package.json" },
      ["chain.json"] = { '{ "chain_id": "x", "nodes": {} }', "a chain of nodes" },
      ["other.json"] = { '{ "a": 1 }', "data of another program" },
      ["team-config.json"] = { '{ "team_name": "x", "skill_name": "x", "roles": [] }', "a team's configuration" },
      ["index.json"] = { '{ "name": "x", "description": "d", "phases": 4, "triggers": [] }', "data of another program" },
      ["compose.yml"] = { "services:\n  web: {}\n", "a compose file" },
      ["ci.yml"] = { "on: push\njobs: {}\n", "a GitHub workflow" },
      ["agents.yaml"] = { "finder:\n  role: r\n  goal: g\n  backstory: b\n", "a list of CrewAI's agents" },
      ["tasks.yaml"] = { "find:\n  description: d\n  expected_output: a list\n", "a list of CrewAI's tasks" },
      ["langgraph.json"] = { '{ "dependencies": ["."], "graphs": { "a": "./a.py:a" } }', "a configuration of LangGraph" },
      ["dev.agent.yaml"] = { "agent:\n  metadata: { name: dev }\n  persona: { role: r }\n", "an agent of BMAD" },
      ["greenfield.yaml"] = { "workflow:\n  id: g\n  sequence:\n    - agent: pm\n", "a workflow of BMAD" },
      ["workflow.yml"] = { "schema_version: '1'\nworkflow: { id: w }\nrequires: {}\nsteps: []\n", "a document of spec-kit" },
      ["party.yaml"] = { "name: p\ninstalled_path: x\ninstructions: y\n", "a workflow of BMAD" },
      ["prd.yaml"] = { "template: { id: t }\nsections: []\n", "a template of BMAD" },
      ["other.yaml"] = { "instructions: y\nsections: []\n", "data of another program" },
      ["notes.yaml"] = { "schema_version: 1\nitems: []\n", "data of another program" },
    } do
      local definition, told = findings(case[1], name)
      assert.is_nil(definition)
      assert.equal(("this is %s; skillrt does not run these"):format(case[2]), told, name)
    end
  end)

  it("is named, too, where it is a chain of nodes beside a skill", function()
    local folder <close> = folder_of.make { ["SKILL.md"] = folder_of.SKILL, ["chains/a.json"] = '{ "nodes": {} }' }
    local function chains()
      local _, found = folder_of.loaded(folder)
      return folder_of.places(found, "load.foreign"), found[1].what
    end
    local places, what = chains()
    assert.same({ "chains/a.json:1" }, places)
    assert.is_nil(what:find "more in")
    folder:write("chains/b.json", '{ "nodes": {} }')
    assert.matches(", with 1 more in chains/", select(2, chains()), 1, true)
  end)

  it("is a command without front matter where it lies below commands/", function()
    local folder <close> = kit.folder()
    assert(require("skillrt.base.files").make_folders(folder.path .. "/.claude/commands/git"))
    local page = folder.file(".claude/commands/git/review.md", "# Review\n\nReview $ARGUMENTS.\n")
    local document = assert(load.read(page, { agent = "true" }))
    assert.same({ "review", "Review", 0 }, { document.definition.name, document.definition.phases[1].name,
      #document.findings })
    local open = assert(load.read(folder.file("open.md", "---\nname: x\n"), { agent = "true" }))
    assert.matches("is never closed", open.findings[1].what, 1, true)
  end)

  it("is an agent.yml by its name, where nothing shows another program", function()
    local _, told = findings("description: d\nskils: []\n", "agent.yml")
    assert.matches("is missing: give a list", told, 1, true)
  end)

  it("is ours with one key of ours: what it lacks is told", function()
    for _, text in ipairs { "{}", '{ "execution_mode": "sequential" }', '{ "skill_name": "demo" }',
      '{ "actions": [{ "id": "a" }] }', '{ "phases": [{ "id": "a" }] }' } do
      local _, told = findings(text, "x.json")
      assert.is_nil(told:find("skillrt does not run these", 1, true), told)
    end
  end)

  it("beside others makes a folder of commands, which is no skill", function()
    local folder <close> = folder_of.make { ["one.md"] = "---\ndescription: One\n---\nOne.\n", ["two.md"] = "---\nname: t\n---\nTwo.\n" }
    local document = assert(load.read(folder.dir))
    assert.equal(1, #document.findings)
    assert.truthy(document.findings[1].what:find("holds commands or agents' files", 1, true))
  end)
end)

describe("a slash command", function()
  it("runs as one step, its body the prompt (R64)", function()
    local folder <close> = kit.folder()
    folder.file("review.md", "---\ndescription: Reviews\nallowed-tools: Read, Bash(git:*)\n---\nReview it.\n")
    folder.file("agent.sh", "#!/bin/sh\ncat > seen\nprintf '{\"status\":\"completed\",\"summary\":\"ok\"}'\n")
    os.execute("chmod +x " .. kit.quoted(folder.path .. "/agent.sh"))
    local done = kit.run(folder, { "run", "review.md", "--agent", folder.path .. "/agent.sh", "--work-dir", "w" })
    assert.equal(0, done.code, done.out .. done.err)
    local seen = folder.read "seen" or folder.read "w/seen"
    assert.truthy(seen and seen:find("Review it.", 1, true), seen)
  end)

  it("gives its name, description and tools, as an agent's file does", function()
    local definition = findings("---\nname: planner\ndescription: Plans\ntools: Read, Grep\nmodel: x\n---\nPlan.\n", "p.md")
    assert.same({ "planner", "Plans", "Read", "Grep" },
      { definition.name, definition.description, table.unpack(definition.phases[1].tools) })
  end)
end)

describe("steps in steps/", function()
  it("are phases, in the order of their numbers (R28)", function()
    local folder <close> = folder_of.make { ["SKILL.md"] = folder_of.SKILL, ["steps/step-02-b.md"] = "# B\n\nB.\n",
      ["steps/step-01-a.md"] = "# A\n\nA.\n", ["steps/notes.md"] = "# N\n\nN.\n" }
    local document = assert(load.read(folder.dir))
    assert.same({ "step-01-a", "step-02-b" }, folder_of.ids(document.definition.phases))
  end)
end)

describe("the keys of a config", function()
  it("are those that its schema lists (R1)", function()
    local kinds = require("skillrt.document.form").KINDS
    local schema = assert(json.decode(assert(files.read "docs/schema/skill-config.schema.json")))
    local count = 0
    schema["$defs"].config = schema
    for kind, node in pairs(schema["$defs"]) do
      for key in pairs(kind ~= "no_items" and node.properties or {}) do
        assert.truthy(kinds[kind].rank[key], kind .. "." .. key)
      end
      for key in pairs(kind ~= "no_items" and kinds[kind].rank or {}) do
        assert.truthy(node.properties[key], kind .. "." .. key)
        count = count + 1
      end
    end
    assert.truthy(count > 150)
  end)

  it("are told where nothing reads them, with what was meant and the line (F31)", function()
    local _, told = findings([[{ "skill_name": "demo", "description": "d", "display_name": "D", "triggers": ["d"],
  "execution_mode": "sequential",
  "sequential_config": { "phases": [{ "id": "a", "name": "A", "outptu": "a.md", "x_mine": 1 }] },
  "x_skillrt": { "limits": { "max_iteration": 3 } } }]], "skill-config.json")
    assert.truthy(told:find('sequential_config.phases[1].outptu: no such key (did you mean "output"?)', 1, true), told)
    assert.truthy(told:find('x_skillrt.limits.max_iteration: no such key (did you mean "max_iterations"?)', 1, true), told)
    assert.is_nil(told:find("x_mine", 1, true))
  end)
end)
