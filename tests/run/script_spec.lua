-- script_spec.lua: a script that the program runs: where it finds things.
local kit = require "tests.support.cli_kit"

local function run_ok(folder, words)
  local run = kit.run(folder, words)
  assert.equal(0, run.code, run.err .. run.out)
  return run
end

describe("the folder that a script names by dir", function()
  it("is looked for beside the script, wherever that lies", function()
    local folder <close> = kit.folder()
    assert(os.execute(("mkdir -p %s/sub/papers"):format(folder.path)))
    folder.file("sub/papers/ask.md", "The words.")
    folder.file("sub/s.lua", [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "s", dir = "papers", actions = { { id = "a", prompt = "ask.md",
        agent = skillrt.agent.command { "cat", stdin = "{prompt}",
          parse = function(text) return { said = text:find "The words%." and "it" or "no" } end } } } }]])
    for _, from in ipairs { "sub/s.lua", folder.path .. "/sub/s.lua" } do
      run_ok(folder, { from, "--work-dir", "w" })
      assert.truthy(folder.read("w/state.json"):find('"said": "it"', 1, true))
      assert(os.execute(("rm -r %s/w"):format(folder.path)))
    end
  end)
end)
