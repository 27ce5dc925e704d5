-- run_rounds_spec.lua: phases that go round (`rounds`), as whole runs of the library.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

-- Phases a, b, c ... that count themselves in the state, each with an output; `more` by id.
local function phases(ids, more)
  local list = {}
  for i, id in ipairs(ids) do
    list[i] = { id = id, run = function(state)
      return { round = (state[id] or 0) + 1 }, { [id] = (state[id] or 0) + 1 }
    end }
    for key, value in pairs(more and more[id] or {}) do
      list[i][key] = value
    end
  end
  return list
end

local function run(definition, dir)
  return assert(R.run(definition, { work_dir = dir or R.folder() .. "/run" }))
end

local function order(result)
  return R.ids(result.state.phases_completed)
end

describe("phases that go round", function()
  after_each(R.clean)

  it("do so until a condition holds, or as often as they may (F33, F61)", function()
    local list = { { first = "b", last = "c", over = "c >= 3", max_rounds = 5 } }
    local result = run { phases = phases { "a", "b", "c", "d" }, rounds = list }
    assert.equal("a b c b c b c d", order(result))
    assert.equal("completed", result.status)
    list[1].max_rounds = 2
    assert.equal("a b c b c d", order(run { phases = phases { "a", "b", "c", "d" }, rounds = list }))
    result = run { phases = phases { "a", "b" }, rounds = { { first = "a", last = "b", again = "b < 2" } } }
    assert.equal("a b a b", order(result))
  end)

  it("go round apart and one inside the other, the inner anew with each round of the outer", function()
    local rounds = { { first = "a", last = "d", max_rounds = 2 }, { first = "b", last = "c", max_rounds = 2 },
      { first = "e", last = "e", over = "e >= 3" } }
    local result = run { phases = phases { "a", "b", "c", "d", "e", "f" }, rounds = rounds }
    assert.equal("a b c b c d a b c b c d e e e f", order(result))
  end)

  it("ask their conditions anew in each round, and stop where none of them ran", function()
    local result = run { phases = phases({ "a", "b", "c" }, { b = { when = "a >= 2" } }),
      rounds = { { first = "a", last = "b", max_rounds = 3 } } }
    assert.equal("a a b a b c", order(result))
    result = run { phases = phases({ "a", "b" }, { a = { when = "b >= 1" } }),
      rounds = { { first = "a", last = "a", max_rounds = 9 } } }
    assert.equal("b", order(result))
  end)

  it("leave all out where their end holds before the first round and is asked then", function()
    local rounds = { { first = "b", last = "c", over = "a >= 1", asks_first = true } }
    local result = run { phases = phases { "a", "b", "c", "d" }, rounds = rounds }
    assert.equal("a d", order(result))
    assert.equal("b c", R.ids(result.state.phases_skipped))
    rounds[1].asks_first = nil
    assert.equal("a b c d", order(run { phases = phases { "a", "b", "c", "d" }, rounds = rounds }))
  end)

  it("hand their output on to the next round, and that of the last one on behind it (F23)", function()
    local seen = {}
    local result = run { phases = { { id = "draft", output = "draft.md", run = function(state)
      seen[#seen + 1] = (state.outputs.judge or { score = 0 }).score
      return "draft " .. #seen
    end }, { id = "judge", output = "judge.json", run = function()
      return { score = #seen }, { good = #seen > 2 }
    end }, { id = "tell", input = { "draft.md" }, run = function(state)
      return state.outputs.draft
    end } }, rounds = { { first = "draft", last = "judge", over = "good" } } }
    assert.same({ 0, 1, 2 }, seen)
    assert.equal("draft 3", result.state.outputs.tell)
  end)

  it("are bounded by the run's iterations where nothing else bounds them (R57)", function()
    local result = run { phases = phases { "a", "b" }, limits = { max_iterations = 7 },
      rounds = { { first = "a", last = "b", over = "a < 0" } } }
    assert.equal("max_iterations", result.reason)
    assert.equal("a b a b a b a", order(result))
    result = run { phases = phases { "a", "b" }, limits = { max_iterations = 3 },
      rounds = { { first = "a", last = "a", over = "a < 0" } }, actions = { { id = "act", run = function() end } } }
    assert.equal("a a a b", order(result)) -- around a loop phases are no iterations of it
  end)

  it("fail the run where their condition cannot be asked", function()
    local result = run { phases = phases { "a" }, rounds = { { first = "a", last = "a", over = function()
      error "no such thing"
    end } } }
    assert.same({ "failed", "phase_failed" }, { result.status, result.reason })
    assert.matches("its rounds have a condition that fails", result.message)
  end)

  it("stand again in the round that a rollback goes back to (R86, F42)", function()
    local function definition()
      return { phases = phases { "a", "b", "c" }, rounds = { { first = "a", last = "b", max_rounds = 3 } } }
    end
    local travel, gone_back = require "skillrt.run.travel", 0
    local dir = R.folder() .. "/run"
    assert.equal("a b a b a b c", order(run(definition(), dir)))
    for place = 3, #R.records(dir) - 1 do
      if travel.rollback(dir, tostring(place)) then
        gone_back = gone_back + 1
        local result = assert(skillrt.resume(dir, { skill = R.skill(definition()) }))
        assert.same({ "completed", 3, 3, 1 }, { result.status, result.state.a, result.state.b, result.state.c })
        assert.equal("a b a b a b c", order(result), "back at record " .. place)
      end
    end
    assert.is_true(gone_back > 6)
  end)

  it("begin anew where a run is taken up from one of their phases (R35)", function()
    local function definition()
      return { phases = phases { "a", "b", "c", "d" }, rounds = { { first = "b", last = "c", max_rounds = 2 } } }
    end
    local dir = R.folder() .. "/run"
    assert.equal("a b c b c d", order(run(definition(), dir)))
    local result = assert(skillrt.resume(dir, { skill = R.skill(definition()), from = "b" }))
    assert.equal("a b c b c d", order(result))
    result = assert(skillrt.resume(dir, { skill = R.skill(definition()), from = "c" }))
    assert.equal("a b b c b c d", order(result)) -- b is not run again first; then the second round is
  end)

  it("hold groups that run at once, stand before and behind a loop of actions, and run in a skill that is run", function()
    local both = { b = { parallel = true }, c = { parallel = true } }
    local result = run { phases = phases({ "a", "b", "c" }, both), rounds = { { first = "a", last = "c", max_rounds = 2 } } }
    assert.same({ 2, 2, 2 }, { result.state.a, result.state.b, result.state.c })
    local list = phases({ "a", "b", "c", "d" }, { c = { trailing = true }, d = { trailing = true } })
    result = run { phases = list, actions = { { id = "act", run = function(state)
      return { act = state.a }
    end } }, rounds = { { first = "a", last = "b", max_rounds = 2 }, { first = "c", last = "d", max_rounds = 2 } } }
    assert.equal("a b a b c d c d", order(result))
    assert.same({ "completed", 2 }, { result.status, result.state.act })
    local inner = R.skill { name = "inner", phases = phases { "a", "b" },
      rounds = { { first = "a", last = "b", over = "b >= 3" } } }
    result = run { actions = { { id = "outer", run = function(_, ctx)
      local told = assert(ctx.run(inner, {}))
      return { rounds_of_inner = told.state.b }
    end } } }
    assert.same({ "completed", 3 }, { result.status, result.state.rounds_of_inner })
  end)

  it("are refused where they cross each other, or name what is no phase", function()
    local function message(rounds)
      local _, problem = skillrt.skill { name = "r", phases = phases({ "a", "b", "c" },
        { b = { parallel = true }, c = { parallel = true } }), rounds = rounds }
      return problem
    end
    for text, rounds in pairs {
      ['"x" is no phase'] = { { first = "a", last = "x", max_rounds = 2 } },
      ["cross each other"] = { { first = "a", last = "c", max_rounds = 2 }, { first = "a", last = "c", over = "x" } },
      ["at once"] = { { first = "a", last = "b", max_rounds = 2 } },
      ["stands before"] = { { first = "b", last = "a", max_rounds = 2 } },
      ["needs"] = { { first = "a", last = "a" } },
    } do
      local raised, why = pcall(message, rounds)
      assert.matches(text, raised and why or tostring(why))
    end
  end)
end)

describe("a phase that runs for each item", function()
  after_each(R.clean)

  it("has the list of its outputs as its output", function()
    local result = run { state = { parts = { "x", "y" } }, phases = { { id = "read", output = "read.json",
      each = "parts", run = function(_, _, item, index)
        return item .. index
      end } } }
    assert.equal('["x1","y2"]', json.encode(result.state.outputs.read))
  end)
end)
