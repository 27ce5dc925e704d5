-- run_repeats_spec.lua: a call that may have acted is not sent again, whoever decides next: the loop, attempts, a
-- person, a resume, a changed script. Counted where it counts: in the file that the call writes to.
local R = require "tests.support.runs"
local skillrt = require "skillrt"

-- A folder with a run's directory, how often `name` was sent, and a call that sends it.
local function place()
  local folder = R.folder()
  local function sent(name)
    return select(2, (R.read(folder .. "/" .. (name or "bill")) or ""):gsub("x", ""))
  end
  local function call(name, script, more)
    local request = { kind = "command", argv = { "sh", "-c", ("printf x >> %s/%s; %s"):format(folder, name or "bill",
      script or "true") } }
    for key, value in pairs(more or {}) do
      request[key] = value
    end
    return request
  end
  return folder .. "/run", sent, call
end

local function one(run, more)
  local definition = { actions = { { id = "pay", run = run } } }
  for key, value in pairs(more or {}) do
    definition.actions[1][key] = value
  end
  return definition
end

local function go_on(dir, definition, options)
  options = options or {}
  options.skill = R.skill(definition)
  return skillrt.resume(dir, options)
end

describe("a step whose code failed", function()
  after_each(R.clean)

  it("pauses the run at once and is not chosen again; its calls stand, also when it is resumed unfixed", function()
    local dir, sent, call = place()
    local definition = one(function(_, ctx)
      assert(ctx.await(call()))
      error "a slip"
    end)
    local result = assert(R.run(definition, { work_dir = dir }))
    assert.same({ "paused", "script_error", 1 }, { result.status, result.reason, sent() })
    assert.matches("a slip", result.message)
    assert.equal("script_error", assert(go_on(dir, definition)).reason)
    assert.equal(1, sent())
    local result_of_retry = assert(skillrt.retry(dir, { skill = R.skill(definition) }))
    assert.same({ "script_error", 1 }, { result_of_retry.reason, sent() })
  end)

  it("is resumed once it is fixed, and gets what it had got", function()
    local dir, sent, call = place()
    assert(R.run(one(function(_, ctx)
      local reply = assert(ctx.await(call("bill", "echo 5")))
      return { sum = reply.stdout + nil }
    end), { work_dir = dir }))
    local result = assert(go_on(dir, one(function(_, ctx)
      return { sum = tonumber((assert(ctx.await(call("bill", "echo 5"))).stdout)) }
    end)))
    assert.same({ "completed", 5, 1 }, { result.status, result.state.sum, sent() })
    assert.equal(1, result.steps)
  end)

  it("keeps the answers of agents and of a person where it throws behind them", function()
    local dir, sent, call = place()
    local function asks(last)
      return one(function(_, ctx)
        local replies = ctx.map({ 1, 2, 3 }, function(i) return ctx.await(call("agent" .. i)) end)
        local said = ctx.ask "go on?"
        return last(replies, said)
      end)
    end
    assert(R.run(asks(function() return { n = nil + 1 } end), { work_dir = dir }))
    local result = assert(go_on(dir, asks(function() return { n = nil + 1 } end), { answer = "yes" }))
    assert.equal("script_error", result.reason)
    result = assert(go_on(dir, asks(function(replies, said)
      return { n = #replies, said = said }
    end), { accept_changes = true }))
    assert.same({ "completed", 3, "yes" }, { result.status, result.state.n, result.state.said }, result.message)
    assert.same({ 1, 1, 1 }, { sent "agent1", sent "agent2", sent "agent3" })
  end)

  it("in a phase and in a sub-run pauses the run as well", function()
    local dir, sent, call = place()
    local function slip(_, ctx)
      assert(ctx.await(call()))
      error "a slip"
    end
    local result = assert(R.run({ phases = { { id = "pay", run = slip } } }, { work_dir = dir }))
    assert.same({ "paused", "script_error", 1 }, { result.status, result.reason, sent() })
    local inner = R.skill(one(slip))
    local dir2 = place()
    local outer = { name = "outer", actions = { { id = "outer", run = function(_, ctx)
      return { said = assert(ctx.run(inner)).status }
    end } } }
    result = assert(R.run(outer, { work_dir = dir2 }))
    assert.same({ "paused", "script_error", 2 }, { result.status, result.reason, sent() })
    result = assert(go_on(dir2, outer))
    assert.same({ "script_error", 2 }, { result.reason, sent() })
  end)

  it("follows what its author said of a failure", function()
    local dir, sent, call = place()
    local definition = one(function(_, ctx)
      assert(ctx.await(call()))
      error "a slip"
    end, { on_error = "skip", max_errors = 3 })
    local result = assert(R.run(definition, { work_dir = dir }))
    assert.same({ "completed", 1 }, { result.status, sent() })
  end)

  it("is none where it raises the failure of a call, which is that call's", function()
    local dir, sent, call = place()
    local result = assert(R.run(one(function(_, ctx)
      assert(ctx.await(call("bill", "exit 3", { idempotent = true })))
    end), { work_dir = dir }))
    assert.same({ "failed", "error_limit", 3 }, { result.status, result.reason, sent() })
  end)

  it("refuses a fix that asks for something else in place of what acted, unless that is accepted", function()
    local dir, sent, call = place()
    assert(R.run(one(function(_, ctx)
      assert(ctx.await(call "first"))
      error "a slip"
    end), { work_dir = dir }))
    local changed = one(function(_, ctx)
      assert(ctx.await(call "second"))
    end)
    local refused, message, code = go_on(dir, changed)
    assert.same({ nil, "changed", 0 }, { refused, code, sent "second" })
    assert.matches("diverged at call 1: it was sh, and is another sh now", message)
    refused, message = go_on(dir, changed, { accept_changes = true })
    assert.is_nil(refused)
    assert.matches("may have acted", message)
    assert.equal("completed", assert(go_on(dir, changed, { accept_changes = true, yes = true })).status)
    assert.same({ 1, 1 }, { sent "first", sent "second" })
  end)

  it("is not chosen again where a changed script leaves out a sub-run that acted, and resumes it when it is back", function()
    local dir, sent, call = place()
    local function outer(is_left_out, works)
      local inner = R.skill(one(function(_, ctx)
        assert(ctx.await(call()))
        return works and {} or nil, not works and "not now" or nil
      end))
      return one(function(_, ctx)
        return { said = is_left_out and "nothing" or assert(ctx.run(inner)).status }
      end)
    end
    assert.same({ "failed", 1 }, { assert(R.run(outer(), { work_dir = dir })).status, sent() })
    local result = assert(skillrt.retry(dir, { skill = R.skill(outer(true)), accept_changes = true, yes = true }))
    assert.equal("failed", result.status)
    assert.matches("has diverged at call 1: it was .*, and is nothing now %(not repeated: call 1 may have acted%)",
      result.message)
    local left = R.records(dir, "result")
    assert.is_true(left[#left].unknown)
    result = assert(skillrt.retry(dir, { skill = R.skill(outer(false, true)), accept_changes = true, yes = true }))
    assert.same({ "completed", "completed", 1 }, { result.status, result.state.said, sent() }, result.message)
  end)
end)

describe("an action that failed", function()
  after_each(R.clean)

  it("is not chosen again by the loop where a call of it may have acted; the run ends and says why", function()
    local dir, sent, call = place()
    local result = assert(R.run(one(function(_, ctx)
      return nil, select(2, ctx.await(call("bill", "exit 3")))
    end, { max_runs = 3 }), { work_dir = dir }))
    assert.same({ "failed", "action_failed", 1 }, { result.status, result.reason, sent() })
    assert.equal(1, select(2, result.message:gsub("not repeated: call 1 may have acted", "")), result.message)
  end)

  it("is chosen again where it is repeatable: only what the failure blames is sent again", function()
    local dir, sent, call = place()
    local result = assert(R.run(one(function(_, ctx)
      assert(ctx.await(call "first"))
      assert(ctx.await(call("second", "exit 3")))
    end, { repeatable = true }), { work_dir = dir }))
    assert.same({ "failed", "error_limit" }, { result.status, result.reason })
    assert.same({ 1, 3 }, { sent "first", sent "second" })
  end)

  it("is retried by a person: the blamed call is sent again, the others are not", function()
    local dir, sent, call = place()
    local definition = one(function(_, ctx)
      assert(ctx.await(call "first"))
      assert(ctx.await(call("second", "[ -e " .. dir .. "/good ]")))
      return { good = true }
    end)
    assert.equal("failed", assert(R.run(definition, { work_dir = dir })).status)
    R.write(dir .. "/good", "")
    local result = assert(skillrt.retry(dir, { skill = R.skill(definition) }))
    assert.same({ "completed", 1, 2 }, { result.status, sent "first", sent "second" })
  end)
end)

describe("a sub-run that failed", function()
  after_each(R.clean)

  -- A skill whose action runs another one, two deep, whose second call fails until a file is there.
  local function nested(dir, call)
    local inner = R.skill(one(function(_, ctx)
      assert(ctx.await(call "first"))
      assert(ctx.await(call("second", "[ -e " .. dir .. "/good ]")))
      return { good = true }
    end))
    local middle = R.skill { actions = { { id = "middle", run = function(_, ctx)
      assert(ctx.await(call "before"))
      return { good = assert(ctx.run(inner)).state.good }
    end } } }
    return { actions = { { id = "outer", run = function(_, ctx)
      return { good = assert(ctx.run(middle)).state.good }
    end } } }
  end

  it("is retried by a person: only what failed in it is sent again, wherever the retry is killed", function()
    local dir, sent, call = place()
    local definition = nested(dir, call)
    local result = assert(R.run(definition, { work_dir = dir }))
    assert.same({ "failed", 1, 1, 1 }, { result.status, sent "before", sent "first", sent "second" }, result.message)
    R.write(dir .. "/good", "")
    result = assert(skillrt.retry(dir, { skill = R.skill(definition) }))
    assert.same({ "completed", true }, { result.status, result.state.good }, result.message)
    assert.same({ 1, 1, 2 }, { sent "before", sent "first", sent "second" })
    assert.is_nil(result.books and result.books.subs)
    local list, retried = R.records(dir), nil
    for keep = 1, #list - 1 do
      retried = retried or list[keep].t == "retry" and keep
    end
    for keep = retried, #list - 1 do
      local copy = dir .. "-" .. keep
      R.cut(dir, copy, keep)
      result = assert(go_on(copy, definition, { decide = "retry" }))
      assert.same({ "completed", true }, { result.status, result.state.good }, keep)
      assert.same({ 1, 1 }, { sent "before", sent "first" }, keep)
    end
  end)

  it("is sent again from scratch where a person says so", function()
    local dir, sent, call = place()
    local definition = nested(dir, call)
    assert(R.run(definition, { work_dir = dir }))
    R.write(dir .. "/good", "")
    local result = assert(skillrt.retry(dir, { skill = R.skill(definition), from_scratch = true, yes = true }))
    assert.same({ "completed", 2, 2, 2 }, { result.status, sent "before", sent "first", sent "second" })
  end)
end)

describe("a decision about a call whose outcome is unknown", function()
  after_each(R.clean)

  -- A run whose call 1 had left when it was killed, with a question about it.
  local function in_doubt(dir, definition)
    local copy = dir .. "-cut"
    assert(R.run(definition, { work_dir = dir }))
    for keep, record in ipairs(R.records(dir)) do
      if record.t == "call" then
        R.cut(dir, copy, keep)
        break
      end
    end
    assert.equal("needs_decision", assert(go_on(copy, definition)).reason)
    return copy
  end

  for _, way in ipairs { "fail", "skip" } do
    it(way .. " is not undone by the loop, whatever the function makes of it, and holds until another one", function()
      for name, perform in pairs {
        ["passes it on"] = function(ctx, request) return nil, select(2, ctx.await(request)) end,
        ["passes its class on"] = function(ctx, request)
          local reply, message, class = ctx.await(request)
          return reply and {}, message, class
        end,
        ["completes all the same"] = function(ctx, request)
          local reply = ctx.await(request)
          return { done = reply and #reply.stdout or 0 }
        end,
      } do
        local dir, sent, call = place()
        local definition = one(function(_, ctx) return perform(ctx, call()) end, { repeatable = true,
          when = name == "completes all the same" and "!done" or nil })
        definition.actions[2] = { id = "other", run = R.sets { other = true } }
        local copy = in_doubt(dir, definition)
        local before = sent()
        local result = assert(go_on(copy, definition, { answer = way }))
        assert.equal(before, sent(), name)
        assert.is_true(result.state.other, name)
        assert.equal(before, sent(), name)
        if result.status ~= "completed" then
          assert(go_on(copy, definition)) -- a resume is no other decision
          assert.equal(before, sent(), name)
          assert(skillrt.retry(copy, { skill = R.skill(definition), action = "pay" }))
          assert.is_true(sent() > before, name)
        end
      end
    end)
  end

  it("retry lets it be sent once more, not again and again", function()
    local dir, sent, call = place()
    local definition = one(function(_, ctx)
      local reply, message = ctx.await(call("bill", "exit 3"))
      return reply and {}, message
    end)
    local copy = in_doubt(dir, definition)
    local before = sent()
    local result = assert(go_on(copy, definition, { answer = "retry" }))
    assert.same({ "failed", "action_failed", before + 1 }, { result.status, result.reason, sent() })
  end)

  it("is asked for once for all calls of an interruption, with their labels and places", function()
    local dir, sent, call = place()
    local definition = one(function(_, ctx)
      local replies = ctx.map({ "a", "b", "c" }, function(name) return ctx.await(call(name, nil, { label = "pays " .. name })) end)
      return { n = #replies }
    end)
    assert(R.run(definition, { work_dir = dir }))
    local copy, left = dir .. "-cut", 0
    for keep, record in ipairs(R.records(dir)) do
      left = left + (record.t == "call" and 1 or 0)
      if left == 3 then
        R.cut(dir, copy, keep)
        break
      end
    end
    local result = assert(go_on(copy, definition))
    assert.equal(1, #result.questions)
    for _, words in ipairs { "1%.1%.1 %(pays a%)", "1%.2%.1 %(pays b%)", "1%.3%.1 %(pays c%)" } do
      assert.matches(words, result.question.question)
    end
    for _, option in ipairs(result.question.options) do
      assert.is_nil(option.description:find "key", option.description)
    end
    result = assert(go_on(copy, definition, { answer = "retry" }))
    assert.same({ "completed", 3 }, { result.status, result.state.n })
    assert.same({ 2, 2, 2 }, { sent "a", sent "b", sent "c" })
  end)
end)

describe("a run that ended", function()
  after_each(R.clean)

  it("as failed is resumed with a changed script: the blamed call is not sent again, its recorded result stands", function()
    local dir, sent, call = place()
    local function definition(fixed)
      return one(function(_, ctx)
        assert(ctx.await(call "first"))
        local reply, message = ctx.await(call("second", "exit 3"))
        if fixed then
          return { message = message }
        end
        return reply and {}, message
      end)
    end
    assert.equal("failed", assert(R.run(definition(false), { work_dir = dir })).status)
    local result = assert(go_on(dir, definition(false)))
    assert.same({ "failed", 1, 1 }, { result.status, sent "first", sent "second" })
    result = assert(go_on(dir, definition(true)))
    assert.same({ "completed", 1, 1 }, { result.status, sent "first", sent "second" }, result.message)
  end)

  it("is retried from scratch only after it is said what that costs; then everyone is asked again", function()
    for _, ending in ipairs { "slip", "failure" } do
      local dir, sent, call = place()
      local definition = one(function(_, ctx)
        ctx.used { tokens = 70 }
        assert(ctx.await(call "first"))
        assert(ctx.await(call("look", nil, { idempotent = true })))
        if R.exists(dir .. "/go") then
          return { good = true }
        elseif ending == "slip" then
          error "a slip"
        end
        return nil, "no"
      end)
      assert(R.run(definition, { work_dir = dir }))
      R.write(dir .. "/go", "")
      local refused, message = skillrt.retry(dir, { skill = R.skill(definition), from_scratch = true })
      assert.is_nil(refused)
      assert.matches("from scratch repeats 2 recorded calls; used so far: 70 tokens", message)
      assert.matches("may have had side effects, which would happen again:%s+call 1 to sh", message)
      assert.same({ 1, 1 }, { sent "first", sent "look" })
      local result = assert(skillrt.retry(dir, { skill = R.skill(definition), from_scratch = true, yes = true }))
      assert.same({ "completed", 2, 2 }, { result.status, sent "first", sent "look" }, result.message)
    end
  end)

  it("of an action that may run several times is retried, and not held for one that makes no progress", function()
    local dir = place()
    local definition = { actions = { { id = "a", max_runs = 5,
      run = function() return nil, R.exists(dir .. "/go") and "still no" or "no" end } } }
    assert.equal("failed", assert(R.run(definition, { work_dir = dir })).status)
    for _ = 1, 5 do
      assert.equal("failed", assert(skillrt.retry(dir, { skill = R.skill(definition) })).status)
    end
    definition.actions[1].run = function() return { done = true } end
    definition.actions[1].when = "!done"
    assert.equal("completed", assert(skillrt.retry(dir, { skill = R.skill(definition) })).status)
  end)
end)
