-- check_reach_spec.lua: the search through the state space: what it proves, the shortest sequence
-- it shows, its bound; and that it agrees with runs taken step by step on real states.
local check = require "skillrt.document.check"
local found_of = require "skillrt.document.findings"
local json = require "skillrt.base.json"
local model_of = require "skillrt.document.check.model"
local plain_search = require "tests.support.plain_search"
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

describe("a key that nobody declares", function()
  it("and a text is compared with may be meant as an input", function()
    local one = finding(skill { { id = "find", when = "action === 'discover'" } }, "key.undeclared")
    assert.matches("is input.action meant, as given by %-%-set action=", one.what)
    assert.is_nil(finding(skill { { id = "find", when = "!action" } }, "key.undeclared").what:find "input")
  end)
end)

describe("a condition", function()
  it("names actions and phases that exist", function()
    local definition = skill { { id = "scan", max_runs = 1 }, { id = "tell", when = { "completed_actions.includes('scan')",
      "outputs.plan === 1", "(outputs)['plan'] === 1", "outputs.plna === 1", "outputs['gone'] === 1",
      "(completed_actions).includes('scna')", "other.includes('x') && n.plan === 1 && outputs[n] === 2" } } }
    definition.phases, definition.mode = { { id = "plan", agent = "worker" } }, "hybrid"
    local said = {}
    for _, one in ipairs(check.check(definition).findings) do
      said[#said + 1] = one.code:find "^reference" and one.code .. " " .. one.what:match "the %a+ .*" or nil
    end
    assert.same({ 'reference.action the action "scna", which does not exist (did you mean "scan"?)',
      'reference.phase the phase "plna", which does not exist (did you mean "plan"?)',
      'reference.phase the phase "gone", which does not exist' }, said)
  end)
end)

describe("the search through the state space", function()
  it("agrees with a plain search through real states: what may run, how it ends, how soon (F28, F33)", function()
    local seed = 20261121
    local function random(n)
      seed = (seed * 1103515245 + 12345) & 0x7fffffff
      return (seed >> 12) % n + 1
    end
    local stuck, wide = 0, 0
    for round = 1, 100 do
      local definition = plain_search.skill(random, round % 2 == 0)
      local real, told = plain_search.search(definition), json.encode(definition)
      local space = space_of.of(model(round % 5 == 0 and with_idle(definition) or definition))
      local result = search.run(space)
      local function steps(state)
        return state and #result:path(state) or nil
      end
      assert.is_true(result.complete)
      for i, step in ipairs(space.steps) do
        assert.equal(real.taken[step.action.id], steps(result.chosen[i]), step.action.id .. " of " .. told)
      end
      assert.equal(real.completed, steps(result.ends.completed), told)
      assert.equal(real.blocked, steps(result.blocked_at), told)
      assert.equal(real.stuck, steps(result:stuck()), told)
      stuck, wide = stuck + (real.stuck and 1 or 0), wide + (#space.start > 64 and 1 or 0)
    end
    assert.is_true(stuck > 3 and wide > 15, "cases of each kind")
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
    assert.same({ "try", "try", "try" }, result:path(result.ends.failed))
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

  it("takes a counter that a list's length bounds for no loop (F33)", function()
    local actions = {
      { id = "collect", effects = { "files.length>0" } },
      { id = "review", repeatable = true, when = { "files.length > 0", "index < files.length" }, effects = { "index++" } },
      { id = "report", when = { "files.length > 0", "index >= files.length" }, effects = { "report!=null" } },
    }
    for _, files in ipairs { {}, { "a" }, { "a", "b", "c", "d", "e" } } do
      local state = { files = json.array(files), index = 0 }
      assert.same({}, check.check(skill(actions, { state = state })).findings)
    end
    actions[2].effects = { "index--" }
    assert.equal("warning", finding(skill(actions, { state = { files = json.array(), index = 0 } }), "reach.loop").level)
  end)

  it("is silent once its own advice is taken (F9)", function()
    local function reach_codes(definition)
      local out = {}
      for _, one in ipairs(check.check(definition).findings) do
        out[#out + 1] = one.code:find "^reach" and one.level ~= "note" and one.code or nil
      end
      return out
    end
    local function advised(before, code, ...)
      local function made(change)
        local given = { state = { ok = false, n = 0 }, strategy = "priority", limits = { max_iterations = 5 } }
        local actions = before(given)
        if change then
          change(actions, given)
        end
        return skill(actions, given)
      end
      assert.truthy(finding(made(), code), code)
      for i, change in ipairs { ... } do
        assert.same({}, reach_codes(made(change)), ("%s, advice %d"):format(code, i))
      end
    end
    local function asks()
      return { { id = "ask", repeatable = true, when = "!ok" }, { id = "work", when = "ok", effects = { "n=1" } } }
    end
    advised(asks, "reach.loop", function(actions)
      actions[1].effects = { "ok=true" }
    end, function(actions)
      actions[1].max_runs, actions[1].repeatable = 2, nil
    end)
    local function counts()
      return { { id = "count", repeatable = true, when = "n < 9", effects = { "n++" } },
        { id = "stop", when = "n >= 9", terminal = true } }
    end
    advised(counts, "reach.limit", function(_, given)
      given.limits.max_iterations = 20
    end, function(actions)
      actions[1].when, actions[2].when = "n < 2", "n >= 2"
    end)
    local function waits()
      return { { id = "read", effects = { "n=1" } }, { id = "action-complete", when = "n === 1 && ok" } }
    end
    advised(waits, "reach.unset", function(actions)
      actions[1].effects[2] = "ok=true"
    end, function(actions)
      actions[2].when = "n === 1 && input.ok"
    end)
    local function hidden()
      return { { id = "first", priority = 5, repeatable = true, when = "n < 2", effects = { "n++" } },
        { id = "second", when = "n < 1" }, { id = "stop", priority = -1, when = "n >= 2", terminal = true } }
    end
    advised(hidden, "reach.shadowed", function(actions)
      actions[2].priority = 9
    end, function(actions)
      actions[1].when = "n < 2 && completed_actions.includes('second')"
    end)
    local function blocks()
      return { { id = "scan", effects = { "n=2" } }, { id = "last", when = "n === 1 && ok", effects = { "ok=true" } } }
    end
    advised(blocks, "reach.never", function(actions)
      actions[1].effects = { "n=1", "ok=true" }
    end, function(actions)
      actions[2].when = "n === 2"
    end)
    local function over(given)
      given.terminate = { "n >= 0" }
      return { { id = "scan", effects = { "n=1" } } }
    end
    advised(over, "reach.over", function(_, given)
      given.state.n = -1
    end, function(_, given)
      given.terminate = { "n >= 1" }
    end)
  end)

  it("knows pending before the first action and running after it (F38, R94)", function()
    local first = { id = "first", priority = 1 }
    local passed = finding(skill { first, { id = "late", when = "status === 'pending'" } }, "reach.shadowed")
    assert.truthy(passed.what:find('"late" is never chosen: at the start it may run, but "first"', 1, true))
    assert.truthy(finding(skill { first, { id = "late", when = "status === 'completed'" } }, "reach.never"))
    assert.is_nil(finding(skill { { id = "first", when = "status === 'pending'" }, { id = "late", when = "status === 'running'" } },
      "reach.never"))
  end)

  it("finds actions that wait for each other (F9)", function()
    local never = finding(skill {
      { id = "a", when = "completed_actions.includes('b')" }, { id = "b", when = "completed_actions.includes('a')" },
    }, "reach.never")
    assert.matches("completed_actions.includes%('b'%)", never.what)
  end)

  it("says that an error count beyond the limit never comes", function()
    assert.truthy(finding(skill { { id = "a" }, { id = "b", when = "error_count >= 5" } }, "reach.never"))
    assert.is_nil(finding(skill { { id = "a" }, { id = "b", when = "error_count >= 2" } }, "reach.never"))
  end)

  it("takes it that any action may set a key that no effect names", function()
    local free = skill({ { id = "scan" }, { id = "fix", when = "risk === 'high'" } }, { state = { risk = "low" } })
    assert.is_nil(finding(free, "reach.never"))
    assert.is_nil(finding(free, "reach.blocked"))
  end)

  it("follows a list to the length and to each of the items that conditions ask for (F28)", function()
    local parts = { { id = "scan", effects = { "parts!=null" } }, { id = "report", when = "parts.length === 6" } }
    local state = { parts = json.array(), focus = json.array() }
    assert.same({}, check.check(skill(parts, { state = state })).findings)
    local looks = { { id = "init", effects = { "focus!=null" } } }
    for i, name in ipairs { "a", "b", "c", "d", "e", "f" } do
      looks[i + 1] = { id = name, when = ("focus.includes('%s')"):format(name), optional = true }
    end
    assert.same({}, check.check(skill(looks, { state = state })).findings)
  end)

  it("lets a run rest where all is done and what may still run need not (F28)", function()
    local actions = { { id = "look", repeatable = true, when = "parts.length < 5", effects = { "parts!=null" } },
      { id = "report", when = "parts.length === 5" } }
    assert.is_nil(finding(skill(actions, { state = { parts = json.array() } }), "reach.goal"))
    actions[1].when = nil
    assert.equal("reach.goal", finding(skill(actions, { state = { parts = json.array() } }), "reach.goal").code)
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
    local one = finding(skill(actions, { strategy = "user_driven" }), "reach.bound", { max_bytes = 100000 })
    assert.truthy(one.what:find("tests, 100000 bytes of states in memory); ", 1, true))
    assert.is_nil(finding(skill(actions), "reach.bound", { max_bytes = 100000 }))
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

  it("follows more variables than a number has bits (F28)", function()
    local actions = {}
    for i = 1, 90 do
      actions[i] = { id = "a" .. i, when = i > 1 and ("completed_actions.includes('a%d')"):format(i - 1) or nil }
    end
    actions[91] = { id = "last", when = "stage === 'b'", effects = { "stage=c" } }
    actions[40].effects = { "stage=a" }
    local space = space_of.of(model(skill(actions, { state = { stage = "z" } })))
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
