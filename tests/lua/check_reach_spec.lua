-- check_reach_spec.lua: the search through the state space: what it proves, the shortest sequence
-- it shows, its bound; and that it agrees with runs taken step by step on real states.
local check = require "skillrt.check"
local found_of = require "skillrt.check.found"
local model_of = require "skillrt.check.model"
local search = require "skillrt.check.reach.search"
local skill_of = require "skillrt.skill"
local space_of = require "skillrt.check.reach.space"
local when = require "skillrt.when"

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

-- Small machines of chance ---------------------------------------------------------------------------

local WHEN = { "n < 3", "n >= 2", "mode === 'a'", "mode !== 'b'", "ready", "!ready", "mode === 'a' || ready",
  "n === 1 && !ready", "completed_actions.includes('a1')", "!completed_actions.includes('a2')", "n < 2 && mode === 'b'" }
local EFFECTS = { "n++", "n--", "mode=a", "mode=b", "mode='c'", "ready=true", "ready=false", "n=0" }

local function chance(random)
  local actions = {}
  for i = 1, 2 + random(4) do
    local one = { id = "a" .. i, priority = random(3), when = {}, effects = {}, optional = random(2) == 1 }
    for k = 1, random(3) - 1 do
      one.when[k] = WHEN[random(#WHEN)]
    end
    local used = {}
    for _ = 1, random(3) - 1 do
      local effect = EFFECTS[random(#EFFECTS)]
      local key = effect:match "^%l+"
      if not used[key] then
        used[key] = true
        one.effects[#one.effects + 1] = effect
      end
    end
    one.max_runs = random(3) == 1 and 3 or 1
    one.terminal = random(6) == 1 or nil
    actions[i] = one
  end
  -- so that every key is some effect's
  actions[#actions + 1] = { id = "keys", when = "false", optional = true, effects = { "n++", "mode=b", "ready=true" } }
  local all = skill(actions, { state = { n = 0, mode = "z", ready = false } })
  all.strategy = random(2) == 1 and "priority" or "user_driven"
  return all
end

local function apply(state, effects)
  for _, effect in ipairs(effects) do
    local key, value = effect.text:match "^(%l+)='?(%w+)'?$"
    if effect.text == "n++" then
      state.n = state.n + 1
    elseif effect.text == "n--" then
      state.n = state.n - 1
    elseif value == "true" or value == "false" then
      state[key] = value == "true"
    else
      state[key] = tonumber(value) or value
    end
  end
end

-- All runs on real states with the real conditions: which actions may be taken, and how it ends.
local function walk(definition)
  local checked = assert(skill_of.check(definition))
  local list = table.move(checked.actions, 1, #checked.actions, 1, {})
  if checked.strategy.name == "priority" then
    table.sort(list, function(a, b)
      return a.priority > b.priority or (a.priority == b.priority and a.index < b.index)
    end)
  end
  local taken, ends, seen = {}, {}, {}
  local todo = { { state = { n = 0, mode = "z", ready = false, completed_actions = {}, status = "pending" }, runs = {} } }
  while #todo > 0 do
    local now = table.remove(todo)
    local runs = {}
    for i, one in ipairs(checked.actions) do
      runs[i] = now.runs[one.id] or 0
    end
    local s = now.state
    local key = ("%s %s %s %s"):format(math.max(-9, math.min(s.n, 9)), s.mode, s.ready, table.concat(runs, ","))
    if not seen[key] then
      seen[key] = true
      local any, rest = false, false
      for _, one in ipairs(list) do
        local open = (now.runs[one.id] or 0) < one.max_runs and when.holds(one, s)
        if open and (not any or checked.strategy.name ~= "priority") then
          any, taken[one.id] = true, true
          local after = { n = s.n, mode = s.mode, ready = s.ready, status = "running",
            completed_actions = table.move(s.completed_actions, 1, #s.completed_actions, 1, {}) }
          table.insert(after.completed_actions, one.id)
          apply(after, one.effects)
          local count = {}
          for id, times in pairs(now.runs) do
            count[id] = times
          end
          count[one.id] = (count[one.id] or 0) + 1
          if one.terminal then
            ends.completed = true
          else
            todo[#todo + 1] = { state = after, runs = count }
          end
        end
        rest = rest or not (one.terminal or one.optional or (now.runs[one.id] or 0) > 0)
      end
      if not any then
        ends[rest and "blocked" or "completed"] = true
      end
    end
  end
  return taken, ends
end

describe("the search through the state space", function()
  it("agrees with real states and conditions on what may run and how it may end (F28, F33)", function()
    local seed = 20261121
    local function random(n)
      seed = (seed * 1103515245 + 12345) & 0x7fffffff
      return (seed >> 12) % n + 1
    end
    for _ = 1, 150 do
      local definition = chance(random)
      local taken, ends = walk(definition)
      local space = space_of.of(model(definition))
      local result = search.run(space)
      assert.is_true(result.complete)
      for i, step in ipairs(space.steps) do
        local id = step.action.id
        assert.equal(taken[id] or false, result.chosen[i] ~= nil, id .. " of " .. require("skillrt.json").encode(definition.actions))
      end
      assert.equal(ends.completed or false, result.ends.completed ~= nil)
      assert.equal(ends.blocked or false, result.blocked_count > 0)
    end
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

  it("counts exactly as far as conditions compare (R110, F61)", function()
    local definition = skill({
      { id = "try", repeatable = true, when = "tries < 3", effects = { "tries++" } },
      { id = "give-up", when = "tries >= 3", terminal = "failed" },
    }, { state = { tries = 0 } })
    local result = search.run(space_of.of(model(definition)))
    assert.same({ "try", "try", "try" }, search.path(result, result.ends.failed))
    assert.equal("reach.goal", finding(definition, "reach.goal").code)
  end)

  it("knows pending before the first action and running after it (F38, R94)", function()
    local first = { id = "first", priority = 1 }
    local passed = finding(skill { first, { id = "late", when = "status === 'pending'" } }, "reach.shadowed")
    assert.truthy(passed.what:find('"late" is never chosen: at the start it may run, but "first"', 1, true))
    assert.truthy(finding(skill { first, { id = "late", when = "status === 'completed'" } }, "reach.never"))
    assert.is_nil(finding(skill { { id = "first", when = "status === 'pending'" }, { id = "late", when = "status === 'running'" } },
      "reach.never"))
  end)

  it("says that an error count beyond the limit never comes (R59)", function()
    assert.truthy(finding(skill { { id = "a" }, { id = "b", when = "error_count >= 5" } }, "reach.never"))
    assert.is_nil(finding(skill { { id = "a" }, { id = "b", when = "error_count >= 2" } }, "reach.never"))
  end)

  it("takes it that any action may set a key that no effect names (R142)", function()
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
    local result = check.check(skill(actions))
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

  it("evaluates the first state as it is, also a condition that its classes cannot follow (F61)", function()
    local more = { state = { round = 0, rounds = 10 }, terminate = { "round >= rounds" } }
    assert.is_nil(finding(skill({ { id = "one" } }, more), "reach.over"))
    more.state.round = 10
    assert.truthy(finding(skill({ { id = "one" } }, more), "reach.over"))
    more = { state = {}, terminate = { "round >= rounds" } }
    assert.is_nil(finding(skill({ { id = "one" } }, more), "reach.over"), "undefined is not above undefined")
  end)
end)
