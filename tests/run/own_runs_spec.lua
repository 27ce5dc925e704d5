-- own_runs_spec.lua: a script that runs its skill itself is performed by who runs it alone: whoever looks at it stops it
-- there, and sees the skill.
local K = require "tests.support.cli_kit"
local pages = require "tests.support.pages"

local SCRIPT <const> = [[
local skillrt = require "skillrt"
local skill = skillrt.skill { name = "own", goal = "n > 0", state = { n = 0 },
  tools = { f = { description = "f", input = { type = "object" }, run = print } },
  actions = { { id = "act", effects = { "n++" }, run = function(s)
    io.open("performed", "w"):close()
    return { n = s.n + 1 }
  end } } }
%s
]]
local RUNS <const> = { "print(assert(skill:run{ work_dir = 'run' }).status)",
  "local run = assert(skill:open{ work_dir = 'run' }); repeat until run:step(100) ~= 'running'; run:close()",
  "os.exit(skill:run{ work_dir = 'run' }.status == 'completed')", "return skill:run{ work_dir = 'run' }" }

describe("a script that runs its skill itself", function()
  local folder
  before_each(function() folder = K.folder() end)
  after_each(function() getmetatable(folder).__close() end)

  it("is not performed by who looks at it", function()
    for _, runs in ipairs(RUNS) do
      folder.file("own.lua", SCRIPT:format(runs))
      for _, words in ipairs { { "check" }, { "plan" }, { "tokens" }, { "graph" }, { "simulate" }, { "context" },
        { "own.lua", "--help" }, { "prompt", wants = 2 }, { "mcp", "--list" } } do
        local line = table.move(words, 1, #words, 1, {})
        if words[1] ~= "own.lua" then
          table.insert(line, 2, "own.lua")
        end
        local done = K.run(folder, line)
        local shown = table.concat(line, " ") .. ": " .. runs .. "\n" .. done.out .. done.err
        assert.equal(words.wants or 0, done.code, shown)
        assert.is_nil(io.open(folder.path .. "/performed"), shown)
      end
    end
  end)

  it("is performed by who runs it, and gives its skill to a step of another one", function()
    folder.file("own.lua", SCRIPT:format(RUNS[1]):gsub("local skill = ", [[
      local inner = skillrt.skill { name = "inner", actions = { { id = "one", run = function() end } } }
      local skill = ]]):gsub("return {", "assert(inner:run { context = 'memory' }) return {", 1))
    assert.matches("^completed\n", K.run(folder, { "own.lua", "--quiet" }).out)
    os.remove(folder.path .. "/performed")
    local log = K.run(folder, { "log", "run" }).out
    local tokens = K.run(folder, { "tokens", "run" })
    assert.equal(0, tokens.code, tokens.err) -- of the run's script, which it does not perform either
    assert.same({ log, false }, { K.run(folder, { "log", "run" }).out, io.open(folder.path .. "/performed") ~= nil })
    local replayed = K.run(folder, { "replay", "run" })
    assert.matches("^same: 1 step", replayed.out .. replayed.err)
    os.remove(folder.path .. "/performed")
    folder.file("outer.lua", [[
      return require "skillrt".skill { name = "outer", actions = { { id = "it", run = function(_, ctx)
        return { got = ctx.run("own.lua").state.n }
      end } } }
    ]])
    local done = K.run(folder, { "outer.lua", "--quiet", "--work-dir", "outer" })
    assert.equal(0, done.code, done.err)
    assert.matches('"got":%s*1', pages.read(folder.path .. "/outer/state.json"))
  end)

  it("is stopped at its first run where a later one is looked for, and a test has its skill alone", function()
    folder.file("two.lua", [[
      local skillrt = require "skillrt"
      for _, name in ipairs { "first", "second" } do
        local skill = skillrt.skill { name = name, actions = { { id = "one", run = function() return { is = name } end } } }
        assert(skill:run { work_dir = name })
      end
    ]])
    assert.equal(0, K.run(folder, { "two.lua", "--quiet" }).code)
    assert.matches("^same: 1 step", K.run(folder, { "replay", "first" }).out)
    assert.matches("two.lua: runs its skill first itself, before second", K.run(folder, { "replay", "second" }).err, 1, true)
    folder.file("own.lua", SCRIPT:format(RUNS[1]))
    folder.file("own_spec.lua", [[
      local test = require "skillrt.test"
      it("runs", function()
        local run = test.run {}
        assert.same({ "completed", 1 }, { run.status, run.state.n })
      end)
    ]])
    local tested = K.run(folder, { "test", "own.lua" })
    assert.equal(0, tested.code, tested.out .. tested.err)
    assert.is_nil(io.open(folder.path .. "/run"))
  end)
end)
