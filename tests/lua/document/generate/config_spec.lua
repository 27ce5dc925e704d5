-- generate_config_spec.lua: a skill-config in its normal form, and what is said about a bad one.
local config = require "skillrt.document.generate.config"
local json = require "skillrt.base.json"

local function sequential(phases, more)
  local raw = {
    skill_name = "my-skill",
    description = "Does it",
    execution_mode = "sequential",
    sequential_config = { phases = phases or { { id = "01-a", name = "A" } } },
  }
  for key, value in pairs(more or {}) do
    raw[key] = value
  end
  return raw
end

local function autonomous(actions, more)
  local raw = sequential(nil, { execution_mode = "autonomous" })
  raw.sequential_config = nil
  raw.autonomous_config = { actions = actions or { { id = "go", name = "Go" } } }
  for key, value in pairs(more or {}) do
    raw[key] = value
  end
  return raw
end

local function hybrid(order, more)
  local raw = sequential({ { id = "01-a" }, { id = "02-b" }, { id = "03-c" } }, { execution_mode = "hybrid" })
  raw.autonomous_config = { actions = { { id = "go", name = "Go" } } }
  raw.x_skillrt = { hybrid = { order = order, on_loop_failed = more } }
  return raw
end

local function good(raw)
  local normal, message, _, found = config.normalise(raw)
  assert.is_nil(message)
  return normal, found
end

local function refused(raw)
  local normal, message, code = config.normalise(raw)
  assert.is_nil(normal)
  assert.equal("invalid", code)
  return message
end

local function warned(raw)
  local _, found = good(raw)
  local out = {}
  for i, finding in ipairs(found) do
    assert.equal("warning", finding.level)
    out[i] = finding.code .. " " .. finding.what
  end
  return table.concat(out, "\n")
end

describe("a skill-config's normal form", function()
  it("has every default, applied once for all generators (R3, R14)", function()
    local normal = good(sequential())
    assert.equal("file", normal.context_strategy)
    assert.equal("1.0.0", normal.version)
    assert.equal("my-skill", normal.display_name)
    assert.same({ "Task", "Read", "Write", "Glob", "Grep", "Bash" }, normal.allowed_tools)
    assert.equal("{name}-output.md", normal.output.filename_pattern)
    assert.equal(80, normal.quality.pass_threshold)
    assert.same({ type = "universal-executor", run_in_background = false }, normal.sequential_config.phases[1].agent)
  end)

  it("has no document without a name, however it is written: what it generates would be refused", function()
    for _, entry in ipairs { " ", { path = " " } } do
      local raw = sequential()
      raw.templates = { entry }
      assert.matches("templates%[1%].path: is empty: give a path", refused(raw))
    end
  end)

  it("gives a phase without output a file of its own (F2)", function()
    local phases = good(sequential { { id = "01-a" }, { id = "02-b" } }).sequential_config.phases
    assert.same({ "01-a.json", "02-b.json" }, { phases[1].output, phases[2].output })
    assert.same({ "01-a.json" }, phases[2].input)
    assert.same({}, phases[1].input)
  end)

  it("gives phases the model of llm_integration, without it in its own chain", function()
    local llm = { enabled = true, default_tool = "qwen", fallback_chain = { "qwen", "gemini" }, mode = "write" }
    local agent = good(sequential(nil, { llm_integration = llm })).sequential_config.phases[1].agent
    assert.same({ "llm", "qwen", "write", false }, { agent.type, agent.tool, agent.mode, agent.run_in_background })
    assert.same({ "gemini" }, agent.fallback_chain)
  end)

  it("has the termination conditions of the requirements phase", function()
    assert.same({ "user_exit", "error_limit", "task_completed" }, good(autonomous()).autonomous_config.termination_conditions)
  end)

  it("leaves what it was given alone (F8)", function()
    local raw = autonomous { { id = "low", priority = 1 }, { id = "high", priority = 9 } }
    good(raw)
    assert.same({ { id = "low", priority = 1 }, { id = "high", priority = 9 } }, raw.autonomous_config.actions)
    assert.is_nil(raw.context_strategy)
  end)

  it("takes null for what is not given, but keeps it below x_ keys", function()
    local raw = sequential(nil, { context_strategy = json.null, x_skillrt = { initial_state = { gate = json.null } } })
    local normal = good(raw)
    assert.equal("file", normal.context_strategy)
    assert.equal(json.null, normal.x_skillrt.initial_state.gate)
  end)

  it("puts the loop of a hybrid before its last phase, or where it is told (F7)", function()
    assert.same({ "01-a", "02-b", "@autonomous", "03-c" }, good(hybrid(nil)).x_skillrt.hybrid.order)
    local told = good(hybrid({ "01-a", "@autonomous", "02-b", "03-c" }, "run_finalize"))
    assert.equal("run_finalize", told.x_skillrt.hybrid.on_loop_failed)
    assert.equal("stop", good(hybrid(nil)).x_skillrt.hybrid.on_loop_failed)
    local one = hybrid(nil)
    one.sequential_config.phases = { { id = "01-a" } }
    assert.same({ "01-a", "@autonomous" }, good(one).x_skillrt.hybrid.order)
    local bare = hybrid(nil)
    bare.sequential_config = nil
    assert.same({ "@autonomous" }, good(bare).x_skillrt.hybrid.order)
  end)

  it("runs by the parts it has when no mode is given, and names the part a mode has no use for", function()
    local raw = hybrid(nil)
    raw.execution_mode = nil
    assert.equal("hybrid", good(raw).execution_mode)
    raw.sequential_config = nil
    assert.equal("autonomous", good(raw).execution_mode)
    local both = hybrid(nil)
    both.execution_mode = "sequential"
    assert.is_nil(good(both).autonomous_config)
    assert.matches("autonomous_config: is ignored", warned(both))
  end)

  it("moves old keys to their place and names them", function()
    local raw = autonomous()
    raw.actions, raw.autonomous_config = raw.autonomous_config.actions, nil
    raw.termination_conditions = { "user_exit", "error" }
    local normal = good(raw)
    assert.equal("go", normal.autonomous_config.actions[1].id)
    assert.is_nil(normal.actions)
    local told = warned(raw)
    assert.matches("config.moved%-key actions: belongs in autonomous_config", told)
    assert.matches("config.moved%-key termination_conditions: belongs", told)
    assert.matches('config.unknown%-termination .*%[2%]: "error" is neither', told)
  end)

  it("warns about keys no one uses", function()
    assert.matches("config.unknown%-key exec_mode:", warned(sequential(nil, { exec_mode = "x" })))
    assert.equal("", warned(sequential(nil, { x_mine = 1 })))
  end)
end)

describe("a bad skill-config", function()
  local cases = {
    { "no object", 7, "skill-config: must be an object, not 7" },
    { "a list", json.array { 1 }, "skill-config: must be an object, not a list" },
    { "no name", sequential(nil, { skill_name = json.null }), "skill_name: is missing" },
    { "a name with capitals", sequential(nil, { skill_name = "MySkill" }), "skill_name: must be lower-case letters" },
    { "a name with two hyphens", sequential(nil, { skill_name = "my--skill" }), "single hyphens" },
    { "a name that ends with a hyphen", sequential(nil, { skill_name = "my-" }), "single hyphens" },
    { "a name that is too long", sequential(nil, { skill_name = ("a"):rep(31) }), "3 to 30 characters, not 31" },
    { "no description", sequential(nil, { description = " " }), "description: is empty" },
    { "a description that is too long", sequential(nil, { description = ("a"):rep(1025) }), "at most 1024 are allowed" },
    { "an unknown mode", sequential(nil, { execution_mode = "loop" }), "one of autonomous, hybrid, sequential, not \"loop\"" },
    { "an unknown strategy", sequential(nil, { context_strategy = "disk" }), "one of file, memory" },
    { "no phases", sequential {}, "phases: is empty: give at least one phase" },
    { "no actions", autonomous {}, "actions: is empty: give at least one action" },
    { "no autonomous_config", sequential(nil, { execution_mode = "hybrid" }), "autonomous_config: is missing" },
    { "an id that climbs", sequential { { id = "../../etc/passwd" } }, "phases[1].id: must be letters" },
    { "an id with two dots", autonomous { { id = "a..b" } }, 'hold no ".."' },
    { "an id with a line break", autonomous { { id = "a\nb" } }, "actions[1].id: must be letters" },
    { "an id that is missing", autonomous { { name = "A" } }, "actions[1].id: is missing" },
    { "fields that are no objects", autonomous(nil, { state_schema = { fields = { 1 } } }), "fields[1]: must be an object, not 1" },
    { "a field that is no name", autonomous(nil, { state_schema = { fields = { { name = "a b" } } } }), "must be a name such as" },
    { "a field whose name is no text", autonomous(nil, { state_schema = { fields = { { name = true } } } }),
      "fields[1].name: must be a name such as" },
    { "the same field twice", autonomous(nil, { state_schema = { fields = { { name = "a" }, { name = "a" } } } }), "item 1 too" },
    { "an id that is too long", autonomous { { id = ("a"):rep(65) } }, "must be at most 64 characters long, not 65" },
    { "an id like our orchestrator", sequential { { id = "orchestrator" } }, "is a file skillrt writes" },
    { "a path that is empty", sequential { { id = "a", output = "" } }, "output: must be a path relative to its folder, not \"\"" },
    { "a path that is too long", sequential { { id = "a", output = ("a"):rep(256) } }, "names of at most 255 bytes" },
    { "an id that is one of our files", sequential { { id = "00-spec-study" } }, "is a file skillrt writes" },
    { "the same phase twice", sequential { { id = "a" }, { id = "a" } }, 'phases[2].id: "a" is item 1 too' },
    { "the same action twice", autonomous { { id = "a" }, { id = "a" } }, 'actions[2].id: "a" is item 1 too' },
    { "ids that become one name", autonomous { { id = "a-b" }, { id = "a.b" } }, "a-b and a.b both become a_b" },
    { "an output that climbs", sequential { { id = "a", output = "../x" } }, 'must not hold ".."' },
    { "an absolute output", sequential { { id = "a", output = "/x" } }, "relative to its folder" },
    { "an output with a backtick", sequential { { id = "a", output = "a`b" } }, "files cannot have everywhere" },
    { "an output of the runtime", sequential { { id = "a", output = "state.json" } }, "belongs to the runtime" },
    { "an output in the context", sequential { { id = "a", output = "context/a.json" } }, "belongs to the runtime" },
    { "the same output twice", sequential { { id = "a", output = "x" }, { id = "b", output = "x" } }, "phase a writes \"x\" already" },
    { "an input nobody makes (F6)", sequential { { id = "a", input = { "x.json" } } }, 'input[1]: no earlier phase makes "x.json"' },
    { "an input of a later phase (F6)", sequential { { id = "a", input = { "b.json" } }, { id = "b" } }, "no earlier phase makes" },
    {
      "an input of a phase that runs at the same time (F6)",
      sequential { { id = "a", parallel = true }, { id = "b", parallel = true, input = { "a.json" } } },
      "phases[2].input[1]: no earlier phase makes",
    },
    { "a spec outside the folder", sequential(nil, { specs = { { path = "../x.md" } } }), "specs[1].path: must not hold" },
    { "a spec with an odd context", sequential(nil, { specs = { { path = "a.md", context = {} } } }), "specs[1].context: must be" },
    { "an extension that is no object", sequential(nil, { x_skillrt = { hybrid = 1 } }), "x_skillrt.hybrid: must be an object, not 1" },
    { "a limit that is no number", sequential(nil, { x_skillrt = { limits = { max_errors = "3" } } }), "max_errors: must be a number" },
    { "a threshold below zero", sequential(nil, { quality = { pass_threshold = -1 } }), "must be a number of at least 0, not -1" },
    { "preconditions that are no texts", autonomous { { id = "a", preconditions = { 1 } } }, "preconditions[1]: must be a text, not 1" },
    { "a priority that is no number", autonomous { { id = "a", priority = "high" } }, "priority: must be a number" },
    { "an order that forgets a phase", hybrid { "01-a", "@autonomous", "03-c" }, "must name every phase once" },
    { "an order without the loop", hybrid { "01-a", "02-b", "03-c" }, "put @autonomous into it" },
    { "an order with two loops", hybrid { "@autonomous", "01-a", "02-b", "03-c", "@autonomous" }, "a second time" },
    { "tool sets that are no list", sequential(nil, { x_skillrt = { skills = 5 } }), "x_skillrt.skills: must be a list, not 5" },
    { "a tool set that is no text", autonomous(nil, { x_skillrt = { actions = { go = { tool_set = {} } } } }),
      "x_skillrt.actions.go.tool_set: must be a text, not an object" },
    { "refinements of a machine's action that are none", autonomous(nil, { x_skillrt = { actions = { go = 5 } } }),
      "x_skillrt.actions.go: must be an object, not 5" },
    { "a chain of tools that are no texts", sequential(nil, { llm_integration = { fallback_chain = { {} } } }),
      "llm_integration.fallback_chain[1]: must be a text, not an object" },
    { "a name that says nothing", sequential { { id = "a", name = " " } }, "phases[1].name: is empty" },
    { "an unknown on_loop_failed", hybrid(nil, "cry"), "must be one of run_finalize, stop" },
  }
  for _, case in ipairs(cases) do
    it(("is refused for %s (F2, F13)"):format(case[1]), function()
      local message = refused(case[2])
      assert.truthy(message:find(case[3], 1, true), message)
    end)
  end

  it("is told all its errors at once", function()
    local message = refused(sequential({ { id = "a b" }, { id = "c d" } }, { version = 1 }))
    assert.equal(3, select(2, message:gsub("[^\n]+", "")))
  end)
end)
