-- load_config_spec.lua: a skill-config as a skill that runs: what each of its keys becomes.
local json = require "skillrt.base.json"
local load_config = require "skillrt.document.load.config"

local function config_of(name)
  local file <close> = assert(io.open(("tests/golden/configs/%s.json"):format(name), "rb"))
  return assert(json.decode(file:read "a"))
end

local ANY = { ["*"] = { kind = "command", argv = { "true" } } }

local function skill_of(name, options)
  options = options or {}
  options.agents = options.agents or ANY
  local raw = type(name) == "table" and name or config_of(name)
  local skill, message = load_config.skill(raw, options)
  assert.is_nil(message)
  return skill
end

describe("a skill-config as a skill", function()
  it("keeps name, version, mode and strategy (R2, R3)", function()
    local skill = skill_of "link-fixer"
    assert.same({ "link-fixer", "2.1.0", "autonomous", "file" }, { skill.name, skill.version, skill.mode, skill.context })
    assert.equal("memory", skill_of("data-import").context)
  end)

  it("begins with the state its documents show (F1)", function()
    local state = skill_of("link-fixer").state
    assert.same({ "README.md" }, state.files)
    assert.equal(json.null, state.verdict)
    assert.is_false(state.scanned)
    assert.is_nil(state.status)
  end)

  it("turns actions over with conditions, effects, priority and limits", function()
    local skill = skill_of("link-fixer", { folder = "/skills/link-fixer" })
    local scan, probe, repair = skill.actions[1], skill.actions[2], skill.actions[3]
    assert.same({ "action-scan", 50, 1, 2 }, { scan.id, scan.priority, #scan.when, #scan.effects })
    assert.equal("phases/actions/action-scan.md", scan.prompt)
    assert.equal(3, probe.max_runs)
    assert.equal(600, repair.timeout)
    assert.equal("gemini", repair.agent)
    assert.equal("completed", skill.actions[5].terminal)
    assert.same({ 40, 5, 1 }, { skill.limits.max_iterations, skill.limits.max_errors, skill.limits.max_retries })
    assert.equal(5, #skill.terminate)
  end)

  it("turns phases over with inputs, conditions and parallel groups (F6, F20)", function()
    local phases = skill_of("release-notes").phases
    assert.same({ "range.json" }, phases[2].input)
    assert.is_true(phases[2].parallel and phases[3].parallel)
    assert.equal(1, #phases[4].when)
    assert.equal("02.5-check.json", phases[4].output)
    assert.same({ "List closed issues", "Drop duplicates" }, phases[3].objectives)
  end)

  it("runs the trailing phases of a hybrid behind its loop (F7)", function()
    local skill = skill_of "data-import"
    local trailing = {}
    for i, phase in ipairs(skill.phases) do
      trailing[i] = phase.trailing or false
    end
    assert.same({ false, false, true }, trailing)
    assert.equal("run_finalize", skill.on_loop_failed)
  end)

  it("is autonomous when a hybrid has no phases", function()
    local raw = config_of "data-import"
    raw.sequential_config = nil
    assert.equal("autonomous", skill_of(raw).mode)
  end)

  it("asks a model and then those it may fall back on (F47)", function()
    local skill = skill_of("release-notes", {
      agents = { qwen = { kind = "command", argv = { "qwen" } }, llm = { kind = "command", argv = { "other" } }, ["*"] = ANY["*"] },
    })
    local agent = skill.agents[skill.phases[2].agent]
    assert.same({ "chain", "qwen", "other" }, { agent.kind, agent.links[1].argv[1], agent.links[2].argv[1] })
    assert.equal("Explore", skill.phases[1].agent)
  end)

  it("takes agents from the config itself", function()
    local raw = config_of "data-import"
    raw.x_skillrt.agents = { ["universal-executor"] = { kind = "command", argv = { "mine" } } }
    assert.equal("mine", skill_of(raw, { agents = {} }).agents["universal-executor"].argv[1])
  end)

  it("takes the one agent that the config chooses, by a word, an address or a program, where nobody else is given", function()
    local function of(value, options)
      local raw = config_of "data-import"
      raw.x_skillrt.agent = value
      return skill_of(raw, options or { agents = {} }).agents["universal-executor"]
    end
    local claude, server, program = of "claude:opus", of "http://127.0.0.1:1", of { "./agent", "-x" }
    assert.same({ "claude", "opus" }, { claude.kind, claude.model })
    assert.same({ "http", "http://127.0.0.1:1" }, { server.kind, server.url })
    assert.same({ "./agent", "-x" }, { table.unpack(program.argv) })
    assert.equal("http", of({ kind = "http", url = "http://127.0.0.1:2" }).kind)
    assert.equal(ANY["*"].kind, of("claude", { agents = ANY }).kind)
  end)

  it("has the tool sets of x_skillrt, and each action its own; an empty set stands for all tools (R95, F53)", function()
    local raw = config_of "data-import"
    raw.x_skillrt.skills = { { name = "few", tools = { "A", "B" } }, { name = "full", tools = json.array {} } }
    raw.x_skillrt.actions = { ["clean-row"] = { tool_set = "few" }, ["end"] = { tool_set = "full" } }
    local skill = skill_of(raw)
    assert.same({ "few", "full" }, { skill.actions[1].tool_set, skill.actions[2].tool_set })
    assert.same({ "A", "B" }, skill.tool_sets[1].tools)
    assert.is_nil(skill.tool_sets[2].tools)
    for given, by in pairs { orchestrator = "orchestrator", llm_self_report = "report", tool_calls = "calls",
      tool_call_pattern = "calls" } do
      raw.x_skillrt.phase_detection = { strategy = given, tool_phase_map = { A = "few" }, fallback = "full",
        context_summary = { max_bytes = 500 } }
      local switching = skill_of(raw).switching
      assert.same({ by, "few", "full", 500, "few" }, { switching.by, switching.map.A, switching.fallback, switching.summary,
        switching.start })
    end
    raw.x_skillrt.phase_detection = { strategy = "guess" }
    local _, refused = load_config.skill(raw, { agents = ANY })
    assert.matches("must be one of orchestrator", refused)
  end)

  it("keeps the specs for whoever supplies them (F15)", function()
    assert.equal("specs/tone.md", skill_of("release-notes").x.specs[1].path)
  end)

  it("says who is missing when nobody performs a step", function()
    local skill, message, code = load_config.skill(config_of "release-notes", {})
    assert.is_nil(skill)
    assert.equal("invalid", code)
    assert.truthy(message:find("release-notes: no agent is configured for Explore, gemini, qwen: give it in agents", 1, true), message)
    assert.is_table((load_config.skill(config_of "release-notes", { agents_required = false })))
  end)

  it("passes on what is wrong with a condition, at load (F20, F31)", function()
    local raw = config_of "data-import"
    raw.autonomous_config.actions[1].preconditions = { "empty = true" }
    local skill, message = load_config.skill(raw, { agents = ANY })
    assert.is_nil(skill)
    assert.truthy(message:find('action "clean-row"', 1, true), message)
  end)

  it("passes on what is wrong with the config and the warnings about it", function()
    local _, message, code = load_config.skill { skill_name = "x" }
    assert.equal("invalid", code)
    assert.truthy(message:find("skill_name", 1, true))
    local raw = config_of "data-import"
    raw.unknown = 1
    local _, _, _, findings = load_config.skill(raw, { agents = ANY })
    assert.equal("config.unknown-key", findings[1].code)
  end)

  it("offers for a key at the top the one that it was meant for, also where that stands deeper", function()
    for key, meant in pairs { max_iteration = "x_skillrt.limits.max_iterations",
      max_errors = "x_skillrt.limits.max_errors", descripton = "description" } do
      local raw = config_of "data-import"
      raw[key] = key == "descripton" and "x" or 5
      local _, _, _, findings = load_config.skill(raw, { agents = ANY })
      local told = require("skillrt.base.json").encode(findings):gsub('\\"', "")
      assert.truthy(told:find("did you mean " .. meant, 1, true), told)
    end
  end)
end)
