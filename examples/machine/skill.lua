-- A skill with states: collects notes, analyses them, plans where there are many, writes a list of what is to do and
-- verifies it. The eight states of the orchestrator template, and two more ends.
local skillrt = require "skillrt"

local function collect(_, ctx)
  local target = ctx.input.target or ctx.dir .. "/notes"
  local files, lines = skillrt.json.array {}, 0
  for i, name in ipairs(assert(ctx.glob("*.txt", target))) do
    files[i] = target .. "/" .. name
    lines = lines + select(2, assert(ctx.read(files[i])):gsub("\n", "\n"))
  end
  ctx.context.set("target", target)
  ctx.context.set("files", files)
  ctx.context.set("complexity", lines)
end

local function analyze(state, ctx)
  local findings = skillrt.json.array {}
  for _, path in ipairs(assert(state.context.files, "no files were collected")) do
    for what in assert(ctx.read(path)):gmatch "TODO ([^\n]*)" do
      findings[#findings + 1] = what
    end
  end
  ctx.context.set("findings", findings)
end

local function execute(state, ctx)
  local list = {}
  for i, what in ipairs(state.plan or state.context.findings) do
    list[i] = "- " .. what
  end
  assert(ctx.write("todo.md", table.concat(list, "\n") .. "\n"))
  return { written = #list }
end

return skillrt.skill {
  name = "todo",
  mode = "machine",
  description = "Lists what is to do, from notes",
  inputs = { target = { type = "string", about = "the folder of the notes; default: those beside this file" } },
  state = { complexity_threshold = 4, recoverable_errors = { "permanent", "timeout", "invalid_output" } },
  schema = { validation = "object" },
  machine = {
    initial = "initialized",
    states = {
      { name = "initialized", entry = "the skill starts" },
      { name = "collecting_context", entry = "there is a target" },
      { name = "analyzing", entry = "the context is ready" },
      { name = "planning", entry = "the work is complex" },
      { name = "executing", entry = "the plan is ready, or none is needed" },
      { name = "verifying", entry = "the work is done" },
      { name = "error", entry = "something went wrong" },
      { name = "completed", entry = "all goals are met" },
      "failed",
      "aborted",
    },
    edges = {
      { action = "collect_context", from = "initialized", to = "collecting_context" },
      { action = "analyze_target", from = "collecting_context", to = "analyzing", when = "context.files.length > 0" },
      { action = "collect_context", from = "collecting_context", to = "collecting_context", max_runs = 3 },
      { action = "create_plan", from = "analyzing", to = "planning",
        when = "context.complexity > complexity_threshold" },
      { action = "execute_action", from = { "analyzing", "planning" }, to = "executing" },
      { action = "verify_result", from = "executing", to = "verifying" },
      { action = "complete", from = "verifying", to = "completed", when = "validation.passed" },
      { action = "analyze_target", from = "verifying", to = "analyzing", max_runs = 3 },
      { action = "analyze_target", from = "error", to = "analyzing", when = "recoverable_errors.includes(error.type)",
        max_runs = 3 },
      { action = "abort", from = "error", to = "failed" },
      { action = "handle_error", from = "*", to = "error" },
    },
  },
  actions = {
    { id = "collect_context", run = collect },
    { id = "analyze_target", run = analyze },
    { id = "create_plan", run = function(state)
      local plan = { table.unpack(state.context.findings) }
      table.sort(plan)
      return { plan = plan }
    end },
    { id = "execute_action", run = execute },
    { id = "verify_result", run = function(state)
      return { validation = { passed = state.written == #state.context.findings } }
    end },
    { id = "complete" },
    { id = "handle_error", run = function(state, ctx)
      ctx.log(("%s failed: %s"):format(state.error.action, state.error.message))
    end },
    { id = "abort" },
  },
}
