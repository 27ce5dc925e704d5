-- run_strategy_spec.lua: who chooses: built-in strategies, a function, a file of one's own; and
-- what happens when that goes wrong. Whole runs.
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local order = R.order

local function nothing() end

local function three()
  return { { id = "a", run = nothing }, { id = "b", priority = 5, run = nothing }, { id = "c", run = nothing } }
end

local function run(definition, options)
  local dir = R.folder() .. "/run"
  options = options or {}
  options.work_dir = dir
  local result, message = R.run(definition, options)
  return assert(result, message), dir
end

-- The skill of seed 001: its action names, its three rules.
local function conventional()
  return {
    strategy = "state_driven",
    actions = {
      { id = "action-init", run = function() return { pending_items = { "x", "y" } } end },
      { id = "action-process", repeatable = true, run = function(state)
        local rest = { table.unpack(state.pending_items, 2) }
        return { pending_items = rest, needs_review = #rest == 0 }
      end },
      { id = "action-review", repeatable = true, run = function() return { needs_review = false } end },
    },
  }
end

describe("a strategy", function()
  after_each(R.clean)

  it("chooses by declaration as sequential, by priority as priority (F8)", function()
    local _, dir = run { strategy = "sequential", actions = three() }
    assert.equal("a b c", order(dir))
    _, dir = run { strategy = "priority", actions = three() }
    assert.equal("b a c", order(dir))
  end)

  it("state_driven goes from pending over items and review to action-complete (R93, R94)", function()
    local result, dir = run(conventional())
    assert.equal("action-init action-process action-process action-review", order(dir))
    assert.same({ "completed", "task_completed" }, { result.status, result.reason })
  end)

  it("may be a function; it sees the state read-only and only what can run (F45)", function()
    local seen = {}
    local _, dir = run {
      state = { n = 1 },
      strategy = function(state, available)
        seen.n, seen.count, seen.missing = state.n, #available, available:has("no")
        seen.writes = seen.writes or select(2, pcall(function() state.n = 2 end))
        return available[#available].id
      end,
      actions = three(),
    }
    assert.equal("c a b", order(dir))
    assert.same({ 1, 1, false }, { seen.n, seen.count, seen.missing })
    assert.matches("run_strategy_spec.lua:%d+: the state is read%-only", seen.writes)
  end)

  it("may be a file of one's own, given for one run, and is found again on resume (F45)", function()
    local folder = R.folder()
    R.write(folder .. "/last.lua", [[return { select = function(_, a) return a[#a].id end }]])
    local function definition()
      return {
        terminate = { { when = "completed_actions.length === 1", status = "paused", reason = "tea" } },
        actions = three(),
      }
    end
    local _, dir = run(definition(), { strategy = folder .. "/last.lua" })
    local again = definition()
    again.terminate = nil
    local result = assert(skillrt.resume(dir, { skill = R.skill(again) }))
    assert.equal("completed", result.status)
    assert.equal("c a b", order(dir))
  end)

  it("may be named as a file of the skill's folder strategies", function()
    local folder = R.folder()
    assert(os.execute(("mkdir '%s/strategies'"):format(folder)))
    R.write(folder .. "/strategies/backwards.lua", "return { select = function(_, a) return a[#a].id end }")
    local result, dir = run { strategy = "backwards", dir = folder, actions = three() }
    assert.equal("completed", result.status, result.message)
    assert.equal("c a b", order(dir)) -- the last of those that can run, which the highest priority begins
  end)

  it("may start several at once (F22)", function()
    local folder = R.folder()
    local function meet(own, other)
      return skillrt.agent.command { "sh", "-c",
        ("touch %s/%s; i=0; while [ ! -e %s/%s ]; do i=$((i+1)); [ $i -gt 200 ] && exit 1; sleep 0.01; done")
          :format(folder, own, folder, other) }
    end
    local result, dir = run {
      strategy = function(_, available)
        local ids = {}
        for i = 1, #available do ids[i] = available[i].id end
        return ids
      end,
      actions = { { id = "a", agent = meet("a", "b") }, { id = "b", agent = meet("b", "a") } },
    }
    assert.equal("completed", result.status, result.message)
    assert.equal("a b", order(dir))
  end)

  it("that names several lets none begin whose condition another one has made false meanwhile", function()
    for _, mode in ipairs { "autonomous", "hybrid" } do
      local result = assert(R.run { mode = mode, state = { n = 0 }, limits = { max_parallel = 1 },
        phases = mode == "hybrid" and { { id = "p", run = function() return "x" end } } or nil,
        strategy = { select = function(_, list)
          local ids = {}
          for i = 1, #list do
            ids[i] = list[i].id
          end
          return ids[1] and ids
        end },
        actions = { { id = "a", when = "n < 1", run = function() return { n = 1 } end },
          { id = "b", when = "n < 1", run = function() return { n = 5 } end },
          { id = "c", run = function() return { c = true } end } } })
      assert.same({ 1, true }, { result.state.n, result.state.c }, mode)
    end
  end)

  it("that chooses what cannot run pauses the run, naming what can (F45)", function()
    local result = run { strategy = function() return "nobody" end, actions = three() }
    assert.same({ "paused", "strategy_error" }, { result.status, result.reason })
    assert.matches('"nobody", which cannot run now', result.message)
    assert.matches("available: b, a, c", result.message)
  end)

  it("that chooses nothing pauses the run with its reason (R61, R83)", function()
    local result = run { strategy = function() return nil, "not in the mood" end, actions = three() }
    assert.same({ "paused", "no_action_selected" }, { result.status, result.reason })
    assert.matches("not in the mood", result.message)
  end)

  it("that raises pauses the run; repaired and accepted, the run goes on (F48)", function()
    local folder = R.folder()
    local path = folder .. "/mine.lua"
    R.write(path, [[return { select = function(_, a) if #a < 3 then error "lost" end return a[1].id end }]])
    local function definition()
      return { strategy = { path = path }, actions = three() }
    end
    local result, dir = run(definition())
    assert.same({ "paused", "strategy_error" }, { result.status, result.reason })
    assert.matches("mine.lua:1: lost", result.message)
    R.write(path, [[return { select = function(_, a) return a[1].id end }]])
    local refused, message, code = skillrt.resume(dir, { skill = R.skill(definition()) })
    assert.is_nil(refused)
    assert.equal("changed", code)
    assert.matches("strategy mine", message)
    result = assert(skillrt.resume(dir, { skill = R.skill(definition()), accept_changes = true }))
    assert.equal("completed", result.status)
    assert.equal("b a c", order(dir))
  end)
end)

describe("a concurrent strategy", function()
  after_each(R.clean)

  -- What began and ended, in the journal's order.
  local function story(dir)
    local ids, out = {}, {}
    for _, record in ipairs(R.told(dir)) do
      if record.t == "start" then
        ids[record.step] = record.action or record.phase
        out[#out + 1] = "+" .. ids[record.step]
      elseif record.t == "done" then
        out[#out + 1] = "-" .. ids[record.step]
      end
    end
    return table.concat(out, " ")
  end

  local function sleeper(id, seconds, more)
    local one = { id = id, run = function(_, ctx)
      ctx.sleep(seconds)
      return { [id] = true }
    end }
    for key, value in pairs(more or {}) do
      one[key] = value
    end
    return one
  end

  local function definition(asked)
    return {
      limits = { max_parallel = 2 },
      strategy = {
        concurrent = true,
        select = function(_, available)
          asked[#asked + 1] = #available
          return available[1] and available[1].id
        end,
      },
      actions = {
        sleeper("long", 0.3), sleeper("short", 0.05), sleeper("next", 0.05, { when = "short" }),
        sleeper("last", 0, { when = "long && next" }),
      },
    }
  end

  it("is asked again while steps run, whenever there is room; what runs is not offered twice", function()
    local asked = {}
    local result, dir = run(definition(asked))
    assert.equal("completed", result.status, result.message)
    assert.equal("+long +short -short +next -next -long +last -last", story(dir))
    assert.same({ 2, 1, 1, 1 }, asked) -- and not while nothing could be chosen
  end)

  it("is asked so in the loop between phases, too", function()
    local d = definition {}
    d.mode, d.phases = "hybrid", { sleeper("first", 0) }
    local result, dir = run(d)
    assert.equal("completed", result.status, result.message)
    assert.equal("+first -first +long +short -short +next -next -long +last -last", story(dir))
  end)

  it("is asked once where it chooses nothing, until a step is over", function()
    local asked = 0
    local d = definition {}
    d.strategy.select = function(state, available)
      asked = asked + 1
      return (asked == 1 or state.long) and available[1] and available[1].id or nil, "not yet"
    end
    local result, dir = run(d)
    assert.equal("completed", result.status, result.message)
    assert.matches("^%+long %-long %+short", story(dir))
    assert.equal(5, asked)
  end)

  it("goes on after a stop with what was under way, and offers it no second time", function()
    local dir = R.folder() .. "/run"
    assert(R.run(definition {}, { work_dir = dir }))
    local wanted = R.json(dir .. "/state.json")
    for keep = 1, #R.records(dir) - 1, R.EVERY do
      local copy = R.folder() .. "/cut"
      R.cut(dir, copy, keep)
      local result = assert(skillrt.resume(copy, { skill = R.skill(definition {}) }))
      assert.same({ "completed", 4 }, { result.status, #wanted.completed_actions })
      assert.equal(4, #R.json(copy .. "/state.json").completed_actions, "cut behind record " .. keep)
      assert.equal(4, select(2, story(copy):gsub("%+", "")))
    end
  end)

  it("must say so by true or false", function()
    assert.matches('concurrent"? must be true or false, not "yes"', select(2, pcall(run, {
      strategy = { concurrent = "yes", select = function() end }, actions = { sleeper("a", 0) },
    })))
  end)
end)

describe("a strategy that asks a person", function()
  after_each(R.clean)

  local function definition()
    return { strategy = "user_driven", actions = three() }
  end

  it("pauses with the question, and goes on with each answer (R92)", function()
    local result, dir = run(definition())
    assert.same({ "paused", "waiting_for_person" }, { result.status, result.reason })
    local ids = {}
    for i, option in ipairs(result.question.options) do
      ids[i] = option.id
    end
    assert.same({ "b", "a", "c" }, ids)
    result = assert(skillrt.resume(dir, { skill = R.skill(definition()), answer = "c" }))
    assert.same({ "paused", "waiting_for_person" }, { result.status, result.reason })
    assert.equal(2, #result.question.options)
    assert(skillrt.resume(dir, { skill = R.skill(definition()), answer = "a" }))
    result = assert(skillrt.resume(dir, { skill = R.skill(definition()), answer = "b" }))
    assert.equal("completed", result.status)
    assert.equal("c a b", order(dir))
  end)

  it("asks the same question again when resumed without an answer (R87)", function()
    local first, dir = run(definition())
    local result = assert(skillrt.resume(dir, { skill = R.skill(definition()) }))
    assert.same(first.question, result.question)
  end)

  it("stops when the person gives up, and can be resumed (R87, R92)", function()
    local _, dir = run(definition())
    local result = assert(skillrt.resume(dir, { skill = R.skill(definition()), answer = false }))
    assert.same({ "paused", "user_exit" }, { result.status, result.reason })
    result = assert(skillrt.resume(dir, { skill = R.skill(definition()) }))
    assert.equal("waiting_for_person", result.reason)
  end)
end)

describe("a hybrid run", function()
  after_each(R.clean)
  local trace

  local function mark(id, value, updates)
    return function()
      trace[#trace + 1] = id
      return value, updates
    end
  end

  local function definition(more)
    local d = {
      phases = {
        { id = "01-init", run = mark("init", "i", { ready = true }) },
        { id = "03-end", trailing = true, run = mark("end", "e", { again = true }) },
        { id = "04-last", trailing = true, run = mark("last", "l") },
      },
      actions = {
        { id = "work", when = "ready", run = mark("work", { worked = true }) },
        { id = "extra", optional = true, when = "again", run = mark "extra" },
      },
    }
    for key, value in pairs(more or {}) do
      d[key] = value
    end
    return d
  end

  before_each(function()
    trace = {}
  end)

  it("runs leading phases, the loop, trailing phases; what these change does not reopen the loop (F7)", function()
    local result, dir = run(definition())
    assert.equal("completed", result.status, result.message)
    assert.equal("task_completed", result.reason)
    assert.equal("init work end last", table.concat(trace, " "))
    assert.equal(3, #R.json(dir .. "/execution-state.json").phases_completed)
  end)

  it("counts the iterations of its loop, not its phases", function()
    local steps = {
      { id = "work", when = "ready", run = mark("work", { worked = true }) },
      { id = "more", when = "worked", run = mark("more") },
    }
    local d = definition { actions = steps, limits = { max_iterations = 2 } }
    table.insert(d.phases, 2, { id = "02-next", run = mark("next") })
    local result = run(d)
    assert.equal("completed", result.status, result.message)
    assert.equal("init next work more end last", table.concat(trace, " "))
    assert.equal(2, result.state.iteration_count)
  end)

  it("stops without the trailing phases when the loop failed, or runs them if told so (F7)", function()
    local failing = { { id = "work", run = function() return nil, "no" end } }
    local result = run(definition { actions = failing })
    assert.same({ "failed", "error_limit" }, { result.status, result.reason })
    assert.equal("init", table.concat(trace, " "))
    trace = {}
    result = run(definition { actions = failing, on_loop_failed = "run_finalize" })
    assert.same({ "failed", "error_limit" }, { result.status, result.reason })
    assert.equal("init end last", table.concat(trace, " "))
  end)

  it("does not begin the loop when a leading phase failed (F17)", function()
    local d = definition()
    d.phases[1].run = function() return nil, "no" end
    local result = run(d)
    assert.same({ "failed", "phase_failed" }, { result.status, result.reason })
    assert.equal("", table.concat(trace, " "))
  end)
end)
