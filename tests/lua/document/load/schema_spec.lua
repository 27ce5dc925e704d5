-- load_schema_spec.lua: docs/schema/*.json say what the loader says, for the editors of people.
local config_of = require "skillrt.document.generate.config"
local findings = require "skillrt.document.findings"
local json = require "skillrt.base.json"
local json_schema = require "tests.support.json_schema"
local workflow = require "skillrt.document.load.workflow"

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return assert(json.decode(file:read "a"))
end

local CONFIG = read "docs/schema/skill-config.schema.json"
local WORKFLOW = read "docs/schema/workflow.schema.json"

local function list(...)
  return json.array { ... }
end

local function sequential()
  return {
    skill_name = "demo",
    description = "d",
    execution_mode = "sequential",
    sequential_config = { phases = list({ id = "01-a", name = "A", input = json.array(), agent = { type = "Explore" } }, { id = "02-b" }) },
  }
end

local function autonomous()
  return {
    skill_name = "demo",
    description = "d",
    execution_mode = "autonomous",
    autonomous_config = {
      state_schema = { fields = list { name = "n", type = "number" } },
      actions = list { id = "a", preconditions = list "n > 0", effects = list "n--", priority = 1 },
      termination_conditions = list "task_completed",
    },
  }
end

-- The shape of a config found in the wild: actions at the top, a condition of its own, artifacts.
local function wild()
  return {
    skill_name = "demo-coordinator",
    display_name = "Demo",
    description = "d",
    execution_mode = "autonomous",
    version = "1.0.0",
    triggers = list "demo",
    actions = list({ id = "action-init", name = "Init", description = "i" }, { id = "action-complete", name = "Done" }),
    termination_conditions = list("user_exit", "error"),
    output = { location = "x/{timestamp}", artifacts = list "state.json" },
  }
end

local function agree(config, good, name)
  local problem = json_schema.check(config, CONFIG)
  assert.equal(good, problem == nil, name .. ": " .. tostring(problem))
  local normal, message = config_of.normalise(config)
  assert.equal(good, normal ~= nil, name .. ": " .. tostring(message))
end

describe("the schema of skill-config.json", function()
  it("takes what the loader takes: all modes, and the wild shape (section 3)", function()
    agree(sequential(), true, "sequential")
    agree(autonomous(), true, "autonomous")
    local config = wild()
    config.output.artifacts = nil
    agree(config, true, "wild")
    for _, name in ipairs { "release-notes", "link-fixer", "data-import" } do
      agree(read(("tests/golden/configs/%s.json"):format(name)), true, name)
      agree(read(("tests/golden/%s/en/skill-config.json"):format(name)), true, name .. ", generated")
    end
  end)

  it("refuses a key that nothing reads, which the loader warns of; but takes an author's own", function()
    assert.is_string(json_schema.check(wild(), CONFIG))
    local _, _, _, found = config_of.normalise(wild())
    local told = {}
    for _, one in ipairs(found) do
      told[one.code .. " " .. one.key] = one.level
    end
    assert.equal("warning", told["config.unknown-key output.artifacts"])
    local config = sequential()
    config.x_mine, config["$schema"] = 1, "urn:skillrt:schema:skill-config"
    agree(config, true, "its own")
  end)

  local WRONG = {
    ["no name"] = function(c) c.skill_name = nil end,
    ["no description"] = function(c) c.description = nil end,
    ["a short name"] = function(c) c.skill_name = "ab" end,
    ["a long name"] = function(c) c.skill_name = ("a"):rep(31) end,
    ["capitals in the name"] = function(c) c.skill_name = "Demo" end,
    ["two hyphens in the name"] = function(c) c.skill_name = "de--mo" end,
    ["a hyphen at the end of the name"] = function(c) c.skill_name = "demo-" end,
    ["an unknown mode"] = function(c) c.execution_mode = "random" end,
    ["an unknown context strategy"] = function(c) c.context_strategy = "cloud" end,
    ["no phases for its mode"] = function(c) c.sequential_config = nil end,
    ["no actions for its mode"] = function(c) c.execution_mode = "autonomous" end,
    ["a phase without id"] = function(c) c.sequential_config.phases[1].id = nil end,
    ["an id that leaves its folder"] = function(c) c.sequential_config.phases[1].id = "../a" end,
    ["two dots in an id"] = function(c) c.sequential_config.phases[1].id = "a..b" end,
    ["an absolute output"] = function(c) c.sequential_config.phases[1].output = "/etc/passwd" end,
    ["an output outside"] = function(c) c.sequential_config.phases[1].output = "../x" end,
    ["a condition that is no text"] = function(c) c.sequential_config.phases[2].condition = 1 end,
    ["triggers that are no texts"] = function(c) c.triggers = list(1) end,
    ["specs without a path"] = function(c) c.specs = list { purpose = "x" } end,
    ["a list for an object"] = function(c) c.output = list "x" end,
    ["an agent that is none"] = function(c) c.x_skillrt = { agent = true } end,
    ["an agent that is empty"] = function(c) c.x_skillrt = { agent = "" } end,
    ["a loop that fails in an unknown way"] = function(c)
      c.execution_mode, c.autonomous_config = "hybrid", autonomous().autonomous_config
      c.x_skillrt = { hybrid = { on_loop_failed = "explode" } }
    end,
  }
  for name, spoil in pairs(WRONG) do
    it("refuses, as the loader does, " .. name, function()
      local config = sequential()
      spoil(config)
      agree(config, false, name)
    end)
  end

  it("refuses, as the loader does, what is wrong with actions", function()
    for name, spoil in pairs {
      ["an action without id"] = function(a) a.actions[1].id = nil end,
      ["a priority that is a text"] = function(a) a.actions[1].priority = "high" end,
      ["preconditions that are numbers"] = function(a) a.actions[1].preconditions = list(1) end,
      ["a field without name"] = function(a) a.state_schema.fields[1].name = nil end,
    } do
      local config = autonomous()
      spoil(config.autonomous_config)
      agree(config, false, name)
    end
  end)

  it("takes, as the loader does, an empty object for an empty list", function()
    for name, put in pairs {
      effects = function(c) c.autonomous_config.actions[1].effects = {} end,
      preconditions = function(c) c.autonomous_config.actions[1].preconditions = {} end,
      fields = function(c) c.autonomous_config.state_schema.fields = {} end,
      termination = function(c) c.autonomous_config.termination_conditions = {} end,
      documents = function(c) c.specs, c.templates = {}, {} end,
      words = function(c) c.triggers, c.allowed_tools, c.mcp_tools, c.quality = {}, {}, {}, { dimensions = {} } end,
    } do
      local config = autonomous()
      put(config)
      agree(config, true, name)
    end
    local config = sequential()
    config.sequential_config.phases[1].input, config.sequential_config.phases[1].objectives = {}, {}
    agree(config, true, "a phase's lists")
    local normal = assert(config_of.normalise(config))
    assert.equal("[]", json.encode(normal.sequential_config.phases[1].objectives))
  end)

  it("refuses, as the loader does, a list for an object, empty or not", function()
    for _, key in ipairs { "output", "quality", "x_skillrt" } do
      for _, value in ipairs { list(), list "x" } do
        local config = autonomous()
        config[key] = value
        agree(config, false, key)
      end
    end
    local config = autonomous()
    config.autonomous_config.state_schema = list()
    agree(config, false, "state_schema")
  end)

  it("marks the older places of keys, so that editors say so", function()
    for _, key in ipairs { "actions", "phases", "state_schema", "termination_conditions" } do
      assert.is_true(CONFIG.properties[key].deprecated, key)
    end
  end)
end)

describe("the schema of workflow.json", function()
  it("takes what is generated (R12, R14)", function()
    for _, path in ipairs { "release-notes/en", "release-notes/zh", "data-import/en" } do
      assert.is_nil(json_schema.check(read(("tests/golden/%s/workflow.json"):format(path)), WORKFLOW))
    end
  end)

  it("refuses what the loader refuses", function()
    for name, document in pairs {
      ["no phases"] = { phases_to_run = list "a" },
      ["empty phases"] = { phases = list() },
      ["a phase without id"] = { phases = list { name = "A" } },
      ["a name that hosts refuse"] = { skill_name = "Ab", phases = list { id = "a" } },
      ["a name with a hyphen at its end"] = { skill_name = "ab-", phases = list { id = "a" } },
      ["a phase that runs twice"] = { phases_to_run = list("a", "a"), phases = list { id = "a" } },
    } do
      assert.is_string(json_schema.check(document, WORKFLOW), name)
      local found = findings.new()
      workflow.config(document, function(key)
        return { file = "workflow.json", line = #key }
      end, found)
      assert.equal(1, found:counts().error, name)
    end
  end)
end)
