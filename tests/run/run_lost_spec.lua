-- run_lost_spec.lua: a run whose directory or lock somebody takes away while it goes on.
local kit = require "tests.support.cli_kit"

local function skill(command)
  return ([[
    local skillrt = require "skillrt"
    return skillrt.skill { name = "thief", agents = { sh = skillrt.agent.command { "sh", "-c", %q } },
      actions = { { id = "first", priority = 9, run = function() return {} end }, { id = "take", agent = "sh" } } }
  ]]):format(command .. [[; echo '{"status":"completed"}']])
end

describe("a run that was taken away while it went on", function()
  it("ends as failed with a clear word, and is never called completed", function()
    for what, command in pairs {
      ["the directory"] = "cd / && rm -rf $TAKEN",
      ["run.lock"] = "rm $TAKEN/run.lock",
      ["the journal"] = "rm -r $TAKEN/journal",
    } do
      local folder <close> = kit.folder()
      folder.file("thief.lua", skill((command:gsub("%$TAKEN", folder.path .. "/w"))))
      local run = kit.run(folder, { "thief.lua", "--work-dir", "w" })
      assert.equal(1, run.code, what .. ": " .. run.out .. run.err)
      assert.truthy(run.err:find("was removed or replaced", 1, true), run.err)
      assert.truthy(run.err:find("nothing more is written", 1, true), run.err)
      assert.truthy(run.out:find("failed (store_lost)", 1, true), run.out)
      assert.is_nil((run.out .. run.err):find("next:", 1, true))
    end
  end)
end)
