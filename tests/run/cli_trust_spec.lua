-- cli_trust_spec.lua: a folder's code is a stranger's until a person has said once that it may run.
local kit = require "tests.support.cli_kit"

local SKILL = [[
local helper = dofile(debug.getinfo(1, "S").source:match "^@(.*)/" .. "/helper.lua")
return require("skillrt").skill { name = "s", actions = { { id = "a", run = function() return { n = helper.n } end } } }
]]

local function put(folder)
  os.execute("mkdir -p " .. folder.path .. "/s")
  folder.file("s/skill.lua", SKILL)
  folder.file("s/helper.lua", "-- os.execute is not called here\nreturn { n = 3 }\n")
  return "XDG_STATE_HOME=" .. folder.path .. "/state"
end

describe("the code of a skill's folder", function()
  it("does not run without a word of its person, and shows what it is", function()
    local folder <close> = kit.folder()
    local env = put(folder)
    folder.file("s/skill.lua", "io.open('ran', 'w'):close()\n" .. SKILL)
    local run = kit.run(folder, { "run", "s", env = env })
    assert.equal(8, run.code, run.err)
    assert.truthy(run.err:find("helper.lua: 2 lines, uses a shell", 1, true), run.err)
    assert.truthy(run.err:find("skill.lua: 3 lines, uses files", 1, true), run.err)
    assert.truthy(run.err:find("--trust", 1, true))
    kit.run(folder, { "run", "s", "--help", env = env })
    assert.is_nil(folder.read "ran")
  end)

  it("runs with --trust, is remembered, and asked about again when any of it changed", function()
    local folder <close> = kit.folder()
    local env = put(folder)
    local run = kit.run(folder, { "run", "s", "--trust", "--work-dir", "a", env = env })
    assert.equal(0, run.code, run.err)
    assert.equal(0, kit.run(folder, { "run", "s", "--work-dir", "b", env = env }).code)
    folder.file("s/helper.lua", "return { n = 4 }\n")
    assert.equal(8, kit.run(folder, { "run", "s", "--work-dir", "c", env = env }).code)
    assert.equal(8, kit.run(folder, { "run", "s", "--work-dir", "d", env = "XDG_STATE_HOME=/nonexistent" }).code)
  end)

  it("is not asked about where the script itself is named, or where it is ours", function()
    local folder <close> = kit.folder()
    local env = put(folder)
    assert.equal(0, kit.run(folder, { "run", "s/skill.lua", env = env }).code)
    folder.file("s/helper.lua", "")
    os.remove(folder.path .. "/s/helper.lua")
    local ours = [[
-- s: run with `skillrt run .` in this folder
local skillrt = require "skillrt"
local folder = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$" or "."

return skillrt.from_config(folder .. "/skill-config.json", { folder = folder })
]]
    folder.file("s/skill.lua", ours)
    assert.truthy(kit.run(folder, { "run", "s", env = env }).code ~= 8)
    folder.file("s/skill.lua", "--[[ a\n]] os.exit(0) --[[\n]]\n" .. ours)
    assert.equal(8, kit.run(folder, { "run", "s", env = env }).code)
    folder.file("s/skill.lua", ours .. "\nos.exit(0)")
    assert.equal(8, kit.run(folder, { "run", "s", env = env }).code)
  end)
end)
