-- short_form_spec.lua: the short review-code of seed 003 as a config: where it goes after each state.
local skillrt = require "skillrt"

local function action(id, name, needs, effects, priority)
  return { id = id, name = name, preconditions = needs, effects = effects, priority = priority }
end

local CONFIG = {
  skill_name = "review-code",
  description = "Review code, deeply where a quick scan found risks",
  execution_mode = "autonomous",
  context_strategy = "memory",
  autonomous_config = {
    state_schema = {
      fields = {
        { name = "files", type = "string[]" },
        { name = "scanned", type = "boolean" },
        { name = "risk_areas", type = "string[]" },
        { name = "dimensions", type = "string[]" },
        { name = "report", type = "string" },
      },
    },
    actions = {
      action("collect_context", "Collect context", { "files.length === 0" }, { "files.length>0" }, 40),
      action("quick_scan", "Quick scan", { "files.length > 0", "!scanned" }, { "scanned=true" }, 30),
      action("deep_review", "Deep review", { "scanned", "risk_areas.length > 0" }, { "dimensions.length>0" }, 20),
      action("generate_report", "Report", { "scanned" }, { "report!=null" }, 10),
      action("complete", "Complete", { "report.length > 0" }, {}, 0),
    },
  },
  x_skillrt = { actions = { complete = { terminal = "completed" } } },
}

-- The order in which the actions ran, and how the run ended.
local function run(risk_areas)
  local order = {}
  local updates = {
    collect_context = { files = { "a.c" } },
    quick_scan = { scanned = true, risk_areas = skillrt.json.array(risk_areas) },
    deep_review = { dimensions = { "correctness", "readability", "performance", "security", "testing", "architecture" } },
    generate_report = { report = "report.md" },
  }
  local function perform(_, ctx)
    local id = ctx.action and ctx.action.id or ctx.id
    order[#order + 1] = id
    return updates[id]
  end
  local skill = assert(skillrt.from_config(CONFIG, { agents = { ["*"] = skillrt.agent.lua(perform) } }))
  local result = assert(skill:run())
  return table.concat(order, " "), result
end

describe("the short form of the state machine, as a config", function()
  it("reviews deeply where the scan found risks, then reports (R154, R155)", function()
    local order, result = run { "login" }
    assert.equal("collect_context quick_scan deep_review generate_report complete", order)
    assert.equal("completed", result.status)
  end)

  it("reports at once where it found none, and never ends without a report (R155, F64)", function()
    local order, result = run {}
    assert.equal("collect_context quick_scan generate_report complete", order)
    assert.equal("completed", result.status)
  end)
end)
