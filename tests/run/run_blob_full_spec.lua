-- run_blob_full_spec.lua: a large value that cannot be recorded: the run pauses as with any full disk, and
-- nothing is reported that is not durable.
local kit = require "tests.support.cli_kit"

local SKILL = [[
return require "skillrt".skill { name = "full", state = { n = 0 }, actions = {
  { id = "small", when = "n === 0", run = function() return { n = 1 } end },
  { id = "large", when = "n === 1", run = function() return { n = 2, text = ("x"):rep(300000) } end } } }]]

describe("a value kept apart that the disk does not take", function()
  it("pauses the run (5), its step is not reported as completed, and is performed again (F41)", function()
    local folder <close> = kit.folder()
    folder.file("full.lua", (SKILL:gsub("return { n = 1 }", "io.open('w/blobs', 'w'):close() return { n = 1 }")))
    local run = kit.run(folder, { "full.lua", "--work-dir", "w" })
    assert.equal(5, run.code, run.out .. run.err)
    assert.truthy(run.out:find("Completed: small", 1, true), run.out)
    assert.is_nil(run.out:find("Completed: large", 1, true))
    assert.truthy(run.out:find("paused (store_failed): 1 step", 1, true), run.out)
    assert.truthy(run.err:find("w/blobs", 1, true), run.err)
    os.remove(folder.path .. "/w/blobs")
    local status = kit.run(folder, { "status", "w" })
    assert.truthy(status.out:find("paused (store_failed)", 1, true), status.out .. status.err) -- as the program said
    local again = kit.run(folder, { "resume", "w" })
    assert.equal(0, again.code, again.err)
    assert.truthy(again.out:find("Completed: large", 1, true), again.out)
    assert.equal(0, kit.run(folder, { "log", "--verify", "w" }).code)
  end)
end)
