-- meant_spec.lua: an unknown name is told with the one that was most likely meant, wherever names are read.
local check = require "skillrt.document.check"
local skill_folder = require "tests.support.skill_folder"

local SKILL = skill_folder.SKILL
local CONFIG = '{"skill_name": "demo-skill", "description": "d", "autonomous_config": {"actions": [%s]}%s}'

local function told(files, path)
  local folder <close> = skill_folder.make(files)
  local out = {}
  for _, one in ipairs(check.check(path and folder.dir .. "/" .. path or folder.dir).findings) do
    out[#out + 1] = ("%s: %s"):format(one.level, one.what)
  end
  return table.concat(out, "\n")
end

describe("an unknown name", function()
  for name, case in pairs {
    ["in a front matter"] = { { ["SKILL.md"] = SKILL:gsub("\n%-%-%-\n", "\nalowed-tools: Read\n---\n", 1) },
      'alowed%-tools.*did you mean "allowed%-tools"' },
    ["in a command"] = { { ["go.md"] = "---\ndescripton: Goes.\nargument-hint: x\n---\nGo.\n" },
      '^warning: descripton: no such key %(did you mean "description"%?%)$', "go.md" },
    ["of a section"] = { { ["SKILL.md"] = SKILL, ["phases/actions/action-a.md"] = "# A\n\nDo.\n\n## Precondtions\n\n- [ ] `x`\n" },
      'no document lists its preconditions %(is "Precondtions" meant%?%)' },
    ["of a key of the state"] = { { ["SKILL.md"] = SKILL,
      ["phases/state-schema.md"] = '# S\n\n## Initial State\n\n```json\n{"scanned": false}\n```\n',
      ["phases/actions/action-a.md"] = "# A\n\nDo.\n\n## Preconditions\n\n- [ ] `scaned === true`\n" },
      'warning: key "scaned" is read.*did you mean "scanned"' },
    ["at the top of a config"] = { { ["SKILL.md"] = SKILL, ["skill-config.json"] = CONFIG:format('{"id": "a"}', ', "specz": []') },
      "specz.*did you mean \"specs\"" },
    ["of an action's field"] = { { ["SKILL.md"] = SKILL,
      ["skill-config.json"] = CONFIG:format('{"id": "a", "precondtions": []}', "") }, 'precondtions.*did you mean "preconditions"' },
    ["of a limit"] = { { ["SKILL.md"] = SKILL,
      ["skill-config.json"] = CONFIG:format('{"id": "a"}', ', "x_skillrt": {"agentz": {}, "limits": {"max_iteration": 3}}') },
      'max_iteration.*did you mean "max_iterations"' },
    ["in a workflow"] = { { ["SKILL.md"] = SKILL, ["phases/01-a.md"] = "# A\n\nDo.\n",
      ["workflow.json"] = '{"phases": [{"id": "01-a", "ouput": "x"}], "terminaton": {}}' },
      'terminaton.*did you mean "termination".*ouput.*did you mean "output"' },
    ["in an agent.yml"] = { { ["agent.yml"] = "skills:\n  - name: a\n    tools: [Read]\nworkfow:\n  max-retries: 2\n" },
      'warning: workfow: no such key %(did you mean "workflow"%?%)', "agent.yml" },
    ["of an agent"] = { { ["skill.lua"] = 'return require("skillrt").skill { name = "s", agents = { clerk = { kind = "command", '
      .. 'argv = { "true" } } }, actions = { { id = "a", agent = "clark" } } }' }, 'did you mean "clerk"', "skill.lua" },
    ["of a key of a script"] = { { ["skill.lua"] = 'return require("skillrt").skill { name = "s", agentz = {}, '
      .. 'actions = { { id = "a", run = function() end } } }' }, 'did you mean "agents"', "skill.lua" },
  } do
    it(name .. " is told with the one that was meant", function()
      assert.matches(case[2], told(case[1], case[3]))
    end)
  end

  it("is not told with a short one that it is far from, and makes no warning where other programs have keys", function()
    assert.matches("\nnote: module: no such key$", told { ["SKILL.md"] = SKILL:gsub("\n%-%-%-\n", "\nmodule: x\n---\n", 1) })
  end)

  it("in an object below a line that is no YAML is not looked for: what it holds is not read", function()
    local said = told { ["SKILL.md"] = SKILL:gsub("\n%-%-%-\n", "\nhint: a: b\nmetadata:\n  one:\n    tags: [x]\n---\n", 1) }
    assert.matches("is no YAML", said)
    assert.is_nil(said:find("metadata", 1, true), said)
  end)
end)
