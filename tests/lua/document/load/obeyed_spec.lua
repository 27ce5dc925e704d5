-- obeyed_spec.lua: every key that the reader of configs accepts changes what is run or written, or is refused: no key
-- is taken and ignored.
local config_of = require "skillrt.document.generate.config"
local form = require "skillrt.document.form"
local generate = require "skillrt.document.generate"
local json = require "skillrt.base.json"
local load_config = require "skillrt.document.load.config"
local names = require "skillrt.base.names"

local ANY = { ["*"] = { kind = "command", argv = { "true" } } }

local function list(...)
  return json.array { ... }
end

local function base(machine)
  local config = {
    skill_name = "base-skill", description = "d", execution_mode = machine and "autonomous" or "hybrid",
    sequential_config = not machine and { phases = list({ id = "01-a", output = "a.json" }, { id = "02-b" },
      { id = "03-c" }) } or nil,
    autonomous_config = {
      state_schema = { fields = list({ name = "ready", type = "boolean" }, { name = "note", type = "string" }) },
      actions = not machine and list({ id = "one", effects = list "ready=true" }, { id = "two" }) or nil,
      termination_conditions = list("task_completed", "ready"),
      machine = machine and {
        initial = "idle", states = list({ name = "idle" }, { name = "done" }),
        transitions = list({ from = "idle", action = "go", to = "done" }),
        conditions = list({ name = "isReady", test = "ready" }),
        errors = list({ class = "Bad", to = "idle" }),
      } or nil,
    },
    specs = list({ path = "specs/a.md", purpose = "p" }),
    templates = list({ path = "templates/a.md", purpose = "p" }),
    x_skillrt = {
      skills = list({ name = "small", tools = list "Read" }, { name = "big", tools = list "Bash" }),
      actions = { one = { max_runs = 3, tool_set = "big" } }, phases = { ["02-b"] = { max_retries = 1 } },
      hybrid = { order = list("01-a", "@autonomous", "02-b", "03-c") },
    },
  }
  return config
end

local function plain(value)
  if type(value) ~= "table" then
    return type(value) == "function" and "function" or value
  end
  local out = {}
  for key, item in pairs(value) do
    out[key] = key ~= "x" and plain(item) or nil -- what a definition only carries along counts for nothing
  end
  return out
end

-- All that comes of a config: what is run, what is written (but the config itself), what is said.
local function made_of(config, agents)
  local definition, message, _, found = load_config.definition(config, { agents = agents, agents_required = false,
    folder = "/skill" })
  local texts, told = {}, {}
  for _, file in ipairs(definition and generate.generate(config, { templates = "templates" }) or {}) do
    texts[file.path] = file.path ~= "skill-config.json" and file.text or nil
  end
  for _, one in ipairs(found or {}) do
    told[#told + 1] = one.what
  end
  return json.encode({ run = definition and plain(definition), texts = texts, told = told, message = message },
    { sorted = true })
end

-- Most keys are tried beside the same config.
local known = {}
local function outcome(config, agents)
  local key = json.encode({ config, agents }, { sorted = true })
  known[key] = known[key] or made_of(config, agents)
  return known[key]
end

-- A value for each key that is not what it is anyway; other ones stand with their place.
local VALUES = {
  id = "02-other", name = "Other", description = "Other words", purpose = "other", input = { "a.json" },
  output = "other.json", parallel = true, condition = "ready", agent = { type = "llm", tool = "gemini" },
  objectives = { "see" }, preconditions = { "ready" }, effects = { "note=x" }, priority = 7, repeatable = true,
  max_runs = 4, type = "string", timeout = 9000, phases = {}, fields = {}, actions = {}, test = "note",
  termination_conditions = { "user_exit" }, initial = "done", limit = 2, from = "done", to = "idle", action = "stay",
  when = "isReady", terminal = true, entry = "the start", class = "Worse", scope = "src", prompt = "p",
  mode = "analysis", analysis_type = "deep", severity = "High", recovery = "WAIT",
  errors = {}, conditions = {}, transitions = {}, states = {}, machine = "standard", idempotent = true,
  max_retries = 2, max_errors = 1, on_error = "continue", limits = { max_iterations = 3 }, timeout_s = 3,
  tool_set = "small", writes_context = { "shared" }, interaction = "ask", group = "g", strategy = "sequential",
  interaction_mode = "supervised", initial_state = { ready = true }, order = { "01-a" },
  on_loop_failed = "run_finalize", agents = { ["universal-executor"] = { kind = "http", url = "http://x" } }, run = 8, step = 8,
  on_success = "x", attempts_per_action = 4, state_schema = { fields = {} }, skill_name = "other-skill",
  display_name = "Other", triggers = { "other" }, execution_mode = "sequential", context_strategy = "memory",
  sequential_config = { phases = {} }, autonomous_config = {}, allowed_tools = { "Read" }, mcp_tools = { "x" },
  quality = { pass_threshold = 1, dimensions = { "speed" } }, specs = {}, templates = {}, version = "9.9.9",
  x_skillrt = {}, skills = {}, phase_detection = { strategy = "x" }, context_load = 3,
  llm_integration = { enabled = true, default_tool = "gemini" }, termination = { on_error = "continue" }, timeouts_s = { step = 3 },
  hybrid = { on_loop_failed = "run_finalize" }, tool = { primary = "gemini" },
}
VALUES.records, VALUES.sandbox = "zh", "work"
for key, value in pairs { name = "tiny", tools = list "Read", optional = list "Bash", bind = { Bash = "Grep" },
  prompt = "look twice" } do
  VALUES[key .. " of x_skillrt.skills[]"] = value
end
for key, value in pairs { strategy = "llm_self_report", tool_phase_map = { Read = "small" }, start = "big",
  next = { small = "big" }, rules = { small = "when read" }, window = 9, lead = 3, fallback = "big",
  context_summary = { max_bytes = 77 } } do
  VALUES[key .. " of x_skillrt.phase_detection"] = value
end
VALUES["max_bytes of x_skillrt.phase_detection.context_summary"] = 99
VALUES["output at the top"] = { format = "html", location = "out", filename_pattern = "x" }
VALUES["phases of x_skillrt"] = { ["01-a"] = { max_retries = 4 } }
VALUES["actions of x_skillrt"] = { two = { max_runs = 4 } }

local function value_of(place, key)
  if place == "" and key == "output" then
    return VALUES["output at the top"]
  elseif place == "x_skillrt" and (key == "phases" or key == "actions") then
    return VALUES[key .. " of x_skillrt"]
  elseif place:find "limits$" and VALUES[key] == nil then
    return 5
  elseif VALUES[key .. " of " .. place] then
    return VALUES[key .. " of " .. place]
  elseif place:find "errors%[%]$" and key == "to" then
    return "done"
  end
  return VALUES[key]
end

local function marked(value)
  if type(value) ~= "table" then
    return value
  end
  local out = value[1] ~= nil and json.array {} or {}
  for key, item in pairs(value) do
    out[key] = marked(item)
  end
  return next(out) == nil and json.array {} or out
end

-- The object at a place such as autonomous_config.actions[] or x_skillrt.actions.*; made where it is not there.
local function object_at(config, place)
  local at = config
  for part in place:gmatch "[^.]+" do
    local key = part:gsub("%[%]$", "")
    if key == "*" then
      key = next(at)
    end
    at[key] = at[key] or {}
    at = at[key]
    if part:find "%[%]$" then
      at = at[#at]
    end
  end
  return at
end

-- For people and programs that read the file itself.
local FOR_OTHERS = { ["$schema"] = true, created_at = true, note = true, host = true }

-- The keys of each object of a config, by its place. What phases and actions say of their agent, and other programs of
-- theirs, is left to specs of agents.
local KEYS, APART = {}, { agent = true, tool = true, llm = true, document = true, output = true, quality = true, field = true }
local function add_keys(kind, place)
  KEYS[place] = form.KINDS[kind].rank
  for _, row in ipairs(form.KINDS[kind]) do
    if form.KINDS[row.type] and not APART[row.type] then
      add_keys(row.type, (place == "" and "" or place .. ".") .. row.key
        .. ({ ["["] = "[]", ["{"] = ".*", [""] = "" })[row.many])
    end
  end
end
add_keys("config", "")

describe("a key of a skill-config", function()
  for _, place in ipairs(names.sorted(KEYS)) do
    for _, key in ipairs(names.sorted(KEYS[place])) do
      local at = (place == "" and "" or place .. ".") .. key
      if not FOR_OTHERS[key] and not place:find "^phases" and not place:find "^actions"
        and not place:find "^state_schema" then
        it(("%s is obeyed or refused"):format(at), function()
          local machine = at:find "machine" ~= nil and key ~= "machine"
          local before, after = base(machine), base(machine)
          local value = value_of(place, key)
          assert.is_not_nil(value, "this spec has no value for it")
          object_at(before, place)
          object_at(after, place)[key] = marked(value)
          local agents = at ~= "x_skillrt.agent" and ANY or {} -- which would win
          assert.is_true(outcome(before, agents) ~= outcome(after, agents), "is taken and ignored")
        end)
      end
    end
  end
end)

describe("a value of a skill-config", function()
  it("that is of another type than its key has is refused where nothing else would look at it", function()
    for at, values in pairs { ["x_skillrt.phase_detection"] = { 7, "report", list "x" }, ["x_skillrt.actions.one"] = { 7, list "x" },
      ["x_skillrt.phase_detection.context_summary"] = { 4096 }, ["x_skillrt.actions.one.repeatable"] = { "yes", 1 },
      ["x_skillrt.actions"] = { list "one" }, ["autonomous_config.actions"] = { "one", { one = {} } },
      ["sequential_config.phases[1].parallel"] = { "true" }, ["x_skillrt.skills"] = { { small = {} } } } do
      for _, value in ipairs(values) do
        local config = base()
        config.x_skillrt.phase_detection = { strategy = "orchestrator" }
        local place, key = at:match "^(.*)%.([^.]*)$"
        local object = config
        for part in place:gmatch "[^.]+" do
          object = object[part:gsub("%[1%]", "")]
          object = part:find("[1]", 1, true) and object[1] or object
        end
        object[key] = value
        local _, _, _, found = config_of.normalise(config)
        assert.equal(1, #found, at)
        assert.same({ "error", "config.type", at }, { found[1].level, found[1].code, found[1].key })
        assert.matches("must be ", found[1].what)
      end
    end
    assert.same({}, { table.unpack((select(4, config_of.normalise(base())))) })
  end)
end)
