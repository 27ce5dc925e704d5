-- open_run_spec.lua: runs that a Lua program advances itself (skill:open), and skills that the program `lua` runs.
local core = require "skillrt.core"
local kit = require "tests.support.cli_kit"

local here = core.files.current()

local SKILL = [[
local skillrt = require "skillrt"
%s skillrt.skill { name = "two", actions = {
  { id = "ask", run = function(_, ctx) return { to = ctx.ask { question = "Where?", options = { "a", "b" } } } end },
  { id = "wait", when = "to == 'b'", run = function(_, ctx) return { got = ctx.wait { event = "go" } } end },
} }
]]

-- Runs a script by plain Lua with the module of this build; what came.
local function lua(folder, command)
  local mode = os.getenv "SKILLRT_MODE" or "release"
  local _, _, code = os.execute(([[cd %s && LUA_PATH='%s/lua/?.lua;%s/lua/?/init.lua;;' LUA_CPATH='%s/build/%s/lib/?.so;;' \
    timeout 60 %s >.out 2>.err </dev/null]]):format(kit.quoted(folder.path), here, here, here, mode, command))
  return { code = code, out = folder.read ".out", err = folder.read ".err" }
end

describe("skill:open", function()
  it("gives runs that stay open together, are answered and sent events, and end", function()
    local folder <close> = kit.folder()
    folder.file("host.lua", SKILL:format("local skill =") .. [[
local one = assert(skill:open { work_dir = "one", wait = true })
local two = assert(skill:open { work_dir = "two", wait = true })
assert(one.work_dir:find "/one$" and one:wait_ms() == 0)
while #one:questions() == 0 or #two:questions() == 0 do
  assert(one:turn() and two:turn())
end
assert(one:result() == nil and one:questions()[1].text == "Where?")
assert(not one:answer "c", "an answer that is no option")
assert(one:answer "b" and two:answer("b", two:questions()[1].question))
assert(not two:event "", "an event without a name")
assert(two:event("go", { n = 1 }, "id"))
while two:turn() do end
assert(one:turn(), "it waits for its own event")
assert(one:event("go", { n = 2 }))
while one:turn() do end
print(one:result().status, one:result().state.got.n, two:result().status, two:result().state.got.n)
assert(one:result() == one:result())
one:close()
two:close()
]])
    local run = lua(folder, "lua5.4 host.lua")
    assert.equal("", run.err)
    assert.equal("completed\t2\tcompleted\t1\n", run.out)
  end)

  it("stops a run that is resumed by another, and one that is closed", function()
    local folder <close> = kit.folder()
    folder.file("host.lua", SKILL:format("local skill =") .. [[
local run = assert(skill:open { work_dir = "w", wait = true })
while #run:questions() == 0 do run:turn() end
run:stop()
while run:turn() do end
print(run:result().status, run:result().reason)
run:close()
print((select(2, pcall(run.stop, run)):match "the run is closed"))
do
  local again <close> = assert(skill:open { work_dir = "w", resume = true, wait = true })
  assert(again:turn() and #again:questions() == 1)
end
local last = assert(skill:open { work_dir = "w", resume = true })
assert(last:answer "b" and last:event "go")
while last:turn() do end
print(last:result().status)
local none, message, code = skill:open { work_dir = "w" }
print(none, code)
print(pcall(skill.open, skill, { work_dirs = "w" }))
]])
    local run = lua(folder, "lua5.4 host.lua")
    assert.equal("", run.err)
    assert.truthy(run.out:find("^paused\tuser_exit\nthe run is closed\ncompleted\nnil\texists\n"), run.out)
    assert.truthy(run.out:find('skill:open: unknown field "work_dirs" (did you mean "work_dir"?)', 1, true), run.out)
  end)
end)

describe("lua5.4 skill.lua", function()
  local COUNT = [[
local skillrt = require "skillrt"
%s skillrt.skill { name = "count", state = { n = 0 }, actions = {
  { id = "more", when = "n < 2", max_runs = 2, run = function(s) return { n = s.n + 1 } end } } }
]]

  it("runs the skill that the script returns, with the options and exit codes of skillrt", function()
    local folder <close> = kit.folder()
    folder.file("count.lua", COUNT:format "return")
    local run = lua(folder, "lua5.4 count.lua --work-dir w")
    assert.equal(0, run.code, run.err)
    assert.truthy(run.out:find("completed (task_completed): 2 steps", 1, true), run.out)
    assert.equal(2, lua(folder, "lua5.4 count.lua --work-dir w").code)
    folder.file("bad.lua", SKILL:format "return")
    assert.equal(3, lua(folder, "lua5.4 bad.lua --work-dir asks --quiet").code)
    folder.file("flow.lua", 'return require "skillrt".workflow { name = "f", run = function() return "made" end }')
    assert.truthy(lua(folder, "lua5.4 flow.lua").out:find("made\n", 1, true))
  end)

  it("leaves a program alone that makes skills, or loads a script that returns one", function()
    local folder <close> = kit.folder()
    folder.file("count.lua", COUNT:format "return")
    folder.file("host.lua", COUNT:format "local skill =" .. [[
local other = dofile "count.lua"
print(skill.name, other.name)
local function make() return skillrt.skill { name = "third", actions = { { id = "a", run = function() end } } } end
print(make().name)]])
    local run = lua(folder, "lua5.4 host.lua")
    assert.equal("", run.err)
    assert.equal("count\tcount\nthird\n", run.out)
    assert.is_nil(core.files.stat(folder.path .. "/runs"))
  end)

  it("is refused in words by Lua 5.1, where the machine has it", function()
    local folder <close> = kit.folder()
    folder.file("count.lua", COUNT:format "return")
    for _, program in ipairs { "lua5.1", "luajit" } do
      if os.execute(("command -v %s >/dev/null"):format(program)) then
        local run = lua(folder, program .. " count.lua")
        assert.equal(1, run.code)
        assert.truthy(run.err:find("skillrt needs Lua 5.4, and this is Lua 5.1", 1, true), run.err)
      end
    end
    -- and everywhere as such a Lua would: the file is read before anything of 5.4
    local chunk = assert(loadfile(here .. "/lua/skillrt/init.lua", "t", setmetatable({ _VERSION = "Lua 5.1" },
      { __index = _G })))
    local ok, message = pcall(chunk)
    assert.is_false(ok)
    assert.equal("skillrt needs Lua 5.4, and this is Lua 5.1; run the script by lua5.4, or by the program skillrt", message)
  end)
end)
