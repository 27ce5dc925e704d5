-- check_reach_spec.lua: the search through the state space: what it proves, the shortest sequence
-- it shows, its bound; and that it agrees with runs taken step by step on real states.
local check = require "skillrt.document.check"
local found_of = require "skillrt.document.check.found"
local json = require "skillrt.base.json"
local model_of = require "skillrt.document.check.model"
local plain_search = require "tests.support.plain_search"
local rounds = require "skillrt.document.check.reach.rounds"
local search = require "skillrt.document.check.reach.search"
local space_of = require "skillrt.document.check.reach.space"

local AGENTS = { worker = { kind = "command", argv = { "true" } } }

local function skill(actions, more)
  local definition = { name = "case", agents = AGENTS, actions = actions, terminate = {} }
  for _, action in ipairs(actions) do
    action.agent = "worker"
  end
  for key, value in pairs(more or {}) do
    definition[key] = value
  end
  return definition
end

local function finding(definition, code, options)
  for _, one in ipairs(check.check(definition, options).findings) do
    if one.code == code then
      return one
    end
  end
end

local function model(definition)
  return model_of.of(definition, found_of.new(), function()
    return {}
  end)
end

-- So many more that a state takes more than one word; none of them ever runs.
local function with_idle(definition)
  for i = 1, 70 do
    table.insert(definition.actions, { id = "idle" .. i, agent = "worker", when = "n > 1 && n < 1", optional = true })
  end
  return definition
end

describe("the search through the state space", function()
  it("agrees with a plain search through real states: what may run, how it ends, how soon (F28, F33)", function()
    local seed = 20261121
    local function random(n)
      seed = (seed * 1103515245 + 12345) & 0x7fffffff
      return (seed >> 12) % n + 1
    end
    local stuck, wide = 0, 0
    for round = 1, 200 do
      local definition = plain_search.skill(random, round % 2 == 0)
      local real, told = plain_search.search(definition), json.encode(definition)
      local space = space_of.of(model(round % 5 == 0 and with_idle(definition) or definition))
      local result = search.run(space)
      local function steps(state)
        return state and #search.path(result, state) or nil
      end
      assert.is_true(result.complete)
      for i, step in ipairs(space.steps) do
        assert.equal(real.taken[step.action.id], steps(result.chosen[i]), step.action.id .. " of " .. told)
      end
      assert.equal(real.completed, steps(result.ends.completed), told)
      assert.equal(real.blocked, steps(result.blocked_at), told)
      assert.equal(real.stuck, steps(rounds.stuck(result)), told)
      stuck, wide = stuck + (real.stuck and 1 or 0), wide + (space.words > 1 and 1 or 0)
    end
    assert.is_true(stuck > 10 and wide > 30, "cases of each kind")
  end)

  it("shows the shortest sequence of actions (F28)", function()
    local one = finding(skill({
      { id = "long", max_runs = 5, when = "n < 3", effects = { "n++" } },
      { id = "short", effects = { "n=3" } },
      { id = "dead", when = "n === 3 && stage === 'x'" },
    }, { state = { n = 0, stage = "y" }, strategy = "user_driven" }), "reach.goal")
    assert.is_nil(one) -- stage is nobody's: any action may set it
    local blocked = finding(skill({
      { id = "slow", max_runs = 5, when = "n < 3", effects = { "n++" }, optional = true },
      { id = "leap", effects = { "n=3" } },
      { id = "stuck", when = "n === 7" },
    }, { state = { n = 0 }, strategy = "user_driven" }), "reach.goal")
    assert.same({ "leap" }, blocked.steps)
    assert.truthy(blocked.what:find("`n === 7`", 1, true))
  end)

  it("counts exactly as far as conditions compare", function()
    local definition = skill({
      { id = "try", repeatable = true, when = "tries < 3", effects = { "tries++" } },
      { id = "give-up", when = "tries >= 3", terminal = "failed" },
    }, { state = { tries = 0 } })
    local result = search.run(space_of.of(model(definition)))
    assert.same({ "try", "try", "try" }, search.path(result, result.ends.failed))
    assert.equal("reach.goal", finding(definition, "reach.goal").code)
  end)

  it("counts to twenty in twenty steps, and to a thousand without a false word (F33)", function()
    local actions = {}
    for i = 1, 20 do
      actions[i] = { id = "step-" .. i, when = "n === " .. i - 1, effects = { "n++" } }
    end
    actions[21] = { id = "stop", when = "n >= 20", terminal = true }
    local chain = check.check(skill(actions, { state = { n = 0 } }))
    assert.same({}, chain.findings)
    assert.is_true(chain.states <= 25, chain.states)
    for _, most in ipairs { 20, 50, 99, 1000 } do
      local result = check.check(skill({
        { id = "count", when = "n < " .. most, repeatable = true, effects = { "n++" } },
        { id = "stop", when = "n >= " .. most, terminal = true },
      }, { state = { n = 0 }, limits = { max_iterations = 2000 } }))
      assert.same({}, result.findings[1] and { result.findings[1].what } or {}, most)
    end
  end)

  it("knows pending before the first action and running after it (F38, R94)", function()
    local first = { id = "first", priority = 1 }
    local passed = finding(skill { first, { id = "late", when = "status === 'pending'" } }, "reach.shadowed")
    assert.truthy(passed.what:find('"late" is never chosen: at the start it may run, but "first"', 1, true))
    assert.truthy(finding(skill { first, { id = "late", when = "status === 'completed'" } }, "reach.never"))
    assert.is_nil(finding(skill { { id = "first", when = "status === 'pending'" }, { id = "late", when = "status === 'running'" } },
      "reach.never"))
  end)

  it("says that an error count beyond the limit never comes", function()
    assert.truthy(finding(skill { { id = "a" }, { id = "b", when = "error_count >= 5" } }, "reach.never"))
    assert.is_nil(finding(skill { { id = "a" }, { id = "b", when = "error_count >= 2" } }, "reach.never"))
  end)

  it("takes it that any action may set a key that no effect names", function()
    local free = skill({ { id = "scan" }, { id = "fix", when = "risk === 'high'" } }, { state = { risk = "low" } })
    assert.is_nil(finding(free, "reach.never"))
    assert.is_nil(finding(free, "reach.blocked"))
    assert.equal("note", finding(free, "key.never-set").level)
  end)

  it("stops at its bound and says how far it came (F33)", function()
    local actions = {}
    for i = 1, 16 do
      actions[i] = { id = "a" .. i }
    end
    local one = finding(skill(actions, { strategy = "user_driven" }), "reach.bound", { max_states = 1000 })
    assert.truthy(one.what:find("1000 states", 1, true))
    assert.equal("note", one.level)
  end)

  it("stops when it has kept as much as it may, and says so (F33)", function()
    local actions = {}
    for i = 1, 70 do
      actions[i] = { id = "a" .. i }
    end
    local one = finding(skill(actions, { strategy = "user_driven" }), "reach.bound", { max_kept = 1000 })
    assert.truthy(one.what:find("tests, 1000 states and parts of states in memory); ", 1, true))
    assert.is_nil(finding(skill(actions), "reach.bound", { max_kept = 1000 }))
  end)

  it("shows a round of actions that may run there (F33)", function()
    local one = finding(skill({
      { id = "once", when = "deep === 1", effects = { "mode=c" } },
      { id = "again", repeatable = true, when = "deep !== 1", effects = { "mode=b" } },
      { id = "last", when = "mode === 'z' && mode !== 'z'" },
    }, { state = { mode = "z" }, strategy = "user_driven" }), "reach.loop")
    assert.truthy(one.what:find("at the start it repeats again", 1, true), one.what)
  end)

  it("takes no state for a round that leads back to where an end can be reached (F33)", function()
    assert.is_nil(finding(skill({
      { id = "out", repeatable = true, when = "mode === 'z'", effects = { "mode=b" } },
      { id = "go", repeatable = true, when = "mode === 'z'", effects = { "mode=c" } },
      { id = "back", repeatable = true, when = "mode === 'c'", effects = { "mode=z" } },
      { id = "end", when = "mode === 'b'", terminal = true },
    }, { state = { mode = "z" }, strategy = "user_driven" }), "reach.loop"))
  end)

  it("packs what does not fit into one word into several, with the same result (F28)", function()
    local actions = {}
    for i = 1, 90 do
      actions[i] = { id = "a" .. i, when = i > 1 and ("completed_actions.includes('a%d')"):format(i - 1) or nil }
    end
    actions[91] = { id = "last", when = "stage === 'b'", effects = { "stage=c" } }
    actions[40].effects = { "stage=a" }
    local space = space_of.of(model(skill(actions, { state = { stage = "z" } })))
    assert.is_true(space.words > 1)
    local result = search.run(space)
    assert.equal(91, result.looked)
    assert.truthy(finding(skill(actions, { state = { stage = "z" } }), "reach.never").what:find("`stage === 'b'`", 1, true))
  end)

  it("checks a thousand actions and passes no action over in silence (F8)", function()
    local actions = {}
    for i = 1, 1000 do
      actions[i] = { id = "a" .. i, priority = i % 10, when = i > 1 and ("completed_actions.includes('a%d')"):format(i - 1) or nil }
    end
    local result = check.check(skill(actions, { limits = { max_iterations = 1000 } }))
    assert.equal(1001, result.states)
    assert.is_true(result.complete)
    assert.same({ error = 0, warning = 0, note = 0 }, result.counts)
  end)

  it("follows the phases before the loop, run or left out (F7)", function()
    local definition = skill({ { id = "work", when = "size === 'small'" } }, {
      mode = "hybrid",
      state = { size = "none" },
      phases = { { id = "01-look", agent = "worker", effects = { "size=small" } }, { id = "09-end", agent = "worker", trailing = true } },
    })
    assert.is_nil(finding(definition, "reach.never"))
    definition.phases[1].effects = { "size=large" }
    local never = finding(definition, "reach.never")
    assert.truthy(never.what:find("`size === 'small'`", 1, true))
  end)

  it("evaluates the first state as it is, also a condition that its classes cannot follow", function()
    local more = { state = { round = 0, rounds = 10 }, terminate = { "round >= rounds" } }
    assert.is_nil(finding(skill({ { id = "one" } }, more), "reach.over"))
    more.state.round = 10
    assert.truthy(finding(skill({ { id = "one" } }, more), "reach.over"))
    more = { state = {}, terminate = { "round >= rounds" } }
    assert.is_nil(finding(skill({ { id = "one" } }, more), "reach.over"), "undefined is not above undefined")
  end)
end)
