-- A review with states: a quick scan of some files, and a deep review, in six dimensions, of those that need one.
-- The short form of the orchestrator template, with the report that its own table left out.
local skillrt = require "skillrt"

-- What makes an area worth a closer look, and what makes it one of high risk.
local SUSPICIOUS <const> = { "FIXME", "load", "os%.execute", "io%.popen" }
local RISKY <const> = { "os%.execute", "io%.popen" }

-- The six dimensions of a deep review: a word, and what is said of a line in which it is found.
local DIMENSIONS <const> = {
  { "security", "os%.execute", "runs a shell: quote what comes from outside" },
  { "correctness", "FIXME", "is known to be wrong" },
  { "maintainability", "^function [%w_]+", "defines a global" },
  { "performance", "%.%. .* %.%.", "builds a text piece by piece" },
  { "readability", ("."):rep(101), "is longer than 100 bytes" },
  { "testability", "os%.execute", "cannot be run in a test" },
}

local function holds(text, patterns)
  for _, pattern in ipairs(patterns) do
    if text:find(pattern) then
      return true
    end
  end
  return false
end

-- Calls `visit(line, number)` for each line of a file.
local function each_line(ctx, path, visit)
  local number = 0
  for line in assert(ctx.read(path)):gmatch "([^\n]*)\n" do
    number = number + 1
    visit(line, number)
  end
end

local function quick_scan(state, ctx)
  local areas, risks = skillrt.json.array {}, skillrt.json.array {}
  for _, path in ipairs(state.context.files) do
    local text = assert(ctx.read(path))
    areas[#areas + 1] = holds(text, SUSPICIOUS) and path or nil
    risks[#risks + 1] = holds(text, RISKY) and path or nil
  end
  return { areas = areas, high_risk_areas = risks }
end

local function deep_review(state, ctx)
  local findings = skillrt.json.array {}
  for _, path in ipairs(state.high_risk_areas) do
    each_line(ctx, path, function(line, number)
      for _, row in ipairs(DIMENSIONS) do
        if line:find(row[2]) then
          findings[#findings + 1] = ("%s:%d: %s: %s"):format(path, number, row[1], row[3])
        end
      end
    end)
  end
  return { findings = findings }
end

local function generate_report(state, ctx)
  local lines = { "# Review", "", ("%d files, %d worth a look"):format(#state.context.files, #state.areas), "" }
  for _, finding in ipairs(state.findings or {}) do
    lines[#lines + 1] = "- " .. finding
  end
  assert(ctx.write("report.md", table.concat(lines, "\n") .. "\n"))
  ctx.log(("%d findings"):format(#lines - 4))
end

return skillrt.skill {
  name = "review-code",
  mode = "machine",
  schema = { high_risk_areas = "string[]" },
  inputs = { target = { type = "string", default = "examples/review_machine/code", about = "the folder to review" } },
  machine = {
    initial = "initialized",
    states = {
      "initialized",
      "collecting_context",
      { name = "analyzing", when = "areas.length > 0" },
      "quick_scan",
      "deep_review",
      "generating_report",
      "completed",
      "failed",
    },
    edges = {
      { action = "collect_context", from = "initialized", to = "collecting_context" },
      { action = "quick_scan", from = "collecting_context", to = "analyzing" },
      { action = "quick_scan", from = "collecting_context", to = "quick_scan" }, -- nothing to analyse
      { action = "deep_review", from = "analyzing", to = "deep_review", when = "high_risk_areas.length > 0" },
      { action = "generate_report", from = { "analyzing", "quick_scan", "deep_review" }, to = "generating_report" },
      { action = "complete", from = "generating_report", to = "completed" },
      { action = "handle_error", from = "*", to = "failed" },
    },
  },
  actions = {
    { id = "collect_context", run = function(_, ctx)
      local files = skillrt.json.array {}
      for i, name in ipairs(assert(ctx.glob("*.lua", ctx.input.target))) do
        files[i] = ctx.input.target .. "/" .. name
      end
      ctx.context.set("files", files)
    end },
    { id = "quick_scan", run = quick_scan },
    { id = "deep_review", run = deep_review },
    { id = "generate_report", run = generate_report },
    { id = "complete" },
    { id = "handle_error" },
  },
}
