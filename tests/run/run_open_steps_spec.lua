-- run_open_steps_spec.lua: many steps under way while many fields change: what is kept of the books stays small; and
-- what a step that is performed again is given of what it has got.
local R = require "tests.support.runs"

local MANY <const> = 700

describe("many steps under way that each change a field of their own", function()
  after_each(R.clean)

  it("make no record that holds each change for each step; a resume goes on without one", function()
    local state, actions = {}, {}
    for i = 1, MANY do
      state["key" .. i] = i
      actions[i] = { id = "a" .. i, run = function(_, ctx)
        ctx.sleep(0.001)
        return { ["key" .. i] = -i }
      end }
    end
    local definition = { state = state, actions = actions, limits = { max_parallel = MANY, max_iterations = MANY + 1 },
      strategy = { concurrent = true, select = function(_, available)
        local ids = {}
        for i, one in ipairs(available) do ids[i] = one.id end
        return ids
      end } }
    local dir = R.folder() .. "/run"
    local result = R.run(definition, { work_dir = dir, books_bytes = 30000 })
    assert.equal("completed", result.status)
    local longest = 0
    for line in assert(io.lines(dir .. "/journal/00000001.sj")) do
      longest = math.max(longest, #line)
    end
    assert.is_true(longest < 1000000, longest)
    local copy = dir .. ".cut"
    R.cut(dir, copy, #R.records(dir) - MANY // 2)
    local again = assert(require "skillrt".resume(copy, { skill = R.skill(definition) }))
    assert.same({ "completed", -MANY }, { again.status, again.state["key" .. MANY] })
  end)
end)

describe("a step that is performed again", function()
  after_each(R.clean)

  -- Its first call fails once; what it asks for behind that is recorded by then.
  local function definition(dir)
    local function sh(text)
      return { kind = "command", argv = { "sh", "-c", ("cd '%s' && %s"):format(dir, text) }, idempotent = true }
    end
    return { actions = { { id = "one", run = function(_, ctx)
      local x, message, class = ctx.await(sh "echo x >>first; test $(wc -l <first) -gt 1 || exit 75")
      local second = ctx.await(sh "echo x >>second; echo second").stdout
      local kept = ctx.once("kept", function()
        os.execute(("echo x >>'%s/kept'"):format(dir))
        return { value = "kept" }
      end)
      local text = ctx.read(dir .. "/long.txt")
      R.write(dir .. "/long.txt", "another text") -- so that what is given is what was recorded
      local rounds = ctx.loop(1, function(round)
        ctx.await(sh(("echo x >>round%d"):format(round)))
        return round + 1, round == 2
      end)
      if not x then
        return nil, message, class
      end
      kept.value = kept.value .. " changed"
      return { all = { second, kept.value, #text, rounds } }
    end } } }
  end

  local function check(dir, result)
    assert.equal("completed", result.status, result.message)
    assert.same({ "second\n", "kept changed", 5000, 3 }, result.state.all)
    local counts = {}
    for i, name in ipairs { "first", "second", "kept", "round1", "round2" } do
      counts[i] = select(2, R.read(dir .. "/" .. name):gsub("x", ""))
    end
    assert.same({ 2, 1, 1, 1, 1 }, counts)
  end

  it("is given, though it asks for it behind a call that is sent anew, what it has got", function()
    local dir = R.folder()
    R.write(dir .. "/long.txt", ("x"):rep(5000))
    check(dir, R.run(definition(dir), { work_dir = dir .. "/run" }))
  end)

  it("is given it by a process that comes later, too", function()
    local dir = R.folder()
    R.write(dir .. "/long.txt", ("x"):rep(5000))
    local made = definition(dir)
    made.limits = { max_retries = 0, max_errors = 1 }
    assert.equal("failed", R.run(made, { work_dir = dir .. "/run" }).status)
    check(dir, assert(require "skillrt".retry(dir .. "/run", { skill = R.skill(definition(dir)) })))
  end)
end)
