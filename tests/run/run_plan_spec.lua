-- run_plan_spec.lua: runs that follow a plan: it is recorded, followed, and made anew where what happened differs.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"
local skillrt = require "skillrt"

local sets = R.sets

-- Tea. Boiling does not work the first time, or `boils` says what it gives.
local function tea(change)
  local definition = {
    name = "tea", strategy = "plan", goal = { "cup === 'tea'", "!dirty" }, state = { dirty = true, tries = 0 },
    actions = {
      { id = "boil", when = "water", effects = { "hot" }, max_runs = 3, run = function(state)
        return { hot = state.tries > 0, tries = state.tries + 1 }
      end },
      { id = "fill", effects = { "water" }, run = sets { water = true } },
      { id = "brew", when = "hot && leaves", effects = { "cup=tea" }, run = sets { cup = "tea" } },
      { id = "shop", cost = 9, effects = { "leaves" }, run = sets { leaves = true } },
      { id = "cupboard", effects = { "leaves" }, run = sets { leaves = true } },
      { id = "wash", effects = { "!dirty" }, run = sets { dirty = false } },
    },
  }
  if change then
    change(definition)
  end
  return definition
end

local function plans(dir)
  local list = {}
  for _, record in ipairs(R.records(dir, "start")) do
    list[#list + 1] = record.plan
  end
  return list
end

describe("a run with a plan", function()
  after_each(R.clean)

  it("follows it to the goal, and makes it anew where an effect did not come true", function()
    local dir = R.folder() .. "/run"
    local result = assert(R.run(tea(), { work_dir = dir }))
    assert.same({ "completed", "goal_reached", "tea" }, { result.status, result.reason, result.state.cup })
    assert.not_matches("shop", R.order(dir)) -- it costs more
    local list = plans(dir)
    assert.equal(2, #list)
    assert.same({ 5, 1 }, { #list[1].steps, list[1].n })
    assert.same({ { "boil", "brew" }, 2, "brew may not run in the present state" }, { list[2].steps, list[2].cost,
      list[2].because })
  end)

  it("makes it once where all goes as declared, and stops as soon as the goal is reached", function()
    local dir = R.folder() .. "/run"
    assert(R.run(tea(function(given) given.state.tries = 1 end), { work_dir = dir }))
    assert.equal(1, #plans(dir))
    assert.equal(table.concat(plans(dir)[1].steps, " "), R.order(dir))
    local luck = assert(R.run(tea(function(given)
      given.actions[2].run = sets { water = true, cup = "tea" } -- more than it declares
      given.state.dirty = false
      given.actions[6].effects = { "clean" }
    end)))
    assert.same({ "completed", "goal_reached" }, { luck.status, luck.reason })
    assert.is_true(luck.steps < 4)
  end)

  it("goes another way when a step has failed for good", function()
    local dir = R.folder() .. "/run"
    local result = assert(R.run(tea(function(given)
      given.state.tries = 1
      given.actions[5].run = R.fails "empty"
      given.actions[5].on_error = "skip"
    end), { work_dir = dir }))
    assert.equal("completed", result.status, result.message)
    assert.matches("cupboard", R.order(dir))
    assert.matches("shop", R.order(dir))
  end)

  it("ends as paused where nothing leads to the goal, and says what nobody changes", function()
    local result = assert(R.run(tea(function(given) given.goal = "cup === 'tea' && moon" end)))
    assert.same({ "paused", "no_plan" }, { result.status, result.reason })
    assert.matches("no effect changes what `moon` reads", result.message)
    result = assert(R.run({ strategy = "plan", actions = { { id = "a", run = sets {} } } }))
    assert.same({ "paused", "no_plan" }, { result.status, result.reason })
  end)

  it("records it in the loop of a hybrid run, too, and makes it once", function()
    local dir = R.folder() .. "/run"
    local result = assert(R.run(tea(function(given)
      given.state.tries, given.mode = 1, "hybrid"
      given.phases = { { id = "lay", run = function() return { table = "laid" } end } }
    end), { work_dir = dir }))
    assert.equal("completed", result.status, result.message)
    assert.equal(1, #plans(dir))
    assert.equal(6, result.steps)
  end)

  it("goes on by the same plan from every record", function()
    for _, books_bytes in ipairs { false, 1 } do
      local dir = R.folder() .. "/run"
      assert(R.run(tea(), { work_dir = dir, books_bytes = books_bytes or nil }))
      local order = R.order(dir)
      for keep = 1, #R.records(dir) - 1, R.EVERY do
        local copy = R.folder() .. "/cut"
        R.cut(dir, copy, keep)
        local result = assert(skillrt.resume(copy, { skill = R.skill(tea()), books_bytes = books_bytes or nil }))
        assert.equal("goal_reached", result.reason)
        assert.equal(order, R.order(copy), ("cut behind record %d"):format(keep))
        assert.equal(2, #plans(copy))
      end
    end
  end)

  it("is refused with a goal that is none", function()
    local ok, message = pcall(R.skill, tea(function(given) given.goal = "cup ===" end))
    assert.is_false(ok)
    assert.matches('field "goal"', message)
  end)
end)

describe("skillrt plan", function()
  local SKILL = [[
    return require "skillrt".skill { name = "walk", strategy = "plan", goal = "there", inputs = { to = { type = "string" } },
      actions = {
        { id = "step", when = "shoes", effects = { "there" }, cost = 2, run = function() return { there = true } end },
        { id = "dress", when = "input.to !== 'bed'", effects = { "shoes" }, run = function() return { shoes = true } end },
      } }]]

  it("prints the plan of a skill, and that of a run with how far it is", function()
    local folder <close> = kit.folder()
    folder.file("walk.lua", SKILL)
    local shown = kit.run(folder, { "plan", "walk.lua" })
    assert.equal(0, shown.code, shown.err)
    assert.equal("  1  dress\n  2  step\n2 steps, cost 3, 3 states examined\n", shown.out)
    local none = kit.run(folder, { "plan", "walk.lua", "--set", "to=bed" })
    assert.equal(1, none.code)
    assert.has_match("no sequence of actions", none.err, 1, true)
    assert.equal(2, kit.run(folder, { "plan", "w" }).code)
    kit.run(folder, { "walk.lua", "--work-dir", "w" })
    local of_run = json.decode(kit.run(folder, { "plan", "w", "--json" }).out)
    assert.same({ { "dress", "step" }, 2, 3 }, { of_run.steps, of_run.begun, of_run.cost })
  end)
end)
