-- run_faults_spec.lua: what authors get wrong is told as theirs: a step that fails, a strategy that has to be
-- mended, a retry that is refused; never as a fault of the runtime.
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local function hostile()
  local function boo() error("boo") end
  return setmetatable({}, { __index = boo, __len = boo, __pairs = boo, __tostring = boo })
end

local function itself()
  local one = {}
  one.x = one
  return { y = one }
end

describe("a step", function()
  after_each(R.clean)

  for name, case in pairs {
    ["gives an update that holds itself, and promises an effect"] = { { "x=1" }, itself, "contains itself" },
    ["gives an update that holds itself below a list that it promises"] = { { "y.length>0" }, itself, "contains itself" },
    ["raises a table with a hostile metatable"] = { {}, function() error(hostile()) end, "raised an error object" },
    ["returns one"] = { {}, hostile, "" },
    ["returns one inside of its updates"] = { {}, function() return { a = hostile() } end, "" },
    ["returns one in place of a message"] = { {}, function() return nil, hostile() end, "" },
  } do
    it("that " .. name .. " has failed, and the others go on", function()
      local result = assert(R.run { actions = {
        { id = "a", priority = 1, max_retries = 0, on_error = "skip", effects = case[1], run = case[2] },
        { id = "b", run = R.sets { b = true } },
      } })
      assert.same({ "completed", "task_completed", 1 }, { result.status, result.reason, result.state.error_count })
      assert.truthy(result.state.errors[1].message:find(case[3], 1, true), result.state.errors[1].message)
    end)
  end
end)

describe("a strategy", function()
  after_each(R.clean)

  for name, select in pairs {
    ["gives a table with a hostile metatable"] = hostile,
    ["raises one"] = function() error(hostile()) end,
    ["asks a question that is no JSON"] = function() return nil, { ask = { question = "x", f = print } } end,
    ["chooses an action together with a built-in end"] = function() return { "a", "action-complete" } end,
  } do
    it("that " .. name .. " pauses the run until it is mended", function()
      local result = assert(R.run { strategy = select, actions = { { id = "a", run = function() end } } })
      assert.same({ "paused", "strategy_error" }, { result.status, result.reason })
    end)
  end
end)

describe("a retry", function()
  after_each(R.clean)

  it("of an action that the skill no longer has is refused, and says how the run can go on", function()
    local dir = R.folder() .. "/run"
    local function skill(removed)
      local actions = { { id = "b", optional = true, when = "never", run = function() end } }
      actions[2] = not removed and { id = "a", max_retries = 0, run = R.fails() } or nil
      return R.skill { limits = { max_errors = 1 }, actions = actions }
    end
    assert.equal("error_limit", assert(skill():run { work_dir = dir }).reason)
    local _, message, code = skillrt.retry(dir, { skill = skill(true), accept_changes = true })
    assert.equal("invalid", code)
    assert.matches("action a, which failed last, is no longer part of the skill; .*%-%-add max_errors=NUMBER", message)
    assert.is_nil(message:find("skillrt retry", 1, true))
    assert.equal("completed", assert(skillrt.resume(dir, { skill = skill(true), accept_changes = true,
      add = { max_errors = 1 } })).status)
  end)
end)
