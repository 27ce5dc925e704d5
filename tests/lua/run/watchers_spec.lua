-- watchers_spec.lua: whoever watches a run sees it, and never changes what becomes of it.
local R = require "tests.support.runs"
local kit = require "tests.support.cli_kit"
local runner = require "skillrt.run.runner"

local SUB <const> = [[
local skillrt = require "skillrt"
local inner = skillrt.skill { name = "inner",
  actions = { { id = "bad", run = function() return nil, "broken" end } } }
return skillrt.skill { name = "outer", actions = { { id = "a", run = function(_, ctx)
  local result, message = ctx.run(inner)
  return { got = result and result.status or message }
end } } }
]]

describe("who watches a run", function()
  after_each(R.clean)

  it("is shown quietly that a step of a sub-run failed, and the run completes as it does loudly", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", SUB)
    local loud = kit.run(folder, { "run", "s.lua", "--work-dir", "loud" })
    local quiet = kit.run(folder, { "run", "s.lua", "--work-dir", "quiet", "--quiet" })
    assert.same({ 0, 0 }, { loud.code, quiet.code }, quiet.err)
    assert.truthy(quiet.err:find("Error: broken\n", 1, true), quiet.err)
    assert.is_nil(quiet.err:find("skillrt:", 1, true), quiet.err)
  end)

  it("hears no more once it has raised, whatever it was told; the run and the others go on", function()
    local real, said = io.stderr, {}
    for _, method in ipairs { "opened", "observe", "flush", "closed" } do
      local seen, calls = 0, 0
      local bad = { observe = function() end, flush = function() end }
      bad[method] = function()
        calls = calls + 1
        error("no paper in " .. method)
      end
      rawset(io, "stderr", { write = function(_, ...) said[#said + 1] = table.concat { ... } end })
      local ok, result = pcall(runner.run, R.skill { actions = { { id = "a", run = R.sets { n = 1 } } } },
        { work_dir = R.folder() .. "/run", watcher = { bad, { observe = function() seen = seen + 1 end,
          flush = function() end } } })
      rawset(io, "stderr", real)
      assert.is_true(ok, result)
      assert.same({ "completed", 1, 1 }, { result.status, result.state.n, calls }, method)
      assert.truthy(seen >= 3)
      assert.equal(1, #said)
      assert.truthy(table.remove(said):find("no paper in " .. method, 1, true))
    end
  end)

  it("need not be there, nor forget, where records are lost", function()
    local journal, forgot = require "skillrt.run.journal", 0
    journal.forget {}
    journal.forget { watcher = {} }
    journal.forget { watcher = { forget = function() forgot = forgot + 1 end } }
    assert.equal(1, forgot)
  end)

  it("does not keep a stop from the run that it watches", function()
    local status, reason = R.stopped({ actions = { { id = "a", run = function(_, ctx) ctx.sleep(60) end } } },
      R.folder() .. "/run", function(record) return record.t == "call" end)
    assert.same({ "paused", "user_exit" }, { status, reason })
  end)
end)
