-- supplied_spec.lua: the paths of a generated skill, and that all its documents speak of is there when
-- it is run: by the program alone, from a folder that has nothing to do with the skill's.
local core = require "skillrt.core"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

local here = core.files.current()

local function config(name)
  return ("%s/tests/golden/configs/%s.json"):format(here, name)
end

local function files_below(path)
  local found = {}
  for _, name in ipairs(require("skillrt.base.files").glob(path, "**/*") or {}) do
    found[#found + 1] = name
  end
  table.sort(found)
  return found
end

-- Runs a folder from an empty one beside it. The agent says it is done and keeps each prompt in
-- asked, by its time: these texts, and the run.
local function run(folder, skill)
  folder.file("agent.sh", ("cat >%s/asked/$(date +%%s%%N)-$$\n"):format(folder.path)
    .. [[echo '{"status": "completed", "summary": "done", "output": {"a": 1, "breaking": ["b"]}}']])
  os.execute(("rm -rf %s/asked && mkdir -p %s/asked %s/elsewhere"):format(folder.path, folder.path, folder.path))
  local agent = json.encode { "sh", folder.path .. "/agent.sh" }
  local old = folder.path
  local away = setmetatable({ path = old .. "/elsewhere" }, { __index = folder })
  local result = kit.run(away, { "run", skill, "--work-dir", "w", "--agent", agent })
  local prompts = {}
  for number, name in ipairs(files_below(old .. "/asked")) do
    prompts[number] = kit.read(old .. "/asked/" .. name)
  end
  return prompts, result, away.path .. "/w"
end

local function generate(folder, name, more)
  local words = { "generate", config(name), "--out", "skill", table.unpack(more or {}) }
  local result = kit.run(folder, words)
  assert.equal(0, result.code, result.err)
end

describe("skillrt generate", function()
  it("reads the config of a work folder, writes into the skill's folder and nowhere else, and takes the templates that are there (R1, F65)",
    function()
      local folder <close> = kit.folder()
      assert(os.execute(("mkdir -p %s/work && cp %s %s/work/skill-config.json && cp -r %s/templates %s/mine"):format(
        folder.path, config "link-fixer", folder.path, here, folder.path)))
      local template = folder.read "mine/en/orchestrator.mustache"
      folder.file("mine/en/orchestrator.mustache", "A line of my own for {{skill_name}}\n" .. assert(template))
      local before = table.concat(files_below(folder.path .. "/work"), " ")
      local out = ".claude/skills/link-fixer"
      local result = kit.run(folder, { "generate", "work", "--out", out, "--templates", "mine" })
      assert.equal(0, result.code, result.err)
      assert.truthy(folder.read(out .. "/phases/orchestrator.md"):find("A line of my own for link-fixer", 1, true))
      assert.equal("link-fixer", json.decode((folder.read(out .. "/skill-config.json"))).skill_name)
      assert.equal(before, table.concat(files_below(folder.path .. "/work"), " "))
      local top = {}
      for _, name in ipairs(files_below(folder.path)) do
        top[name:match "^[^/]+"] = true
      end
      top[".out"], top[".err"] = nil, nil
      assert.same({ work = true, mine = true, [".claude"] = true }, top)
      assert.equal("skills/link-fixer", table.concat(files_below(folder.path .. "/.claude"), " "):match "^skills/[^/ ]+")
    end)

  it("has one place and one writer for each file, and what reads them takes the other name, too (F11)", function()
    local places = {
      ["release-notes"] = { there = { "workflow.json", "phases/_orchestrator.md" },
        missing = { "phases/workflow.json", "phases/orchestrator.md", "specs/action-catalog.md" } },
      ["link-fixer"] = { there = { "phases/orchestrator.md", "specs/action-catalog.md" },
        missing = { "workflow.json", "phases/_orchestrator.md", "phases/action-catalog.md" } },
    }
    for name, wanted in pairs(places) do
      local folder <close> = kit.folder()
      generate(folder, name)
      for _, path in ipairs(wanted.there) do
        assert.is_string(folder.read("skill/" .. path), path)
      end
      for _, path in ipairs(wanted.missing) do
        assert.is_nil(folder.read("skill/" .. path), path)
      end
      local shown = kit.run(folder, { "generate", config(name), "--out", "new", "--dry-run" }).out
      for _, path in ipairs(wanted.there) do
        local _, times = shown:gsub(path:match "[^/]+$":gsub("%p", "%%%0"), "")
        assert.equal(1, times, path .. " in\n" .. shown)
      end
    end
    -- an action that the orchestrator alone speaks of is told under this name and under the other one
    local folder <close> = kit.folder()
    generate(folder, "link-fixer")
    assert(os.execute(("cd %s/skill && rm skill-config.json skill.lua .skillrt-generated.json"):format(folder.path)))
    local text, times = folder.read "skill/phases/orchestrator.md":gsub("\n| %[action%-scan%]([^\n]*)",
      "%0\n| [action-ghost] | 7 | - | - |")
    assert.is_true(times > 0)
    for _, name in ipairs { "orchestrator.md", "_orchestrator.md" } do
      os.execute(("rm -f %s/skill/phases/*orchestrator.md"):format(folder.path))
      folder.file("skill/phases/" .. name, text)
      local said = kit.run(folder, { "check", "skill" }).out
      assert.truthy(said:find("phases/" .. name:gsub("%p", "%%%0") .. ":%d+: [^\n]*action%-ghost"), said)
    end
  end)
end)

describe("a generated skill", function()
  it("shows in its documents the very state that it begins with (F1)", function()
    local folder <close> = kit.folder()
    generate(folder, "link-fixer")
    require "tests.support.filled"(folder.path .. "/skill")
    local shown = json.decode((folder.read "skill/phases/state-schema.md":match "## Initial State\n\n```json\n(.-)\n```"))
    local prompts, result = run(folder, folder.path .. "/skill")
    assert.is_string(prompts[1], result.out .. result.err)
    local first = json.decode((prompts[1]:match "BEGIN UNTRUSTED STATE[^\n]*\n(.-)\nEND UNTRUSTED STATE"))
    assert.same({ { "README.md" }, {}, 0, false }, { shown.files, shown.dead, shown.checked, shown.scanned })
    local compared = 0
    for key, value in pairs(shown) do
      -- the rest has been moved on by the run's beginning
      if not ({ status = 1, started_at = 1, updated_at = 1, current_action = 1, iteration_count = 1 })[key] then
        assert.same(value, first[key], key)
        compared = compared + 1
      end
    end
    assert.equal(12, compared)
  end)

  it("gives every step absolute paths of what is there, wherever it is run from (F12)", function()
    local folder <close> = kit.folder()
    generate(folder, "release-notes")
    require "tests.support.filled"(folder.path .. "/skill")
    local prompts, result, work = run(folder, folder.path .. "/skill")
    assert.equal(0, result.code, result.out .. result.err)
    assert.is_true(#prompts >= 4)
    local inputs = 0
    for number, prompt in ipairs(prompts) do
      assert.equal(work, prompt:match "%[WORK_DIR%]%s+([^\n]+)")
      local input = prompt:match "%[INPUT%]%s+([^\n]+)"
      if number > 1 then
        for path in input:gmatch "[^, ]+" do
          assert.equal(work, path:sub(1, #work))
          assert.is_string(kit.read(path), path)
          inputs = inputs + 1
        end
      end
      assert.truthy(prompt:match "%[OUTPUT%]%s+(%S+)":find(work .. "/", 1, true))
    end
    assert.is_true(inputs >= 3)
  end)
end)
