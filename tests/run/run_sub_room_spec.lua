-- run_sub_room_spec.lua: a sub-run whose files find no room.
local R = require "tests.support.runs"

describe("sub-runs", function()
  after_each(R.clean)

  it("pause the run where there is no room for their files, and go on when there is", function()
    local dir = R.folder() .. "/run"
    local skill = R.skill { actions = { { id = "out", run = function(_, ctx)
      local sub = assert(ctx.run(R.skill { name = "sub", actions = { {
        id = "in", run = function() return { done = true } end } } }))
      return { done = sub.state.done }
    end } } }
    assert(os.execute(("mkdir -p '%s'"):format(dir)))
    R.write(dir .. "/sub", "in the way")
    local result = assert(skill:run { work_dir = dir })
    assert.same({ "paused", "store_failed" }, { result.status, result.reason }, result.trouble)
    assert.truthy(tostring(result.trouble):find("/sub", 1, true), result.trouble)
    os.remove(dir .. "/sub")
    result = assert(require("skillrt").resume(dir, { skill = skill }))
    assert.same({ "completed", true }, { result.status, result.state.done })
  end)
end)
