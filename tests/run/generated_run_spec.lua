-- generated_run_spec.lua: from a config to a finished run by the program alone: generate, run the
-- folder with --agent, kill it, resume it, ask for its status.
local core = require "skillrt.core"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

local here = core.files.current()

-- Generates the folder of a config; the agent that answers for it and notes in "log" what it was asked.
local function generated(folder, name, lang)
  local config = ("%s/tests/golden/configs/%s.json"):format(here, name)
  local result = kit.run(folder, { "generate", config, "--out", name, "--lang", lang or "en" })
  assert.equal(0, result.code, result.err)
  require "tests.support.filled"(folder.path .. "/" .. name)
  return { "lua5.4", here .. "/tests/support/golden_agent.lua", folder.path .. "/log" }
end

local function seen(folder)
  local list = {}
  for line in (folder.read "log" or ""):gmatch "[^\n]+" do
    list[#list + 1] = line
  end
  return list
end

describe("a generated folder", function()
  for _, lang in ipairs { "en", "zh" } do
    for _, name in ipairs { "release-notes", "link-fixer", "data-import" } do
      it(("of %s in %s is run by its path, with an agent from the command line"):format(name, lang), function()
        local folder <close> = kit.folder()
        local agent = generated(folder, name, lang)
        local run = kit.run(folder, { "run", name, "--work-dir", "w", "--agent", json.encode(agent) })
        assert.equal(0, run.code, run.out .. run.err)
        assert.truthy(run.out:find("completed", 1, true), run.out)
        if name ~= "data-import" then -- that one keeps its context in memory
          assert.truthy(kit.run(folder, { "status", "w" }).out:find("completed", 1, true))
          local again = kit.run(folder, { "resume", "w" })
          assert.truthy(again.err:find("the run is completed", 1, true), again.err)
        end
      end)
    end
  end

  it("goes on after kill -9 with the agent it was started with, and repeats nothing (R67)", function()
    local folder <close> = kit.folder()
    local agent = generated(folder, "release-notes")
    agent[4] = "02.5-check" -- there it hangs
    local run = kit.start(folder, { "run", "release-notes", "--work-dir", "w", "--agent", json.encode(agent) })
    local deadline = core.mono_ns() + 20000000000
    repeat
      os.execute "sleep 0.02"
      local list = seen(folder)
    until list[#list] == agent[4] or core.mono_ns() > deadline
    run.signal "KILL"
    assert.equal(137, run.wait().code)
    local resumed = kit.run(folder, { "resume", "w", "--decide", "retry" })
    assert.equal(0, resumed.code, resumed.out .. resumed.err)
    local list = seen(folder)
    table.sort(list)
    assert.same({ "01-range", "02-commits", "02-issues", "02.5-check", "02.5-check", "03-notes" }, list)
  end)

  it("says who is missing where nobody performs its steps", function()
    local folder <close> = kit.folder()
    generated(folder, "data-import")
    local run = kit.run(folder, { "run", "data-import", "--work-dir", "w", env = "-u SKILLRT_AGENT" })
    assert.equal(2, run.code)
    assert.truthy(run.err:find("no agent is chosen; next:", 1, true), run.err)
    assert.truthy(run.err:find("--agent", 1, true), run.err)
    for value, sign in pairs {
      ["./none"] = "none: No such file",
      ["[1]"] = "--agent: must be a list of texts",
      ["[\"a\""] = "--agent: JSON",
      [""] = "--agent: needs a name, an address or a program",
    } do
      local refused = kit.run(folder, { "run", "data-import", "--agent", value })
      assert.equal(2, refused.code)
      assert.truthy(refused.err:find(sign, 1, true), refused.err)
    end
  end)
end)
