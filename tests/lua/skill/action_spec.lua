-- action_spec.lua: actions and phases in their normal form, effects, and whether one may run.
require "tests.support.json_shim"
local action = require "skillrt.skill.action"
local effect_of = require "skillrt.skill.effect"
local when = require "skillrt.skill.when"
local json = require "skillrt.base.json"
local phase = require "skillrt.skill.phase"

local CTX = { where = "skill", agents = { expert = { idempotent = false }, other = { idempotent = true } } }
local function noop() end

local function new(definition)
  definition.id = definition.id or "a"
  definition.run = definition.run or (not definition.agent and noop or nil)
  return assert(action.new(definition, 1, CTX))
end

local function refuse(definition)
  local normal, message = action.new(definition, 1, CTX)
  assert.is_nil(normal)
  return message
end

describe("an action's normal form", function()
  it("has every default filled (R41, R60)", function()
    local one = new({ id = "collect" })
    assert.same({
      id = "collect", kind = "action", index = 1, name = "collect", priority = 0, when = {}, reads = {}, effects = {},
      run = noop, max_runs = 1, idempotent = true, takes_ctx = false,
    }, one)
  end)

  it("runs once unless it is repeatable or says how often (F33)", function()
    assert.equal(1, new({}).max_runs)
    assert.equal(math.huge, new({ repeatable = true }).max_runs)
    assert.equal(6, new({ repeatable = true, max_runs = 6 }).max_runs)
    assert.equal(4, new({ max_runs = 4 }).max_runs)
  end)

  it("may be repeated after a crash if it is a function, not if an agent acts (F40)", function()
    assert.is_true(new({}).idempotent)
    assert.is_false(new({ agent = "expert" }).idempotent)
    assert.is_true(new({ agent = "expert", idempotent = true }).idempotent)
    assert.is_false(new({ idempotent = false }).idempotent)
    assert.is_nil(new({}).idempotent_declared)
    assert.is_false(new({ idempotent = false }).idempotent_declared)
  end)

  it("ends the run where it is terminal, as action-complete and action-abort do (F27)", function()
    assert.is_nil(new({}).terminal)
    assert.equal("completed", new({ terminal = true }).terminal)
    assert.equal("failed", new({ terminal = "failed" }).terminal)
    assert.equal("completed", new({ id = "action-complete" }).terminal)
    assert.equal("failed", new({ id = "action-abort" }).terminal)
    assert.is_nil(new({ id = "action-complete", terminal = false }).terminal)
    assert.equal("completed", action.new({ id = "action-complete" }, 1, CTX).terminal)
  end)

  it("knows the state keys its conditions read, all together and sorted", function()
    local one = new({ when = { "files.length > 0 && !reviewed", "state.context.lang === 'c'" } })
    assert.same({ "context", "files", "reviewed" }, one.reads)
  end)

  it("does not claim to know what a function reads", function()
    assert.is_nil(new({ when = { "a", function() return true end } }).reads)
  end)

  it("takes a compiled condition as well", function()
    local condition = require("skillrt.expr").compile("n > 1")
    assert.is_true(when.holds(new({ when = condition }), { n = 2 }))
  end)

  for name, case in pairs({
    ["no id"] = { { run = noop }, 'skill: action 1: field "id" is missing' },
    ["an id that leaves its folder (F13)"] = { { id = "../x", run = noop }, 'skill: action "../x": field "id" must be letters' },
    ["an unknown field (F31)"] = { { id = "a", run = noop, priorty = 1 }, 'unknown field "priorty" (did you mean "priority"?)' },
    ["the word of the configuration"] = { { id = "a", run = noop, preconditions = {} }, 'unknown field "preconditions" (write "when")' },
    ["nobody to perform it"] = { { id = "a" }, 'needs "run" (a function) or "agent"' },
    ["two to perform it"] = { { id = "a", run = noop, agent = "expert" }, 'has both "run" and "agent"; keep the one' },
    ["an agent that is not declared"] = { { id = "a", agent = "exprt" },
      'skill: action "a": agent "exprt" is not declared (did you mean "expert"?)' },
    ["an agent like no other, with those declared"] = { { id = "a", agent = "zzzzzz" }, "is not declared (there are: expert, other)" },
    ["a condition that does not parse, with line, column and caret (F20, F31)"] = { { id = "a", run = noop, when = "x = 3" },
      'skill: action "a": when: 1:3:' },
    ["a second condition that does not parse"] = { { id = "a", run = noop, when = { "x", "y >" } }, 'action "a": when[2]: 1:' },
    ["a condition of another type"] = { { id = "a", run = noop, when = true }, "must be a condition (a text) or a function, not true" },
    ["a named condition"] = { { id = "a", run = noop, when = { all = "x" } }, "must be a text, a function or a list" },
    ["an effect nobody can read"] = { { id = "a", run = noop, effects = { "x = = 3" } }, 'effects[1] "x = = 3" cannot be read' },
    ["max_runs of 0"] = { { id = "a", run = noop, max_runs = 0 }, 'field "max_runs" must be a positive whole number' },
    ["contradicting runs"] = { { id = "a", run = noop, repeatable = false, max_runs = 2 }, "drop one" },
    ["a prompt outside the skill (F13)"] = { { id = "a", agent = "expert", prompt = "/etc/passwd" },
      'field "prompt" must not be absolute' },
    ["an output that replaces the journal"] = { { id = "a", run = noop, output = "journal/00000001.sj" },
      "would replace a file of the run itself" },
    ["an output with .. (F13)"] = { { id = "a", run = noop, output = "../x.json" }, 'field "output" must not hold ".."' },
    ["a terminal status that is none"] = { { id = "a", run = noop, terminal = "done" }, 'field "terminal" must be true' },
    ["a timeout of nothing"] = { { id = "a", run = noop, timeout = 0 }, 'field "timeout" must be a number of seconds above 0' },
  }) do
    it("is refused with " .. name, function()
      assert.has_match(case[2], refuse(case[1]), 1, true)
    end)
  end

  for _, name in ipairs({ "run.lock", "state.json", "execution-state.json", "journal/1", "journal.cut-9", "blobs/x", "context/k.json" }) do
    it("keeps its output away from the run's own " .. name .. " (F13)", function()
      assert.has_match("would replace a file of the run itself", refuse({ run = noop, id = "a", output = name }), 1, true)
    end)
  end

  it("may write beside them", function()
    assert.equal("out/state.json", new({ output = "out/state.json" }).output)
    assert.equal("journal.md", new({ output = "journal.md" }).output)
  end)

  it("takes a prompt with a blank or a line break as the text itself", function()
    assert.equal("Review /etc/passwd", new({ agent = "expert", prompt = "Review /etc/passwd" }).prompt)
    assert.equal("Review /etc/passwd\n", new({ agent = "expert", prompt = "Review /etc/passwd\n" }).prompt)
    assert.equal("prompts/review.md", new({ agent = "expert", prompt = "./prompts//review.md" }).prompt)
  end)
end)

describe("whether an action may run", function()
  it("needs all conditions to hold (R62)", function()
    local one = new({ when = { "a", "b > 1" } })
    assert.is_true(when.holds(one, { a = true, b = 2 }))
    local ok, reason = when.holds(one, { a = true, b = 1 })
    assert.is_false(ok)
    assert.equal("b > 1", reason)
  end)

  it("is always true without conditions (R62)", function()
    assert.is_true(when.holds(new({}), {}))
  end)

  it("shows a function the state read-only, and takes its raising for no", function()
    local one = new({ when = function(s) s.x = 1 return true end })
    local state = { y = 1 }
    local ok, reason = when.holds(one, state)
    assert.is_false(ok)
    assert.has_match("action_spec.lua:%d+ failed: .*read%-only", reason)
    assert.same({ y = 1 }, state)
  end)

  it("says for a blocked one what does not hold (F28)", function()
    local one = new({ when = { "a", "b > 1", "c" } })
    assert.same({ "a is undefined, wanted a", "b is 0, wanted b > 1" }, when.unmet(one, { b = 0, c = true }))
  end)
end)

describe("an effect", function()
  local list = json.array
  for _, case in ipairs({
    { "k=v", { k = "v" }, { k = "w" } },
    { "scan_completed=true", { scan_completed = true }, { scan_completed = "true" } },
    { "k=5", { k = 5 }, { k = "5" } },
    { "k='5'", { k = "5" }, { k = 5 } },
    { "k === 'a b'", { k = "a b" }, {} },
    { "k=[]", { k = {} }, { k = { 1 } } },
    { "k={}", { k = {} }, { k = { a = 1 } } },
    { "k>=b", { k = "b" }, { k = 7 } },
    { "phase=analysis", { phase = "analysis" }, { phase = "repair" } },
    { "k!=null", { k = false }, { k = json.null } },
    { "k=null", {}, { k = 0 } },
    { "k!=1", { k = 2 }, { k = 1 } },
    { "files.length>0", { files = list({ 1 }) }, { files = list({}) } },
    { "state.files.length >= 2", { files = { 1, 2 } }, { files = { 1 } } },
    { "a?.b.c<3", { a = { b = { c = 2 } } }, { a = {} } },
    { "k", { k = { 1 } }, { k = 0 } },
    { "!k", { k = "" }, { k = "x" } },
    { "name.length>2", { name = "abc" }, { name = "ab" } },
  }) do
    it(case[1] .. " is checked after the action (F46)", function()
      local effect = effect_of.list({ case[1] })[1]
      assert.is_true(effect.check({}, case[2]))
      local ok, why = effect.check({}, case[3])
      assert.is_false(ok)
      assert.is_string(why)
    end)
  end

  for _, case in ipairs({
    { "n++", { n = 1 }, { n = 2 }, { n = 1 } },
    { "n++", {}, { n = 1 }, { n = 0 } },
    { "n--", { n = 1 }, { n = 0 }, { n = 1 } },
    { "pending--", { pending = { 1, 2 } }, { pending = { 2 } }, { pending = { 1, 2 } } },
    { "done++", { done = { 1 } }, { done = { 1, 2 } }, { done = {} } },
  }) do
    it(("%s compares before (%s) and after (F46)"):format(case[1], next(case[2]) or "nothing"), function()
      local effect = effect_of.list({ case[1] })[1]
      assert.is_true(effect.check(case[2], case[3]))
      local ok, why = effect.check(case[2], case[4])
      assert.is_false(ok)
      assert.has_match("was .* and is ", why)
    end)
  end

  it("about a field the runtime writes is not the action's to keep (F35)", function()
    local effect = effect_of.list({ "status=completed" })[1]
    assert.is_true(effect.reserved)
    assert.is_true(effect.check({}, { status = "executing" }))
  end)

  for _, bad in ipairs({ "", "=", "k=", "k = = 3", "k+=1", "k && b", "a..b=1", "a b", "k=>3", "eval('x')", "k=a\"b", "+++" }) do
    it(("%q is refused"):format(bad), function()
      local effects, message = effect_of.list({ bad })
      assert.is_nil(effects)
      assert.has_match("cannot be read; write k=v", message, 1, true)
    end)
  end
end)

describe("phases", function()
  local function linked(...)
    local phases = {}
    for i, definition in ipairs({ ... }) do
      definition.run = noop
      local one, message = action.phase(definition, i, CTX)
      if not one then return nil, message end
      phases[i] = one
    end
    local ok, message = phase.link(phases, "skill")
    return ok and phases, message
  end

  it("make <id>.json and take what the one before makes, the first one nothing (R10, R13)", function()
    local phases = linked({ id = "01-init" }, { id = "02-scan", output = "scan.md" }, { id = "03-end" })
    assert.same({ {}, { "01-init.json" }, { "scan.md" } }, { phases[1].input, phases[2].input, phases[3].input })
    assert.same({ "01-init.json", "scan.md", "03-end.json" }, { phases[1].output, phases[2].output, phases[3].output })
    assert.is_false(phases[2].input_declared)
  end)

  it("take the list of inputs they name (F6)", function()
    local phases = linked({ id = "a" }, { id = "b" }, { id = "c", input = { "a.json", "./b.json" } })
    assert.same({ "a.json", "b.json" }, phases[3].input)
    assert.is_true(phases[3].input_declared)
  end)

  it('may call the first input "user input" (R10)', function()
    assert.same({}, linked({ id = "a", input = "user input" })[1].input)
  end)

  it("in a parallel group take what was there before the group; the next one takes all of it (F22)", function()
    local phases = linked({ id = "a" }, { id = "b", parallel = true }, { id = "c", parallel = true }, { id = "d" })
    assert.same({ "a.json" }, phases[2].input)
    assert.same({ "a.json" }, phases[3].input)
    assert.same({ "b.json", "c.json" }, phases[4].input)
  end)

  for name, case in pairs({
    ["an input no phase makes, with the nearest (F6)"] = { { { id = "a" }, { id = "b", input = "a.jsn" } },
      'skill: phase "b": input "a.jsn" is made by no earlier phase (did you mean "a.json"?)' },
    ["an input that only a later phase makes"] = { { { id = "a", input = "b.json" }, { id = "b" } },
      "is made by no earlier phase; no phase runs before this one" },
    ["an input made by a neighbour that runs at the same time (F22)"] = {
      { { id = "a", parallel = true }, { id = "b", parallel = true, input = "a.json" } }, 'input "a.json" is made by no earlier phase' },
    ["user input in a later phase"] = { { { id = "a" }, { id = "b", input = "user input" } }, 'input "user input" is made by no' },
    ["an absolute input (F13)"] = { { { id = "a" }, { id = "b", input = "/etc/passwd" } }, 'field "input" must not be absolute' },
    ["an input with .. (F13)"] = { { { id = "a" }, { id = "b", input = "../x" } }, 'field "input" must not hold ".."' },
    ["an input with a NUL byte (F13)"] = { { { id = "a" }, { id = "b", input = "a\0b" } }, 'field "input"' },
    ["one output made twice at once (F22)"] = {
      { { id = "a", parallel = true, output = "x" }, { id = "b", parallel = true, output = "x" } },
      'output "x" is also written by phase "a", at the same time' },
    ["an output that replaces the state"] = { { { id = "a", output = "state.json" } }, "would replace a file of the run itself" },
    ["an id whose output would replace the state"] = { { { id = "state" } }, 'give "output" another name' },
    ["an output in the context folder"] = { { { id = "a", output = "context/x.json" } }, "would replace a file of the run itself" },
  }) do
    it("are refused with " .. name, function()
      local phases, message = linked(table.unpack(case[1]))
      assert.is_falsy(phases)
      assert.has_match(case[2], message, 1, true)
    end)
  end
end)
