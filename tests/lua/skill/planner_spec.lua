-- planner_spec.lua: sequences of actions that lead to a goal, by what each declares to change.
require "tests.support.json_shim"
local action = require "skillrt.skill.action"
local json = require "skillrt.base.json"
local planner = require "skillrt.skill.planner"

local function run() end

-- Actions as skills have them, from rows { id, when, effects, cost =, max_runs = }.
local function actions(rows)
  local out = {}
  for i, row in ipairs(rows) do
    out[i] = assert(action.new({ id = row[1], when = row[2], effects = row[3], cost = row.cost, max_runs = row.max_runs,
      run = run }, i, { where = "test", agents = {} }))
  end
  return out
end

local function plan(rows, goal, state, runs)
  state = state or {}
  state.completed_actions = state.completed_actions or json.array {}
  return planner.new(actions(rows), (assert(action.conditions(goal, "goal")))):plan(state, runs)
end

local function steps(...)
  local found, why = plan(...)
  return found and table.concat(found.steps, " ") or "none: " .. why
end

describe("a plan", function()
  it("is a sequence whose conditions hold one after the other, and nothing besides", function()
    assert.equal("fill boil brew", steps({
      { "brew", "hot", { "cup=tea" } }, { "boil", "water", { "hot" } }, { "fill", nil, { "water" } },
      { "sing", nil, { "song" } },
    }, "cup === 'tea'"))
    assert.equal("", steps({ { "a", nil, { "x" } } }, "x", { x = true }))
  end)

  it("takes the cheaper way, however many steps it has", function()
    local rows = { { "fly", nil, { "there" }, cost = 10 }, { "walk", nil, { "half" }, cost = 2 },
      { "go-on", "half", { "there" }, cost = 2 } }
    assert.equal("walk go-on", steps(rows, "there"))
    rows[1].cost = 3
    assert.equal("fly", steps(rows, "there"))
    assert.equal(3, plan(rows, "there").cost)
  end)

  it("counts numbers and lists up and down, and compares", function()
    local rows = { { "more", nil, { "n++" }, max_runs = 9 }, { "push", "n >= 3", { "list.length>0" } },
      { "pop", "list.length > 0", { "left--" }, max_runs = 9 } }
    assert.equal("more more more push pop pop", steps(rows, { "left <= 3", "list.length > 0" },
      { n = 0, left = 5, list = json.array {} }))
    assert.matches("^none", steps(rows, "n > 20", { n = 0 })) -- it may run nine times
    assert.equal("set", steps({ { "set", nil, { "box.size>=4" } } }, "box.size > 3", { box = { size = 1, other = 2 } }))
  end)

  it("tells the same state apart by what may still run in it", function()
    assert.equal("other back any end", steps({ { "any", "!up", { "up" } }, { "other", "!up && !been", { "up" } },
      { "back", "up && !been", { "!up", "been" } }, { "end", "up && been", { "done" } } }, "done", {}))
  end)

  it("heeds what undoes what", function()
    local rows = { { "open", "!locked", { "open" } }, { "take-key", nil, { "key" } },
      { "unlock", "key", { "!locked" } }, { "lock", "open", { "locked", "!open" } } }
    assert.equal("take-key unlock open", steps(rows, "open", { locked = true }))
  end)

  it("knows who has completed, how often each may run, and how often it ran", function()
    local rows = { { "a", nil, { "x" } }, { "b", "completed_actions.includes('a')", { "y" } } }
    assert.equal("a b", steps(rows, "y"))
    assert.matches("^none", steps(rows, "y", nil, function(id) return id == "a" and 1 or 0 end))
  end)

  it("follows alternatives, and conditions that are functions", function()
    assert.equal("cheap", steps({ { "dear", nil, { "a" }, cost = 5 }, { "cheap", nil, { "b" } } }, "a || b"))
    assert.equal("a b", steps({ { "a", nil, { "x=2" } },
      { "b", function(state) return state.x == 2 end, { "y" } } }, "y"))
  end)

  it("says what of the goal nobody changes", function()
    assert.matches("no effect changes what `moon` reads", steps({ { "a", nil, { "x" } } }, { "x", "moon" }))
  end)

  it("changes nothing of the state that it is given", function()
    local state = { n = 1, list = json.array { "a" }, completed_actions = json.array {} }
    plan({ { "a", nil, { "n++", "list.length>3" } }, { "b", "n > 1", { "box.x=1" } } }, "box.x === 1", state)
    assert.same({ n = 1, list = { "a" }, completed_actions = {} }, state)
  end)

  it("tells whether the rest of it still leads to the goal, and what does not", function()
    local one = planner.new(actions { { "a", nil, { "x" } }, { "b", "x", { "y" } } },
      (assert(action.conditions("y", "goal"))))
    assert.is_true(one:leads({}, { "a", "b" }, 1))
    assert.same({ false, "b" }, { one:leads({}, { "a", "b" }, 2) })
    assert.is_true(one:leads({ x = true }, { "a", "b" }, 2))
    assert.same({ false }, { one:leads({ x = true }, { "a", "b" }, 3) })
  end)

  -- What a plan takes, in thousands of instructions of Lua: a hundredth of a second has some 500 of them.
  local function thousands(rows, goal)
    local list, count = actions(rows), 0
    local conditions = assert(action.conditions(goal, "goal"))
    debug.sethook(function() count = count + 1 end, "", 1000)
    local found = planner.new(list, conditions):plan { k0 = 50, completed_actions = json.array {} }
    debug.sethook()
    assert.equal(20, #found.steps)
    return count
  end

  it("of 20 steps among 1,000 actions is found in a fraction of 100 ms", function()
    local chain, levels, apart, goal = {}, {}, {}, {}
    for i = 1, 1000 do
      chain[i] = { "s" .. i, "k" .. (i <= 20 and i - 1 or i % 20 + 1), { (i <= 20 and "k" or "x") .. i } }
      local level, value = (i - 1) // 50 + 1, (i - 1) % 50 + 1
      levels[i] = { "s" .. i, ("k%d >= %d"):format(level - 1, value), { ("k%d=%d"):format(level, value) } }
      apart[i] = { "s" .. i, nil, { "k" .. i % 200 } }
      goal[i <= 20 and i or 20] = "k" .. math.min(i, 20)
    end
    assert.is_true(thousands(chain, "k20") < 1000)
    assert.is_true(thousands(levels, "k20 >= 50") < 2500)
    assert.is_true(thousands(apart, goal) < 6000)
  end)
end)
