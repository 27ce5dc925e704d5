-- run_cut_spec.lua: a run whose journal was cut, as `recover --cut` leaves it: what each open branch would call
-- first may have been called already, and is asked about once.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

local function put(path, text)
  local file <close> = assert(io.open(path, "w"))
  file:write(text)
end

local function lines_of(path)
  local count = 0
  local file <close> = io.open(path)
  for _ in file and file:lines() or function() end do
    count = count + 1
  end
  return count
end

-- A step of two branches with three commands each, each of which leaves a line; cut behind its start.
local function cut_run(idempotent)
  local told = R.folder() .. "/told"
  local function leave_line(ctx, word)
    return ctx.await { kind = "command", argv = { "sh", "-c", "echo " .. word .. " >> " .. told },
      idempotent = idempotent }
  end
  local function definition()
    return { actions = { { id = "one", run = function(_, ctx)
      ctx.map({ "a", "b" }, function(name)
        leave_line(ctx, name .. 1)
        leave_line(ctx, name .. 2)
        leave_line(ctx, name .. 3)
      end, { max_parallel = 1 })
    end } } }
  end
  local whole, cut = R.folder() .. "/whole", R.folder() .. "/cut"
  assert.equal("completed", assert(R.run(definition(), { work_dir = whole })).status)
  for keep, record in ipairs(R.records(whole)) do
    if record.t == "run" then
      R.cut(whole, cut, keep)
    end
  end
  os.remove(told)
  return cut, told, definition
end

describe("a run behind a cut of its journal", function()
  after_each(R.clean)

  it("asks about the first call of each branch that may have acted, once", function()
    local cut, told, definition = cut_run(false)
    put(cut .. "/journal.cut-20260101T000000Z", "lost")
    local result = assert(skillrt.resume(cut, { skill = R.skill(definition()) }))
    assert.same({ "paused", "needs_decision" }, { result.status, result.reason }, json.encode(result.state.errors))
    assert.equal(0, lines_of(told))
    assert.matches("the end of the journal was cut off", R.records(cut, "doubt")[1].message)
    result = assert(skillrt.resume(cut, { skill = R.skill(definition()), decide = "retry" }))
    assert.same({ "completed", 6 }, { result.status, lines_of(told) }, json.encode(result.state.errors))
    local asked = {}
    for i, record in ipairs(R.records(cut, "doubt")) do
      asked[i] = record.c
    end
    assert.same({ "1.1.1", "1.2.1" }, asked) -- what comes behind it in a branch is new
  end)

  it("goes on without a question where nothing was cut off, or what follows may be made again", function()
    for _, idempotent in ipairs { false, true } do
      local cut, told, definition = cut_run(idempotent)
      if idempotent then
        put(cut .. "/journal.cut-20260101T000000Z", "lost")
      end
      local result = assert(skillrt.resume(cut, { skill = R.skill(definition()) }))
      assert.same({ "completed", 6 }, { result.status, lines_of(told) }, result.message)
    end
  end)
end)
