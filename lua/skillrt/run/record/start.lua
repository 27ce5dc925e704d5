-- run/record/start.lua: a step was chosen. The step's first record carries it as `start`; it is a record of its own
-- only if something else is recorded, or the run stops, before that: the step waits for room.

local steps = require("skillrt.run.step.step")

return {
  doc = "a step was chosen",
  fields = [[
    step integer
    action string? its id
    phase string? its id
    n integer the iteration: how many actions or phases have begun with it
    sub string? the sub-run that it belongs to
    edge integer? by which row of a machine's table
    why string? the reason of the strategy
    plan table? the plan that begins with it: `steps cost n because`
    same integer? how often its action began in a state like this
    print string? the fingerprint of that state
    undo integer? the step that it undoes
    from list? it is resumed by its number, with what it had when it failed or was taken back, but for these places
    file string? the output file that it is to give
    tool_set string? the set that is active from now on
    keeps table? state fields that the runtime wrote with it
  ]],

  apply = function(books, record, whole)
    local kind = record.action and "action" or "phase"
    local step = { number = record.step, id = record[kind], kind = kind, n = record.n, started_at = record.at }
    steps.begin(books, step, record, whole)
  end,

  line = function(lines, record)
    local kind = record.phase and "phase" or "action"
    local step = { id = record.phase or record.action, kind = kind, n = record.n, attempt = 1, at = record.at,
      sub = record.sub, depth = lines:depth_of(record.sub) }
    lines.steps[record.step] = step
    lines.status = "running"
    if kind == "action" and not record.sub then
      lines:say(false, "detail", "[Iteration %d] Status: %s, Completed: %d", step.n, lines.status, lines.completed)
    end
    lines:say(step, "info", "Executing: %s%s", step.id,
      record.tool_set and (" (tools: %s)"):format(record.tool_set) or "")
  end,

  story = function(story, record)
    local step = {
      number = record.step,
      id = record.phase or record.action,
      kind = record.phase and "phase" or "action",
      n = record.n,
      sub = record.sub,
      at = record.at,
      status = "open",
      attempts = {},
      calls = {},
      by_place = {},
      notes = {},
      reason = record.why,
      tool_set = record.tool_set,
      place = story.records - 1,
    }
    story.status = "executing"
    story.steps[#story.steps + 1] = step
    story.by_number[step.number] = step
  end,

  log = function(record)
    return "info", "Step started", { action = record.action or record.phase, iteration = record.n, reason = record.why,
      tool_set = record.tool_set }
  end,
}
