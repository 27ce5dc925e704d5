-- generated_js_spec.lua: the JavaScript in generated documents, run by node with stubs, against the
-- runtime on the same folder with the same answers: same steps in the same order, same end.
local json = require "skillrt.base.json"
local runs = require "tests.support.runs"
local documents = require "tests.support.documents"
local skillrt = require "skillrt"

-- Parallel neighbours may be asked in any order: such a stretch of an order is sorted.
local function in_groups(config, order)
  local parallel, out, first = {}, {}, 1
  for _, phase in ipairs(config.sequential_config and config.sequential_config.phases or {}) do
    parallel[phase.id] = phase.parallel
  end
  for i, id in ipairs(order) do
    out[i] = id
    first = parallel[id] and first or i + 1
    if parallel[id] and not parallel[order[i + 1]] then
      local stretch = table.move(out, first, i, 1, {})
      table.sort(stretch)
      table.move(stretch, 1, #stretch, first, out)
    end
  end
  return out
end

local ENTRY = { sequential = "runSequentialWorkflow", autonomous = "runOrchestrator", hybrid = "runSequentialWorkflow" }

-- Both on one config with one script; the fields of the state that actions write must agree too.
local function compare(config, answers, context, lang)
  config.context_strategy = context
  local folder = documents.generate(config, lang)
  local script = { calls = json.array { json.array { ENTRY[config.execution_mode], "WORK" } }, answers = answers,
    may_repeat = config.execution_mode == "autonomous" }
  local node = documents.in_node(folder, script)
  local real = documents.in_skillrt(folder, script)
  local last = node.results[1]
  assert.is_nil(last.error)
  assert.same(in_groups(config, real.order), in_groups(config, node.order))
  local reason = last._reason or last.loop and last.loop.reason
  assert.equal(real.status, last.status)
  if config.execution_mode ~= "sequential" and #(last.errors or {}) == 0 then
    assert.equal(real.reason, reason)
  end
  for _, field in ipairs(config.autonomous_config and config.autonomous_config.state_schema.fields or {}) do
    if field.name ~= "context" then
      assert.same(real.state[field.name], node.state[field.name], field.name)
    end
  end
  return node, real
end

-- Scripts by config: what each agent answers, and how the run has to end.
local STORIES = {
  ["code-reviewer-auto"] = {
    {
      "reviews every dimension and completes",
      "completed",
      {
        ["action-collect-context"] = { { stateUpdates = { context = { files = { "a.c" } } } } },
        ["action-quick-scan"] = { { stateUpdates = { scan_completed = true, pending_dimensions = { "x", "y" } } } },
        ["action-deep-review"] = {
          { stateUpdates = { pending_dimensions = { "y" }, reviewed_dimensions = { "x" } } },
          { stateUpdates = { pending_dimensions = json.array {}, needs_review = true, critical_count = 2 } },
        },
        ["action-confirm-critical"] = { { stateUpdates = { needs_review = false } } },
        ["action-generate-report"] = { { stateUpdates = { report_generated = true, quality_gate = "pass" } } },
      },
    },
    {
      "ends by its own condition",
      "completed",
      {
        ["action-collect-context"] = { { stateUpdates = { context = { files = { "a.c" } } } } },
        ["action-quick-scan"] = { { stateUpdates = { scan_completed = true, quality_gate = "fail" } } },
      },
    },
    {
      "runs action-abort after three errors",
      "failed",
      {
        ["action-collect-context"] = { { stateUpdates = { context = { files = { "a.c" } } } } },
        ["action-quick-scan"] = { { status = "failed", summary = "no scanner" } },
      },
    },
    {
      "stops where nothing can run",
      "paused",
      { ["action-collect-context"] = { { stateUpdates = { context = { files = json.array {} } } } } },
    },
    {
      "repeats what may be repeated, and no more",
      "paused",
      {
        ["action-collect-context"] = { { stateUpdates = { context = { files = { "a.c" } } } } },
        ["action-quick-scan"] = {
          { status = "failed", retryable = true, summary = "busy" },
          { stateUpdates = { scan_completed = true, pending_dimensions = { "x" } } },
        },
        ["action-deep-review"] = {
          { status = "partial", stateUpdates = { critical_count = 1 } }, { stateUpdates = { critical_count = 2 } },
          { stateUpdates = { critical_count = 3 } }, { stateUpdates = { critical_count = 4 } },
          { stateUpdates = { critical_count = 5 } }, { stateUpdates = { critical_count = 6 } },
        },
      },
    },
  },
  ["unit-test-generator"] = {
    {
      "repairs until the tests pass, then finalizes",
      "completed",
      {
        ["action-analyze"] = { { stateUpdates = { methods = { "a" } } } },
        ["action-generate"] = { { stateUpdates = { tests_written = true } } },
        ["action-verify"] = {
          { stateUpdates = { verified = true, success = false } }, { stateUpdates = { verified = true, success = true } },
        },
        ["action-repair"] = { { stateUpdates = { verified = false, retry_count = 1 } } },
      },
    },
    {
      "gives up, and finalizes all the same",
      "failed",
      {
        ["action-analyze"] = { { stateUpdates = { methods = { "a" } } } },
        ["action-generate"] = { { stateUpdates = { tests_written = true } } },
        ["action-verify"] = { { stateUpdates = { verified = true, success = false, retry_count = 3 } } },
      },
    },
    { "stops before the loop when a leading phase fails", "failed", { ["01-init"] = { { status = "failed" } } } },
    { "pauses where the loop is blocked, without the last phase", "paused", {} },
  },
  ["api-manual-writer"] = {
    {
      "runs every phase where there are findings",
      "completed",
      { ["03.5-consolidation"] = { { output = { issues = { "one" } } } } },
    },
    {
      "skips the refinement where there are none",
      "completed",
      { ["03.5-consolidation"] = { { output = { issues = json.array {} } } } },
    },
    {
      "stops at the phase that fails, its neighbour done",
      "failed",
      { ["03-parallel"] = { { status = "failed", summary = "no model" } } },
    },
    {
      "tries again as often as the config says",
      "failed",
      { ["02-exploration"] = { { status = "failed", retryable = true, summary = "busy" } } },
    },
    { "takes a phase that is only partly done for a failure", "failed", { ["02-exploration"] = { { status = "partial" } } } },
  },
  ["data-import"] = {
    {
      "runs the loop between its phases",
      "completed",
      { ["clean-row"] = { { stateUpdates = { empty = true } } }, ["end"] = { {} } },
    },
  },
  ["release-notes"] = {
    { "runs its phases", "completed", { ["02-commits"] = { { output = { breaking = { 1 } } } } } },
  },
}

describe("the code in generated documents does what the runtime does:", function()
  after_each(runs.clean)

  for name, stories in pairs(STORIES) do
    for i, story in ipairs(stories) do
      for _, context in ipairs { "file", i == 1 and "memory" or nil } do -- where it is kept changes no way
        it(("%s %s, context in %s (R22, R42)"):format(name, story[1], context), function()
          local node = compare(documents.config(name), story[3], context)
          assert.equal(story[2], node.results[1].status)
        end)
      end
    end
  end

  local function after_a_failure(name, answers, calls, again)
    local config = documents.config(name)
    local folder = documents.generate(config)
    local script = { calls = json.array(calls), answers = answers, may_repeat = config.execution_mode == "autonomous" }
    local node, real = documents.in_node(folder, script), documents.in_skillrt(folder, script, again)
    local order = {}
    for _, id in ipairs(node.order) do
      order[#order + 1] = id ~= "." and id or nil
    end
    assert.same(in_groups(config, real.order), in_groups(config, order))
    local last = node.results[#node.results]
    assert.equal(real.status, last.status)
    return node, real
  end

  it("retryFailedAction runs the failed action, and goes on (R70)", function()
    local answers = STORIES["code-reviewer-auto"][1][3]
    local failed = { status = "failed", summary = "no scanner" }
    answers["action-quick-scan"] = { failed, failed, failed, answers["action-quick-scan"][1] }
    local calls = { json.array { "runOrchestrator", "WORK" }, json.array { "retryFailedAction", "WORK" } }
    local node, real = after_a_failure("code-reviewer-auto", answers, calls, function(dir, skill)
      return skillrt.retry(dir, { skill = skill })
    end)
    assert.same({ "failed", "completed" }, { node.results[1].status, node.results[2].status })
    assert.equal(real.state.error_count, node.state.error_count)
    assert.same(real.state.completed_actions, node.state.completed_actions)
  end)

  it("resumeFromPhase runs the phases from one on (R35)", function()
    local answers = { ["03.5-consolidation"] = { { status = "failed" }, { output = { issues = { 1 } } } } }
    local calls = {
      json.array { "runSequentialWorkflow", "WORK" }, json.array { "resumeFromPhase", "03.5-consolidation", "WORK" },
      json.array { "resumeFromPhase", "07-none", "WORK" },
    }
    calls[3], calls[2] = calls[2], calls[3]
    local node = after_a_failure("api-manual-writer", answers, calls, function(dir, skill)
      return skillrt.resume(dir, { skill = skill, from = "03.5-consolidation" })
    end)
    assert.equal("Error: Phase not found: 07-none", node.results[2].error)
    assert.equal(7, #node.results[3].phases_completed)
  end)

  it("resumeFromState repeats no finished action (R69)", function()
    local folder = documents.generate(documents.config "code-reviewer-auto")
    local calls = { json.array { "runOrchestrator", "WORK" }, json.array { "resumeFromState", "WORK" } }
    local node = documents.in_node(folder, { calls = json.array(calls), answers = STORIES["code-reviewer-auto"][4][3] })
    assert.same({ "action-collect-context", "." }, node.order)
    assert.equal("paused", node.results[2].status)
  end)

  it("parallel neighbours are under way at the same time (F22)", function()
    local folder = documents.generate(documents.config "api-manual-writer")
    local calls = json.array { json.array { "runSequentialWorkflow", "WORK" } }
    assert.equal(2, documents.in_node(folder, { calls = calls, answers = json.array {} }).most)
  end)

  it("under the strategy that goes by the order of declaration", function()
    local config = documents.config "link-fixer"
    config.x_skillrt.strategy = "sequential"
    config.autonomous_config.actions[1].preconditions = { "!scanned" }
    local answers = {
      ["action-scan"] = { { stateUpdates = { scanned = true } } },
      ["action-report"] = { { stateUpdates = { verdict = "good" } } },
    }
    local node = compare(config, answers, "file")
    assert.equal("action-scan", node.order[1])
    assert.equal("action-complete", node.order[#node.order])
  end)

  it("stops at the limit of iterations (R57, F30)", function()
    local config = documents.config "code-reviewer-auto"
    config.x_skillrt.limits.max_iterations = 2
    local node = compare(config, STORIES["code-reviewer-auto"][1][3], "file")
    assert.same({ "failed", "max_iterations" }, { node.results[1].status, node.results[1]._reason })
  end)

  it("in zh documents too", function()
    compare(documents.config "unit-test-generator", STORIES["unit-test-generator"][1][3], "file", "zh")
    compare(documents.config "api-manual-writer", STORIES["api-manual-writer"][1][3], "memory", "zh")
  end)
end)
