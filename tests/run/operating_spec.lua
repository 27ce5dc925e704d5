-- operating_spec.lua: the systemd unit does what docs/run/operating.md says.
local kit = require "tests.support.cli_kit"
local pages = require "tests.support.pages"

local PATH = "PATH=" .. kit.quoted(kit.program:match "^(.*)/") .. ":$PATH "

describe("the units for a timer", function()
  it("are understood by systemd, and leave little open", function()
    if not os.execute "command -v systemd-analyze >/dev/null 2>&1" then return end
    local folder <close> = kit.folder()
    for _, name in ipairs { "skillrt-due.service", "skillrt-due.timer", "skillrt@.service" } do
      folder.file(name, (pages.read("examples/systemd/" .. name):gsub("User=skillrt", "User=root")))
    end
    local there = kit.quoted(folder.path)
    local output = pages.run(("cd %s && systemd-analyze verify --man=no ./skillrt-due.timer ./skillrt-due.service 2>&1"):format(there))
    assert.falsy(output:find "skillrt%-due", output)
    for _, name in ipairs { "skillrt-due.service", "skillrt@.service" } do
      local text, code = pages.run(("cd %s && systemd-analyze security --offline=yes --threshold=40 $PWD/%s 2>&1"):format(there, name))
      assert.equal(0, code, text)
    end
  end)
end)

describe("examples/systemd/skillrt@.service", function()
  local unit = pages.read "examples/systemd/skillrt@.service"

  it("is a unit that systemd understands", function()
    if not os.execute "command -v systemd-analyze >/dev/null 2>&1" then return end
    local folder <close> = kit.folder()
    folder.file("skillrt@.service", (unit:gsub("User=skillrt", "User=root")))
    local output = pages.run(("cd %s && systemd-analyze verify --man=no ./skillrt@one.service 2>&1"):format(kit.quoted(folder.path)))
    assert.falsy(output:find "skillrt@", output)
  end)

  it("begins a run, goes on with it after SIGKILL, and ends as the unit expects", function()
    local folder <close> = kit.folder()
    os.execute("mkdir " .. kit.quoted(folder.path .. "/one"))
    folder.file("one/skill.lua", [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "one", state = { n = 0 }, actions = { { id = "a", max_runs = 5, when = "n < 5",
        run = function(state, ctx) ctx.await { kind = "sleep", seconds = 0.3 } return { n = state.n + 1 } end } } }
    ]])
    local command = unit:match "\nExecStart=([^\n]+)":gsub("/etc/skillrt/%%i", folder.path .. "/one"):gsub("%%i", "one")
    local function start(wait)
      return pages.run(("cd %s && %s timeout -s KILL %s %s 2>&1"):format(kit.quoted(folder.path), PATH, wait, command))
    end
    local first = start "0.9"
    assert.truthy(first:find("Completed: a", 1, true), first)
    local second, code = start "20"
    assert.equal(0, code, second)
    assert.truthy(second:find("Resuming", 1, true), second)
    assert.truthy(second:find("completed (task_completed): 5 steps", 1, true), second)
  end)

  it("knows each exit code", function()
    local told = {}
    for _, name in ipairs { "SuccessExitStatus", "RestartPreventExitStatus" } do
      for code in unit:match("\n" .. name .. "=([^\n]+)"):gmatch "%d+" do told[tonumber(code)] = true end
    end
    for _, row in ipairs(require "skillrt.cli.exit_codes".TABLE) do
      local again = row.code == 0 or row.code == 70 or row.code == 74
      assert.equal(not again, told[row.code] or false, tostring(row.code))
    end
  end)
end)
