-- cli_generate_spec.lua: `skillrt generate` as people use it: files, findings, differences, and
-- what is left when it is killed.
local core = require "skillrt.core"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

local here = core.files.current()

local function golden(name)
  return ("%s/tests/golden/configs/%s.json"):format(here, name)
end

local function generate(folder, words)
  return kit.run(folder, { "generate", table.unpack(words) })
end

-- The texts of all files below a folder.
local function tree(path)
  local found = {}
  for _, name in ipairs(require("skillrt.base.files").glob(path, "**/*") or {}) do
    found[name] = kit.read(path .. "/" .. name)
  end
  return found
end

-- But for the text that a killed program was about to put in a file's place.
local function without_rest(found)
  for name in pairs(found) do
    if name:find "%.new%-%x+$" then
      found[name] = nil
    end
  end
  return found
end

-- The names of what differs: a whole folder would be no message.
local function differing(wanted, found)
  local list = {}
  for name in pairs(wanted) do
    list[#list + 1] = found[name] ~= wanted[name] and name or nil
  end
  for name in pairs(found) do
    list[#list + 1] = wanted[name] == nil and name or nil
  end
  return list
end

-- Whether a generation of "out" was killed among its changes.
local function killed_before(folder)
  return require("skillrt.document.write").is_unfinished(folder.path .. "/out")
end

-- A config with so many actions that a generation takes a while.
local function large(count, word)
  local actions = {}
  for i = 1, count do
    actions[i] = { id = "action-" .. i, name = word .. i, preconditions = { "n > " .. i }, effects = { "n++" } }
  end
  local fields = { { name = "n", type = "number" } }
  return json.encode {
    skill_name = "large-one",
    description = "Many actions",
    execution_mode = "autonomous",
    autonomous_config = { state_schema = { fields = fields }, actions = actions },
  }
end

describe("skillrt generate", function()
  for _, lang in ipairs { "en", "zh" } do
    for _, name in ipairs { "release-notes", "link-fixer", "data-import", "target-worker" } do
      it(("writes what the golden files of %s in %s hold, byte for byte (R2)"):format(name, lang), function()
        local folder <close> = kit.folder()
        local result = generate(folder, { golden(name), "--out", "skill", "--lang", lang })
        assert.equal(0, result.code, result.err)
        local wanted = tree(("%s/tests/golden/%s/%s"):format(here, name, lang))
        assert.is_string(wanted["SKILL.md"])
        local written = tree(folder.path .. "/skill")
        written[".skillrt-generated.json"], written[".skillrt-texts.json"] = nil, nil
        assert.same(wanted, written)
        assert.truthy(result.out:find("SKILL.md", 1, true))
        assert.truthy(result.out:find("%d+ files: %d+ new\n$"), result.out)
      end)
    end
  end

  it("shows with --dry-run what it would do, and does nothing", function()
    local folder <close> = kit.folder()
    local result = generate(folder, { golden "link-fixer", "--out", "skill", "--dry-run" })
    assert.equal(0, result.code, result.err)
    assert.truthy(result.out:find("13 files: 13 new; nothing was written", 1, true), result.out)
    assert.is_nil(core.files.stat(folder.path .. "/skill"))
  end)

  it("does not overwrite what a person changed, shows what differs, and then does by --force", function()
    local folder <close> = kit.folder()
    generate(folder, { golden "link-fixer", "--out", "skill" })
    local was = folder.read "skill/SKILL.md"
    folder.file("skill/SKILL.md", was .. "my \27[31mline\n")
    local refused = generate(folder, { golden "link-fixer", "--out", "skill", "--lang", "zh" })
    assert.equal(8, refused.code)
    assert.truthy(refused.err:find("1 file was changed by hand", 1, true), refused.err)
    assert.truthy(refused.err:find("--force overwrites", 1, true), refused.err)
    assert.truthy(refused.out:find("\n<<<<<<< as it is\n", 1, true), refused.out)
    assert.truthy(refused.out:find("\nmy \\x1B[31mline\n", 1, true), refused.out)
    assert.truthy(refused.out:find("\n>>>>>>> as generated now\n", 1, true), refused.out)
    assert.equal(was .. "my \27[31mline\n", folder.read "skill/SKILL.md")
    local forced = generate(folder, { golden "link-fixer", "--out", "skill", "--force" })
    assert.equal(0, forced.code, forced.err)
    assert.truthy(forced.out:find("\n-my \\x1B[31mline\n", 1, true), forced.out)
    assert.truthy(forced.out:find("1 overwritten", 1, true), forced.out)
    assert.equal(was, folder.read "skill/SKILL.md")
  end)

  it("keeps what people wrote when the config changes: new, edit, change, generate (R2)", function()
    local folder <close> = kit.folder()
    local words = { "new", "keeper", "--mode", "hybrid", "--yes", "--description", "Keeps what people write" }
    assert.equal(0, kit.run(folder, words).code)
    local phase, action = "keeper/phases/01-prepare.md", "keeper/phases/actions/action-work.md"
    local mine = folder.read(phase):gsub("\n## Output\n", "\nRead the map first.\n\n## Output\n")
    folder.file(phase, mine)
    folder.file(action, (folder.read(action):gsub("const result = [^\n]*", "const result = work(input);")))
    local again = generate(folder, { "keeper", "--out", "keeper" })
    assert.equal(0, again.code, again.err)
    assert.truthy(again.out:find("2 changed by hand, kept", 1, true), again.out)
    local config = folder.read("keeper/skill-config.json"):gsub('"name": "Prepare"', '"name": "Get ready"')
    config = config:gsub('"name": "Work"', '"name": "Labour"')
    folder.file("keeper/skill-config.json", config)
    local merged = generate(folder, { "keeper", "--out", "keeper" })
    assert.equal(0, merged.code, merged.err)
    assert.truthy(merged.out:find("2 merged with what was changed by hand", 1, true), merged.out)
    assert.truthy(folder.read(phase):find("# Phase 1: Get ready\n", 1, true))
    assert.truthy(folder.read(phase):find("\nRead the map first.\n", 1, true))
    assert.truthy(folder.read(action):find("# Action: Labour\n", 1, true))
    assert.truthy(folder.read(action):find("const result = work(input);", 1, true))
    local last = generate(folder, { "keeper", "--out", "keeper" })
    assert.truthy(last.out:find("2 changed by hand, kept", 1, true), last.out)
  end)

  it("does not put another skill into a skill's folder, but by --force", function()
    local folder <close> = kit.folder()
    generate(folder, { golden "link-fixer", "--out", "skill" })
    local before = tree(folder.path .. "/skill")
    for _, flags in ipairs { {}, { "--dry-run" } } do
      local refused = generate(folder, { golden "release-notes", "--out", "skill", table.unpack(flags) })
      assert.equal(2, refused.code)
      local sign = 'skill: holds the skill "link-fixer", and this is the config of "release-notes"; nothing was written'
      assert.truthy(refused.err:find(sign, 1, true), refused.err)
      assert.truthy(refused.err:find("--force", 1, true), refused.err)
      assert.same(before, tree(folder.path .. "/skill"))
    end
    local forced = generate(folder, { golden "release-notes", "--out", "skill", "--force" })
    assert.equal(0, forced.code, forced.err)
    local after = tree(folder.path .. "/skill")
    after[".skillrt-generated.json"], after[".skillrt-texts.json"] = nil, nil
    assert.same(tree(here .. "/tests/golden/release-notes/en"), after)
  end)

  it("renames a skill from the config in its own folder", function()
    local folder <close> = kit.folder()
    generate(folder, { golden "link-fixer", "--out", "skill" })
    local config = folder.read("skill/skill-config.json"):gsub('"link%-fixer"', '"link-mender"')
    folder.file("skill/skill-config.json", config)
    local result = generate(folder, { "skill", "--out", "skill" })
    assert.equal(0, result.code, result.err)
    assert.truthy(folder.read("skill/SKILL.md"):find("name: link-mender", 1, true))
  end)

  it("goes on from the config in the folder, in the folder's language", function()
    local folder <close> = kit.folder()
    generate(folder, { golden "link-fixer", "--out", "skill", "--lang", "zh" })
    local config = folder.read("skill/skill-config.json"):gsub('"Scan"', '"Search"') .. "\n"
    folder.file("skill/skill-config.json", config)
    local result = generate(folder, { "skill", "--out", "skill" })
    assert.equal(0, result.code, result.err)
    assert.equal(config, folder.read "skill/skill-config.json")
    assert.truthy(folder.read("skill/phases/actions/action-scan.md"):find("# Action: Search", 1, true))
    assert.truthy(folder.read("skill/phases/orchestrator.md"):find("执行循环", 1, true))
  end)

  it("reads a config that begins with a byte order mark", function()
    local folder <close> = kit.folder()
    generate(folder, { golden "link-fixer", "--out", "skill" })
    folder.file("marked.json", "\u{FEFF}" .. folder.read "skill/skill-config.json")
    local result = generate(folder, { "marked.json", "--out", "other" })
    assert.equal(0, result.code, result.err)
    assert.equal(folder.read "skill/SKILL.md", folder.read "other/SKILL.md")
  end)

  it("reads a config that another program gives", function()
    local folder <close> = kit.folder()
    local pipe = folder.path .. "/pipe"
    assert(os.execute(("mkfifo '%s' && { timeout 10 cp '%s' '%s' & }"):format(pipe, golden "link-fixer", pipe)))
    local result = generate(folder, { "pipe", "--out", "skill" })
    assert.equal(0, result.code, result.err)
    assert.truthy(folder.read "skill/SKILL.md")
  end)

  it("tells every fault of a config by its key and writes nothing (F2)", function()
    local folder <close> = kit.folder()
    for text, sign in pairs {
      ['{"skill_name":"x"'] = "bad.json: ",
      ["[]"] = "must be an object",
      ['{"skill_name":"Bad Name","description":"d","execution_mode":"autonomous"}'] = "autonomous_config: is missing",
      ['{"skill_name":"abc","description":"d","autonomous_config":{"actions":[]}}'] = "autonomous_config.actions: is empty",
      ['{"skill_name":"abc","description":"d","sequential_config":{"phases":[{"id":"../../x"}]}}'] = "sequential_config.phases[1].id",
      ['{"skill_name":"abc","description":"d","sequential_config":{"phases":[{"id":"01-a"}]},"specs":["../x"]}'] = "specs[1].path",
    } do
      folder.file("bad.json", text)
      local result = generate(folder, { "bad.json", "--out", "skill" })
      assert.equal(2, result.code)
      assert.truthy(result.err:find(sign, 1, true), result.err)
      assert.is_nil(core.files.stat(folder.path .. "/skill"))
    end
  end)

  it("warns of what a check finds wrong with conditions and effects, and stops at it with --strict (F9)", function()
    local folder <close> = kit.folder()
    local config = kit.read "tests/golden/configs/data-import.json"
    local bad = assert(config:gsub('"!empty"', [["completed_actions.includes('gone')"]]))
    folder.file("c.json", bad)
    local told = generate(folder, { "c.json", "--out", "skill", "--strict" })
    assert.truthy(told.err:find('names the action "gone", which does not exist', 1, true), told.err)
    for from, to in pairs { ['"!empty"'] = '"rows >>>> 3"', ['"rows%-%-"'] = '"rows ==== 3 +"',
      ['"autonomous_config": {'] = '"autonomous_config": { "termination_conditions": ["rows === ==="],' } do
      folder.file("c.json", (assert(config:gsub(from, to))))
      local strict = generate(folder, { "c.json", "--out", "skill", "--strict" })
      assert.equal(2, strict.code, to)
      assert.truthy(strict.err:find("warning", 1, true), strict.err)
      assert.is_nil(folder.read "skill/skill-config.json")
    end
    folder.file("c.json", config)
    assert.equal(0, generate(folder, { "c.json", "--out", "skill", "--strict" }).code)
  end)

  it("tells warnings, and stops at them with --strict", function()
    local folder <close> = kit.folder()
    folder.file("c.json", '{"skill_name":"abc","description":"d","colour":1,"sequential_config":{"phases":[{"id":"01-a"}]}}')
    local strict = generate(folder, { "c.json", "--out", "skill", "--strict" })
    assert.equal(2, strict.code)
    assert.truthy(strict.err:find("c.json: warning: colour: ", 1, true), strict.err)
    assert.is_nil(core.files.stat(folder.path .. "/skill"))
    assert.equal(0, generate(folder, { "c.json", "--out", "skill" }).code)
  end)

  it("keeps odd text as it is: $&, {{x}}, pipes, brackets, backticks, line breaks (F9)", function()
    local folder <close> = kit.folder()
    local odd = "a $& $1 {{x}} {{{y}}} | b ] `c` \\ <d>\nsecond line"
    local config = json.encode {
      skill_name = "odd-one",
      description = odd,
      execution_mode = "sequential",
      sequential_config = { phases = { { id = "01-a", name = "A ] | `b` {{z}}", description = odd } } },
    }
    folder.file("odd.json", config)
    assert.equal(0, generate(folder, { "odd.json", "--out", "skill" }).code)
    assert.truthy(folder.read("skill/phases/01-a.md"):find("a $& $1 {{x}} {{{y}}} | b ] `c`", 1, true))
    local kept = assert(json.decode(folder.read "skill/skill-config.json"))
    assert.equal(odd, kept.description)
    assert.equal(0, generate(folder, { "odd.json", "--out", "skill" }).code)
  end)

  it("takes templates of the user's, file by file, and says when there are none", function()
    local folder <close> = kit.folder()
    os.execute(("mkdir -p '%s/mine/en'"):format(folder.path))
    local none = generate(folder, { golden "data-import", "--out", "skill", "--templates", "mine" })
    assert.equal(2, none.code)
    assert.truthy(none.err:find("mine: contains no template", 1, true), none.err)
    folder.file("mine/en/phase.mustache", "My {{name|line}} {{nothing}}\n")
    local wrong = generate(folder, { golden "data-import", "--out", "skill", "--templates", "mine" })
    assert.truthy(wrong.err:find("phase.mustache:1:", 1, true), wrong.err)
    folder.file("mine/en/phase.mustache", "My {{name|line}}\n")
    assert.equal(0, generate(folder, { golden "data-import", "--out", "skill", "--templates", "mine" }).code)
    assert.equal("My Open\n", folder.read "skill/phases/01-open.md")
  end)

  it("says what it needs", function()
    local folder <close> = kit.folder()
    assert.truthy(generate(folder, { golden "data-import" }).err:find("missing option '--out DIR'", 1, true))
    assert.truthy(generate(folder, { golden "data-import", "--out", "" }).err:find("--out DIR: name the skill's folder", 1, true))
    assert.truthy(generate(folder, { "no.json", "--out", "x" }).err:find("no.json: No such file", 1, true))
    folder.file("file", "")
    local result = generate(folder, { golden "data-import", "--out", "file" })
    assert.equal(2, result.code)
    assert.truthy(result.err:find("file", 1, true))
  end)

  it("leaves all or nothing when it is killed, and finishes when it is run again", function()
    local folder <close> = kit.folder()
    folder.file("one.json", large(100, "One"))
    folder.file("two.json", large(100, "Two"))
    assert.equal(0, generate(folder, { "one.json", "--out", "one" }).code)
    local began = core.mono_ns()
    assert.equal(0, generate(folder, { "two.json", "--out", "two" }).code)
    local took_ms = (core.mono_ns() - began) / 1e6
    local one, two = tree(folder.path .. "/one"), tree(folder.path .. "/two")
    -- the moment of the kill follows how long it takes on this machine
    local killed, turn, latest = 0, 0, took_ms
    repeat
      turn = turn + 1
      local is_new = turn % 2 == 0
      os.execute(("cd '%s' && rm -rf out && %s"):format(folder.path, is_new and "true" or "cp -r one out"))
      local words = { "generate", "two.json", "--out", "out", "--quiet" }
      if kit.killed_after(folder, words, latest * (0.3 + 0.7 * math.random())).code == 137 then
        killed = killed + 1
      else
        latest = latest / 1.3
      end
      if is_new then
        local there = core.files.stat(folder.path .. "/out/skill.lua")
        assert.is_true(there == nil or killed_before(folder) or tree(folder.path .. "/out")["skill.lua"] == two["skill.lua"])
      end
      if not is_new and not killed_before(folder) then -- nothing to finish: then it is the one or the other
        local now = folder.read "out/phases/actions/action-100.md"
        local wanted = now == one["phases/actions/action-100.md"] and one or two
        assert.same({}, differing(wanted, without_rest(tree(folder.path .. "/out"))))
      end
      assert.equal(0, generate(folder, { "two.json", "--out", "out", "--quiet" }).code)
      assert.same({}, differing(two, tree(folder.path .. "/out")))
    until killed == 4 or turn == 60
    assert.equal(4, killed)
  end)

  it("finishes a folder whose generation was interrupted, which nobody runs before that", function()
    local folder <close> = kit.folder()
    assert.equal(0, generate(folder, { golden "link-fixer", "--out", "skill" }).code)
    local old = folder.read "skill/skill-config.json"
    folder.file("skill/skill-config.json", (old:gsub('"Scan"', '"Search"')))
    folder.file("skill/.skillrt-generated.json", (folder.read("skill/.skillrt-generated.json"):gsub("{", '{"before":{},', 1)))
    local run = kit.run(folder, { "run", "skill" })
    assert.equal(2, run.code)
    assert.truthy(run.err:find("skillrt generate skill --out skill", 1, true), run.err)
    local done = generate(folder, { "skill", "--out", "skill" })
    assert.equal(0, done.code, done.err)
    assert.truthy(done.err:find("it is finished now", 1, true), done.err)
    assert.truthy(folder.read("skill/phases/actions/action-scan.md"):find("# Action: Search", 1, true))
    assert.is_nil(folder.read("skill/.skillrt-generated.json"):find("before", 1, true))
  end)
end)
