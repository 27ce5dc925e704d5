-- load_agent_yml_spec.lua: agent.yml: tool sets as steps, workflow settings as limits; and a
-- config or workflow that lies alone.
local findings = require "skillrt.document.findings"
local load = require "skillrt.document.load"
local sets_of = require "skillrt.skill.tool_sets"
local skill_folder = require "tests.support.skill_folder"

local ids, places = skill_folder.ids, skill_folder.places

local FLOW = [[
llm:
  api-key: "${env:KEY}"
workflow:
  max-retries: 2
  max-stale-iterations: 4
  interactive: true
skills:
  - name: analysis
    description: Read the code
    tools: [Reader, Lister]
  - name: generation
    tools: [Writer]
  - name: verification
    tools: [Runner]
  - name: repair
    tools: [Writer, Runner]
  - name: incremental
    tools: [Differ]
  - name: full
    tools: []
]]

local function of(text, name)
  local folder <close> = skill_folder.make { [name or "agent.yml"] = text }
  local skill, message, code, found = load.load(folder.dir .. "/" .. (name or "agent.yml"))
  return skill, found, message, code
end

describe("an agent.yml", function()
  it("with the four sets of the known flow is that flow, with its tools (R95, R107)", function()
    local skill = of(FLOW)
    assert.equal("autonomous", skill.mode)
    assert.same({ "analysis", "generation", "verification", "repair", "action-complete", "action-give-up" }, ids(skill.actions))
    assert.same({ "Reader", "Lister" }, sets_of.names(skill, sets_of.find(skill, skill.actions[1].tool_set)))
    assert.equal("analysis: Read the code", skill.actions[1].prompt)
    assert.same({ "completed", "failed" }, { skill.actions[5].terminal, skill.actions[6].terminal })
  end)

  it("repairs and verifies as often as it says, and no more (R110, F51)", function()
    local skill = of(FLOW)
    assert.same({ 3, 2 }, { skill.actions[3].max_runs, skill.actions[4].max_runs })
    assert.same({ 2, 0 }, { skill.state.max_retries, skill.state.retry_count })
    assert.same({ 4, "interactive" }, { skill.limits.no_progress, skill.interaction })
  end)

  it("with other sets is a phase for each, in the order of the file; an empty set means all (F55)", function()
    local skill, found = of "skills:\n  - name: read\n    tools: [A]\n  - name: all\n    tools: []\n  - name: write\n    tools: [B]\n"
    assert.same({ "read", "write" }, ids(skill.phases))
    assert.same({ "read", "write" }, { skill.phases[1].tool_set, skill.phases[2].tool_set })
    assert.same({ "B" }, skill.tool_sets[3].tools)
    assert.same({ 4 }, { tonumber(places(found, "load.tool-set-unused")[1]:match ":(%d+)$") })
    assert.equal(3, #skill.tool_sets)
    assert.is_nil(skill.tool_sets[2].tools)
  end)

  it("keeps the sets no step uses, and says so", function()
    local skill, found = of(FLOW)
    assert.equal("incremental", skill.tool_sets[5].name)
    assert.equal(2, #places(found, "load.tool-set-unused"))
  end)

  it("with something else in place of its sets or of their order is refused", function()
    for text, sign in pairs { ["skills: 5\n"] = "skills: must be a list", [FLOW .. "switching:\n  order: true\n"] = "must be a list" } do
      local skill, _, message, code = of(text)
      assert.is_nil(skill)
      assert.equal("invalid", code)
      assert.matches(sign, message)
    end
  end)

  it("tells a secret in the file, and unknown keys", function()
    local _, found = of("extra: 1\nother: 2\n" .. FLOW:gsub("%${env:KEY}", "sk-123"))
    assert.equal(1, #places(found, "load.secret"))
    assert.equal(1, #places(found, "config.unknown-key")) -- one note for all that nothing reads
    for _, one in ipairs(found) do
      assert.is_nil(findings.text(one):find("sk-123", 1, true))
    end
  end)

  it("that is wrong is an error with its line", function()
    for text, wanted in pairs {
      ["workflow: {}\n"] = "skills: is missing: give a list", ["skills: []\n"] = "has no skills",
      ["skills:\n  - tools: [A]\n"] = "agent.yml:2: error: skills[1].name: is missing",
      ["skills:\n  - name: a\n    tools: 7\n"] = "agent.yml:3: error: skills[1].tools: must be a list",
      ["skills:\n  - name: a\n    tools: [1]\n"] = "skills[1].tools[1]: must be a text, not 1",
      ["skills:\n  - {name: a, tools: [A]}\n  - {name: a, tools: [B]}\n"] = 'agent.yml:3: error: skills[2].name: "a" is item 1 too',
      ["skills:\n  - {name: a, tools: [A]}\nworkflow:\n  max-retries: many\n"] = "agent.yml:4: error: workflow.max-retries: must be a",
      ["- a\n"] = "holds no keys",
      ["a: b: c\n"] = "is no YAML",
    } do
      local skill, _, message, code = of(text)
      assert.is_nil(skill, text)
      assert.equal("invalid", code)
      assert.truthy(message:find(wanted, 1, true), message)
    end
  end)

  it("warns where a set has no tools, or one twice", function()
    local _, found = of "skills:\n  - name: a\n    tools: [A, A]\n  - name: b\n"
    assert.equal(2, #places(found, "load.tool-set"))
  end)
end)

describe("a file that lies alone", function()
  it("is a config, with the line of what is wrong", function()
    local skill, found = of('{"$schema": "x", "skill_name": "demo", "description": "d", '
      .. '"sequential_config": {"phases": [{"id": "a"}]}}', "demo.json")
    assert.same({ "demo", "a", 0 }, { skill.name, skill.phases[1].id, #found })
    local text = '{"skill_name": "demo",\n"description": "d", "sequential_config": {"phases": [\n{"id": "/"}]}}'
    local none, _, message = of(text, "demo.json")
    assert.is_nil(none)
    assert.truthy(message:find("demo.json:3: error: sequential_config.phases[1].id", 1, true), message)
  end)

  it("is a workflow, by its name or by phases_to_run", function()
    assert.same({ "b" }, ids(of('{"phases_to_run": ["b"], "phases": [{"id": "a"}, {"id": "b"}]}', "x.json").phases))
    local none, _, message = of('{"phases_to_run": ["c"],\n"phases": [{"id": "a"}, {"id": "b"}]}', "workflow.json")
    assert.is_nil(none)
    assert.truthy(message:find('phases_to_run names "c", which is not a phase', 1, true), message)
  end)

  it("that is a workflow has a name by the rule of SKILL.md, as in its folder", function()
    for name, good in pairs { ab = true, [("a"):rep(64)] = true, ["7-up"] = true, [("a"):rep(65)] = false,
      ["a--b"] = false, Ab = false } do
      local text = ('{\n"skill_name": "%s", "phases": [{"id": "a", "name": "A"}]}'):format(name)
      local folder <close> = skill_folder.make {
        ["SKILL.md"] = "---\nname: demo-skill\ndescription: d\n---\n# D\n",
        ["workflow.json"] = text, ["phases/a.md"] = "# A\n", ["alone/workflow.json"] = text,
      }
      for _, path in ipairs { "", "/alone/workflow.json" } do
        local document = assert(load.read(folder.dir .. path))
        local where = path == "" and "workflow.json:2" or folder.dir .. path .. ":2"
        assert.same(good and {} or { where }, places(document.findings, "config.name"), name)
        assert.is_true(not good or document.name == name and document.definition.name == name)
      end
    end
  end)

  it("of another kind is refused with what to give", function()
    local none, _, message = of("Hello\n", "notes.txt")
    assert.is_nil(none)
    assert.truthy(message:find("give a skill's folder, script or config", 1, true), message)
  end)
end)
