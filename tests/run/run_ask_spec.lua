-- run_ask_spec.lua: ctx.ask, ctx.wait, ctx.sleep_until as scripts use them; files in the inbox. The clock is a
-- fake one. That nothing is lost or taken twice, in whatever order things come, shows the simulator.
local clock = require "tests.support.fake_clock"
local R = require "tests.support.runs"
local core = require "skillrt.core"
local store = require "skillrt.run.store"
local skillrt = require "skillrt"

local function definition_of(perform, more)
  local d = { limits = { max_errors = 1, max_retries = 0 }, actions = { { id = "a", run = perform } } }
  for key, value in pairs(more or {}) do
    d[key] = value
  end
  return d
end

-- A run begun, and how to go on with it.
local function begun(perform, more)
  local dir = R.folder() .. "/run"
  local result = assert(R.run(definition_of(perform, more), { work_dir = dir }))
  local function go_on(options, again)
    options = options or {}
    options.skill = R.skill(definition_of(again or perform, more))
    local next_result, message, code = skillrt.resume(dir, options)
    return next_result, message, code
  end
  return result, go_on, dir
end

local iso = require("skillrt.base.instant").iso

local function error_of(perform)
  local result = assert(R.run(definition_of(perform)))
  assert.same({ "paused", "script_error" }, { result.status, result.reason })
  return result.message
end

describe("ctx.ask", function()
  after_each(R.clean)

  it("gives a list of options where several may be chosen, from the words of a person or a value; one where not (R204)", function()
    local kit, json = require "tests.support.cli_kit", require "skillrt.base.json"
    local folder <close> = kit.folder()
    folder.file("s.lua", [[return require("skillrt").skill { name = "s", actions = { { id = "a", run = function(_, ctx)
      return { parts = ctx.ask { question = "Which parts?", options = { "api", "docs", "tests" }, multiple = true },
        one = ctx.ask { question = "Which one?", options = { "api", "docs" } } } end } } }]])
    local asked = kit.run(folder, { "s.lua", "--work-dir", "w" })
    assert.truthy(asked.out:find("Which parts?\n  1. api\n  2. docs\n  3. tests\n  choose one or more", 1, true), asked.out)
    local refused = kit.run(folder, { "answer", "w", "api,code" })
    assert.truthy(refused.err:find('there is no option "code"', 1, true), refused.err)
    refused = kit.run(folder, { "answer", "w", "api,1" })
    assert.truthy(refused.err:find('"api" is chosen twice', 1, true), refused.err)
    assert.equal(3, kit.run(folder, { "answer", "w", "3, api", "--quiet" }).code)
    assert.truthy(kit.run(folder, { "answer", "w", "api,docs" }).err:find("there is no option", 1, true))
    assert.equal(0, kit.run(folder, { "answer", "w", "docs", "--quiet" }).code)
    local state = json.decode(folder.read "w/state.json")
    assert.same({ { "tests", "api" }, "docs" }, { state.parts, state.one })
    assert.truthy(kit.run(folder, { "log", "w" }).out:find("Answer: tests, api\n", 1, true))
  end)

  it("gives the id of an option or a text, and refuses what is neither, naming what is possible", function()
    local result, go_on = begun(function(_, ctx)
      local color = ctx.ask { header = "Colour", question = "Which?", options = { "red", { id = 7, label = "Blue" } } }
      return { color = color, name = ctx.ask "Your name?" }
    end)
    assert.same({ "paused", "waiting_for_person", "Which?" }, { result.status, result.reason, result.message })
    assert.equal("Colour", result.question.header)
    for _, wrong in ipairs { "green", "7", true, 1 } do
      local refused, message, code = go_on { answer = wrong }
      assert.is_nil(refused)
      assert.equal("invalid", code)
      assert.matches("there is no option .*; there are: 1 %(red%), 2 %(7%)", message)
    end
    result = assert(go_on { answer = 7 })
    assert.equal("Your name?", result.question.question)
    local refused, message = go_on { answer = 5 }
    assert.is_nil(refused)
    assert.matches("5 is not a text", message)
    result = assert(go_on { answer = "Ann Lee" })
    assert.equal("completed", result.status)
    assert.same({ 7, "Ann Lee" }, { result.state.color, result.state.name })
  end)

  it("lets other branches and steps go on, and several questions be open at once", function()
    local function both(_, available)
      local ids = {}
      for i = 1, #available do
        ids[i] = available[i].id
      end
      return ids
    end
    local result, go_on, dir = begun(nil, { strategy = both, actions = {
      { id = "a", run = function(_, ctx)
        local all = ctx.map({ "x", "y" }, function(name)
          return ctx.ask { question = name .. "?" }
        end)
        return { a = all }
      end },
      { id = "b", run = function(_, ctx)
        return { b = ctx.await({ kind = "command", argv = { "printf", "done" } }).stdout }
      end },
      { id = "c", run = function(_, ctx) return { c = ctx.ask "z?" } end },
    } })
    assert.equal(3, #result.questions)
    assert.equal("done", result.state.b)
    assert.equal("3 questions are open", result.message)
    local function number(text)
      for _, one in ipairs(result.questions) do
        if one.question.question == text then
          return one.q
        end
      end
    end
    local x, y, z = number "x?", number "y?", number "z?"
    result = assert(go_on { answers = { { question = y, value = "Y" }, { question = z, value = "Z" } } })
    assert.same({ 1, "Z" }, { #result.questions, result.state.c })
    local refused, message = go_on { answer = "late", question = z }
    assert.is_nil(refused)
    assert.matches(("question %d is not open; open: %d"):format(z, x), message)
    result = assert(go_on { answer = "X", question = x, nonce = result.questions[1].nonce })
    assert.same({ "X", "Y" }, result.state.a)
    assert.equal(3, #R.records(dir, "call") - 1)
  end)

  it("takes its default when nobody answers in time, and fails without one", function()
    local function perform(_, ctx)
      local a = ctx.ask { question = "a?", options = { "yes", "no" }, default = "no", timeout = 3600 }
      local b, message, class = ctx.ask { question = "b?", timeout = 3600 }
      return { out = { a, b == nil, message, class } }
    end
    local result, go_on, dir = begun(perform)
    assert.matches("1 question is open; resumes automatically at 20", result.message)
    local due = R.records(dir, "call")[1].due
    assert.equal(clock.now + 3600000, due)
    clock.pass(3000)
    result = assert(go_on())
    assert.equal("a?", result.question.question)
    clock.pass(600)
    result = assert(go_on())
    assert.equal("b?", result.question.question)
    clock.pass(7200)
    result = assert(go_on())
    assert.same({ "no", true, "no answer within 3600 seconds: b?", "timeout" }, result.state.out)
  end)

  it("tells the author what is wrong with a question", function()
    local cases = {
      ["question"] = {},
      ["did you mean \"options\""] = { question = "?", option = { "a" } },
      ["an empty list"] = { question = "?", options = {} },
      ["options 1 and 2 are the same"] = { question = "?", options = { "a", "a" } },
      ["multiple needs options"] = { question = "?", multiple = true },
      ["only one of options, text and edit"] = { question = "?", options = { "a" }, text = true },
      ["its default is no answer: there is no option \"b\""] = { question = "?", options = { "a" }, default = "b" },
      ["timeout"] = { question = "?", timeout = -1 },
    }
    for words, question in pairs(cases) do
      local message = error_of(function(_, ctx) ctx.ask(question) end)
      assert.truthy(message:find(words, 1, true), message)
    end
  end)

  it("is known by what was asked: another question in its place is refused on resume", function()
    local _, go_on = begun(function(_, ctx) return { v = ctx.ask "one?" } end)
    local refused, message, code = go_on(nil, function(_, ctx) return { v = ctx.ask "two?" } end)
    assert.same({ nil, "changed" }, { refused, code })
    assert.matches("diverged at call 1", message)
  end)

  it("asks nobody about a branch that lost", function()
    local result, go_on = begun(function(_, ctx)
      local value = ctx.first { function() return ctx.ask "this?" end, function() return ctx.ask "that?" end }
      return { value = value, last = ctx.ask "last?" }
    end)
    assert.equal(2, #result.questions)
    result = assert(go_on { answer = "that", question = 2 })
    assert.same({ 1, 3, "last?" }, { #result.questions, result.questions[1].q, result.question.question })
    assert.equal("that", assert(go_on { answer = "x" }).state.value)
  end)
end)

describe("a question of an agent's or a strategy's", function()
  after_each(R.clean)

  it("is asked of a person, and the agent once more with the answer", function()
    local agent = skillrt.agent.command { "sh", "-c", [[
      case "$1" in
      *"a person answered:"*b) echo '{"status":"completed","stateUpdates":{"disk":"b"}}' ;;
      *) echo '{"status":"NEEDS_CONTEXT","question":"Which disk?","options":["a","b"]}' ;;
      esac]], "sh", "{prompt}", parse = "json" }
    local result, go_on, dir = begun(nil, { agents = { one = agent },
      actions = { { id = "copy", prompt = "copy it", agent = "one" } } })
    assert.same({ "waiting_for_person", "copy", "Which disk?" },
      { result.reason, result.question and result.question.header, result.message })
    result = assert(go_on { answer = "b" })
    assert.same({ "completed", "b" }, { result.status, result.state.disk })
    assert.equal(3, #R.records(dir, "call")) -- asked, the question, asked again
  end)

  it("is asked by ctx.ask of a strategy, one after the other, before it chooses", function()
    local function select(_, available, ctx)
      local first = ctx.ask { question = "which?", options = { "a", "b" } }
      local sure = ctx.ask { question = first .. ", sure?", options = { "yes", "no" } }
      return sure == "yes" and first or available[1].id
    end
    local result, go_on = begun(nil, { strategy = select, actions = {
      { id = "a", terminal = true, run = R.sets { v = "a" } }, { id = "b", terminal = true, run = R.sets { v = "b" } },
    } })
    assert.equal("which?", result.question.question)
    assert.equal("which?", assert(go_on()).question.question) -- asked once
    result = assert(go_on { answer = "b" })
    assert.same({ "b, sure?", 2 }, { result.question.question, result.questions[1].q })
    result = assert(go_on { answer = "yes" })
    assert.same({ "completed", "b" }, { result.status, result.state.v })
  end)

  it("sees how often each action ran, and cannot change it", function()
    local seen = {}
    local function select(_, available, ctx)
      seen[#seen + 1] = ("%s %s %s"):format(ctx.runs.a or 0, ctx.runs.b or 0, pcall(function() ctx.runs.a = 9 end))
      return available[#seen % #available + 1].id
    end
    local result = begun(nil, { strategy = select, state = { n = 0 }, actions = {
      { id = "a", max_runs = 3, run = function(state) return { n = state.n + 1 } end },
      { id = "b", max_runs = 3, run = function(state) return { n = state.n + 1 } end },
    } })
    assert.same({ "completed", 6 }, { result.status, #seen })
    assert.same({ "0 0 false", "0 1 false", "1 1 false" }, table.move(seen, 1, 3, 1, {}))
  end)

  it("of a sub-run is one of the run's", function()
    local function sub()
      return R.skill { name = "inner", strategy = "user_driven", actions = {
        { id = "p", terminal = true, run = function(_, ctx) return { v = ctx.ask "inner?" } end },
        { id = "q", terminal = true, run = R.sets { v = "q" } },
      } }
    end
    local result, go_on = begun(function(_, ctx)
      local inner = ctx.run(sub())
      return { v = inner.state.v }
    end)
    assert.same({ "waiting_for_person", "p" }, { result.reason, result.question and result.question.options[1].id })
    result = assert(go_on { answer = "p" })
    assert.equal("inner?", result.question.question)
    result = assert(go_on { answer = "deep" })
    assert.same({ "completed", "deep" }, { result.status, result.state.v })
  end)
end)

describe("the inbox", function()
  after_each(R.clean)

  it("takes an answer that was put there whole, once, and puts aside what it cannot take", function()
    local result, go_on, dir = begun(function(_, ctx)
      return { v = { ctx.ask { question = "a?", options = { "x" } }, ctx.ask "b?" } }
    end)
    local nonce = result.questions[1].nonce
    assert(store.at(dir):put({ answer = "y", question = 1 }))
    R.write(dir .. "/inbox/half.json.new", '{"answer":"x"')
    R.write(dir .. "/inbox/bad.json", '{"answer":"x"')
    R.write(dir .. "/inbox/none.json", "{}")
    assert.equal("a?", assert(go_on()).question.question)
    local notes = R.records(dir, "note")
    assert.equal(3, #notes)
    local all = notes[1].text .. notes[2].text .. notes[3].text
    for _, words in ipairs { "there is no option \"y\"; there are: 1 (x)", "bad.json: is not a JSON", 'neither "answer" nor "event"' } do
      assert.truthy(all:find(words, 1, true), all)
    end
    assert(store.at(dir):put({ answer = "x", question = 1, nonce = nonce, id = "me" }))
    assert(store.at(dir):put({ answer = "x", question = 1, id = "me" })) -- twice put
    result = assert(go_on())
    assert.equal("b?", result.question.question)
    assert.equal(3, #R.records(dir, "note"))
    assert.equal(0, store.at(dir):waiting())
    R.write(dir .. "/inbox/by-hand.json", '{"answer": "by hand"}')
    assert.same({ "x", "by hand" }, assert(go_on()).state.v)
  end)

  it("answers calls in doubt and strategies just so", function()
    local result, go_on, dir = begun(nil, { strategy = "user_driven", actions = {
      { id = "p", run = R.sets { v = "p" } }, { id = "q", run = R.sets { v = "q" } },
    } })
    assert.equal("waiting_for_person", result.reason)
    assert(store.at(dir):put({ answer = "q", question = 1 }))
    result = assert(go_on())
    assert.equal("q", result.state.v)
    assert.equal(2, result.questions[1].q) -- the next choice
  end)
end)

describe("ctx.wait", function()
  after_each(R.clean)

  it("takes events by name, the oldest first, each once; what nobody takes is kept", function()
    local result, go_on, dir = begun(function(_, ctx)
      return { v = { ctx.wait "go", ctx.wait { event = "go" }, ctx.wait "stop" } }
    end)
    assert.same({ "waiting_for_event", "waits for the event go" }, { result.reason, result.message })
    clock.pass(1)
    for i, event in ipairs { { "stop", 9 }, { "go", 1 }, { "go", 1 }, { "go", 2 } } do
      local name = assert(store.at(dir):put({ event = event[1], value = event[2], id = i == 3 and "2" or tostring(i) }))
      clock.pass(1)
      clock.stamp(dir .. "/inbox/" .. name)
    end
    result = assert(go_on())
    assert.equal("completed", result.status)
    assert.same({ 1, 2, 9 }, result.state.v)
    assert.equal(3, #R.records(dir, "event"))
  end)

  it("keeps no more than a thousand that nobody takes", function()
    local _, go_on, dir = begun(function(_, ctx) ctx.wait "go" end)
    os.execute(("mkdir -p '%s/inbox'"):format(dir))
    for i = 1, 1003 do
      R.write(("%s/inbox/%04d.json"):format(dir, i), '{"event":"other"}')
    end
    assert(go_on())
    assert.equal(1000, #R.records(dir, "event"))
    assert.matches("the event other was refused: 1000 are waiting already", R.records(dir, "note")[1].text)
  end)

  it("gives up in time, and says so", function()
    local result, go_on = begun(function(_, ctx)
      local _, message, class = ctx.wait { event = "go", timeout = 3600 }
      return { v = { message, class } }
    end)
    assert.matches("waits for the event go; resumes automatically at 20", result.message)
    clock.pass(3600)
    assert.same({ "the event go did not come within 3600 seconds", "timeout" }, assert(go_on()).state.v)
    assert.truthy(error_of(function(_, ctx) ctx.wait "a b" end):find('"a b" is not a valid event name', 1, true))
  end)

  it("is served by a host that hands over events and answers", function()
    local run
    local events = { { "event", '{"event":"go","value":[1]}' }, { "answer", '{"answer":"yes","question":1}' } }
    local watcher = {
      observe = function(record)
        if record.t == "call" then
          local event = table.remove(events, 1)
          assert(run:event(event[1], event[2]))
        end
      end,
      flush = function() end,
    }
    local skill = R.skill(definition_of(function(_, ctx) return { v = { ctx.wait "go", ctx.ask "ok?" } } end,
      { context = "memory" }))
    local _, self
    run, _, self = assert(require("skillrt.run.runner").begin(skill, { watcher = watcher, wait = true }))
    local open <close> = run
    open:wait()
    assert.same({ "completed", "task_completed" }, { open:status() })
    assert.same({ { 1 }, "yes" }, self.books.state.root.v)
  end)
end)

describe("ctx.sleep_until", function()
  after_each(R.clean)

  it("waits for an instant without a process; a sleep lasts what is left of it", function()
    local start = clock.now
    local result, go_on, dir = begun(function(_, ctx)
      ctx.sleep_until(start + 7200000)
      ctx.sleep(3600)
      return { v = "up" }
    end)
    assert.same({ "paused", "waiting_for_time" }, { result.status, result.reason })
    assert.equal("resumes automatically at " .. iso(start + 7200000), result.message)
    clock.pass(7200)
    assert.equal("waiting_for_time", assert(go_on()).reason)
    local due = R.records(dir, "call")[2].due
    assert.equal(start + (7200 + 3600) * 1000, due)
    clock.pass(2400)
    result = assert(go_on())
    assert.equal("resumes automatically at " .. iso(due), result.message) -- no later than before
    clock.pass(1200)
    assert.equal("up", assert(go_on()).state.v)
  end)

  it("takes UTC as people write it, and refuses what is no instant", function()
    local read = require("skillrt.base.instant").read
    assert.equal(1800000000000, read "2027-01-15T08:00:00Z")
    assert.equal(1800000000250, read "2027-01-15T08:00:00.250Z")
    assert.equal(1800000000000, read "2027-01-15T08:00Z")
    assert.equal(951782400000, read "2000-02-29")
    assert.equal(0, read "1970-01-01")
    assert.equal(5, read(5))
    for _, wrong in ipairs { "tomorrow", "2027-01-15T08:00", "2027-13-01", -1, "2027-01-15T8:00Z", {} } do
      local at, message = read(wrong)
      assert.is_nil(at)
      assert.is_string(message)
    end
    assert.truthy(error_of(function(_, ctx) ctx.sleep_until "soon" end):find('"soon" is not a time', 1, true))
    assert.is_true(core.wall_ms() == clock.now)
  end)
end)
