-- tool_sets_spec.lua: tool sets as a skill, an agent.yml and a config say them: the six sets of document 002, what may be
-- missing, what names are bound to, and what is refused.
require "tests.support.json_shim"
local load = require "skillrt.document.load"
local sets_of = require "skillrt.skill.tool_sets"
local skill_folder = require "tests.support.skill_folder"
local skillrt = require "skillrt"
local switches = require "skillrt.skill.switches"

-- Document 002, section 3, name by name.
local SETS <const> = {
  analysis = "CodeAnalyzerTool FileSystemTool DirectoryTool BoundaryAnalyzerTool StyleAnalyzerTool ProjectScannerTool "
    .. "TestDiscoveryTool",
  generation = "FileSystemTool DirectoryTool KnowledgeBaseTool SyntaxCheckerTool LspSyntaxCheckerTool CodeAnalyzerTool",
  verification = "MavenExecutorTool SyntaxCheckerTool LspSyntaxCheckerTool TestReportTool CoverageTool FileSystemTool "
    .. "MutationTestTool",
  repair = "FileSystemTool TestReportTool CodeAnalyzerTool SyntaxCheckerTool LspSyntaxCheckerTool MavenExecutorTool "
    .. "CoverageTool",
  iterative = "CodeAnalyzerTool CoverageTool MethodIteratorTool FileSystemTool DirectoryTool SyntaxCheckerTool "
    .. "LspSyntaxCheckerTool MavenExecutorTool TestReportTool KnowledgeBaseTool BoundaryAnalyzerTool",
  incremental = "GitDiffTool CodeAnalyzerTool FileSystemTool DirectoryTool SyntaxCheckerTool LspSyntaxCheckerTool "
    .. "MavenExecutorTool CoverageTool TestReportTool KnowledgeBaseTool",
}
local ORDER <const> = { "analysis", "generation", "verification", "repair", "iterative", "incremental" }

-- An agent.yml of our own making that holds them, and the set that holds everything.
local function yml(more)
  local lines = { more or "", "skills:" }
  for _, name in ipairs(ORDER) do
    lines[#lines + 1] = ("  - name: %q\n    description: \"The %s phase\"\n    tools:"):format(name, name)
    for tool in SETS[name]:gmatch "%S+" do lines[#lines + 1] = "      - " .. tool end
  end
  lines[#lines + 1] = '  - name: "full"\n    description: "all of them"\n    tools: []\n'
  return table.concat(lines, "\n")
end

local function loaded(text)
  local folder <close> = skill_folder.make { ["agent.yml"] = text }
  return load.load(folder.dir .. "/agent.yml")
end

local function tools_for(...)
  local tools, without = {}, {}
  for _, name in ipairs { ... } do without[name] = true end
  for _, list in pairs(SETS) do
    for name in list:gmatch "%S+" do
      tools[name] = not without[name] and { description = name, run = function() end } or nil
    end
  end
  return tools
end

-- A skill with these sets and tools of its own.
local function skill_of(tools, more)
  local folder <close> = skill_folder.make { ["agent.yml"] = yml() }
  local definition = { name = "s", tool_sets = skillrt.tool_sets(folder.dir .. "/agent.yml"), tools = tools,
    actions = { { id = "a", run = function() end } } }
  for key, value in pairs(more or {}) do definition[key] = value end
  return pcall(skillrt.skill, definition)
end

describe("the tool sets of document 002", function()
  -- What an agent.yml says of these sets is read as it stands there.
  local function are_read(first, last)
    local skill = assert(loaded(yml()))
    for i = first, last do
      local set, name = skill.tool_sets[i], ORDER[i]
      assert.same({ name, SETS[name] }, { set.name, table.concat(set.tools, " ") })
      assert.equal("The " .. name .. " phase", set.description)
    end
    return skill
  end

  it("are read from an agent.yml, each with its number of tools (R98)", function()
    local skill = are_read(1, #ORDER)
    for i, count in ipairs { 7, 6, 7, 7, 11, 10 } do
      assert.equal(count, #skill.tool_sets[i].tools)
    end
    assert.is_nil(skill.tool_sets[7].tools, "an empty list means all")
    assert.is_nil(sets_of.union(skill))
  end)

  it("have the tools of analysis and generation (R99, R100)", function()
    are_read(1, 2)
  end)

  it("have the tools of verification and repair (R101, R102)", function()
    are_read(3, 4)
  end)

  it("have the tools of the iterative and the incremental set (R103, R104)", function()
    are_read(5, 6)
  end)

  it("may lack LspSyntaxCheckerTool and MutationTestTool, and nothing else (R105)", function()
    assert.is_true((skill_of(tools_for("LspSyntaxCheckerTool", "MutationTestTool"))))
    local ok, message = skill_of(tools_for "CoverageTool")
    assert.is_false(ok)
    assert.matches("tool set verification: there is no tool \"CoverageTool\"; declare it in tools, or bind", message)
  end)

  it("are refused without SyntaxCheckerTool, and CompileGuard is named (R105)", function()
    local ok, message = skill_of(tools_for "SyntaxCheckerTool")
    assert.is_false(ok)
    assert.matches("no tool \"SyntaxCheckerTool\", which CompileGuard needs", message)
  end)

  it("stand for tools of the skill by a table: one, or several for one name", function()
    local tools = tools_for("FileSystemTool", "MavenExecutorTool", "LspSyntaxCheckerTool", "MutationTestTool")
    tools.read_file, tools.write_file, tools.edit = true, true, true
    tools.compile = { description = "x", run = function() end }
    local ok, skill = skill_of(tools, { bind = { FileSystemTool = { "read_file", "write_file", "edit" },
      MavenExecutorTool = "compile" } })
    assert.is_true(ok, skill)
    assert.same({ "compile", "SyntaxCheckerTool", "LspSyntaxCheckerTool", "TestReportTool", "CoverageTool", "read_file",
      "write_file", "edit", "MutationTestTool" }, sets_of.names(skill, sets_of.find(skill, "verification")))
    ok, skill = skill_of(tools, { bind = { FileSystemTool = "read_fil", MavenExecutorTool = "compile" } })
    assert.is_false(ok)
    assert.matches("no tool \"read_fil\" %(for FileSystemTool%)", skill)
  end)
end)

describe("what an agent.yml says besides its sets", function()
  it("that is other programs' is told and not refused; what was misspelt is told with what was meant", function()
    local folder <close> = skill_folder.make { ["agent.yml"] = yml(
      "llm:\n  protocol: openai\nbatch:\n  dry-run: false\nworkflow:\n  coverage-threshold: 80\n  max-retrys: 2\nbnd: {}") }
    local skill, message, _, found = load.load(folder.dir .. "/agent.yml")
    assert(skill, message)
    local told = {}
    for _, one in ipairs(found) do told[#told + 1] = one.level .. " " .. one.what end
    local all = table.concat(told, "\n")
    for _, wanted in ipairs { "note llm: is not obeyed", "note batch: no such key",
      "note workflow.coverage-threshold: no such key", 'warning workflow.max-retrys: no such key (did you mean "max-retries"?)',
      'bnd: no such key (did you mean "bind"?)' } do
      assert.truthy(all:find(wanted, 1, true), wanted .. "\n" .. all)
    end
  end)

  it("is refused where nothing would look at it: another type, a flow without its sets, a start nobody needs", function()
    for text, wanted in pairs { ["name: 5\n"] = "1: error: name: must be a text, not 5",
      ["workflow: fast\n"] = "workflow: must be an object",
      ['workflow: {interactive: "yes"}\n'] = 'workflow.interactive: must be true or false, not "yes"',
      ["workflow: {max-retries: false}\n"] = "max-retries: must be a whole number", ["switching: report\n"] = "switching: must be an",
      ["switching: {start: repair}\n"] = "start is of no use",
      ["switching: {next: [a]}\n"] = "switching.next: must be an object", ["switching: {by: report, rules: x}\n"] = "switching.rules: must",
      ["bind: {Nobody: read_file}\n"] = 'no tool set names "Nobody"' } do
      local none, message = loaded(text .. yml())
      assert.is_nil(none, text)
      assert.truthy(message:find(wanted, 1, true), message)
    end
    for more, wanted in pairs { ["prompt: [a]"] = "skills[1].prompt: must be a text",
      ["description: 7"] = "skills[1].description: must be a text" } do
      local none, message = loaded("skills:\n  - {name: a, tools: [A], " .. more .. "}\n")
      assert.is_nil(none, more)
      assert.truthy(message:find(wanted, 1, true), message)
    end
    local sets = "skills:\n  - {name: a, tools: [A]}\n  - {name: b, tools: [A]}\n"
    for _, text in ipairs { "{order: [a], verify: b}", "{order: [a], repair: b}", "{verify: b}" } do
      local none, message = loaded("switching: " .. text .. "\n" .. sets)
      assert.is_nil(none, text)
      assert.matches("verify and repair need a tool set each", message)
    end
    local folder <close> = skill_folder.make { ["agent.yml"] = "name: a b\nswitching: {order: [a]}\noptional_tools: [Nope]\n" .. sets
      .. "  - {name: c, tools: [LongName], optional: [LongNane]}\n" }
    local skill, message, _, found = load.load(folder.dir .. "/agent.yml")
    assert(skill, message)
    local told = {}
    for _, one in ipairs(found) do told[#told + 1] = one.level .. " " .. one.what end
    told = table.concat(told, "\n")
    for _, wanted in ipairs { "warning name: must be letters", 'note optional_tools: no tool set names "Nope"\n',
      'warning tool set c: optional: no tool set names "LongNane" (did you mean "LongName"?)', "note tool set b is not a step" } do
      assert.truthy(told:find(wanted, 1, true), told)
    end
  end)

  it("gives one name another scope in each set: analysis reads, generation writes (R197)", function()
    local text = "bind: {Files: [read_file, write_file]}\n"
      .. "skills:\n  - {name: analysis, tools: [Files], bind: {Files: read_file}}\n  - {name: generation, tools: [Files]}\n"
      .. "  - {name: repair, tools: [Files], bind: {Files: [read_file, edit]}}\n"
    local skill, names = assert(loaded(text)), {}
    for i, set in ipairs(skill.tool_sets) do
      names[i] = table.concat(sets_of.names(skill, set), " ")
    end
    assert.same({ "read_file", "read_file write_file", "read_file edit" }, names)
    local _, message = loaded((text:gsub("bind: {Files: read_file}", "bind: {Files: read_fil}")))
    assert.matches('bind: Files stands for "read_fil", which is not built in %(did you mean "read_file"', message)
    _, message = loaded((text:gsub("bind: {Files: read_file}", "bind: {Fils: read_file}")))
    assert.matches('bind: the set never names "Fils" %(did you mean "Files"', message)
  end)

  it("binds names to tools that are built in, and says how sets are switched", function()
    local text = "bind: {Files: [read_file, write_file], Find: grep}\nswitching: {by: report, next: {look: [write]}}\n"
      .. "skills:\n  - {name: look, tools: [Files, Find]}\n  - {name: write, tools: [Files], prompt: Write it now.}\n"
    local skill = assert(loaded(text))
    assert.same({ "read_file", "write_file", "grep" }, sets_of.names(skill, skill.tool_sets[1]))
    assert.truthy(skill.tools.grep and skill.tools.write_file)
    assert.same({ "report", "look" }, { skill.switching.by, skill.switching.start })
    assert.same({ "work", "action-complete" }, { skill.actions[1].id, skill.actions[2].id })
    local own = assert(loaded("bind: {Files: [Read, Edit], Find: mcp__a__b}\n" .. text:match "skills:.*"))
    assert.same({ { "Read", "Edit", "mcp__a__b" } }, { sets_of.names(own, own.tool_sets[1]), own.tools })
    local none, message = loaded(text:gsub("grep", "gerp"))
    assert.is_nil(none)
    assert.matches('agent.yml:1: error: bind: Find stands for "gerp", which is not built in %(did you mean "grep"', message)
  end)

  it("orders the steps of the orchestrator, whatever they are called (F55)", function()
    local skill = assert(loaded("switching: {order: [incremental], verify: verification, repair: iterative}\n" .. yml()))
    assert.equal("incremental verification iterative action-complete action-give-up", table.concat((function()
      local ids = {}
      for i, one in ipairs(skill.actions) do ids[i] = one.id end
      return ids
    end)(), " "))
    assert.equal("retry_count", skill.actions[3].keeps.counts)
    skill = assert(loaded("switching: {order: [repair, full]}\n" .. yml()))
    assert.same({ "repair", "full" }, { skill.phases[1].tool_set, skill.phases[2].tool_set })
    local none, message = loaded("switching: {order: [iteratve]}\n" .. yml())
    assert.is_nil(none)
    assert.matches('order: there is no tool set "iteratve" %(did you mean "iterative"', message)
    none, message = loaded("switching: {by: calls, order: [full]}\n" .. yml())
    assert.is_nil(none)
    assert.matches("order, verify and repair are the orchestrator's", message)
  end)
end)

describe("tool sets that are wrong", function()
  local function refused(more, wanted)
    local definition = { name = "s", actions = { { id = "a", run = function() end } },
      tool_sets = { { name = "one", tools = { "A" } }, { name = "two" } } }
    for key, value in pairs(more) do definition[key] = value ~= "none" and value or nil end
    local ok, message = pcall(skillrt.skill, definition)
    assert.is_false(ok, wanted)
    assert.truthy(message:find(wanted, 1, true), message)
  end

  it("are refused, with what was meant", function()
    refused({ tool_sets = {} }, 'field "tool_sets": is empty')
    refused({ tool_sets = { { name = "a", tool = {} } } }, 'did you mean "tools"')
    refused({ tool_sets = { { name = "a" }, { name = "a" } } }, '"a" occurs twice')
    refused({ tool_sets = "none", bind = { A = "b" } }, 'field "bind" needs "tool_sets"')
    refused({ bind = { A = { 1 } } }, 'field "bind": A[1] must be the name of a tool')
    refused({ bind = { B = "b" } }, 'field "bind": no tool set names "B"')
    refused({ bind = { A = {} } }, 'field "bind": "A" stands for no tool')
    refused({ switching = { by = "report", start = "on" } }, 'start: there is no tool set "on" (did you mean "one"?)')
    refused({ switching = { by = "reprt" } }, 'did you mean "report"')
    refused({ switching = { next = { one = "two" } } }, '"next" is for an agent that reports: by = "report" or "rules", not "orchestrator"')
    refused({ switching = { by = "calls", rules = { one = "x" } } }, '"rules" is for an agent that reports')
    refused({ switching = { by = "report", window = 3 } }, '"window" is for the pattern of calls')
    refused({ switching = { by = "rules" } }, 'by = "rules" needs "rules" or "next"')
    refused({ switching = { by = "report", next = { one = "tow" } } }, 'there is no tool set "tow" (did you mean "two"?)')
    refused({ switching = { by = "calls", map = { x = "three" } } }, 'map: x: there is no tool set "three"')
    refused({ switching = { fallback = "all" } }, 'fallback: there is no tool set "all"')
    refused({ actions = { { id = "a", run = function() end, tool_set = "tow" } } }, 'action "a": tool_set: there is no tool set "tow"')
    refused({ actions = { { id = "a", run = function() end, tool_set = "one", tools = { "A" } } } }, 'has "tools" beside "tool_set"')
    refused({ actions = { { id = "a", run = function() end, keeps = { count = "n" } } } }, 'did you mean "counts"')
    refused({ tool_sets = "none", actions = { { id = "a", run = function() end, tool_set = "one" } } }, "the skill has no tool_sets")
  end)
end)

describe("the marker of a phase", function()
  it("is the last line and nothing else in it; a phase that is merely spoken of is none (F57)", function()
    for text, name in pairs { ["<<phase: repair>>"] = "repair", ["done\n<<phase: a.b-c>>\n \n"] = "a.b-c" } do
      assert.equal(name, switches.reported(text), text)
    end
    for _, text in ipairs { "no test failed", "test failed", "phase: repair", "<<phase: repair>> then", "see <<phase: repair>>",
      "<<phase: repair>>\nand more", " <<phase: repair>>", "<<phase:repair>>", "<<phase: re pair>>", "<<PHASE: repair>>", "" } do
      assert.is_nil(switches.reported(text), text)
    end
    assert.is_nil(switches.reported(nil))
    assert.equal("x", switches.reported(("long "):rep(100000) .. "\n" .. switches.marker "x"))
  end)
end)
