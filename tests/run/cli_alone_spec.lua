-- cli_alone_spec.lua: the program copied without anything beside it, where libcurl's module is
-- missing or is none.
local kit = require "tests.support.cli_kit"

local ASKS = [[
local skillrt = require "skillrt"
local expert = skillrt.agent.http { url = "http://127.0.0.1:1/task" }
return skillrt.skill { name = "asks", limits = { max_retries = 0 }, agents = { expert = %s },
  actions = { { id = "ask", agent = "expert" } } }]]

-- A folder with a copy of the program, which kit.run means while it is there.
local function alone()
  local folder, program = kit.folder(), kit.program
  local remove = getmetatable(folder).__close
  assert(os.execute(("mkdir %s/bin && cp %s %s/bin/skillrt"):format(folder.path, kit.quoted(program), folder.path)))
  kit.program = folder.path .. "/bin/skillrt"
  return setmetatable(folder, { __close = function(...)
    kit.program = program
    remove(...)
  end })
end

describe("the program copied alone", function()
  it("refuses a skill with an HTTP agent before its first step, and says where it looked", function()
    local folder <close> = alone()
    folder.file("asks.lua", ASKS:format "expert")
    local run = kit.run(folder, { "asks.lua", "--work-dir", "w" })
    assert.equal(2, run.code)
    assert.equal("", run.out)
    assert.truthy(run.err:find('skillrt: skillrt/http.so: is missing, and agent "expert" needs it\n', 1, true), run.err)
    assert.truthy(run.err:find(("  looked for as %s/bin/lib/skillrt/http.so\n"):format(folder.path), 1, true), run.err)
    assert.truthy(run.err:find("put lib/skillrt/http.so next to the program", 1, true))
    assert.is_nil(folder.read "w/journal/00000001.sj")
  end)

  it("loads the module with the first task, and says so where what lies there is none", function()
    local folder <close> = alone()
    folder.file("asks.lua", ASKS:format "skillrt.agent.chain { expert, expert }")
    assert(os.execute(("mkdir -p %s/bin/lib/skillrt"):format(folder.path)))
    folder.file("bin/lib/skillrt/http.so", "no module")
    local run = kit.run(folder, { "asks.lua", "--work-dir", "w" })
    assert.equal(1, run.code, run.out .. run.err)
    assert.truthy((run.out .. run.err):find("bin/lib/skillrt/http.so", 1, true), run.out .. run.err)
  end)

  it("runs a skill whose chain has a member that needs no HTTP (F47)", function()
    local folder <close> = alone()
    folder.file("asks.lua", ASKS:format [[skillrt.agent.chain { expert, skillrt.agent.command { "true" } }]])
    local run = kit.run(folder, { "asks.lua", "--work-dir", "w" })
    assert.equal(0, run.code, run.out .. run.err)
    assert.truthy(run.out:find("; trying agent 2 of the chain", 1, true), run.out)
  end)
end)
