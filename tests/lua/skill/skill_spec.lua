-- skill_spec.lua: a skill in its normal form, and what is said about a bad definition.
require "tests.support.json_shim"
local agent = require "skillrt.agent"
local json = require "skillrt.base.json"
local skill = require "skillrt.skill"
local is_reserved = require("skillrt.skill.state").is_reserved

local function noop() end

-- A definition that is right, with some fields replaced.
local function with(changes)
  local definition = { name = "review-code", actions = { { id = "collect", run = noop } } }
  for key, value in pairs(changes or {}) do
    definition[key] = value
  end
  return definition
end

local function refuse(definition)
  local normal, message = skill.check(definition)
  assert.is_nil(normal)
  return message
end

describe("a skill's normal form", function()
  it("has every default filled (R15, F3)", function()
    local one = skill.new(with())
    assert.same({ "1.0.0", "autonomous", "file", "power", "stop_and_report", "ask", "autonomous" },
      { one.version, one.mode, one.context, one.durability, one.on_error, one.on_indoubt, one.interaction })
    assert.same({ max_iterations = 100, max_errors = 3, max_retries = 3, max_parallel = 4, no_progress = 3,
      ask_above = 25, max_agents = 1000, max_agents_parallel = 16, max_prompt_state = 65536, max_prompt_specs = 65536 }, one.limits)
    assert.same({ base = 0.5, factor = 2, cap = 60, jitter = true, max_retries = 3 }, one.retry)
    assert.same({ name = "priority" }, one.strategy)
    assert.same({ {}, {}, {} }, { one.state, one.phases, one.agents })
    assert.is_true(skill.is(one))
    assert.is_false(skill.is(with()))
  end)

  it("takes the mode from what is declared", function()
    local phases = { { id = "a", run = noop } }
    assert.equal("autonomous", skill.new(with()).mode)
    assert.equal("sequential", skill.new({ name = "s", phases = phases }).mode)
    assert.equal("hybrid", skill.new(with({ phases = phases })).mode)
  end)

  it("shares nothing with the definition but functions and x (F37)", function()
    local x = { 1 }
    local definition = with({ state = { files = {}, deep = { list = { 1 } } }, x = x })
    local one = skill.new(definition)
    definition.state.deep.list[1] = 2
    definition.actions[1].id = "other"
    assert.equal(1, one.state.deep.list[1])
    assert.equal("collect", one.actions[1].id)
    assert.equal(x, one.x)
  end)

  it("takes {} in the state for a list, unless the schema says otherwise (F70)", function()
    local one = skill.new(with({ state = { files = {}, meta = {} }, schema = { meta = "object", files = "string[]" } }))
    assert.is_true(json.is_array(one.state.files))
    assert.is_false(json.is_array(one.state.meta))
  end)

  it("gives an agent its name, and one written into an action a place among the others", function()
    local http = agent.http({ url = "http://127.0.0.1/task" })
    local one = skill.new(with({
      agents = { expert = http },
      actions = { { id = "a", agent = "expert" }, { id = "b", agent = agent.command({ "true" }) } },
    }))
    assert.equal("expert", one.agents.expert.name)
    assert.equal("b.agent", one.actions[2].agent)
    assert.equal("command", one.agents["b.agent"].kind)
    assert.is_nil(http.name)
  end)

  it("takes an agent that a configuration wrote as a plain table", function()
    local one = skill.new(with({ agents = { a = { kind = "command", argv = { "true" } } } }))
    assert.equal("text", one.agents.a.parse)
  end)

  for _, choice in ipairs({ "ask", "retry", "skip", "fail", noop }) do
    it(("may say %s about a step in doubt (F40)"):format(tostring(choice):match("^%a+")), function()
      assert.equal(choice, skill.new(with({ on_indoubt = choice })).on_indoubt)
    end)
  end

  for name, case in pairs({
    ["a name"] = { "sequential", { name = "sequential" } },
    ["a path"] = { "./own/best.lua", { name = "best", path = "./own/best.lua" } },
    ["a path without an ending"] = { "own/best", { name = "best", path = "own/best" } },
    ["a function"] = { noop, { name = "function", select = noop } },
    ["a table with select"] = { { select = noop, order = "priority" }, { name = "table", select = noop, order = "priority" } },
    ["a table with a name"] = { { name = "state_driven", options = { init = "a" } }, { name = "state_driven", options = { init = "a" } } },
    ["a table with a path"] = { { path = "own/best.lua" }, { name = "best", path = "own/best.lua" } },
  }) do
    it("takes its strategy as " .. name, function()
      assert.same(case[2], skill.new(with({ strategy = case[1] })).strategy)
    end)
  end

  it("knows which state fields are the runtime's (F34)", function()
    assert.is_true(is_reserved("completed_actions"))
    assert.is_true(is_reserved("_hidden"))
    assert.is_false(is_reserved("pending_items"))
    assert.is_false(is_reserved("results"))
  end)

  it("finds its folder from the script's name", function()
    local one = assert(load('return require("skillrt.skill").new({ name = "x", actions = { { id = "a", run = print } } })',
      "@skills/my/script.lua"))()
    assert.is_true(one.source == nil or one.source == "skills/my/script.lua")
    local s = load('local s = require("skillrt.skill").new({ name = "x", actions = { { id = "a", run = print } } }) return s',
      "@skills/my/script.lua")()
    assert.equal("skills/my/script.lua", s.source)
    assert.equal("skills/my", s.dir)
  end)
end)

describe("what ends a run", function()
  it("is all four built-in conditions where nothing is said (R73)", function()
    local names = {}
    for i, row in ipairs(skill.new(with()).terminate) do
      names[i] = row.builtin
    end
    assert.same({ "user_exit", "error_limit", "task_completed", "max_iterations" }, names)
  end)

  it("is a bare name, which means a true state field (R73)", function()
    local row = skill.new(with({ terminate = { "stop_now" } })).terminate[1]
    assert.is_true(row.condition({ stop_now = true }))
    assert.is_false(row.condition({}))
    assert.same({ "completed", "stop_now" }, { row.status, row.reason })
  end)

  it("is a condition with a status and reason of its own (F29)", function()
    local row = skill.new(with({
      terminate = { { when = "quality_gate === 'fail'", status = "failed", reason = "quality_gate" } },
    })).terminate[1]
    assert.is_true(row.condition({ quality_gate = "fail" }))
    assert.same({ "failed", "quality_gate" }, { row.status, row.reason })
  end)

  it("is a function, which sees the state read-only", function()
    local row = skill.new(with({ terminate = { { when = function(s) s.a = 1 end, reason = "x" } } })).terminate[1]
    local state = {}
    assert.is_false(row.condition(state))
    assert.same({}, state)
    local one = skill.new(with({ terminate = function(s) return s.n > 3 end })).terminate[1]
    assert.is_true(one.condition({ n = 4 }))
  end)

  it("has a reason that fits into what the engine keeps", function()
    local row = skill.new(with({ terminate = { ("é"):rep(100):gsub("é", "a || ") .. "b" } })).terminate[1]
    assert.is_true(#row.reason <= 63)
  end)
end)

describe("a bad definition is refused", function()
  local phases = { { id = "a", run = noop } }
  for name, case in pairs({
    ["that is no table"] = { "text", 'skill: must be a table, not "text"' },
    ["without a name"] = { { actions = {} }, 'skill: field "name" is missing' },
    ["with a malformed name (F13)"] = { with({ name = "../x" }), 'skill: field "name" must be letters' },
    ["with an unknown field"] = { with({ terminat = {} }), 'review-code: unknown field "terminat" (did you mean "terminate"?)' },
    ["with a word of the configuration"] = { with({ context_strategy = "file" }), 'unknown field "context_strategy" (write "context")' },
    ["with a limit outside limits"] = { with({ max_errors = 3 }), "(write \"limits = { max_errors = ... }\")" },
    ["with neither actions nor phases"] = { { name = "x" }, "x: declares neither actions nor phases" },
    ["sequential with actions"] = { with({ mode = "sequential" }), 'mode "sequential" runs phases, but actions are declared' },
    ["autonomous with phases"] = { with({ mode = "autonomous", phases = phases }), 'mode "autonomous" runs actions' },
    ["hybrid without phases"] = { with({ mode = "hybrid" }), 'mode "hybrid" needs both phases and actions' },
    ["with a mode that is none"] = { with({ mode = "parallel" }), 'field "mode" must be one of sequential, autonomous, hybrid' },
    ["with an unknown context strategy (R3)"] = { with({ context = "disk" }), 'field "context" must be one of file, memory' },
    ["with one id twice"] = { with({ actions = { { id = "a", run = noop }, { id = "a", run = noop } } }), 'id "a" is declared twice' },
    ["with one id for an action and a phase"] = { with({ phases = { { id = "collect", run = noop } } }),
      'id "collect" is declared twice' },
    ["with a wrong action"] = { with({ actions = { { id = "collect", run = noop, priorty = 1 } } }),
      'review-code: action "collect": unknown field "priorty" (did you mean "priority"?)' },
    ["with an action that is no table"] = { with({ actions = { "collect" } }), 'field "actions"[1] must be a table, not "collect"' },
    ["with a reserved state field (F34)"] = { with({ state = { completed_actions = {} } }),
      'field "state": "completed_actions" is written by the runtime' },
    ["with a private state field (F34)"] = { with({ state = { _x = 1 } }), '"_x" is written by the runtime' },
    ["with a function in the state"] = { with({ state = { f = print } }), "state.f is a function, which cannot be saved" },
    ["with NaN in the state"] = { with({ state = { n = { 0 / 0 } } }), "state.n[1] is" },
    ["with a list for a state"] = { with({ state = { 1, 2 } }), 'field "state" must hold names and values, not a list' },
    ["with a limit of 0"] = { with({ limits = { max_errors = 0 } }), 'field "max_errors" must be a positive whole number, not 0' },
    ["with an unknown limit"] = { with({ limits = { max_iteration = 9 } }),
      'unknown field "max_iteration" (did you mean "max_iterations"?)' },
    ["with an agent of unknown kind"] = { with({ agents = { a = { kind = "htpp" } } }),
      'agent "a": field "kind" is "htpp" (did you mean "http"?)' },
    ["with an agent that is a text"] = { with({ agents = { a = "http://x" } }), "must be made by skillrt.agent" },
    ["with an agent's malformed name"] = { with({ agents = { ["a b"] = agent.lua(noop) } }), 'agent "a b": its name must be letters' },
    ["with a wrong agent"] = { with({ agents = { a = { kind = "http", url = "x" } } }), 'agent "a": field "url" must begin with http' },
    ["with a mistyped ending (R73)"] = { with({ terminate = { "task_complete" } }),
      'unknown condition "task_complete" (did you mean "task_completed"?)' },
    ["with an ending that does not parse"] = { with({ terminate = { "a = 1" } }), "terminate[1]: 1:3:" },
    ["with an ending of unknown status"] = { with({ terminate = { { when = "a", status = "done" } } }),
      "terminate[1]: field \"status\" must be one of" },
    ["with a reason too long to be kept"] = { with({ terminate = { { when = "a", reason = ("x"):rep(64) } } }),
      "must be at most 63 bytes long" },
    ["with a number among its agents"] = { with({ agents = { agent.lua(noop) } }), "has no name" },
    ["with a status for a built-in ending"] = { with({ terminate = { { when = "user_exit", reason = "x" } } }),
      "has its own status and reason" },
    ["with a strategy of another type"] = { with({ strategy = 7 }), 'field "strategy" must be a text, a function or a table, not 7' },
    ["with an empty strategy table"] = { with({ strategy = {} }), "must have a function `select`, a name or a path" },
    ["with on_indoubt unknown"] = { with({ on_indoubt = "rety" }), '(did you mean "retry"?)' },
    ["with an unmade input"] = { { name = "x", phases = { { id = "a", run = noop }, { id = "b", run = noop, input = "c.json" } } },
      'x: phase "b": input "c.json" is made by no earlier phase' },
  }) do
    it(name, function()
      assert.has_match(case[2], refuse(case[1]), 1, true)
    end)
  end
end)

describe("the author's line", function()
  local function message_of(text)
    local ok, message = pcall(load(text, "@my/script.lua"))
    assert.is_false(ok)
    return message
  end

  it("is in the message", function()
    assert.has_match("my/script.lua:2: x: unknown field",
      message_of('local new = require("skillrt.skill").new\nlocal s = new { name = "x", acts = {} }\nreturn s'), 1, true)
  end)

  it("is in the message of a tail call too, where the door looks it up", function()
    assert.has_match("my/script.lua:4: x: unknown field", message_of([[
local door = setmetatable({}, { __index = function() return require("skillrt.skill").at(2) end })

-- the usual form of a script
return door.skill { name = "x", acts = {} }]]), 1, true)
  end)

  it("is at least the script's name where a tail call hides it", function()
    assert.has_match("^my/script.lua: x: action \"a b\"",
      message_of('return require("skillrt.skill").new { name = "x", actions = { { id = "a b", run = function() end } } }'))
  end)
end)

describe("a large skill", function()
  it("of 2,000 actions is made in bounded time", function()
    local actions = {}
    for i = 1, 2000 do
      actions[i] = { id = "a" .. i, when = "n > 5", run = noop }
    end
    local started = os.clock()
    assert.equal(2000, #skill.new(with({ actions = actions })).actions)
    assert.is_true(os.clock() - started < 2)
  end)
end)
