-- ask_mode_spec.lua: a folder whose phases run by mode asks for it where nobody named one.
local files = require "skillrt.base.files"
local kit = require "tests.support.cli_kit"

local AGENT = "#!/bin/sh\ncat > /dev/null\necho '{\"status\":\"completed\",\"summary\":\"ok\"}'\n"
local TABLE = "\n## Modes\n\n| Mode | Phases |\n|---|---|\n| `quick` | 1, 3 |\n| `full` | 1, 2, 3 |\n"

local function cli(folder, more)
  local function put(name, text)
    assert(files.make_folders(files.dirname(folder.path .. "/" .. name)))
    folder.file(name, text)
  end
  put("review/SKILL.md", "---\nname: review\ndescription: Reviews.\n---\n# Review\n" .. (more or TABLE))
  put("review/phases/01-look.md", "# Phase 1: Look\n\nLook.\n")
  put("review/phases/02-dig.md", "# Phase 2: Dig\n\nDig.\n")
  put("review/phases/03-tell.md", "# Phase 3: Tell\n\nTell.\n")
  put("agent", AGENT)
  assert(os.execute(("chmod +x '%s/agent'"):format(folder.path)))
  return function(...)
    return kit.run(folder, { ... })
  end
end

local function phases(text)
  local out = {}
  for id in text:gmatch "Executing: (0%d%-%l+)" do
    out[#out + 1] = id
  end
  return table.concat(out, " ")
end

describe("a folder whose phases run by mode", function()
  it("asks for the mode that nobody set, and runs what the answer says", function()
    local folder <close> = kit.folder()
    local run = cli(folder)
    local first = run("run", "review", "--agent", folder.path .. "/agent", "--work-dir", "w")
    assert.equal(3, first.code, first.out .. first.err)
    assert.truthy(first.out:find("Which mode", 1, true), first.out)
    assert.equal("", phases(first.out))
    local then_ = run("answer", "w", "quick", "--agent", folder.path .. "/agent")
    assert.equal(0, then_.code, then_.out .. then_.err)
    assert.equal("01-look 03-tell", phases(then_.out))
  end)

  it("asks nothing where it is given, or a document names the default", function()
    local folder <close> = kit.folder()
    local run = cli(folder)
    local given = run("run", "review", "--agent", folder.path .. "/agent", "--work-dir", "w", "--set", "mode=full")
    assert.equal(0, given.code, given.out .. given.err)
    assert.equal("01-look 02-dig 03-tell", phases(given.out))
    run = cli(folder, (TABLE:gsub("`quick`", "`quick` (default)")))
    local default = run("run", "review", "--agent", folder.path .. "/agent", "--work-dir", "v")
    assert.equal(0, default.code, default.out .. default.err)
    assert.equal("01-look 03-tell", phases(default.out))
  end)
end)

describe("a folder that says where a run begins", function()
  local ENTRIES <const> = [[{ "phases": [{ "id": "01-look", "condition": "input.entry === 'new'" }, { "id": "02-dig" },
    { "id": "03-tell" }],
    "inputs": { "entry": { "one_of": ["new", "edit"], "question": "A new one, or an old one to edit?" } } }]]

  local function begun()
    local folder = kit.folder()
    local run = cli(folder, "")
    folder.file("review/workflow.json", ENTRIES)
    return folder, run
  end

  it("asks where nobody set it, and runs the phases from there on", function()
    local folder <close>, run = begun()
    local first = run("run", "review", "--agent", folder.path .. "/agent", "--work-dir", "w", "--strict")
    assert.equal(3, first.code, first.out .. first.err)
    assert.truthy(first.out:find("A new one, or an old one to edit?", 1, true), first.out)
    local then_ = run("answer", "w", "edit", "--agent", folder.path .. "/agent")
    assert.equal(0, then_.code, then_.out .. then_.err)
    assert.equal("02-dig 03-tell", phases(then_.out))
  end)

  it("takes it as it is set, and refuses another word", function()
    local folder <close>, run = begun()
    local given = run("run", "review", "--agent", folder.path .. "/agent", "--work-dir", "w", "--set", "entry=edit")
    assert.equal("02-dig 03-tell", phases(given.out))
    given = run("run", "review", "--agent", folder.path .. "/agent", "--work-dir", "v", "--set", "entry=new")
    assert.equal("01-look 02-dig 03-tell", phases(given.out))
    given = run("run", "review", "--agent", folder.path .. "/agent", "--work-dir", "u", "--set", "entry=edti")
    assert.equal(2, given.code, given.out .. given.err)
    assert.truthy(given.err:find("edit", 1, true), given.err)
  end)
end)
