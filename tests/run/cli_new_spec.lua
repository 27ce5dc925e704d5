-- cli_new_spec.lua: `skillrt new`: from a name to a skill that runs, by flags or by answers.
local core = require "skillrt.core"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

local AGENT = [[
#!/usr/bin/env lua5.4
io.read "a"
print '{"status":"completed","summary":"done","output":{"done":true}}'
]]

local function agent(folder)
  local path = folder.file("agent", AGENT)
  os.execute(("chmod +x '%s'"):format(path))
  return "SKILLRT_AGENT=" .. path
end

describe("skillrt new", function()
  for _, mode in ipairs { "sequential", "autonomous", "hybrid" } do
    it(("makes a skill that runs %s as it stands"):format(mode), function()
      local folder <close> = kit.folder()
      local made = kit.run(folder, { "new", "first-skill", "--mode", mode, "--yes" })
      assert.equal(0, made.code, made.err)
      assert.truthy(made.err:find("next: edit first-skill/skill-config.json", 1, true), made.err)
      local run = kit.run(folder, { "run", "first-skill/skill.lua", "--work-dir", "w", env = agent(folder) })
      assert.equal(0, run.code, run.out .. run.err)
      assert.truthy(run.out:find("completed", 1, true), run.out)
    end)
  end

  it("writes one file of some 20 lines that runs at once and has no findings: a page, a workflow script, Lua", function()
    local folder <close> = kit.folder()
    local state = ("XDG_STATE_HOME='%s/state'"):format(folder.path)
    local counter = folder.file("agent", "#!/bin/sh\necho \"heard $(wc -w)\"\n")
    os.execute(("chmod +x '%s'"):format(counter))
    for form, path in pairs { page = "my-page/SKILL.md", js = "my-js.js", lua = "my-lua.lua" } do
      local shown = kit.run(folder, { "new", "my-" .. form, "--" .. form, "--dry-run", env = state })
      assert.same({ 0, false }, { shown.code, core.files.stat(folder.path .. "/" .. path) or false })
      local made = kit.run(folder, { "new", "my-" .. form, "--" .. form, env = state })
      assert.equal(0, made.code, made.err)
      assert.truthy(made.err:find("wrote " .. path, 1, true), made.err)
      assert.equal(folder.read(path), shown.out)
      local _, lines = folder.read(path):gsub("\n", "")
      assert.is_true(lines >= 14 and lines <= 24, path)
      local what = path:gsub("/SKILL.md", "")
      assert.matches("0 errors, 0 warnings, 0 notes", kit.run(folder, { "check", what, env = state }).out, 1, true)
      local run = kit.run(folder, { "run", what, "--agent", "./agent", "--work-dir", form, env = state,
        table.unpack(form == "page" and { "--", "the sea" } or {}) })
      assert.equal(form == "lua" and 3 or 0, run.code, run.out .. run.err)
      local again = kit.run(folder, { "new", "my-" .. form, "--" .. form, env = state })
      assert.same({ 2, ("skillrt: %s: already exists; name another one, or use --force\n"):format(path) }, { again.code, again.err })
    end
    assert.equal(0, kit.run(folder, { "answer", "lua", "live", env = state }).code)
    assert.matches("--page and --js exclude each other", kit.run(folder, { "new", "one-two", "--js", "--page" }).err, 1, true)
    assert.equal(0, kit.run(folder, { "new", "in-there", "--page", "--out", "there", "--quiet", env = state }).code)
    assert.truthy(folder.read "there/in-there/SKILL.md":find("# In There", 1, true))
  end)

  it("writes what flags say into one file, too, and refuses those of a folder", function()
    local folder <close> = kit.folder()
    local said <const> = 'Says "hi": \\ and é'
    for form, path in pairs { page = "one-page/SKILL.md", js = "one-js.js", lua = "one-lua.lua" } do
      local run = kit.run(folder, { "new", "one-" .. form, "--" .. form, "--description", said, "--display-name", "My Thing",
        "--quiet", env = "XDG_STATE_HOME=" .. folder.path .. "/state" })
      assert.equal(0, run.code, run.err)
      assert.has_match('"Says \\"hi\\": \\\\ and é"', folder.read(path), 1, true)
      assert.equal(form == "page", folder.read(path):find("\n# My Thing\n", 1, true) ~= nil)
      assert.equal(0, kit.run(folder, { "check", path:match "^[^/]*" }).code)
      local refused = kit.run(folder, { "new", "two-" .. form, "--" .. form, "--phases", "a" })
      assert.equal(2, refused.code)
      assert.has_match(("--phases is of a skill's folder, and --%s writes one file"):format(form), refused.err, 1, true)
    end
  end)

  it("takes what flags say", function()
    local folder <close> = kit.folder()
    local made = kit.run(folder, { "new", "tidy-up", "--mode", "hybrid", "--description", "Tidies | up", "--phases",
      "Look around, 收尾", "--actions", "Pick up,Put away", "--context", "memory", "--triggers", "tidy，clean",
      "--display-name", "Tidy!", "--lang", "zh", "--out", "deep/er" })
    assert.equal(0, made.code, made.err)
    local config = assert(json.decode(folder.read "deep/er/skill-config.json"))
    assert.equal("Tidies | up", config.description)
    assert.equal("Tidy!", config.display_name)
    assert.equal("memory", config.context_strategy)
    assert.same({ "tidy", "clean" }, { table.unpack(config.triggers) })
    local phases, actions = config.sequential_config.phases, config.autonomous_config.actions
    assert.same({ "01-look-around", "02-step-2" }, { phases[1].id, phases[2].id })
    assert.equal("收尾", phases[2].name)
    assert.same({ "action-pick-up", "action-put-away", "action-complete" }, { actions[1].id, actions[2].id, actions[3].id })
    assert.truthy(folder.read("deep/er/phases/orchestrator.md"):find("动作目录", 1, true))
  end)

  it("has the mode that fits its phases and actions where none is said, and no phases or actions that it lacks", function()
    local folder <close> = kit.folder()
    for i, case in ipairs { { "sequential", "--phases", "one" }, { "autonomous", "--actions", "two" },
      { "hybrid", "--actions", "two", "--phases", "one" } } do
      local made = kit.run(folder, { "new", "skill-" .. i, "--description", "Does it. Use it.", table.unpack(case, 2) })
      assert.equal(0, made.code, made.err)
      assert.equal(case[1], json.decode(folder.read(("skill-%d/skill-config.json"):format(i))).execution_mode)
    end
    for mode, key in pairs { sequential = "actions", autonomous = "phases" } do
      local refused = kit.run(folder, { "new", "other", "--yes", "--mode", mode, "--" .. key, "one" })
      assert.same({ 2, ("skillrt: --%s: a skill that is %s has none\n"):format(key, mode) }, { refused.code, refused.err })
    end
  end)

  it("asks nobody where there is no terminal, and says what is missing", function()
    local folder <close> = kit.folder()
    local result = kit.run(folder, { "new", "first-skill" })
    assert.equal(2, result.code)
    assert.truthy(result.err:find("give --description and --mode, or --yes", 1, true), result.err)
    assert.is_nil(core.files.stat(folder.path .. "/first-skill"))
  end)

  it("refuses names and answers that cannot be used, and a folder that holds a skill", function()
    local folder <close> = kit.folder()
    for words, sign in pairs {
      [{ "No", "--yes" }] = "NAME must",
      [{ "../up", "--yes" }] = "NAME must",
      [{ "first-skill", "--yes", "--phases", " , " }] = "--phases: needs at least one name",
      [{ "first-skill", "--yes", "--description", "\xFF" }] = "--description: is no UTF-8",
      [{ "first-skill", "--yes", "--mode", "other" }] = "mode",
    } do
      local result = kit.run(folder, { "new", table.unpack(words) })
      assert.equal(2, result.code, sign)
      assert.truthy(result.err:find(sign, 1, true), result.err)
    end
    assert.equal(0, kit.run(folder, { "new", "first-skill", "--yes" }).code)
    local again = kit.run(folder, { "new", "first-skill", "--yes" })
    assert.truthy(again.err:find("already holds a skill", 1, true), again.err)
  end)

  it("asks on a terminal, with a default for each answer", function()
    if not kit.has_terminal() then return pending "no pseudo-terminals here" end
    local folder <close> = kit.folder()
    local answers = folder.file("answers", "\nFinds things\nsideways\nautonomous\nLook, Find\n\n\n")
    local line = ("cd '%s' && script -qec '%s new find-it' /dev/null <'%s' >said 2>&1"):format(folder.path, kit.program, answers)
    assert.is_true(os.execute(line), folder.read "said")
    local said, config = folder.read "said", assert(json.decode(folder.read "find-it/skill-config.json"))
    assert.truthy(said:find("Display name [Find It]: ", 1, true), said)
    assert.truthy(said:find("must be one of sequential, autonomous, hybrid", 1, true), said)
    assert.equal("Finds things", config.description)
    assert.equal("autonomous", config.execution_mode)
    assert.equal("action-look", config.autonomous_config.actions[1].id)
    assert.same({ "find it" }, { table.unpack(config.triggers) })
    local ended = folder.file("answers", "\n")
    os.execute(("cd '%s' && script -qec '%s new find-not' /dev/null <'%s' >said 2>&1"):format(folder.path, kit.program, ended))
    assert.is_nil(core.files.stat(folder.path .. "/find-not"))
  end)
end)
