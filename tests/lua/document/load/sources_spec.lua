-- load_sources_spec.lua: what else a folder holds: tables of states, JSON files, a script;
-- and its border, which nothing read crosses.
local files = require "skillrt.base.files"
local json = require "skillrt.base.json"
local load = require "skillrt.document.load"
local skill_folder = require "tests.support.skill_folder"

local SKILL, action, loaded = skill_folder.SKILL, skill_folder.action, skill_folder.loaded
local ids, places, when = skill_folder.ids, skill_folder.places, skill_folder.when

describe("a table of states and the actions between them", function()
  local TABLE = "# Machine\n\n| Action | From States | To States | Description |\n|---|---|---|---|\n"
    .. "| `start` | `new` | `open` | Opens |\n| `mend` | Any | `open` | Mends |\n"

  it("is told and not read: actions run by their preconditions, in a run as in the check", function()
    local folder <close> = skill_folder.make { ["SKILL.md"] = SKILL, ["phases/orchestrator.md"] = TABLE,
      ["phases/actions/start.md"] = action("Begin", { "`files.length > 0`" }) }
    local skill, found = loaded(folder)
    assert.same({ "autonomous", "start" }, { skill.mode, table.concat(ids(skill.actions), " ") })
    assert.same({ "files.length > 0" }, when(skill.actions[1]))
    assert.same({ "phases/orchestrator.md:3" }, places(found, "load.machine-unread"))
    folder:write("phases/orchestrator.md", (TABLE:gsub("`start`", "reads the page"):gsub("`mend`", "mends it")))
    assert.same({}, places(select(2, loaded(folder)), "load.machine-unread"))
  end)
end)

describe("data in a folder", function()
  local CONFIG = {
    skill_name = "demo-skill",
    display_name = "Demo",
    description = "d",
    execution_mode = "autonomous",
    actions = json.array { { id = "a", name = "A" }, { id = "b", name = "B", preconditions = json.array { "y" } } },
    termination_conditions = json.array { "task_completed", "error" },
    output = { location = "x", artifacts = json.array { "state.json" } },
  }

  it("of an old shape is taken, and each key told with its line", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL,
      ["skill-config.json"] = assert(json.encode(CONFIG, { indent = 1, sorted = true })),
      ["phases/actions/a.md"] = action("A", { "`x`" }),
      ["phases/actions/b.md"] = action("B", { "`never`" }),
    }
    local skill, found = loaded(folder)
    assert.same({ { "x" }, { "y" } }, { when(skill.actions[1]), when(skill.actions[2]) })
    local told = {}
    for _, one in ipairs(found) do
      if one.code == "config.moved-key" or one.code == "config.unknown-termination" then
        told[#told + 1] = one.key .. (one.line and "" or " without a line")
      end
    end
    assert.same({ "actions", "termination_conditions", "autonomous_config.termination_conditions[2]" }, told)
  end)

  it("is the phases of workflow.json; a config that differs is told (R12, R28)", function()
    local workflow = '{"skill_name": "demo-skill", "phases_to_run": ["b", "a"],\n"phases": [{"id": "a", "name": "A", "output": "a.json", '
      .. '"input": null},\n{"id": "b", "name": "B", "output": "b.md", "input": "user input", "condition": null, "parallel": false}],\n'
      .. '"termination": {"on_error": "continue", "max_retries": 1}}'
    local folder <close> = skill_folder.make { ["SKILL.md"] = SKILL, ["workflow.json"] = workflow, ["phases/a.md"] = "# A\n" }
    local skill, found = loaded(folder)
    assert.same({ "b", "a" }, ids(skill.phases))
    assert.same({ "continue", 1, "phases/a.md" }, { skill.on_error, skill.limits.max_retries, skill.phases[2].prompt })
    assert.same({ "workflow.json:3" }, places(found, "load.no-document"))
    folder:write("skill-config.json", '{"skill_name": "demo-skill", "description": "d", "execution_mode": "sequential",'
      .. '"sequential_config": {"phases": [{"id": "a", "name": "A"}]}}')
    skill, found = loaded(folder)
    assert.same({ "b", "a" }, ids(skill.phases))
    assert.equal(1, #places(found, "load.workflow-differs"))
  end)

  it("is taken from where older generators put it (F11)", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL,
      ["phases/workflow.json"] = '{"phases": [{"id": "a", "name": "A"}]}',
      ["phases/_orchestrator.md"] = "# O\n",
    }
    local skill, found = loaded(folder)
    assert.same({ "a" }, ids(skill.phases))
    assert.same({ "phases/workflow.json" }, places(found, "load.workflow-place"))
  end)

  it("with a part of another type than an object is refused, not read as an empty one", function()
    for _, key in ipairs { "x_skillrt", "autonomous_config" } do
      local folder <close> = skill_folder.make { ["SKILL.md"] = SKILL, ["phases/actions/scan.md"] = "# Scan\n\nScans.\n",
        ["skill-config.json"] = ('{"skill_name": "demo", "description": "x", "execution_mode": "autonomous", "%s": ["x"]}'):format(key) }
      local skill, message, code = load.load(folder.dir)
      assert.same({ nil, "invalid" }, { skill, code })
      assert.matches(key .. ": must be an object", message)
    end
  end)

  it("that is no JSON, or wrong, is an error with file and line", function()
    local folder <close> = skill_folder.make { ["SKILL.md"] = SKILL, ["skill-config.json"] = '{\n "a": ,\n}' }
    local document = load.read(folder.dir)
    assert.same({ "skill-config.json:2" }, places(document.findings, "load.json"))
    assert.same({ 1, nil }, { document.findings:counts().error, document.definition })
    folder:write("skill-config.json", '{"skill_name": "demo-skill",\n"description": "d", "execution_mode": "autonomous",\n'
      .. '"autonomous_config": {"actions": [\n{"id": "../x"}]}}')
    local skill, message, code, found = load.load(folder.dir)
    assert.is_nil(skill)
    assert.equal("invalid", code)
    assert.truthy(message:find("skill-config.json:4: error: autonomous_config.actions[1].id", 1, true), message)
    assert.equal("error", found[1].level)
  end)

  it("in a hybrid says where the loop stands; else it is told", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL,
      ["phases/01-init.md"] = "# A\n",
      ["phases/03-end.md"] = "# B\n",
      ["phases/actions/a.md"] = action("A", { "None" }),
    }
    local skill, found = loaded(folder)
    assert.same({ "hybrid", true }, { skill.mode, skill.phases[2].trailing })
    assert.equal(1, #places(found, "load.hybrid-order"))
    folder:write("phases/00-orchestrator.md", "# O\n")
    skill, found = loaded(folder)
    assert.same({ true, true }, { skill.phases[1].trailing, skill.phases[2].trailing })
    assert.equal(0, #places(found, "load.hybrid-order"))
  end)

  it("that is a script comes first, with the agents of who loads it", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL,
      ["workflow.json"] = '{"phases": [{"id": "a"}]}',
      ["skill.lua"] = 'return require("skillrt").skill { name = "from-script", agents = {}, '
        .. "phases = { { id = 'p', run = function() return {} end } } }",
    }
    assert.equal("from-script", loaded(folder).name)
  end)
end)

describe("the border of a folder", function()
  it("is not crossed by links of the file system (F13)", function()
    local folder <close> = skill_folder.make { ["SKILL.md"] = SKILL, ["phases/01-a.md"] = "# A\n" }
    folder:write("../outside.md", "# Secret\n")
    folder:link("phases/02-b.md", "../../outside.md")
    local skill, found = loaded(folder)
    assert.same({ "01-a" }, ids(skill.phases))
    assert.same({ "phases/02-b.md" }, places(found, "load.link"))
  end)

  it("in a folder with many links to folders asks what each is once", function()
    local folder <close> = skill_folder.make { ["SKILL.md"] = "# S\n\nDo it.\n" }
    for i = 1, 40 do
      folder:write(("d%d/a.md"):format(i), "a\n")
      folder:link(("l%d"):format(i), ("d%d"):format(i))
    end
    local stat, count = files.stat, 0
    function files.stat(...)
      count = count + 1
      return stat(...)
    end
    local _ <close> = setmetatable({}, { __close = function() files.stat = stat end })
    assert.same({}, places(load.read(folder.dir).findings, "load.link"))
    assert.is_true(count < 400, count)
  end)

  it("holds links to folders of its own, and none to itself or out of it (F13)", function()
    local folder <close> = skill_folder.make { ["SKILL.md"] = SKILL, ["steps/first/01-a.md"] = "# A\n" }
    folder:write("../outside/02-b.md", "# Secret\n")
    folder:link("phases", "steps/first")
    folder:link("steps/again", "../steps")
    folder:link("more", "../outside")
    local skill, found = loaded(folder)
    assert.same({ "01-a" }, ids(skill.phases))
    assert.equal("steps/first/01-a.md", skill.phases[1].prompt) -- a run reads it through no link
    assert.same({ "steps/again" }, places(found, "load.link"))
  end)

  it("is told once where SKILL.md leads out of it, and not that it is missing", function()
    local folder <close> = skill_folder.make { ["notes.txt"] = "x\n" }
    folder:write("../outside.md", SKILL)
    folder:link("SKILL.md", "../outside.md")
    local told = {}
    for i, one in ipairs(load.read(folder.dir).findings) do
      told[i] = ("%s %s: %s"):format(one.level, one.code, one.fix)
    end
    assert.same({ "error load.link: give the folder that holds the file" }, told)
  end)

  it("tells links of which something is missed, in one line, and none that an agent can follow", function()
    local folder <close> = skill_folder.make { ["SKILL.md"] = SKILL, ["assets/x.txt"] = "x\n" }
    folder:write("../outside/run.py", "pass\n")
    folder:link("assets/run.py", "../../outside/run.py")
    folder:link("assets/again.py", "../../outside/run.py")
    local _, found = loaded(folder)
    assert.same({}, places(found, "load.link"))
    folder:link("assets/gone.py", "../../outside/none.py")
    folder:link("assets/gone2.py", "../../outside/none.py")
    local _, more = loaded(folder)
    local levels = {}
    for _, one in ipairs(more) do
      levels[#levels + 1] = one.code == "load.link" and ("%s %s"):format(one.level, one.what) or nil
    end
    table.sort(levels)
    assert.same({ "warning is a symbolic link, as is another" }, levels)
  end)

  it("is not crossed by links in documents; dead ones are told", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL .. "[out](../outside.md) [other](../other.md) [dead](specs/none.md) [web](https://x.y/z) "
        .. "[here](#part) [ok](phases/01-a.md#x)\n",
      ["phases/01-a.md"] = "# A\n",
    }
    folder:write("../other.md", "# Other\n")
    local _, found = loaded(folder)
    assert.same({ "SKILL.md:6" }, places(found, "load.reference-outside"))
    assert.same({ "SKILL.md:6" }, places(found, "load.reference-missing"))
  end)

  it("is not a program of a command line that is one of the folder's but for a letter", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL .. "```bash\n./scripts/chekc.sh --all\npython3 scripts/chek.sh\n./scripts/check.sh --all\n"
        .. "make scripts/chekc.sh\n```\n",
      ["scripts/check.sh"] = "true\n",
    }
    local _, found = loaded(folder)
    local lines = {}
    for _, one in ipairs(found) do lines[#lines + 1] = one.code == "load.reference-missing" and one.line or nil end
    assert.same({ 7, 8 }, lines)
  end)

  it("is the specs a run may not start without (R77, R78)", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL .. "\n## Mandatory Prerequisites\n\n| Document | Purpose |\n|---|---|\n| [r](specs/rules.md) | rules |\n",
      ["specs/rules.md"] = "# Rules\n",
      ["phases/01-a.md"] = "# A\n",
    }
    local skill = loaded(folder, { agent = "true" })
    assert.same({ "specs/rules.md" }, skill.specs)
    os.remove(folder.dir .. "/specs/rules.md")
    local refused, _, _, found = load.load(folder.dir)
    assert.is_nil(refused)
    assert.same({ "SKILL.md:11" }, places(found, "load.spec-missing"))
    local result, message = require("skillrt.run.runner").run(skill, { work_dir = folder.base .. "/work" })
    assert.is_nil(result)
    assert.truthy(message:find("rules.md", 1, true) and message:find("requires it before its first step", 1, true), message)
  end)

  it("keeps a run from starting when nobody performs its steps, and says what to give", function()
    local folder <close> = skill_folder.make { ["SKILL.md"] = SKILL, ["phases/01-a.md"] = "# A\n" }
    local skill = loaded(folder)
    assert.same({ "universal-executor" }, skill.missing)
    local result, message, code = require("skillrt.run.runner").run(skill, { work_dir = folder.base .. "/work" })
    assert.same({ nil, "invalid" }, { result, code })
    assert.truthy(message:find("no agent is chosen; next:", 1, true), message)
    assert.is_nil(loaded(folder, { agent = "true" }).missing)
  end)

  it("is text of UTF-8 of a bounded size; the rest is told", function()
    local folder <close> = skill_folder.make {
      ["SKILL.md"] = SKILL,
      ["phases/01-a.md"] = "# A\n\255\n",
      ["phases/02-b.md"] = ("x"):rep(require("skillrt.document.load.tree").MAX_DOCUMENT + 1),
      ["phases/03-c.md"] = "# C\n```\nopen\n",
    }
    local document = load.read(folder.dir)
    assert.same({ "phases/01-a.md:2" }, places(document.findings, "load.encoding"))
    assert.same({ "phases/02-b.md" }, places(document.findings, "load.unreadable"))
    assert.is_nil((load.load(folder.dir))) -- a phase of it would be missing
    assert.same({ "phases/03-c.md:2" }, places(document.findings, "load.fence"))
  end)

  it("without anything to run is an error that says so", function()
    local folder <close> = skill_folder.make { ["README.md"] = "# Nothing\n" }
    local skill, message, code = load.load(folder.dir)
    assert.same({ nil, "invalid" }, { skill, code })
    assert.truthy(message:find("holds no SKILL.md, no phases, no actions", 1, true), message)
    assert.same({ nil, "missing" }, { (load.load(folder.dir .. "/none")), (select(3, load.load(folder.dir .. "/none"))) })
  end)
end)
